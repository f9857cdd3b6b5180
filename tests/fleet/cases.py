"""Sites and requests for tests, made by the real summary of a real snapshot."""

from collections.abc import Iterable
from typing import Any

import msgspec

from tests.builders import NodeBuilder, PodBuilder, cluster_of, node, pod
from tradewind.fleet.placement import Placement
from tradewind.fleet.request import Request
from tradewind.fleet.sites import Site
from tradewind.fleet.summarise import summarise
from tradewind.fleet.summary import Place, Summary

NOW = 1_000_000.0

Nodes = Iterable[NodeBuilder]


def summary_of(
    name: str, nodes: Nodes, pods: Iterable[PodBuilder] = (), place: Place | None = None, **fields: Any
) -> Summary:
    summary = summarise(cluster_of(nodes, pods), name, place or Place(), time=NOW)
    return msgspec.structs.replace(summary, **fields)


def site(name: str, *nodes: NodeBuilder, pods: Iterable[PodBuilder] = (), **fields: Any) -> Site:
    """`fields` are of the site, or of its summary."""
    of_summary = {key: fields.pop(key) for key in ("place", "time", "error_rate") if key in fields}
    return Site(name=name, summary=summary_of(name, nodes, pods, **of_summary), **fields)


def request(replicas: int = 1, template: PodBuilder | None = None, **fields: Any) -> Request:
    """One core and 1 GiB for each replica, divided by cost, unless said otherwise."""
    template = template or pod("web").requests(cpu="1", memory="1Gi")
    placement = fields.pop("placement", {"replicaScheduling": {"replicaSchedulingType": "Divided"}})
    return Request(
        key="shop/web",
        pod=template.build(),
        replicas=replicas,
        placement=msgspec.convert(placement, Placement),
        **fields,
    )


def nodes(count: int, price: float = 0.1, cpu: str = "4", prefix: str = "n") -> list[NodeBuilder]:
    return [node(f"{prefix}{number}").cpu(cpu).price(price) for number in range(count)]
