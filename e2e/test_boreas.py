"""Batches that one-by-one placement gets wrong, through the running planner and the real kube-scheduler.

TRADEWIND_BOREAS_RUNS repeats each batch; every run must come out the same.
"""

import os
import time
from dataclasses import dataclass
from threading import Thread

import pytest

from e2e import boreas, fake, outcomes, scheduler
from e2e.api import Api
from e2e.boreas import Case
from e2e.conftest import AddNodes, StartPlanner, StartScheduler
from e2e.tradewind import Tradewind

_RUNS = int(os.environ.get("TRADEWIND_BOREAS_RUNS", "2"))
_PLAIN = "plain"
_SECONDS = 60.0
# For kube-scheduler alone: it tries a pod again after 1, 2 and 4 seconds, and mostly nothing comes of it.
_PLAIN_SECONDS = 8.0


@dataclass(frozen=True)
class Outcome:
    nodes: dict[str, str]  # of each pod that has one
    seconds: float  # from the last pod to the last binding

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


@pytest.fixture
def six_nodes(add_nodes: AddNodes, start_planner: StartPlanner) -> None:
    """Asks for the planner, so that it ends before the nodes go."""
    del start_planner
    add_nodes(*boreas.nodes())


def _place(api: Api, case: Case, *, held: bool, scheduler_name: str) -> Outcome:
    namespace = fake.add_namespace(api, held=held)
    watcher = _Watcher(api, namespace, case.pods, _SECONDS if held else _PLAIN_SECONDS)
    watcher.start()
    api.create_all(each.deployment(namespace, scheduler_name) for each in case.workloads)
    watcher.join()
    seen = Outcome(dict(watcher.nodes), max(watcher.bound.values()) - max(watcher.came.values()))
    fake.remove_namespace(api, namespace)
    return seen


@pytest.mark.usefixtures("six_nodes")
@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in boreas.CASES])
def test_every_pod_has_a_place_on_the_fewest_nodes(
    api: Api, tradewind: Tradewind, start_scheduler: StartScheduler, start_planner: StartPlanner, case: Case
) -> None:
    entry = scheduler.extender(tradewind.url, weight=10, ignorable=True)
    start_scheduler(scheduler.configuration(extenders=[entry]))
    start_scheduler(scheduler.configuration(profiles=[scheduler.profile(_PLAIN)]))
    planner = start_planner({})
    for run in range(_RUNS):
        planned = _place(api, case, held=True, scheduler_name=scheduler.DEFAULT)
        print(
            f"\n{case.name} run {run + 1}: {len(planned.nodes)} of {case.pods} pods on {planned.used} nodes, "
            f"{planned.seconds:.2f} s from the last pod to the last binding"
        )
        assert (len(planned.nodes), planned.used) == (case.pods, case.nodes), planner.process.tail(40)
    plain = _place(api, case, held=False, scheduler_name=_PLAIN)
    print(
        f"{case.name} by kube-scheduler alone: {len(plain.nodes)} of {case.pods} pods on {plain.used} nodes"
    )
    assert len(plain.nodes) < case.pods or plain.used >= case.nodes
