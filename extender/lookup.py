"""Finding a request's nodes in the cluster state."""

import asyncio
import logging
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from cachetools import TTLCache

from extender.ledger import Ledger, seen
from extender.metrics import ExtenderMetrics
from extender.protocol import Request
from scoring.policy import Verdict
from tradewind.cluster.cache import Cache
from tradewind.cluster.objects import Node, Pod, read_node
from tradewind.cluster.snapshot import Nodes, Snapshot
from tradewind.cluster.table import NodeTable, Rows
from tradewind.errors import UnreadableObjectError
from tradewind.planner.moves.reservations import Reservations

# kube-scheduler's watch may be ahead of ours when a node is new. Rejecting the node at once could leave the
# pod waiting for the next cluster event; so the first request with a new name waits this long for our watch.
_UNKNOWN_NODE_WAIT_SECONDS = 0.25
_UNKNOWN_NODE_MEMORY_SECONDS = 60.0

# A binding is under way while kube-scheduler asks about the next pod, and takes milliseconds.
_BINDING_WAIT_SECONDS = 0.5
_BINDING_LOOK_SECONDS = 0.01

# Between the filter and the prioritize request of a pod, at most, for one view of the cluster to serve both.
_VIEW_SECONDS = 0.1

_log = logging.getLogger(__name__)


class WatchBehindError(Exception):
    """Our watch may bring nodes of the request, or bindings that matter to it, in a moment."""

    def __init__(self, *, nodes: Sequence[str] = (), pods: Sequence[Pod] = ()) -> None:
        super().__init__(f"{len(nodes)} nodes are new, {len(pods)} pods may be bound")
        self.nodes = nodes
        self.pods = pods


class Found(NamedTuple):
    """A request's nodes in a table."""

    asked: int  # how many names
    known: Rows  # which of the names are in the table
    rows: Rows  # where they are in it
    unknown: Sequence[int]  # which of the names are not

    def kept(self, verdict: Verdict) -> Sequence[int]:
        """Indices into the names."""
        if not verdict.rejections and not self.unknown:
            return range(self.asked)
        kept: list[int] = self.known[verdict.feasible].tolist()
        return kept


class View(NamedTuple):
    """What filter looked at: prioritize, which follows at once, ranks the same nodes in the same state."""

    request: Request
    found: Found
    nodes: Nodes
    until: float  # by the monotonic clock


class Lookup:
    def __init__(self, cache: Cache, metrics: ExtenderMetrics, ledger: Ledger) -> None:
        self._cache = cache
        self._ledger = ledger
        self._reservations = Reservations(cache.moving, cache.pods, cache.pods_on)
        self._metrics = metrics
        self._waited: TTLCache[str, None] = TTLCache(4096, ttl=_UNKNOWN_NODE_MEMORY_SECONDS)
        self._view: View | None = None

    def fresh(self, request: Request, *, waited: bool) -> View:
        """In the newest snapshot; raise WatchBehindError if it is better to wait."""
        snapshot = self._cache.snapshot()
        found = find(request.names, snapshot.nodes.cluster.table)
        if found.unknown and request.items is not None:
            snapshot = self._with_sent(request.items, found.unknown)
            found = find(request.names, snapshot.nodes.cluster.table)
        if found.unknown:
            self._check([request.names[index] for index in found.unknown], waited=waited)
        if self._ledger:
            snapshot = self._ledger.view(snapshot, request.pod)
        if self._reservations:
            snapshot = snapshot.with_pods(self._reservations.against(request.pod))
        nodes = snapshot.nodes.take(found.rows)
        self._view = View(request, found, nodes, time.monotonic() + _VIEW_SECONDS)
        return self._view

    def again(self, request: Request, *, waited: bool) -> View:
        """What the same request was answered from a moment ago."""
        view = self._view
        if view is None or view.request is not request or time.monotonic() > view.until:
            return self.fresh(request, waited=waited)
        return view

    async def wait(self, behind: WatchBehindError) -> None:
        if behind.nodes:
            self._waited.update(dict.fromkeys(behind.nodes))
            await asyncio.to_thread(self._cache.wait_for_nodes, behind.nodes, _UNKNOWN_NODE_WAIT_SECONDS)
        pods, deadline = behind.pods, time.monotonic() + _BINDING_WAIT_SECONDS
        while pods and time.monotonic() < deadline:
            await asyncio.sleep(_BINDING_LOOK_SECONDS)
            roster = self._cache.snapshot().nodes.cluster.roster
            pods = [pod for pod in pods if not seen(pod, roster)]

    def _with_sent(self, items: Sequence[msgspec.Raw], unknown: Sequence[int]) -> Snapshot:
        """A request that carries whole nodes says itself what our watch has not brought yet."""
        return self._cache.snapshot_with(list(_readable(items[index] for index in unknown)))

    def _check(self, unknown: Sequence[str], *, waited: bool) -> None:
        new = [] if waited else [name for name in unknown if name not in self._waited]
        if new:
            raise WatchBehindError(nodes=new)
        self._metrics.unknown.inc(len(unknown))
        _log.warning("node %s is not in the cluster state", unknown[0])


def find(names: tuple[str, ...], table: NodeTable) -> Found:
    rows = table.rows_of_all(names)
    known_mask = rows >= 0
    if known_mask.all():
        return Found(len(names), np.arange(rows.size), rows, ())
    known = np.flatnonzero(known_mask)
    return Found(len(names), known, rows[known], np.flatnonzero(~known_mask).tolist())


def _readable(items: Iterator[msgspec.Raw]) -> Iterator[Node]:
    for item in items:
        try:
            yield read_node(bytes(item))
        except UnreadableObjectError as error:
            _log.warning("a node in a request was left out: %s", error)
