"""The rest of a gang is told once of each loss, and not of the end of its work."""

import pytest

from tests.builders import PodBuilder, node, offer_of, pod
from tradewind.cluster import hints
from tradewind.cluster.cache import Cache
from tradewind.controller.gang_losses import GangLosses


def _member(name: str, size: int = 3) -> PodBuilder:
    return pod(name).annotation("tradewind.dev/gang", "ring").annotation(hints.GANG_MIN, str(size))


@pytest.fixture
def cache() -> Cache:
    cache = Cache(offer_of)
    cache.apply_node(node("n").build())
    for name in "xyz":
        cache.apply_pod(_member(name).on("n").build())
    return cache


def test_a_member_that_is_gone(cache: Cache) -> None:
    losses = GangLosses(cache, lambda _: False)
    assert losses.look() == []
    cache.remove_pod("default/y")
    (loss,) = losses.look()
    assert sorted(each.name for each in loss.left) == ["x", "z"]
    assert loss.text == "default/y is gone from gang default/ring: 2 of 3 pods are left"
    assert losses.look() == []


def test_a_member_that_is_on_its_way_out(cache: Cache) -> None:
    losses = GangLosses(cache, lambda _: False)
    losses.look()
    cache.apply_pod(_member("x").on("n").deleting().build())
    cache.apply_pod(_member("y").on("n").deleting().build())
    (loss,) = losses.look()
    assert loss.text == "default/x and 1 more are gone from gang default/ring: 1 of 3 pods are left"


def test_one_that_has_done_its_work_is_no_loss(cache: Cache) -> None:
    losses = GangLosses(cache, lambda _: True)
    losses.look()
    cache.remove_pod("default/y")
    assert losses.look() == []


def test_more_than_the_gang_needs_may_go(cache: Cache) -> None:
    cache.apply_pod(_member("more").on("n").build())
    losses = GangLosses(cache, lambda _: False)
    losses.look()
    cache.remove_pod("default/more")
    assert losses.look() == []
    cache.remove_pod("default/x")
    assert len(losses.look()) == 1


def test_a_gang_that_never_stood_has_lost_nobody() -> None:
    cache = Cache(offer_of)
    cache.apply_pod(_member("x").on("n").build())
    cache.apply_pod(_member("y").build())
    losses = GangLosses(cache, lambda _: False)
    losses.look()
    cache.remove_pod("default/y")
    assert losses.look() == []


def test_a_gang_that_is_gone_as_a_whole_has_nobody_to_tell(cache: Cache) -> None:
    losses = GangLosses(cache, lambda _: False)
    losses.look()
    for name in "xyz":
        cache.remove_pod(f"default/{name}")
    assert losses.look() == []


def test_a_gang_that_is_whole_again_can_lose_again(cache: Cache) -> None:
    losses = GangLosses(cache, lambda _: False)
    losses.look()
    cache.remove_pod("default/y")
    assert len(losses.look()) == 1
    cache.apply_pod(_member("new").on("n").build())
    assert losses.look() == []
    cache.remove_pod("default/new")
    assert len(losses.look()) == 1
