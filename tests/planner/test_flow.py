"""The plain min-cost flow: what it routes, and that nothing it does costs a pod its place."""

import itertools
import time
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.builders import node, pod
from tests.planner.cases import HOST, ZONE, batch_of, copies, filled, planned, policy_of, where
from tradewind.planner import flow
from tradewind.planner.engine import optimise
from tradewind.planner.greedy import greedy
from tradewind.planner.min_cost_flow import Network
from tradewind.planner.planner import plan
from tradewind.planner.worker import Worker

if TYPE_CHECKING:
    from tradewind.planner.problem import Assignment, Outcome


@pytest.fixture
def worker() -> Iterator[Worker]:
    found = Worker()
    yield found
    found.close()


def test_the_worker_routes_when_the_settings_say_so(worker: Worker) -> None:
    cache = filled([node("n")], copies(pod("p").requests(cpu="1"), "p", 3))
    found = plan(cache.snapshot(), cache.all_pods(), policy_of, worker, 20, engine="flow")
    assert (found.plan.engine, len(found.plan.placements), found.failure) == ("flow", 3, "")


def test_sizes_that_a_slot_does_not_know_are_routed_again() -> None:
    """A slot is a pod of 2 cores: two on each node by the network, of which the large one fits alone."""
    nodes = [node(f"n{number}").cpu("4") for number in range(3)]
    small = copies(pod("small").requests(cpu="1"), "small", 4)
    large = copies(pod("large").requests(cpu="4"), "large", 2)
    places = where(planned(nodes, [*small, *large], engine="flow"))
    assert len(places) == 6


def test_the_pods_of_most_worth_have_the_slots() -> None:
    low = copies(pod("low").requests(cpu="1"), "low", 4)
    middle = copies(pod("middle").requests(cpu="1").priority(10), "middle", 2)
    high = copies(pod("high").requests(cpu="1").priority(1000), "high", 2)
    plan = planned([node("n").cpu("4")], [*low, *middle, *high], engine="flow")
    assert where(plan).keys() == {"high-1", "high-2", "middle-1", "middle-2"}
    assert plan.engine == "flow"


def test_a_large_number_of_priorities_and_any_price_stay_within_the_integers() -> None:
    nodes = [node("cheap").cpu("20").price(1e-6), node("dear").cpu("20").price(99_999)]
    pods = [pod(f"p{number}").requests(cpu="1").priority(10**9 - 10**7 * number) for number in range(40)]
    problem = batch_of(filled(nodes, pods)).problem
    found = flow.route(problem, time.monotonic() + 60)
    assert sum(found.values()) == 40
    one = batch_of(filled(nodes, pods[:1])).problem
    assert flow.route(one, time.monotonic() + 60) == {(0, 0): 1}


def test_equal_nodes_fill_one_after_the_other() -> None:
    nodes = [node(f"n{number:02}").cpu("4") for number in range(30)]
    pairs = [
        copies(pod(app).label("app", app).requests(cpu="400m").anti_affinity(HOST, {"app": app}), app, 2)
        for app in "abcdefgh"
    ]
    plan = planned(nodes, [each for pair in pairs for each in pair], engine="flow")
    assert plan.nodes_used == 2


def test_equal_nodes_of_a_zone_fill_one_after_the_other() -> None:
    """One pod of each app in each zone are 3.2 cores; if all nodes cost the same, they go to any of them."""
    nodes = [node(f"n{number:02}").cpu("4").label(ZONE, f"z{number % 3}").price(1) for number in range(12)]
    triples = [
        copies(pod(app).label("app", app).requests(cpu="400m").spread(ZONE, {"app": app}), app, 3)
        for app in "abcdefgh"
    ]
    plan = planned(nodes, [each for triple in triples for each in triple], engine="flow")
    assert (plan.engine, plan.nodes_used) == ("flow", 3)


def test_no_more_pods_of_a_class_pass_to_a_zone_than_its_spread_lets_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One of the zones is so cheap that the network alone would send all of them there, round after round."""
    rounds = itertools.count()
    solve = Network.solve
    monkeypatch.setattr(Network, "solve", lambda network: solve(network) if next(rounds) < 99 else None)
    nodes = [node(f"n{n}").label(ZONE, f"z{n % 3}").price(1 if n % 3 else 0.01) for n in range(6)]
    spread = pod("s").label("app", "s").requests(cpu="100m").spread(ZONE, {"app": "s"})
    plan = planned(nodes, copies(spread, "s", 9), engine="flow")
    assert sorted(Counter(int(n[1:]) % 3 for n in where(plan).values()).values()) == [3, 3, 3]
    assert next(rounds) == 1


def test_followers_come_in_a_later_round_than_their_anchor() -> None:
    nodes = [node("a").price(1), node("b").price(9)]
    anchor = pod("anchor").label("app", "anchor").requests(cpu="1").node_selector(HOST, "b")
    follower = pod("follower").requests(cpu="1").affinity(HOST, {"app": "anchor"})
    plan = planned(nodes, [follower, anchor], engine="flow")
    assert where(plan) == {"anchor": "b", "follower": "b"}


def test_a_network_that_cannot_be_solved_leaves_the_greedy_placement(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Network, "solve", lambda _: None)
    problem = batch_of(filled([node("n")], copies(pod("p").requests(cpu="1"), "p", 3))).problem
    assert flow.route(problem, time.monotonic() + 60) == greedy(problem)


def test_without_time_it_is_the_greedy_placement() -> None:
    problem = batch_of(filled([node("n")], copies(pod("p").requests(cpu="1"), "p", 3))).problem
    assert flow.route(problem, time.monotonic()) == greedy(problem)


@pytest.mark.parametrize(
    ("small", "big"),
    [
        pytest.param(1, 0, id="dearer, but for all pods"),
        pytest.param(0, None, id="the small pod takes the only place of the big one"),
    ],
)
def test_a_dearer_flow_is_taken_and_pods_that_it_leaves_out_are_placed(
    monkeypatch: pytest.MonkeyPatch, small: int, big: int | None
) -> None:
    nodes = [node("big").cpu("4").price(1), node("dear").cpu("1").price(9)]
    pods = [pod("small").requests(cpu="1"), pod("large").requests(cpu="4")]
    problem = batch_of(filled(nodes, pods)).problem
    [small_class, big_class] = sorted(range(2), key=lambda at: max(problem.classes[at].requests))
    routed: Assignment = {(small_class, small): 1} | ({} if big is None else {(big_class, big): 1})
    monkeypatch.setattr(flow, "route", lambda *_: routed)
    found: list[Outcome] = []
    optimise(problem, greedy(problem), 1, found.append, engine="flow")
    [outcome] = found
    assert outcome.engine == "flow"
    assert outcome.assignment == {(small_class, 1): 1, (big_class, 0): 1}


def test_where_no_placement_has_every_pod_the_flow_says_so_and_keeps_those_of_most_worth() -> None:
    nodes = [node("a").cpu("4"), node("b").cpu("1")]
    pods = [*copies(pod("p").requests(cpu="1").priority(9), "p", 2), pod("large").requests(cpu="4")]
    problem = batch_of(filled(nodes, pods)).problem
    found: list[Outcome] = []
    optimise(problem, greedy(problem), 4, found.append, engine="flow")
    assert sum(found[-1].assignment.values()) == 2
    assert found[-1].impossible
