"""Pods that wait come before money: no set takes the room that a plan gives to one of them."""

from collections.abc import Sequence

import msgspec

from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Snapshot
from tradewind.planner.batch import PolicyOf
from tradewind.planner.drains import Move, carried_out
from tradewind.planner.planner import plan
from tradewind.planner.rent import NO_RENT, Rent


class Waiting:
    """The pods without a node at one moment, and what a plan does for them."""

    def __init__(
        self, snapshot: Snapshot, pods: Sequence[Pod], policy_of: PolicyOf, *, rent: Rent = NO_RENT
    ) -> None:
        """`snapshot` and `pods` with those in flight where they are to be."""
        self._snapshot = snapshot
        self._pods = pods
        self._policy_of = policy_of
        self._rent = rent
        self._waiting = [pod for pod in pods if pod.waiting]
        self._placed = self._placed_in(snapshot, pods) if self._waiting else frozenset()

    def crowded_out(self, moves: Sequence[Move]) -> str:
        """Why these moves are not made: a pod that has a place now and none after them; empty where none."""
        if not self._placed:
            return ""
        after = carried_out(self._snapshot, moves, self._policy_of)
        if after is None:
            return "the pods no longer fit on their targets"
        target = {move.pod.uid: move.target for move in moves}
        pods = [
            msgspec.structs.replace(pod, node_name=target[pod.uid]) if pod.uid in target else pod
            for pod in self._pods
        ]
        lost = self._placed - self._placed_in(after, pods)
        name = next((str(pod) for pod in self._waiting if pod.uid in lost), "")
        return f"{name} waits, and would find no place" if name else ""

    def _placed_in(self, snapshot: Snapshot, pods: Sequence[Pod]) -> frozenset[str]:
        done = plan(snapshot, pods, self._policy_of, None, 0.0, rent=self._rent)
        return frozenset(each.uid for each in done.plan.placements)
