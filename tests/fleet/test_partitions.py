"""Homes are shared out evenly, everybody agrees on them, and few move when a scheduler comes or goes."""

from collections import Counter
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradewind.fleet.partitions import home_of, partition_of
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
