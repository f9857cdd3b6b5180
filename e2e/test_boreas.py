"""Batches that one-by-one placement gets wrong, through the running planner and the real kube-scheduler.

How often kube-scheduler alone fails at them, and many more runs: `python -m bench.boreas`.
"""

import pytest

from e2e import boreas, boreas_run, scheduler
from e2e.api import Api
from e2e.boreas import Case
from e2e.conftest import AddNodes, StartPlanner, StartScheduler
from e2e.tradewind import Tradewind

_RUNS = 2


@pytest.fixture
def six_nodes(add_nodes: AddNodes, start_planner: StartPlanner) -> None:
    """Asks for the planner, so that it ends before the nodes go."""
    del start_planner
    add_nodes(*boreas.nodes())


@pytest.mark.usefixtures("six_nodes")
@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in boreas.CASES])
def test_every_pod_has_a_place_on_the_fewest_nodes(
    api: Api, tradewind: Tradewind, start_scheduler: StartScheduler, start_planner: StartPlanner, case: Case
) -> None:
    entry = scheduler.extender(tradewind.url, weight=10, ignorable=True)
    start_scheduler(scheduler.configuration(extenders=[entry]))
    planner = start_planner({})
    for _ in range(_RUNS):
        seen = boreas_run.place(api, case)
        assert (seen.placed, seen.used) == (case.pods, case.nodes), planner.process.tail(40)
