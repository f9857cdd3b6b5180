"""Plans hold whether kube-scheduler reads a selector of namespaces as written, or as 1.34 to 1.36 do.

These take a selector that accepts a namespace without labels, such as NotIn, for one that accepts all.
"""

import pytest

from tests.builders import PodBuilder, namespace, node, pod
from tests.planner.cases import HOST, filled, policy_of
from tradewind.cluster.cache import Cache
from tradewind.planner.planner import plan

_ELSEWHERE = {"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["ours"]}]}


def _cluster(pods: list[PodBuilder]) -> Cache:
    """Pods of `ours` count only as 1.34 reads it; those of `theirs` by both. The first node is cheaper."""
    cache = filled([node("cheap").price(1), node("dear").price(9)], pods)
    cache.apply_namespace(namespace("ours").label("team", "ours").build())
    cache.apply_namespace(namespace("theirs").label("team", "theirs").build())
    cache.apply_namespace(namespace("default").label("team", "mine").build())
    return cache


def _places(pods: list[PodBuilder]) -> dict[str, str]:
    cache = _cluster(pods)
    found = plan(cache.snapshot(), cache.all_pods(), policy_of, None, 1)
    return {each.pod: each.node for each in found.plan.placements}


def _other(space: str, app: str = "a") -> PodBuilder:
    return pod("x").namespace(space).label("app", app).requests(cpu="1")


def _follower(app: str = "a") -> PodBuilder:
    return pod("p").label("app", "p").affinity(HOST, {"app": app}, namespaceSelector=_ELSEWHERE)


def _loner() -> PodBuilder:
    return pod("p").label("app", "p").anti_affinity(HOST, {"app": "a"}, namespaceSelector=_ELSEWHERE)


@pytest.mark.parametrize("waits", [False, True], ids=["placed", "of the batch"])
def test_a_pod_keeps_away_from_all_that_one_reading_names(waits: bool) -> None:
    anchor = _other("ours").node_selector(HOST, "cheap")
    places = _places([anchor if waits else anchor.on("cheap"), _loner()])
    assert places["default/p"] == "dear"


def test_a_pod_follows_only_whom_both_readings_name() -> None:
    others = [_other("ours").on("cheap"), _other("theirs").on("dear").uid("y")]
    assert _places([*others, _follower()]) == {"default/p": "dear"}
    assert _places([others[0], _follower()]) == {}


def test_the_first_of_its_kind_is_that_by_both_readings() -> None:
    """As written it has nobody to follow and may go anywhere; 1.34 sees the pod of `ours`."""
    others = [_other("ours", "p").on("dear"), _other("ours", "any").on("cheap").uid("y")]
    assert _places([*others, _follower("p")]) == {"default/p": "dear"}
