"""The newest known state of the cluster: one writer's mutable state, and frozen copies for readers.

A snapshot is made only when somebody asks for one after a change.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import msgspec

from tradewind.cluster.added_nodes import with_nodes
from tradewind.cluster.assumed import AssumedPods
from tradewind.cluster.budgets import Budget
from tradewind.cluster.finished import FinishedMembers, FinishedPod, finished_pod
from tradewind.cluster.guide import Guide
from tradewind.cluster.hints import MOVE
from tradewind.cluster.node_columns import NodeColumns
from tradewind.cluster.objects import Namespace, Node, Pod
from tradewind.cluster.placed import PlacedPods
from tradewind.cluster.replicas import Replicas
from tradewind.cluster.roster import RosterWriter
from tradewind.cluster.snapshot import Cluster, Floats, Nodes, Offer, Snapshot, Troubles
from tradewind.cluster.waiting import Waiting


class WorkCounter(NamedTuple):
    """How often something happened that gives a planner work."""

    arrivals: int = 0  # a pod began to wait for a node, or lost the one it was nominated for
    openings: int = 0  # a node came, changed or went, or a pod left one


class Cache:
    """Nodes, pods and namespaces; every method may be called from any thread."""

    def __init__(
        self, offer_of: Callable[[Node], Offer], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._offer_of = offer_of
        self._changed = threading.Condition()
        self._generation = 0
        self._batches = 0  # under way
        self._shown: Snapshot | None = None  # meanwhile
        self._snapshot: Snapshot | None = None
        self._columns = NodeColumns()
        self._nodes: Mapping[str, Node] = self._columns.nodes
        self._pods: dict[str, Pod] = {}
        self._waiting = Waiting(clock)
        self._work = self._notified = WorkCounter()
        self._moving: Mapping[str, Pod] = {}  # about to leave their nodes; replaced when it changes
        self.assumed = AssumedPods(clock)
        self._pods_on: dict[str, dict[str, Pod]] = {}
        self._placed = PlacedPods()
        self._roster = RosterWriter()
        self._finished = FinishedMembers(self._roster)
        self._replicas: Replicas | None = None  # while somebody follows them
        self._namespaces: dict[str, Namespace] = {}
        self._frozen_namespaces: Mapping[str, Namespace] | None = None  # as handed out, until one changes
        self._guide: Guide | None = None
        self._troubles = Troubles()
        self._budgets: tuple[Budget, ...] = ()

    def snapshot(self) -> Snapshot:
        shown = self._shown
        if shown is not None:
            return shown
        snapshot = self._snapshot
        if snapshot is not None and snapshot.generation == self._generation:
            return snapshot
        with self._changed:
            return self._shown or self._newest()

    def snapshot_with(self, nodes: Sequence[Node]) -> Snapshot:
        """The one that readers see, as if these nodes, which it lacks, had come."""
        offers = [self._offer_of(node) for node in nodes]
        with self._changed:
            pods = [pod for node in nodes for pod in self._pods_on.get(node.name, {}).values()]
            snapshot = self._shown or self._newest()
        return with_nodes(snapshot, nodes, offers, pods)

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Let readers see the changes made inside together; until then they keep the snapshot of before.

        The lock is free in between: nobody waits for a batch but who asks for the whole state.
        """
        with self._changed:
            if not self._batches:
                self._shown = self._newest()
            self._batches += 1
        try:
            yield
        finally:
            with self._changed:
                self._batches -= 1
                if not self._batches:
                    self._shown = None
                    self._notified = self._work
                    self._changed.notify_all()

    def wait_for_work(self, seen: WorkCounter, timeout: float | None) -> WorkCounter:
        """The newest count, as soon as it is another than the one seen, or after `timeout` seconds."""
        with self._changed:
            self._changed.wait_for(lambda: self._work != seen, timeout)
            return self._work

    def work(self) -> WorkCounter:
        """The newest count."""
        return self._work

    def notify(self) -> None:
        """Wake those who wait for work: something outside of the cluster changed what pods may do."""
        with self._changed:
            self._open()
            self._wake()

    def apply_node(self, node: Node) -> None:
        with self._changed:
            if self._nodes.get(node.name) == node:
                return
            offer = self._offer_of(node)  # not ours, may fail: before anything is changed
            self._columns.write(node, offer, lambda name: self._pods_on.get(name, {}).values())
            self._mark_replicas(node.name)
            self._open()
            self._bump()

    def update_offers(self, nodes: Sequence[Node], offers: Floats) -> int:
        """Take new offers, (5, N) in the order of an Offer's fields, for nodes that are still as they were.

        Readers see all of them at once. How many nodes have another offer now.
        """
        with self._changed:
            changes = self._columns.update_offers(nodes, offers)
            for name in changes.durable:
                self._mark_replicas(name)
            if changes.opening:
                self._open()
            if changes.nodes:
                self._bump()
            return changes.nodes

    def remove_node(self, name: str) -> None:
        with self._changed:
            if not self._columns.remove(name):
                return
            self._mark_replicas(name)
            self._open()
            self._bump()

    def apply_pod(self, pod: Pod) -> None:
        with self._changed:
            before = self._pods.get(pod.uid)
            if before == pod:
                return
            if before is not None and _differ_in_readiness(before, pod):
                self._note_readiness(before, pod)
                return
            if before is not None:
                self._take_off(before)
                self._roster.remove(before)
            self._pods[pod.uid] = pod
            self._put_on(pod)
            self._roster.add(pod)
            if pod.finished:  # of a file: the API server is asked for these apart
                self._finished.put(finished_pod(pod))
            if self._replicas is not None:
                self._replicas.replace(before, pod)
            if MOVE in pod.annotations or pod.uid in self._moving:
                self._note_moving(pod)
            self._queue(pod)
            self._bump()
            if pod.node_name:
                self.assumed.confirm(pod, self._generation)
            elif not pod.waiting:
                self.assumed.delete(pod.uid)

    def remove_pod(self, uid: str) -> None:
        with self._changed:
            self.assumed.delete(uid)
            self._waiting.drop(uid)
            pod = self._pods.pop(uid, None)
            if pod is not None:
                self._take_off(pod)
                self._roster.remove(pod)
                if self._replicas is not None:
                    self._replicas.remove(pod)
                if uid in self._moving:
                    self._moving = {key: each for key, each in self._moving.items() if key != uid}
                self._bump()

    def apply_finished(self, pod: FinishedPod) -> None:
        with self._changed:
            if self._finished.put(pod):
                self._open()  # waiting members of its gang may be placed alone
                self._bump()

    def remove_finished(self, uid: str) -> None:
        with self._changed:
            if self._finished.drop(uid):
                self._bump()

    def nodes(self, names: Iterable[str]) -> list[Node]:
        """Those of them that are known."""
        with self._changed:
            return [self._nodes[name] for name in names if name in self._nodes]

    def pods(self, uids: Iterable[str]) -> list[Pod]:
        """Those of them that are known."""
        with self._changed:
            return [self._pods[uid] for uid in uids if uid in self._pods]

    def all_pods(self) -> list[Pod]:
        with self._changed:
            return list(self._pods.values())

    def state(self) -> tuple[Snapshot, list[Pod]]:
        """The newest snapshot and all pods, of the same moment and not in the midst of a list."""
        with self._changed:
            self._changed.wait_for(lambda: not self._batches)
            return self._newest(), list(self._pods.values())

    def changed_replicas(self, *, all_of_them: bool = False) -> tuple[Snapshot, Mapping[str, list[Pod]]]:
        """The placed pods of each workload that changed since the last call, at first of all; for one caller.

        A workload has changed when one of its pods came, changed or went, or the node of one did.
        """
        with self._changed:
            if self._replicas is None:
                self._replicas = Replicas(self._pods.values())
            return self._newest(), self._replicas.take(all_of_them=all_of_them)

    def requeue_replicas(self, workloads: Iterable[str]) -> None:
        """Let the next call of `changed_replicas` bring these workloads again."""
        with self._changed:
            if self._replicas is not None:
                self._replicas.mark(workloads)

    def waiting(self) -> list[Pod]:
        with self._changed:
            return list(self._waiting)

    def waiting_count(self) -> int:
        return len(self._waiting)

    def pods_on(self, node: str) -> list[Pod]:
        with self._changed:
            return list(self._pods_on.get(node, {}).values())

    def moving(self) -> Mapping[str, Pod]:
        """Pods on nodes that are marked as about to be moved, by UID; the same object until that changes."""
        return self._moving

    def still_waiting(self, uids: Iterable[str]) -> frozenset[str]:
        """Those of these pods."""
        with self._changed:
            return frozenset(uid for uid in uids if uid in self._waiting)

    def apply_namespace(self, namespace: Namespace) -> None:
        with self._changed:
            if self._namespaces.get(namespace.name) != namespace:
                self._namespaces[namespace.name] = namespace
                self._frozen_namespaces = None
                self._bump()

    def remove_namespace(self, name: str) -> None:
        with self._changed:
            if self._namespaces.pop(name, None) is not None:
                self._frozen_namespaces = None
                self._bump()

    def replace_budgets(self, budgets: Iterable[Budget]) -> None:
        """All that there are: nobody who places pods asks for them, so no snapshot has them."""
        self._budgets = tuple(budgets)

    def budgets(self) -> tuple[Budget, ...]:
        return self._budgets

    def follow_guide(self, guide: Guide | None) -> None:
        """From now on; None where there is none that may be followed."""
        with self._changed:
            if guide is not self._guide:
                self._guide = guide
                self._bump()

    def follow_troubles(self, shares: Mapping[str, float]) -> None:
        """From now on: of each node the share of starts that went wrong."""
        with self._changed:
            if shares != self._troubles.shares:
                self._troubles = Troubles(shares)
                self._bump()

    def retain_nodes(self, names: Iterable[str]) -> None:
        """Forget every node that a complete list no longer holds."""
        self._retain(self._nodes, names, self.remove_node)

    def retain_pods(self, uids: Iterable[str]) -> None:
        self._retain(self._pods, uids, self.remove_pod)

    def retain_finished(self, uids: Iterable[str]) -> None:
        self._retain(self._finished, uids, self.remove_finished)

    def retain_namespaces(self, names: Iterable[str]) -> None:
        self._retain(self._namespaces, names, self.remove_namespace)

    def counts(self) -> dict[str, int]:
        return {"nodes": len(self._nodes), "pods": len(self._pods), "namespaces": len(self._namespaces)}

    def _retain(self, known: Iterable[str], kept: Iterable[str], remove: Callable[[str], None]) -> None:
        with self._changed:
            gone = set(known).difference(kept)
        for key in gone:
            remove(key)

    def _bump(self) -> None:
        self._generation += 1
        if not self._batches:
            self._wake()

    def _wake(self) -> None:
        """Only for new work, which new nodes are too: most changes are none and need not wake anybody."""
        if self._work is not self._notified:
            self._notified = self._work
            self._changed.notify_all()

    def _newest(self) -> Snapshot:
        if self._snapshot is None or self._snapshot.generation != self._generation:
            self._snapshot = self._copy()
        return self._snapshot

    def _copy(self) -> Snapshot:
        table, columns = self._columns.freeze()
        if self._frozen_namespaces is None:
            self._frozen_namespaces = dict(self._namespaces)
        cluster = Cluster(
            table=table,
            durable=columns.supply.durable,
            leaving=columns.supply.leaving,
            placed=self._placed.freeze(),
            roster=self._roster.freeze(),
            namespaces=self._frozen_namespaces,
            guide=self._guide,
            troubles=self._troubles,
            to_come=self._waiting.to_come(),
        )
        nodes = Nodes(rows=columns.supply.rows, columns=columns, cluster=cluster)
        return Snapshot(generation=self._generation, nodes=nodes)

    def _put_on(self, pod: Pod) -> None:
        if pod.node_name and not pod.finished:
            self._pods_on.setdefault(pod.node_name, {})[pod.uid] = pod
            self._placed.add(pod)
            self._columns.count(pod, sign=1)

    def _take_off(self, pod: Pod) -> None:
        on_node = self._pods_on.get(pod.node_name, {})
        if on_node.pop(pod.uid, None) is not None:
            self._placed.remove(pod)
            self._columns.count(pod, sign=-1)
            self._open()
        if not on_node:
            self._pods_on.pop(pod.node_name, None)

    def _note_readiness(self, before: Pod, pod: Pod) -> None:
        """Placement does not ask for it: no new snapshot, and nobody is woken."""
        self._pods[pod.uid] = pod
        on_node = self._pods_on.get(pod.node_name, {})
        if pod.uid in on_node:
            on_node[pod.uid] = pod
        if self._replicas is not None:
            self._replicas.replace(before, pod)

    def _mark_replicas(self, node_name: str) -> None:
        if self._replicas is not None:
            self._replicas.mark(pod.workload for pod in self._pods_on.get(node_name, {}).values())

    def _queue(self, pod: Pod) -> None:
        if not pod.waiting:
            self._waiting.drop(pod.uid)
        elif self._waiting.put(pod):
            self._work = WorkCounter(self._work.arrivals + 1, self._work.openings)

    def _note_moving(self, pod: Pod) -> None:
        moving = {uid: each for uid, each in self._moving.items() if uid != pod.uid}
        if MOVE in pod.annotations and pod.node_name:
            moving[pod.uid] = pod
        self._moving = moving

    def _open(self) -> None:
        self._work = WorkCounter(self._work.arrivals, self._work.openings + 1)


def _differ_in_readiness(before: Pod, pod: Pod) -> bool:
    """And in nothing else."""
    return before.ready != pod.ready and msgspec.structs.replace(pod, ready=before.ready) == before
