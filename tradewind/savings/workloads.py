"""What each workload costs: the price of every node, divided among its pods by their dominant shares.

A pod's dominant share is the largest part of any resource of its node that it requests. What is left of a
node was requested by nobody, so the parts add up to the bill. Unlike a saving, such a part is not money that
goes away with the workload: a node is paid for as a whole.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tradewind.cluster.objects import Node, Pod
from tradewind.explain.words import counted
from tradewind.savings.bill import NodePrice
from tradewind.savings.forecast import Forecast

_SLOTS = "pods"  # what every pod takes one of says nothing about its size


@dataclass(kw_only=True)
class Part:
    """Of the bill, in dollars an hour."""

    name: str
    pods: int = 0
    hourly: float = 0.0
    estimated: float = 0.0  # of that
    leaving: float = 0.0  # of that, on nodes that can go away

    def add(self, price: NodePrice, share: float, *, going: bool) -> None:
        dollars = price.price * share
        self.hourly += dollars
        self.estimated += dollars if price.estimated else 0.0
        self.leaving += dollars if going else 0.0

    def merge(self, other: "Part") -> None:
        self.pods += other.pods
        self.hourly += other.hourly
        self.estimated += other.estimated
        self.leaving += other.leaving


@dataclass(frozen=True, kw_only=True)
class Division:
    """Of the whole bill."""

    top: Sequence[Part]  # the dearest first
    others: Part
    idle: Part  # what nobody requests

    @property
    def parts(self) -> Sequence[Part]:
        return [*self.top, *([self.others] if self.others.pods else []), self.idle]

    @property
    def whole(self) -> Part:
        whole = Part(name="the bill")
        for part in self.parts:
            whole.merge(part)
        return whole


def division(told: Forecast, most: int | None = None) -> Division | None:
    """With the `most` dearest one by one, else all; None where no node has a price."""
    if not told.bill.priced:
        return None
    going = told.gone
    pods_on: dict[str, list[Pod]] = {}
    for pod in told.before:
        if pod.node_name and not pod.finished:
            pods_on.setdefault(pod.node_name, []).append(pod)
    idle, of = Part(name="requested by nobody"), dict[str, Part]()
    for node in told.snapshot.nodes.cluster.table.nodes:
        price, pods = told.bill.prices[node.name], pods_on.get(node.name, ())
        if math.isnan(price.price):
            continue
        shares = _shares(node, pods)
        for pod, share in zip(pods, shares, strict=True):
            part = of.setdefault(pod.workload or str(pod), Part(name=_name(pod)))
            part.pods += 1
            part.add(price, share, going=node.name in going)
        idle.add(price, max(1.0 - math.fsum(shares), 0.0), going=node.name in going)
    ordered = sorted(of.values(), key=lambda each: (-each.hourly, each.name))
    most = len(ordered) if most is None else most
    others = Part(name=counted(len(ordered[most:]), "other"))
    for each in ordered[most:]:
        others.merge(each)
    return Division(top=ordered[:most], others=others, idle=idle)


def _shares(node: Node, pods: Iterable[Pod]) -> list[float]:
    """Of the node, together never more than all of it."""
    found = [_dominant(pod.requests, node.allocatable) for pod in pods]
    total = math.fsum(found)
    return [share / total for share in found] if total > 1.0 else found


def _dominant(requests: Mapping[str, int], allocatable: Mapping[str, int]) -> float:
    return max(
        (
            amount / allocatable[name]
            for name, amount in requests.items()
            if name != _SLOTS and allocatable.get(name)
        ),
        default=0.0,
    )


def _name(pod: Pod) -> str:
    return pod.workload or f"Pod {pod}"
