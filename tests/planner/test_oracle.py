"""Random small clusters against brute force: valid, complete and as cheap as can be."""

import os
import random

import pytest

from tests.planner.brute_force import Search, draw_cluster
from tests.planner.cases import batch_of, filled, policy_of
from tests.planner.check import gangs_kept, violations
from tradewind.planner.binding import valid_order
from tradewind.planner.engine import optimise
from tradewind.planner.greedy import greedy
from tradewind.planner.plan import make_plan
from tradewind.planner.problem import Outcome, value
from tradewind.planner.reasons import reasons
from tradewind.planner.rent import Rent

# TRADEWIND_ORACLE=5000 looks at more of them.
_CLUSTERS = int(os.environ.get("TRADEWIND_ORACLE", "200"))
_CHUNK = 50


@pytest.mark.parametrize("chunk", range(0, _CLUSTERS, _CHUNK))
def test_plans_are_valid_and_the_best(chunk: int) -> None:
    for seed in range(chunk, min(chunk + _CHUNK, _CLUSTERS)):
        nodes, pods = draw_cluster(random.Random(seed))
        cache = filled(nodes, pods)
        batch = batch_of(cache, rent=Rent(2.0 * (seed % 2), 1.0 * (seed % 3)))
        floor = greedy(batch.problem)
        found = [Outcome(floor, "greedy")]
        optimise(batch.problem, floor, 10, found.append)
        for assignment, engine, _ in (found[0], found[-1]):
            unplaced = {**batch.refused, **reasons(batch, assignment)}
            plan = make_plan(batch, valid_order(batch.problem, assignment), unplaced, engine)
            fresh = filled(nodes, pods)
            assert list(gangs_kept(fresh.all_pods(), plan)) == [], f"seed {seed}, {engine}"
            assert violations(fresh, policy_of, plan) == [], f"seed {seed}, {engine}"
        search = Search(nodes, pods, batch)
        assert search.holds(found[-1].assignment, at_the_end=False), f"seed {seed}: cannot be bound"
        better = search.better(value(batch.problem, found[-1].assignment))
        assert better is None, f"seed {seed}: {better} is better"
