"""Batches that one-by-one placement gets wrong, through the running planner and the real kube-scheduler.

How often kube-scheduler alone fails at them, and many more runs: `python -m bench.boreas`.
"""

from collections.abc import Iterator

import pytest

from e2e import boreas, boreas_run, fake
from e2e.api import Api
from e2e.boreas import Case
from e2e.conftest import AddNodes, StartPlanner

_RUNS = 2


@pytest.fixture
def held(api: Api, add_nodes: AddNodes, start_planner: StartPlanner) -> Iterator[str]:
    """A namespace whose pods are held, and six nodes; asks for the planner, so that it ends before them."""
    del start_planner
    add_nodes(*boreas.nodes())
    name = fake.add_namespace(api, held=True)
    yield name
    fake.remove_namespace(api, name)


@pytest.mark.usefixtures("scheduling")
@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in boreas.CASES])
def test_every_pod_has_a_place_on_the_fewest_nodes(
    api: Api, held: str, start_planner: StartPlanner, case: Case
) -> None:
    planner = start_planner({})
    for _ in range(_RUNS):
        seen = boreas_run.place(api, case, held)
        assert (seen.placed, seen.used) == (case.pods, case.nodes), planner.process.tail(40)
