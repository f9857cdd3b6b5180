"""Pods crowd where they ask for much of what is free; sooner where they are tied to each other."""

import time
from datetime import UTC, datetime, timedelta

import pytest

from tests.builders import PodBuilder, node, offer_of, pod
from tradewind.cluster.cache import Cache
from tradewind.controller.crowding import crowded

_HOST = "kubernetes.io/hostname"


def _waiting(cpu: str, *, seconds: float = 0.0) -> PodBuilder:
    created = datetime.now(UTC) - timedelta(seconds=seconds)
    text = created.strftime("%Y-%m-%dT%H:%M:%SZ")
    return pod("p").requests(cpu=cpu).field("metadata", "creationTimestamp", value=text)


def _copies(start: PodBuilder, count: int, name: str = "p") -> list[PodBuilder]:
    names = [f"{name}-{number}" for number in range(count)]
    return [start.field("metadata", "name", value=each).uid(each) for each in names]


def _crowded(pods: list[PodBuilder]) -> bool:
    """On two nodes of 10 cores, one of which is full."""
    cache = Cache(offer_of)
    for name in ("a", "b"):
        cache.apply_node(node(name).cpu("10").memory("100Gi").pods(1000).build())
    for each in [pod("running").requests(cpu="10").on("a"), *pods]:
        cache.apply_pod(each.build())
    return crowded(cache, time.time(), 10.0)


@pytest.mark.parametrize(
    ("pods", "found"),
    [
        pytest.param(_copies(_waiting("1"), 5), True, id="half of what is free"),
        pytest.param(_copies(_waiting("1"), 4), False, id="less"),
        pytest.param(_copies(_waiting("10"), 1), False, id="one pod is no crowd"),
        pytest.param(_copies(_waiting("1", seconds=20), 9), False, id="they have waited for long"),
        pytest.param(
            [*_copies(_waiting("1", seconds=20), 9), *_copies(_waiting("1"), 5, "new")],
            True,
            id="others came since",
        ),
        pytest.param(
            _copies(_waiting("1").requests({"example.com/gpu": 1}, cpu="1"), 2), False, id="nobody has that"
        ),
        *(
            pytest.param(_copies(tied, 2), True, id=name)
            for name, tied in {
                "anti-affinity": _waiting("250m").anti_affinity(_HOST, {"app": "x"}),
                "affinity": _waiting("250m").affinity(_HOST, {"app": "x"}),
                "spread": _waiting("250m").spread(_HOST, {"app": "x"}),
            }.items()
        ),
        pytest.param(
            _copies(_waiting("240m").spread(_HOST, {"app": "x"}), 2), False, id="tied, with much room"
        ),
        pytest.param(
            [
                *_copies(_waiting("250m").spread(_HOST, {"app": "x"}), 1),
                *_copies(_waiting("250m"), 3, "free"),
            ],
            True,
            id="one in four is tied",
        ),
        pytest.param(
            [
                *_copies(_waiting("250m").spread(_HOST, {"app": "x"}), 1),
                *_copies(_waiting("250m"), 4, "free"),
            ],
            False,
            id="one in five",
        ),
    ],
)
def test_pods_crowd_where_they_ask_for_much_of_what_is_free(pods: list[PodBuilder], found: bool) -> None:
    assert _crowded(pods) is found


def test_without_nodes_nobody_crowds() -> None:
    cache = Cache(offer_of)
    for each in _copies(_waiting("1"), 3):
        cache.apply_pod(each.build())
    assert not crowded(cache, time.time(), 10.0)
