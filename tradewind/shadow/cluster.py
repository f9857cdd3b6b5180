"""A second cluster beside the real one, in which every new pod stands where Tradewind would have put it.

Room is deducted there: no node has more on it than it can hold, unless it has in reality too. Pods come when
the real ones are bound and leave when the real ones leave. What was there before the shadow began stands
where it really does, and so do pods that are not ours to place. A pod that finds no place is looked after
again when something has left, and until then its real node counts as in use here too: it saves nothing.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from scoring.in_tree import with_in_tree
from scoring.in_tree_scores import extender_scores, plugin_scores
from scoring.policy import Policy
from tradewind.cluster.cache import Cache
from tradewind.cluster.in_use import belongs_to_node, is_using
from tradewind.cluster.objects import LIMITS, Node, Pod
from tradewind.cluster.snapshot import Floats, Offer, Snapshot

# Pods that are placed in one round: each takes some milliseconds on a large cluster.
MAX_PLACED = 200
_UNKNOWN = Offer(np.nan, np.nan, 0.0, True)


class Side(NamedTuple):
    """One of the two clusters at one moment. Money is nodes in use."""

    nodes: int = 0  # with pods on them that are not the node's own
    dollars: float = 0.0  # an hour, of those that have a price
    unpriced: int = 0  # of `nodes`
    pods: int = 0  # that are not the node's own
    interruptions: float = 0.0  # a month, as the nodes' rates let expect


class Compared(NamedTuple):
    """Where kube-scheduler bound pods, and where Tradewind would have."""

    same: int = 0
    other: int = 0
    nowhere: int = 0  # Tradewind would have let the pod wait


class ShadowPolicies(NamedTuple):
    """By what pods would be placed, as it is at the time."""

    policy_of: Callable[[Pod], Policy]
    schedulers: Callable[[], Collection[str]]  # that ask Tradewind
    weight: Callable[[], int] = lambda: 10  # of the extender, beside kube-scheduler's own scores


class ShadowCluster:
    def __init__(
        self,
        policies: ShadowPolicies,
        remembered: Mapping[str, str] | None = None,
    ) -> None:
        """`remembered` are the nodes of pods by UID, of before."""
        self._policies = policies
        self._remembered = remembered or {}
        self._started = False
        self._cache = Cache(lambda _: _UNKNOWN)
        self._snapshot: Snapshot | None = None  # of reality
        self._real: dict[str, Pod] = {}  # by UID: on a node
        self._node_of: dict[str, str] = {}  # by UID: here
        self._on: defaultdict[str, dict[str, None]] = defaultdict(dict)  # the same by node, in order
        self._really: Counter[str] = Counter()  # pods by node that is in use for them
        self._queue: dict[str, Pod] = {}  # by UID: without a place here
        self._given_back: set[str] = set()  # nodes that reality has no use for and this cluster has
        self._looked = False  # for places of all that are in the queue, since something left
        self._compared: set[str] = set()  # UIDs
        self.compared = Compared()

    def follow(self, snapshot: Snapshot, pods: Iterable[Pod]) -> None:
        """Reality is like this now."""
        before, self._snapshot = self._snapshot, snapshot
        self._follow_nodes(before, snapshot)
        alive = {pod.uid: pod for pod in pods if pod.node_name in snapshot.row_of and not pod.finished}
        self._really = _using(alive.values())
        for uid in self._real.keys() - alive.keys():
            self._leave(uid)
        news = [pod for uid, pod in alive.items() if self._real.get(uid) is not pod]
        # What is not ours to place first, then as kube-scheduler's queue has them.
        for pod in sorted(news, key=lambda pod: (self._ours(pod), -pod.priority, pod.created, str(pod))):
            self._take(pod)
        self._started = True
        self._make_room(snapshot)
        self._place()
        self._give_back()

    def placements(self) -> dict[str, str]:
        """Nodes by UID, of the pods that are elsewhere than in reality."""
        return {uid: node for uid, node in self._node_of.items() if self._real[uid].node_name != node}

    def sides(self) -> tuple[Side, Side]:
        """Reality, and the shadow."""
        if self._snapshot is None:
            return Side(), Side()
        shadow = Counter(name for uid, name in self._node_of.items() if is_using(self._real[uid]))
        shadow += _using(self._queue.values())
        return _side(self._snapshot, self._really), _side(self._cache.snapshot(), shadow)

    @property
    def snapshot(self) -> Snapshot:
        return self._cache.snapshot()

    @property
    def waiting(self) -> frozenset[str]:
        """UIDs of pods without a place here."""
        return frozenset(self._queue)

    def _follow_nodes(self, before: Snapshot | None, now: Snapshot) -> None:
        cluster, cache = now.nodes.cluster, self._cache
        if before is None or before.nodes.cluster.table is not cluster.table:
            known = before.nodes.cluster.table.nodes if before else ()
            for node in known:
                if before is not None and node.name not in now.row_of:
                    self._lose(node, before)
            for node in cluster.table.nodes:
                self._given_back.discard(node.name)
                cache.apply_node(node)
            self._looked = False
        supply = now.nodes.columns.supply
        if before is None or before.nodes.columns.supply is not supply:
            cache.update_offers(cluster.table.nodes, supply.offers)
        if before is None or before.nodes.cluster.namespaces is not cluster.namespaces:
            for namespace in cluster.namespaces.values():
                cache.apply_namespace(namespace)
        cache.follow_guide(cluster.guide)

    def _lose(self, node: Node, before: Snapshot) -> None:
        """A node that was empty in reality was given back; here it would have been in use, and stays."""
        here, row, supply = self._own_on(node.name), before.row_of[node.name], before.nodes.columns.supply
        if here and not self._really[node.name] and not supply.leaving[row]:
            self._given_back.add(node.name)
            closed = msgspec.structs.replace(node, unschedulable=True)
            self._cache.apply_node(closed)
            self._cache.update_offers([closed], supply.offers[:, [row]])
            return
        for uid in here:
            self._displace(uid)
        self._cache.remove_node(node.name)

    def _give_back(self) -> None:
        for name in [name for name in self._given_back if not self._own_on(name)]:
            self._given_back.discard(name)
            self._cache.remove_node(name)

    def _own_on(self, node_name: str) -> list[str]:
        return [uid for uid in self._on.get(node_name, ()) if not belongs_to_node(self._real[uid])]

    def _take(self, pod: Pod) -> None:
        known = pod.uid in self._real
        self._real[pod.uid] = pod
        if pod.uid in self._node_of:  # its labels or its size may be others now
            self._stand(pod, self._node_of[pod.uid])
        elif known:
            self._queue[pod.uid] = pod
        elif not self._started:
            node = self._remembered.get(pod.uid, pod.node_name)
            self._compared.add(pod.uid)
            self._stand(pod, node if node in self._cache.snapshot().row_of else pod.node_name)
        elif self._ours(pod):
            self._queue[pod.uid] = pod
            self._looked = False
        else:
            self._stand(pod, pod.node_name)

    def _ours(self, pod: Pod) -> bool:
        return pod.scheduler_name in self._policies.schedulers() and not belongs_to_node(pod)

    def _stand(self, pod: Pod, node_name: str) -> None:
        self._queue.pop(pod.uid, None)
        self._node_of[pod.uid] = node_name
        self._on[node_name][pod.uid] = None
        self._cache.apply_pod(msgspec.structs.replace(pod, node_name=node_name))

    def _leave(self, uid: str) -> None:
        self._compared.discard(uid)
        self._queue.pop(uid, None)
        self._take_off(uid)
        del self._real[uid]

    def _displace(self, uid: str) -> None:
        self._take_off(uid)
        self._queue[uid] = self._real[uid]

    def _take_off(self, uid: str) -> None:
        node_name = self._node_of.pop(uid, None)
        if node_name is not None:
            del self._on[node_name][uid]
            if not self._on[node_name]:
                del self._on[node_name]
            self._cache.remove_pod(uid)
            self._looked = False

    def _make_room(self, real: Snapshot) -> None:
        """What must be on its node, a daemon's pod or one of another scheduler, goes before our choices."""
        for name in _overfull(self._cache.snapshot(), real):
            guests = [uid for uid in self._on[name] if self._real[uid].node_name != name]
            for uid in reversed(guests):
                self._displace(uid)
                if not any(_overfull(self._cache.snapshot(), real, [name])):
                    break

    def _place(self) -> None:
        if self._looked:
            return
        for uid in list(self._queue)[:MAX_PLACED]:
            pod = self._queue.pop(uid)
            node_name = self._choose(pod)
            self._compare(pod, node_name)
            if node_name is None:
                self._queue[uid] = pod  # behind the others
            else:
                self._stand(pod, node_name)
        self._looked = len(self._queue) <= MAX_PLACED

    def _choose(self, pod: Pod) -> str | None:
        waiting = msgspec.structs.replace(pod, node_name="")
        nodes, policy = self._cache.snapshot().nodes, with_in_tree(self._policies.policy_of(pod))
        rows = np.flatnonzero(policy.filter(waiting, nodes).feasible)
        if not rows.size:
            return None
        passed = nodes.take(rows)
        ours = extender_scores(waiting, policy.total(waiting, passed), passed, self._policies.weight())
        return passed.names[int(np.argmax(plugin_scores(waiting, passed) + ours))]

    def _compare(self, pod: Pod, node_name: str | None) -> None:
        if pod.uid in self._compared:
            return
        self._compared.add(pod.uid)
        field = "nowhere" if node_name is None else "same" if node_name == pod.node_name else "other"
        self.compared = self.compared._replace(**{field: getattr(self.compared, field) + 1})


def real_side(snapshot: Snapshot, pods: Iterable[Pod]) -> Side:
    return _side(snapshot, _using(pods))


def _using(pods: Iterable[Pod]) -> Counter[str]:
    return Counter(pod.node_name for pod in pods if is_using(pod))


def _side(snapshot: Snapshot, counts: Mapping[str, int]) -> Side:
    """`counts` are pods by node; a node that is gone by now costs nothing any more."""
    rows = np.array([snapshot.row_of[name] for name in counts if name in snapshot.row_of], np.intp)
    pods = np.array([count for name, count in counts.items() if name in snapshot.row_of], np.int64)
    prices: Floats = snapshot.nodes.price[rows]
    return Side(
        nodes=rows.size,
        dollars=float(np.nansum(prices)),
        unpriced=int(np.isnan(prices).sum()),
        pods=int(pods.sum()),
        interruptions=float(pods @ snapshot.nodes.interruption_rate[rows]),
    )


def _overfull(shadow: Snapshot, real: Snapshot, names: Sequence[str] | None = None) -> Iterator[str]:
    """Nodes of both with more on them than they have, and more than in reality."""
    names = [name for name in (names or shadow.nodes.names) if name in real.row_of]
    here = np.array([shadow.row_of[name] for name in names], np.intp)
    there = np.array([real.row_of[name] for name in names], np.intp)
    over = np.zeros(len(names), np.bool_)
    for resource, row in shadow.nodes.resource_rows.items():
        if resource.startswith(LIMITS):
            continue
        free = shadow.nodes.columns.merged[row][here]
        of_real = real.nodes.resource_rows.get(resource)
        really = real.nodes.columns.merged[of_real][there] if of_real is not None else np.zeros_like(free)
        over |= (free < 0) & (free < really)
    for index in np.flatnonzero(over).tolist():
        yield names[index]
