"""What is to be otherwise in a cluster: nodes gone, prices or rates changed, more replicas or fewer.

Each change is read from what people write, and applied to objects at hand; nothing is written anywhere.
"""

import difflib
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import NamedTuple

import msgspec
import numpy as np

from tradewind.cluster.in_use import is_using
from tradewind.cluster.objects import Node, Pod
from tradewind.cluster.snapshot import Floats, Offer, Snapshot
from tradewind.errors import TradewindError
from tradewind.market.pools import ON_DEMAND, SPOT, pool_of
from tradewind.runtime.source import Copied

_POOL_LABELS = (
    "karpenter.sh/nodepool",
    "eks.amazonaws.com/nodegroup",
    "cloud.google.com/gke-nodepool",
    "kubernetes.azure.com/agentpool",
    "agentpool",
)
_ROW = {"price": Offer._fields.index("price"), "rate": Offer._fields.index("interruption_rate")}
_LARGEST = {"price": 100_000.0, "rate": 1.0}
_MAX_REPLICAS = 100_000


class ChangeError(TradewindError):
    """A change that cannot be read, or that concerns nothing in the cluster."""


@dataclass(frozen=True)
class Changes:
    without: Sequence[str] = ()  # names of nodes or of pools
    lost_zones: Sequence[str] = ()
    scales: Sequence["Scale"] = ()
    tariffs: Sequence["Tariff"] = ()

    def applied(self, copied: Copied) -> Copied:
        """All but the tariffs, which are for `retold`."""
        gone = {name for each in self.without for name in _of_name(copied.nodes, each)}
        gone |= {name for zone in self.lost_zones for name in _of_zone(copied.nodes, zone)}
        pods = _evicted(copied.pods, gone)
        for scale in self.scales:
            pods = scale.applied(pods)
        return copied._replace(nodes=[node for node in copied.nodes if node.name not in gone], pods=pods)

    def retold(self, snapshot: Snapshot) -> Floats:
        """(5, N) the offers of all nodes by the tariffs, in the order of an Offer's fields."""
        offers = snapshot.nodes.columns.supply.offers
        for tariff in self.tariffs:
            tariff.apply(snapshot.nodes.cluster.table.nodes, offers)
        return offers


class Tariff(NamedTuple):
    """A price or a rate of interruptions, for nodes by type or name."""

    what: str  # price or rate
    pattern: str  # of an instance type or a node
    terms: str  # spot, on-demand, or nothing for both
    factor: float | None  # else the value
    value: float

    def apply(self, nodes: Sequence[Node], offers: Floats) -> None:
        found = [row for row, node in enumerate(nodes) if self._concerns(node)]
        if not found:
            raise ChangeError(
                f'--{self.what}: there is no node of type or name "{self.pattern}"'
                f"{f' on {self.terms} terms' if self.terms else ''}"
            )
        rows = [_ROW[self.what]] + ([Offer._fields.index("median_price")] if self.what == "price" else [])
        for row in rows:
            changed = self.value if self.factor is None else offers[row, found] * self.factor
            offers[row, found] = np.minimum(changed, _LARGEST[self.what])

    def _concerns(self, node: Node) -> bool:
        pool = pool_of(node)
        return (not self.terms or pool.capacity_type == self.terms) and (
            fnmatchcase(pool.instance_type, self.pattern) or fnmatchcase(node.name, self.pattern)
        )


class Scale(NamedTuple):
    """So many replicas of a workload."""

    workload: str  # namespace/name
    replicas: int

    def applied(self, pods: Sequence[Pod]) -> list[Pod]:
        known = {name for pod in pods if (name := _workload_name(pod))}
        if self.workload not in known:
            raise ChangeError(f"--scale: no pod is of {self.workload}{_alike(self.workload, known)}")
        own = [
            pod for pod in pods if _workload_name(pod) == self.workload and not (pod.finished or pod.deleting)
        ]
        if not own:
            raise ChangeError(f"--scale: all pods of {self.workload} have ended or are on their way")
        kept = _outlasting(own, self.replicas)
        left = {pod.uid for pod in kept}
        added = [_replica(own[-1], number) for number in range(self.replicas - len(kept))]
        return [*(pod for pod in pods if pod.uid in left or pod not in own), *added]


def read_tariff(what: str) -> Callable[[str], Tariff]:
    """From `m5.large spot x2`, `m5.* x0.5` or `node-7 0.12`."""

    def read(text: str) -> Tariff:
        words = text.split()
        terms = next((word for word in words[1:-1] if word in {SPOT, ON_DEMAND}), "")
        expected = (
            f'"{text}" is not TYPE [{SPOT}|{ON_DEMAND}] xFACTOR or a value, such as "m5.large {SPOT} x2"'
        )
        if len(words) != (3 if terms else 2):
            raise ChangeError(f"--{what}: {expected}")
        try:
            number = float(words[-1].removeprefix("x"))
        except ValueError:
            raise ChangeError(f"--{what}: {expected}") from None
        if not 0 <= number <= _LARGEST["price"]:
            raise ChangeError(f"--{what}: {words[-1]} is not from 0 to {_LARGEST['price']:g}")
        if not words[-1].startswith("x") and number > _LARGEST[what]:
            raise ChangeError(f"--{what}: {words[-1]} is not from 0 to {_LARGEST[what]:g}")
        return Tariff(what, words[0], terms, number if words[-1].startswith("x") else None, number)

    return read


def read_scale(text: str) -> Scale:
    found = re.fullmatch(r"([^/=\s]+/[^/=\s]+)=(\d{1,6})", text)
    if found is None or int(found[2]) > _MAX_REPLICAS:
        raise ChangeError(f'--scale: "{text}" is not NAMESPACE/WORKLOAD=REPLICAS, such as shop/web=30')
    return Scale(found[1], int(found[2]))


def _of_name(nodes: Iterable[Node], name: str) -> list[str]:
    nodes = list(nodes)
    found = [node.name for node in nodes if node.name == name]
    found = found or [node.name for node in nodes if name in {node.labels.get(key) for key in _POOL_LABELS}]
    if not found:
        pools = {node.labels[key] for node in nodes for key in _POOL_LABELS if key in node.labels}
        raise ChangeError(
            f"--without: there is no node or pool {name}{_alike(name, {node.name for node in nodes} | pools)}"
        )
    return found


def _of_zone(nodes: Iterable[Node], zone: str) -> list[str]:
    zones = {node.name: pool_of(node).zone for node in nodes}
    found = [name for name, each in zones.items() if each == zone]
    if not found:
        raise ChangeError(f"--lost-zone: no node is in zone {zone}{_alike(zone, set(zones.values()) - {''})}")
    return found


def _evicted(pods: Iterable[Pod], gone: Collection[str]) -> list[Pod]:
    """Those of nodes that are gone wait for another; what belongs to such a node is gone with it."""
    left = []
    for pod in pods:
        if pod.node_name not in gone:
            left.append(pod)
        elif is_using(pod):
            left.append(msgspec.structs.replace(pod, node_name=""))
    return left


def _workload_name(pod: Pod) -> str:
    return pod.workload.partition(" ")[2]


def _outlasting(own: Sequence[Pod], replicas: int) -> list[Pod]:
    """As a ReplicaSet shrinks: the waiting go first, then those that share a node with most others."""
    beside: Counter[str] = Counter()
    ranked: list[tuple[bool, int, int, Pod]] = []
    for pod in sorted(own, key=lambda pod: (not pod.node_name, pod.created, pod.name)):
        beside[pod.node_name] += 1
        ranked.append((not pod.node_name, beside[pod.node_name], len(ranked), pod))
    return [pod for *_, pod in sorted(ranked, key=lambda each: each[:3])][:replicas]


def _replica(pod: Pod, number: int) -> Pod:
    name = f"{pod.owner.name if pod.owner else pod.name}-added-{number + 1}"
    return msgspec.structs.replace(
        pod,
        name=name,
        uid=f"added {pod.namespace}/{name}",
        node_name="",
        nominated="",
        gates=(),
        volume_terms=(),
    )


def _alike(name: str, known: Collection[str]) -> str:
    found = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    return f"; did you mean {' or '.join(found)}?" if found else ""
