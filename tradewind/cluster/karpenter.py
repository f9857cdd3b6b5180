"""Karpenter's NodePools and NodeOverlays: which nodes it would add, and what it is told that they cost."""

import re
from collections.abc import Mapping
from typing import NamedTuple, TypeVar

import msgspec

from tradewind.cluster.quantity import amount, parse_nanos
from tradewind.cluster.selectors import Selector, canonical
from tradewind.cluster.wire import RawQuantities, Requirement, Taint
from tradewind.errors import QuantityError, UnreadableObjectError

GROUP = "karpenter.sh"
NODE_POOL_LABEL = "karpenter.sh/nodepool"
CAPACITY_TYPE_LABEL = "karpenter.sh/capacity-type"

# +10%, -0.05: what is added to a price.
_ADJUSTMENT = re.compile(r"(?P<amount>[+-]\d*\.?\d+)(?P<percent>%?)")


class NodePool(NamedTuple):
    name: str
    requirements: Selector = ()
    labels: Mapping[str, str] = {}
    taints: tuple[Taint, ...] = ()  # not those of startup, which go away by themselves
    limits: Mapping[str, int] = {}  # cpu in millicores, all others in whole units
    weight: int = 0  # pools of higher weight are tried first


class NodeOverlay(NamedTuple):
    """Either a price, or what is added to it."""

    name: str
    requirements: Selector = ()
    price: float | None = None  # dollars an hour
    factor: float = 1.0
    summand: float = 0.0  # dollars an hour
    weight: int = 0  # of several that match a node, the one of highest weight counts

    def adjusted(self, price: float) -> float:
        """As Karpenter does, no price is below 0; a price that is not known stays so."""
        if self.price is not None:
            return self.price
        found = price * self.factor + self.summand
        return 0.0 if found < 0 else found


class Provisioning(NamedTuple):
    pools: tuple[NodePool, ...] = ()
    overlays: tuple[NodeOverlay, ...] = ()  # the one that counts most first


class _Metadata(msgspec.Struct, rename="camel"):
    name: str = ""
    labels: dict[str, str] | None = None
    deletion_timestamp: str | None = None


class _TemplateSpec(msgspec.Struct):
    requirements: tuple[Requirement, ...] | None = None
    taints: tuple[Taint, ...] | None = None


class _Template(msgspec.Struct):
    metadata: _Metadata | None = None
    spec: _TemplateSpec | None = None


class _PoolSpec(msgspec.Struct):
    template: _Template
    limits: RawQuantities | None = None
    weight: int | None = None
    replicas: int | None = None


class _Condition(msgspec.Struct):
    type: str = ""
    status: str = ""


class _Status(msgspec.Struct):
    conditions: list[_Condition] | None = None

    @property
    def ready(self) -> bool:
        return not any(each.type == "Ready" and each.status == "False" for each in self.conditions or ())


class _Pool(msgspec.Struct):
    metadata: _Metadata
    spec: _PoolSpec
    status: _Status | None = None


class _OverlaySpec(msgspec.Struct, rename="camel"):
    requirements: tuple[Requirement, ...] | None = None
    price: str | float | None = None
    price_adjustment: str | None = None
    weight: int | None = None


class _Overlay(msgspec.Struct):
    metadata: _Metadata
    spec: _OverlaySpec
    status: _Status | None = None


_Shape = TypeVar("_Shape", _Pool, _Overlay)


def read_node_pool(data: bytes | msgspec.Raw) -> NodePool | None:
    """None for one that adds no nodes: it is being deleted, is not ready, or has a fixed number of them."""
    pool = _decoded(data, _Pool)
    spec = pool.spec
    if pool.metadata.deletion_timestamp or spec.replicas is not None or not (pool.status or _Status()).ready:
        return None
    template = spec.template.spec or _TemplateSpec()
    return NodePool(
        name=pool.metadata.name,
        requirements=canonical(template.requirements or ()),
        labels=(spec.template.metadata or _Metadata()).labels or {},
        taints=template.taints or (),
        limits=_limits(pool.metadata.name, spec.limits or {}),
        weight=spec.weight or 0,
    )


def read_node_overlay(data: bytes | msgspec.Raw) -> NodeOverlay | None:
    """None for one that says nothing of prices, or that Karpenter does not take."""
    overlay = _decoded(data, _Overlay)
    name, spec = overlay.metadata.name, overlay.spec
    if overlay.metadata.deletion_timestamp or not (overlay.status or _Status()).ready:
        return None
    plain = NodeOverlay(name, canonical(spec.requirements or ()), weight=spec.weight or 0)
    if spec.price is not None:
        return plain._replace(price=_price(name, str(spec.price)))
    if not spec.price_adjustment:
        return None
    match = _ADJUSTMENT.fullmatch(spec.price_adjustment.strip())
    if match is None:
        raise UnreadableObjectError(
            f'NodeOverlay {name}: priceAdjustment "{spec.price_adjustment}" is not one such as +10% or -0.05'
        )
    number = float(match["amount"])
    return plain._replace(factor=1 + number / 100) if match["percent"] else plain._replace(summand=number)


def in_order(pools: list[NodePool], overlays: list[NodeOverlay]) -> Provisioning:
    """Of overlays of equal weight, the last by name counts most."""
    ranked = sorted(overlays, key=lambda each: (each.weight, each.name), reverse=True)
    return Provisioning(tuple(sorted(pools, key=lambda each: (-each.weight, each.name))), tuple(ranked))


def _price(name: str, text: str) -> float:
    try:
        price = float(text)
    except ValueError:
        price = -1.0
    if not 0 <= price < float("inf"):
        raise UnreadableObjectError(f'NodeOverlay {name}: price "{text}" is not a number of dollars')
    return price


def _limits(name: str, limits: RawQuantities) -> Mapping[str, int]:
    try:
        return {
            key: amount(key, parse_nanos(str(value))) for key, value in limits.items() if value is not None
        }
    except QuantityError as error:
        raise UnreadableObjectError(f"NodePool {name}: limits: {error}") from error


def _decoded(data: bytes | msgspec.Raw, shape: type[_Shape]) -> _Shape:
    kind = "NodePool" if shape is _Pool else "NodeOverlay"
    try:
        found = msgspec.json.decode(data, type=shape)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise UnreadableObjectError(f"{kind}: {error}") from error
    if not found.metadata.name:
        raise UnreadableObjectError(f"{kind} without a name")
    return found
