"""Plays a case of the thesis on a control plane that has its six nodes: once, from creation to removal."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Event, Thread

from e2e import fake, outcomes, scheduler
from e2e.api import Api
from e2e.boreas import Case

PLAIN = "plain"  # the kube-scheduler that knows nothing of Tradewind
_SECONDS = 60.0
_LOOK_SECONDS = 0.05
# Between a binding and the moment at which kube-scheduler has woken whom it may concern.
_SETTLED_SECONDS = 0.3

Parked = Callable[[], int]  # how many pods a kube-scheduler has put aside until something changes


@dataclass(frozen=True)
class Outcome:
    nodes: dict[str, str]  # of each pod that has one
    seconds: float  # from the last pod to the last binding

    @property
    def placed(self) -> int:
        return len(self.nodes)

    @property
    def used(self) -> int:
        return len(set(self.nodes.values()))


class _Watcher(Thread):
    """Sees pods come and be bound until enough are, or the time is over."""

    def __init__(self, api: Api, namespace: str, pods: int) -> None:
        super().__init__(daemon=True)
        self._api = api
        self._namespace = namespace
        self._pods = pods
        self.synced = Event()
        self._enough = False
        self.came: dict[str, float] = {}
        self.bound: dict[str, float] = {}
        self.nodes: dict[str, str] = {}

    def run(self) -> None:
        for change in self._api.changes(f"/api/v1/namespaces/{self._namespace}/pods", _SECONDS):
            self.synced.set()
            if self._enough:  # the removal of the pods tells
                return
            if not change.object or change.type == "DELETED":
                continue
            name = change.object["metadata"]["name"]
            self.came.setdefault(name, time.monotonic())
            if node := outcomes.bound_to(change.object):
                self.bound.setdefault(name, time.monotonic())
                self.nodes[name] = node
            if len(self.nodes) == self._pods:
                return

    def wait(self, parked: Parked | None) -> None:
        """Until this ends; or until every pod that is left is parked, and no binding is left to wake it."""
        settled = time.monotonic()
        seen = -1
        while self.is_alive():
            self.join(_LOOK_SECONDS)
            bound, left = len(self.nodes), self._pods - len(self.nodes)
            if parked is None or bound != seen or parked() != left:
                seen, settled = bound, time.monotonic()
            elif time.monotonic() - settled > _SETTLED_SECONDS:
                self._enough = True
                return


def place(api: Api, case: Case, namespace: str, *, parked: Parked | None = None) -> Outcome:
    """Held and planned in a namespace for that; where `parked` is known, by kube-scheduler alone.

    The namespace and the nodes are empty again when this returns.
    """
    watcher = _Watcher(api, namespace, case.pods)
    watcher.start()
    watcher.synced.wait(_SECONDS)
    name = scheduler.DEFAULT if parked is None else PLAIN
    api.create_all(each.deployment(namespace, name) for each in case.workloads)
    watcher.wait(parked)
    nodes, bound = dict(watcher.nodes), list(watcher.bound.values())
    seconds = max(bound, default=0.0) - max(list(watcher.came.values()), default=0.0)
    fake.remove_workloads(api, namespace)
    return Outcome(nodes, seconds)
