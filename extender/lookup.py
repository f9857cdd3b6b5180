"""The nodes of a request in the cluster state, with what other pods were promised."""

import asyncio
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from cachetools import TTLCache

from extender.metrics import ExtenderMetrics
from extender.protocol import Request
from scoring.policy import Verdict
from tradewind.cluster.cache import Cache
from tradewind.cluster.objects import Node, Pod, read_node
from tradewind.cluster.snapshot import Nodes, Snapshot
from tradewind.cluster.table import NodeTable, Rows
from tradewind.errors import UnreadableObjectError
from tradewind.planner.moves.reservations import Reservations

# kube-scheduler's watch may be ahead of ours. The first request with a new node waits for our watch, and so
# does a pod that conflicts with one whose binding is under way. kube-scheduler waits meanwhile.
_WAIT_SECONDS = 0.25
_POLL_SECONDS = 0.01
# A node that did not come within that time is not waited for again.
_UNKNOWN_NODE_MEMORY_SECONDS = 60.0

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
        """Indices into the names, of known nodes."""
        if not verdict.rejections and not self.unknown:
            return range(self.asked)
        kept: list[int] = self.known[verdict.feasible].tolist()
        return kept


class View(NamedTuple):
    """What filter looked at: prioritize, which follows at once, ranks the same nodes in the same state."""

    request: Request
    found: Found
    nodes: Nodes
    reserved: Sequence[Pod]  # for others, as pods on the nodes; the nodes count them
    snapshot: Snapshot
    until: float  # by the monotonic clock


class Lookup:
    def __init__(self, cache: Cache, metrics: ExtenderMetrics, clock: Callable[[], float]) -> None:
        """`clock` is the API server's."""
        self._cache = cache
        self._reservations = Reservations(cache.moving, cache.pods, cache.pods_on, clock)
        self._metrics = metrics
        self._waited: TTLCache[str, None] = TTLCache(4096, ttl=_UNKNOWN_NODE_MEMORY_SECONDS)
        self._view: View | None = None

    def fresh(self, request: Request, *, waited: bool) -> View:
        """In the newest snapshot; raise WatchBehindError if it is better to wait."""
        snapshot = self._cache.snapshot()
        found = find(request.names, snapshot.nodes.cluster.table)
        if found.unknown:
            snapshot = self._with_newer_nodes(request, found.unknown) or snapshot
            found = find(request.names, snapshot.nodes.cluster.table)
        if found.unknown:
            self._check([request.names[index] for index in found.unknown], waited=waited)
        self._view = self.look(request, snapshot, found)
        return self._view

    def look(self, request: Request, snapshot: Snapshot, found: Found) -> View:
        """As the pod is to see the nodes: with all that others were promised."""
        assumed, pod = self._cache.assumed, request.pod
        reserved = [each.pod for each in assumed.promised(snapshot, pod) if each.gang]
        seen = assumed.overlay(snapshot, pod)
        moves = self._reservations.against(pod)
        if moves:
            seen, reserved = seen.with_pods(moves), [*reserved, *moves]
        nodes = seen.nodes.take(found.rows)
        return View(request, found, nodes, reserved, snapshot, time.monotonic() + _VIEW_SECONDS)

    def again(self, request: Request, *, waited: bool) -> View:
        """What the same request was answered from a moment ago."""
        view = self._view
        if view is None or view.request is not request or time.monotonic() > view.until:
            return self.fresh(request, waited=waited)
        return view

    async def wait(self, behind: WatchBehindError) -> None:
        self._waited.update(dict.fromkeys(behind.nodes))
        deadline = time.monotonic() + _WAIT_SECONDS
        while time.monotonic() < deadline and self._is_missing(behind):  # noqa: ASYNC110  watch threads bring it
            await asyncio.sleep(_POLL_SECONDS)

    def _is_missing(self, behind: WatchBehindError) -> bool:
        bound = (pod for pod in self._cache.pods(pod.uid for pod in behind.pods) if pod.node_name)
        return len(self._cache.nodes(behind.nodes)) < len(behind.nodes) or (
            sum(1 for _ in bound) < len(behind.pods)
        )

    def _with_newer_nodes(self, request: Request, unknown: Sequence[int]) -> Snapshot | None:
        """With nodes that came while a list is applied, or that the request itself carries."""
        items = request.items
        sent = {} if items is None else {node.name: node for node in _readable(items[i] for i in unknown)}
        known = self._cache.nodes(request.names[index] for index in unknown)
        newer = sent | {node.name: node for node in known}
        return self._cache.snapshot_with(list(newer.values())) if newer else None

    def _check(self, unknown: Sequence[str], *, waited: bool) -> None:
        new = [] if waited else [name for name in unknown if name not in self._waited]
        if new:
            raise WatchBehindError(nodes=new)
        self._metrics.unknown.inc(len(unknown))
        _log.warning("Node of a request is not in the cluster state: node=%s", unknown[0])


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
            _log.warning("Skipped a node of a request: %s", error)
