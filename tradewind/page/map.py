"""Every node as a tile, in groups: drawn as savings draws them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from markupsafe import Markup

from tradewind.cluster.guide import Role
from tradewind.cluster.karpenter import NODE_POOL_LABEL
from tradewind.cluster.objects import Node
from tradewind.cluster.snapshot import Floats, Nodes, Snapshot
from tradewind.explain.words import counted
from tradewind.market.pools import pool_of
from tradewind.savings.bill import Bill, Money
from tradewind.savings.html import key
from tradewind.savings.maps import Tile, areas_of, short_names, svg
from tradewind.savings.treemap import Rectangle, treemap

WIDTH, HEIGHT = 1120.0, 600.0
_HEAD = 22.0  # of a group, with its name
_LETTER = 8.0
_POOL_LABELS = (
    NODE_POOL_LABEL,
    "eks.amazonaws.com/nodegroup",
    "cloud.google.com/gke-nodepool",
    "kubernetes.azure.com/agentpool",
)
NOWHERE = "(none)"


def _kind(node: Node) -> str:
    found = pool_of(node)
    return f"{found.instance_type or NOWHERE}, {found.capacity_type}"


def _pool(node: Node) -> str:
    return next((node.labels[label] for label in _POOL_LABELS if label in node.labels), NOWHERE)


GROUPINGS: Mapping[str, Callable[[Node], str]] = {
    "zone": lambda node: pool_of(node).zone or NOWHERE,
    "kind": _kind,
    "pool": _pool,
}


@dataclass(frozen=True, kw_only=True)
class Group:
    name: str
    money: Money
    share: float  # of processor or memory, whichever is asked for more, averaged over its nodes
    badges: int  # nodes with one
    tiles: Sequence[Tile]


@dataclass(frozen=True, kw_only=True)
class NodeMap:
    groups: Sequence[Group]  # the dearest first
    bill: Bill
    picture: Markup
    key: Markup

    @property
    def tiles(self) -> Sequence[Tile]:
        return [tile for group in self.groups for tile in group.tiles]


def node_map(
    snapshot: Snapshot, bill: Bill, coming: Mapping[str, int], *, by: str, only: str = ""
) -> NodeMap:
    """`coming` are pods that are planned on a node and not there yet; `only` one group."""
    table, nodes = snapshot.nodes.cluster.table, snapshot.nodes
    of: dict[str, list[int]] = {}
    for row, node in enumerate(table.nodes):
        of.setdefault(GROUPINGS[by](node), []).append(row)
    if only:
        of = {only: of[only]} if only in of else {}
    areas = areas_of({name: each.price for name, each in bill.prices.items()})
    guide = nodes.cluster.guide
    drained = frozenset(guide.with_role(Role.DRAIN)) if guide else frozenset()
    drawn = _Drawn(nodes, bill, areas, filled(nodes), coming, drained, short_names(table.names))
    sizes = {name: sum(areas[table.names[row]] for row in rows) for name, rows in of.items()}
    ordered = sorted(of, key=lambda name: (-sizes[name], name))
    places = treemap([sizes[name] for name in ordered], WIDTH, HEIGHT)
    groups = [drawn.group(name, of[name], at) for name, at in zip(ordered, places, strict=True)]
    labels = "".join(map(_label, groups, places))
    found = [tile for group in groups for tile in group.tiles]
    label = f"{counted(len(found), 'node')} by {by}; the tables below have the same figures"
    picture = svg(found, after=False, label=label, size=(WIDTH, HEIGHT), over=labels)
    return NodeMap(groups=groups, bill=bill, picture=Markup(picture), key=Markup(key(bill)))  # noqa: S704  escaped there


def filled(nodes: Nodes) -> Floats:
    """(N,) of processor or memory, the larger share that pods ask for."""
    found = np.zeros(len(nodes))
    for resource in ("cpu", "memory"):
        free, row = nodes.free_of(resource), nodes.resource_rows.get(resource)
        if free is not None and row is not None:
            has = nodes.allocatable[row]
            found = np.maximum(found, np.where(has > 0, 1 - free / np.maximum(has, 1), 0))
    return np.clip(found, 0, 1)


@dataclass(frozen=True, kw_only=False, eq=False)
class _Drawn:
    nodes: Nodes
    bill: Bill
    areas: Mapping[str, float]
    shares: Floats
    coming: Mapping[str, int]
    drained: Collection[str]  # the standing plan can do without them
    labels: Mapping[str, str]  # names without what all have in common

    def group(self, name: str, rows: Sequence[int], at: Rectangle) -> Group:
        names = self.nodes.cluster.table.names
        ordered = sorted(rows, key=lambda row: (-self.areas[names[row]], names[row]))
        head = _HEAD if _labelled(at) else 0.0
        inner = treemap([self.areas[names[row]] for row in ordered], at.width, at.height - head)
        tiles = [
            self._tile(row, place._replace(x=place.x + at.x, y=place.y + at.y + head))
            for row, place in zip(ordered, inner, strict=True)
        ]
        return Group(
            name=name,
            money=self.bill.of(tile.name for tile in tiles),
            share=float(np.mean([tile.before for tile in tiles])),
            badges=sum(bool(tile.badge) for tile in tiles),
            tiles=tiles,
        )

    def _tile(self, row: int, at: Rectangle) -> Tile:
        name, share = self.nodes.cluster.table.names[row], float(self.shares[row])
        price = self.bill.prices[name]
        return Tile(
            name=name,
            label=self.labels[name],
            at=at,
            price=price.price,
            guessed=self.bill.priced and (price.estimated or price.price != price.price),
            risk=float(self.nodes.interruption_rate[row]),
            risk_known=price.rate_known,
            durable=bool(self.nodes.durable[row]),
            before=share,
            after=share,
            taken=0,
            gone=False,
            empty=False,
            badge=self._badge(row, name),
        )

    def _badge(self, row: int, name: str) -> str:
        if self.nodes.cluster.leaving[row]:
            return "leaving"
        if self.nodes.cluster.table.unschedulable[row]:
            return "cordoned"
        coming = self.coming.get(name, 0)
        if coming:
            return f"{counted(coming, 'pod')} coming"
        return "to be drained" if name in self.drained else ""


def _labelled(at: Rectangle) -> bool:
    return at.width > 8 * _LETTER and at.height > 3 * _HEAD


def _label(group: Group, at: Rectangle) -> str:
    if not _labelled(at):
        return ""
    room = int((at.width - 8) / _LETTER)
    shown = group.name if len(group.name) <= room else f"{group.name[: room - 1]}\N{HORIZONTAL ELLIPSIS}"
    return f'<text x="{at.x + 3:.1f}" y="{at.y + 16:.1f}" class="group">{escape(shown)}</text>'
