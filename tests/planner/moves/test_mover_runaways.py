"""Runaways: whatever others do, evictions stay within their budget and every set ends."""

import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.planner.moves.fake_cluster import NOTICE, QUICK, FakeCluster
from tradewind.planner.moves.ledger import Ledger


def busy(seed: int, **moves: object) -> FakeCluster:
    """Twelve nodes, half empty, of drawn prices; three namespaces' worth of small workloads."""
    chance = random.Random(seed)
    cluster = FakeCluster(
        **{
            **QUICK,
            "everySeconds": 20,
            "budget": {"evictions": 6, "perWorkload": 2, "perNamespace": 9},
            **moves,
        }
    )
    for number in range(12):
        cluster.add_node(f"n{number}", chance.choice([0.5, 1.0, 2.0]))
    for number in range(30):
        cluster.add_pod(
            f"w{number % 8}", f"n{chance.randrange(12)}", cpu=chance.choice(["250m", "500m", "1"])
        )
    return cluster


def finished(cluster: FakeCluster) -> None:
    """The set under way ends by itself, and nobody is left held."""
    cluster.settings = cluster.settings.model_copy(
        update={"moves": cluster.settings.moves.model_copy(update={"every_seconds": 86_400})}
    )
    cluster.run(1200, step=20)
    assert cluster.mover.drain is None
    assert cluster.held() == []
    cluster.check()


def test_prices_that_flip_every_second() -> None:
    cluster = busy(1)
    flips = itertools.cycle([0.5, 2.0])
    for second in range(300):
        cluster.add_node(f"n{second % 12}", next(flips) if second % 12 else 1.0)
        cluster.tick()
        cluster.check()
    assert 0 < len(cluster.evicted) <= 6
    finished(cluster)


def test_an_actor_that_taints_nodes() -> None:
    cluster = busy(2)
    chance = random.Random(2)
    for second in range(300):
        cluster.add_node(f"n{chance.randrange(12)}", 1.0, taint="not-ready" if second % 3 else "")
        cluster.tick()
    finished(cluster)


def test_a_disruption_budget_of_zero() -> None:
    cluster = busy(3)
    cluster.budget_allows = lambda _: False
    cluster.run(300, step=2)
    assert cluster.evicted == []
    assert {drain.reason.partition(": ")[2] for drain in cluster.ended} == {"a disruption budget"}
    finished(cluster)


@pytest.mark.parametrize("limit", ["evictions", "perNamespace", "perWorkload"])
def test_a_controller_that_recreates_elsewhere(limit: str) -> None:
    """Without end, were it not for budgets and cool-downs."""
    budget = {"evictions": 90, "perWorkload": 90, "perNamespace": 90} | {limit: 6}
    cluster = busy(4, budget=budget)
    chance = random.Random(4)
    cluster.lands = lambda _, __: f"n{chance.randrange(12)}"
    cluster.run(3000, step=20)
    assert cluster.evicted
    cluster.check()
    finished(cluster)


@pytest.mark.parametrize("crash_after", [1, 2, 3])
def test_the_leader_is_killed_between_two_evictions(crash_after: int) -> None:
    cluster = busy(5)
    cluster.crash_after = crash_after
    cluster.run(600, step=3)
    assert len(cluster.evicted) >= crash_after
    cluster.check()
    finished(cluster)


def test_leaders_that_are_killed_all_the_time() -> None:
    cluster = busy(6)
    for number in range(150):
        if number % 5 == 0:
            cluster.kill_leader()
        cluster.tick(30)
    assert cluster.evicted
    finished(cluster)


def test_a_budget_holds_although_no_eviction_is_ever_answered() -> None:
    cluster = busy(7, budget={"evictions": 2, "perWorkload": 2, "perNamespace": 2})
    cluster.answers = lambda: "evicted"
    cluster.run(1800, step=3)
    assert len(cluster.evicted) == 2
    assert len((cluster.load() or Ledger()).evictions) == 2
    cluster.check()


_ACTS = st.sampled_from(
    [
        *(
            "tick",
            "tick",
            "tick",
            "hour",
            "price",
            "taint",
            "notice",
            "kill",
            "pod",
            "gone",
            "close",
            "astray",
        ),
        *("answers", "slow"),
    ]
)

_TAINTS = {"taint": "x", "notice": NOTICE}


def _disturb(cluster: FakeCluster, act: str, chance: random.Random) -> None:
    if act == "answers":
        cluster.answers = lambda: chance.choice([None, "refused", "not evicted", "evicted"])
    elif act == "slow":
        seconds = chance.choice([5.0, 60.0, 1e9])
        cluster.starts_for = lambda _: seconds


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 1000), acts=st.lists(_ACTS, max_size=25), crash_after=st.integers(-1, 6))
def test_whatever_happens_limits_hold_and_every_set_ends(
    seed: int, acts: list[str], crash_after: int
) -> None:
    cluster, chance = busy(seed), random.Random(seed)
    cluster.crash_after = crash_after
    for act in acts:
        some = f"n{chance.randrange(12)}"
        if act == "hour":
            cluster.tick(3000)
        elif act == "price":
            cluster.add_node(some, chance.uniform(0.1, 5))
        elif act in _TAINTS:
            cluster.add_node(some, 1.0, taint=_TAINTS[act])
        elif act == "kill":
            cluster.kill_leader()
        elif act == "pod":
            cluster.add_pod(f"w{chance.randrange(8)}", some, cpu="100m")
        elif act == "gone":
            cluster.cache.remove_pod(chance.choice([pod.uid for pod in cluster.cache.all_pods()]))
        elif act == "close":
            share = chance.random()
            cluster.budget_allows = lambda _, share=share: chance.random() < share  # type: ignore[misc]
        elif act == "astray":
            cluster.lands = lambda _, target, other=some: chance.choice([target, other])  # type: ignore[misc]
        else:
            _disturb(cluster, act, chance)
        cluster.tick()
        cluster.check()
    cluster.lands = lambda _, target: target
    finished(cluster)
