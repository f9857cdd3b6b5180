"""Plays a case of the thesis on a control plane that has its six nodes: once, from creation to removal."""

import time
from dataclasses import dataclass
from threading import Thread

from e2e import fake, outcomes, scheduler
from e2e.api import Api
from e2e.boreas import Case

PLAIN = "plain"  # the kube-scheduler that knows nothing of Tradewind
_SECONDS = 60.0
# For kube-scheduler alone: it tries a pod again after 1, 2 and 4 seconds, and mostly nothing comes of it.
_PLAIN_SECONDS = 8.0


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

    def __init__(self, api: Api, namespace: str, pods: int, seconds: float) -> None:
        super().__init__(daemon=True)
        self._seconds = seconds
        self._api = api
        self._namespace = namespace
        self._pods = pods
        self.came: dict[str, float] = {}
        self.bound: dict[str, float] = {}
        self.nodes: dict[str, str] = {}

    def run(self) -> None:
        for change in self._api.changes(f"/api/v1/namespaces/{self._namespace}/pods", self._seconds):
            if not change.object:
                continue
            name = change.object["metadata"]["name"]
            self.came.setdefault(name, time.monotonic())
            if node := outcomes.bound_to(change.object):
                self.bound.setdefault(name, time.monotonic())
                self.nodes[name] = node
            if len(self.nodes) == self._pods:
                return


def place(api: Api, case: Case, *, planned: bool) -> Outcome:
    """Held and planned, or by kube-scheduler alone; the nodes are empty again when this returns."""
    namespace = fake.add_namespace(api, held=planned)
    watcher = _Watcher(api, namespace, case.pods, _SECONDS if planned else _PLAIN_SECONDS)
    watcher.start()
    name = scheduler.DEFAULT if planned else PLAIN
    api.create_all(each.deployment(namespace, name) for each in case.workloads)
    watcher.join()
    seconds = max(watcher.bound.values(), default=0.0) - max(watcher.came.values(), default=0.0)
    fake.remove_namespace(api, namespace)
    return Outcome(dict(watcher.nodes), seconds)
