"""Nodes that could be added: the configuration's pools, and those of Karpenter's NodePools."""

import logging
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from tradewind.cluster.cache import Cache
from tradewind.cluster.karpenter import (
    Provisioning,
    in_order,
    read_node_overlay,
    read_node_pool,
)
from tradewind.cluster.objects import Node
from tradewind.errors import ApiError, NotFoundError, UnreadableObjectError
from tradewind.kube.client import Client
from tradewind.kube.failures import decoded
from tradewind.market.market import Market
from tradewind.planner import node_pools
from tradewind.planner.settings import PoolTemplate

_POOLS = "/apis/karpenter.sh/v1/nodepools"
_OVERLAYS = "/apis/karpenter.sh/v1alpha1/nodeoverlays"
_LIST_SECONDS = 30.0
_FORBIDDEN = 403

_log = logging.getLogger(__name__)

Found = TypeVar("Found")


class _List(msgspec.Struct):
    items: list[msgspec.Raw]


_decoder = msgspec.json.Decoder(_List)


class KarpenterObjects:
    """Listed now and then; a cluster without Karpenter has none of them, which is no trouble."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._next_list = 0.0
        self._trouble: dict[str, str] = {}  # by path, as last told
        self.found = Provisioning()

    def refresh(self) -> None:
        if time.monotonic() < self._next_list:
            return
        self._next_list = time.monotonic() + _LIST_SECONDS
        try:
            self.found = in_order(
                self._list(_POOLS, read_node_pool), self._list(_OVERLAYS, read_node_overlay)
            )
        except ApiError as error:
            _log.debug("Karpenter's objects stay as they were: %s", error)

    def _list(self, path: str, read: Callable[[msgspec.Raw], Found | None]) -> list[Found]:
        try:
            items = decoded(_decoder, self._client.get(path)).items
        except NotFoundError:
            return []
        except ApiError as error:
            kind = path.rpartition("/")[2]
            if error.status == _FORBIDDEN:  # also where there is no Karpenter at all
                missing = f"{kind} of Karpenter are not read: no permission to list them (component market)"
                self._tell(path, missing, logging.INFO)
            else:
                self._tell(path, f"listing {kind} of Karpenter failed: {error}")
            raise
        found, trouble = [], ""
        for item in items:
            try:
                each = read(item)
            except UnreadableObjectError as error:
                trouble = f"left out: {error}"
            else:
                found += [each] if each is not None else []
        self._tell(path, trouble)
        return found

    def _tell(self, path: str, trouble: str, level: int = logging.WARNING) -> None:
        if trouble and trouble != self._trouble.get(path):
            _log.log(level, "%s", trouble)
        self._trouble[path] = trouble


def pools(
    configured: Sequence[PoolTemplate], provisioning: Provisioning, cache: Cache, market: Market
) -> Sequence[PoolTemplate]:
    """One of the configuration stands for a NodePool of its name."""
    priced = [each if each.price is not None else _priced(each, market) for each in configured]
    names = {each.name for each in configured}
    wanted = [pool for pool in provisioning.pools if pool.name not in names]
    if not wanted:
        return priced
    nodes = cache.snapshot().nodes.cluster.table.nodes
    around = node_pools.surroundings(nodes, cache.all_pods(), market.table.sizes, market.table.zones)
    return [*priced, *node_pools.templates(wanted, around, market.offer_of_new)]


def _priced(template: PoolTemplate, market: Market) -> PoolTemplate:
    node = Node(name="", labels=template.labels, annotations={}, allocatable=template.allocatable())
    price = market.offer_of_new(node).price
    return template.model_copy(update={"price": price}) if price > 0 else template
