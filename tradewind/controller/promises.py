"""Orders on their way to their pods: what was decided, and is not seen on the pods yet.

Made by the thread that plans, claimed by the one that writes. Until an order is claimed, another may take its
place for nothing.
"""

import asyncio
import threading
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from tradewind.cluster.objects import Pod
from tradewind.controller.orders import Order
from tradewind.planner import plan_annotation, selection

_LOOK_SECONDS = 0.01


class Promises:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._orders: dict[str, Order] = {}  # by UID of the pod
        self._claimed: set[str] = set()
        self._suspended = False

    def __contains__(self, uid: str) -> bool:
        return uid in self._orders

    def prune(self, waiting: Mapping[str, Pod], now: float) -> None:
        """Forget what is seen on its pod, what has run out, and pods that do not wait any longer."""
        with self._lock:
            for uid, order in list(self._orders.items()):
                seen = waiting.get(uid)
                if seen is None or _is_written(order, seen) or not order.plan.fresh(now):
                    self._drop(uid)

    def in_flight(self, pods: Sequence[Pod], now: float) -> dict[str, Pod]:
        """By UID, those of the pods that are on their way to a node, as if they were on it.

        Their room is taken, unless kube-scheduler refused them.
        """
        self.prune({pod.uid: pod for pod in pods}, now)
        flying = selection.in_flight(pods, now)
        return {pod.uid: pod for pod in flying} | self.pods()

    def pods(self) -> dict[str, Pod]:
        """By UID, as if they were on their nodes."""
        with self._lock:
            return {
                uid: msgspec.structs.replace(order.pod, node_name=order.plan.node)
                for uid, order in self._orders.items()
            }

    def make(self, orders: Iterable[Order], *, claimed: bool = False) -> None:
        """Instead of whatever was promised to the same pods."""
        with self._lock:
            for order in orders:
                self._drop(order.pod.uid)
                self._orders[order.pod.uid] = order
                if claimed:
                    self._claimed.add(order.pod.uid)

    def forget(self, orders: Iterable[Order]) -> None:
        """These were not kept: they could not be written. What was promised since then stays."""
        with self._lock:
            for order in orders:
                if self._orders.get(order.pod.uid) is order:
                    self._drop(order.pod.uid)

    @property
    def suspended(self) -> bool:
        return self._suspended

    def suspend(self) -> None:
        """Nothing can be claimed until `resume`."""
        with self._lock:
            self._suspended = True

    def resume(self) -> None:
        self._suspended = False

    def unclaimed(self) -> Mapping[str, Pod]:
        """By UID, the pods whose orders nobody has claimed."""
        with self._lock:
            return {uid: order.pod for uid, order in self._orders.items() if uid not in self._claimed}

    async def claim(self, order: Order) -> bool:
        """Whether it still counts; it is the writer's from now on."""
        while True:
            with self._lock:
                if not self._suspended:
                    counts = self._orders.get(order.pod.uid) is order
                    if counts:
                        self._claimed.add(order.pod.uid)
                    return counts
            await asyncio.sleep(_LOOK_SECONDS)

    def _drop(self, uid: str) -> None:
        self._orders.pop(uid, None)
        self._claimed.discard(uid)


def _is_written(order: Order, seen: Pod) -> bool:
    """The nomination comes with the plan, before the gate goes."""
    plan = plan_annotation.read(seen)
    return plan is not None and not seen.gates and plan.says_the_same(order.plan)
