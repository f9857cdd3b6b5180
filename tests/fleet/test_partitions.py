"""Homes are shared out evenly, everybody agrees on them, and few move when a scheduler comes or goes."""

from collections import Counter
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradewind.fleet.partitions import Homes, Loads, evened, home_of, partition_of
from tradewind.fleet.placement import Placement


def _in(*regions: str) -> dict[str, Any]:
    expression = {"key": "region", "operator": "In", "values": list(regions)}
    return {"clusterAffinity": {"fieldSelector": {"matchExpressions": [expression]}}}


@pytest.mark.parametrize(
    ("placement", "requests", "expected"),
    [
        (_in("eu"), {}, "region eu"),
        (_in("eu", "us"), {"cpu": 1000}, "plain"),
        ({}, {"cpu": 1000, "memory": 4 * 2**30}, "plain"),
        ({}, {"cpu": 1000, "memory": 8 * 2**30}, "memory"),
        ({}, {"cpu": 1000, "nvidia.com/gpu": 1}, "devices"),
    ],
)
def test_by_region_else_by_profile(
    placement: dict[str, Any], requests: dict[str, int], expected: str
) -> None:
    assert partition_of(msgspec.convert(placement, Placement), requests, "shop/web").startswith(expected)


def test_bindings_are_shared_out() -> None:
    homes = Counter(
        home_of(partition_of(Placement(), {}, f"shop/{number}"), ["a", "b"]) for number in range(800)
    )
    assert min(homes.values()) >= 100  # some of the eight partitions each


@given(st.sets(st.text(min_size=1), min_size=2, max_size=6), st.text())
def test_only_the_partitions_of_who_goes_move(schedulers: set[str], partition: str) -> None:
    home = home_of(partition, schedulers)
    for gone in schedulers - {home}:
        assert home_of(partition, schedulers - {gone}) == home


def test_without_schedulers_there_is_no_home() -> None:
    assert home_of("region eu", []) == ""


def _totals(homes: Homes, loads: dict[str, float]) -> list[float]:
    totals = dict.fromkeys(homes.alive, 0.0)
    for partition, load in loads.items():
        totals[homes.home(partition)] += load
    return sorted(totals.values())


def test_partitions_leave_a_scheduler_that_has_more_to_do() -> None:
    alive = frozenset("abc")
    of_a = [name for name in map(str, range(200)) if home_of(name, alive) == "a"][:12]
    loads = dict.fromkeys(of_a, 10.0)
    homes = Homes(alive)
    assert _totals(homes, loads) == [0, 0, 120]
    moved = Homes(alive, evened(homes, loads))
    assert _totals(moved, loads) == [40, 40, 40]
    assert Homes(frozenset("ab"), moved.moved).home(of_a[0]) in "ab"  # whoever has it dies


def test_one_partition_alone_and_a_little_work_stay_where_they_are() -> None:
    homes = Homes(frozenset("ab"))
    assert evened(homes, {"region eu": 1000.0}) == {}
    assert evened(homes, {"region eu": 1.0, "region us": 2.0}) == {}


@given(
    st.sets(st.sampled_from("abcdef"), min_size=1, max_size=5),
    st.dictionaries(st.sampled_from([f"region {n}" for n in range(20)]), st.floats(0, 1000), max_size=20),
    st.dictionaries(
        st.sampled_from([f"region {n}" for n in range(20)]), st.sampled_from("abcdef"), max_size=9
    ),
)
def test_evening_never_makes_it_worse_and_ends(
    alive: set[str], loads: dict[str, float], moved: dict[str, str]
) -> None:
    before = Homes(frozenset(alive), moved)
    after = Homes(frozenset(alive), evened(before, loads))
    assert max(_totals(after, loads), default=0) <= max(_totals(before, loads), default=0) + 1e-6
    assert set(after.moved.values()) <= alive
    assert evened(after, loads) == after.moved


def test_loads_fade() -> None:
    loads = Loads()
    for _ in range(8):
        loads.add("region eu", 0.0)
    assert loads.of(60.0) == {"region eu": pytest.approx(4.0)}
    assert loads.of(6000.0) == {"region eu": pytest.approx(0.0)}
    assert loads.of(6001.0) == {}
