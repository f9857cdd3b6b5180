"""What is kept of a shape of requests is what would be found out anew, whatever has happened to the sites."""

import random

import numpy as np
import pytest

from bench import fleet
from tests.builders import node, pod
from tests.fleet.cases import NOW, nodes, request, site
from tradewind.fleet.candidates import Candidates
from tradewind.fleet.decision import best, decide
from tradewind.fleet.fit import KEPT
from tradewind.fleet.plan import promise
from tradewind.fleet.policy import SitePolicy
from tradewind.fleet.request import Request
from tradewind.fleet.sites import Sites


def _columns(asked: Request, sites: Sites) -> dict[str, list[float]]:
    """By site: room, cost, rate; a mean over rows is rounded as they lie."""
    candidates = Candidates.all_of(asked, sites, NOW)
    figures = np.array(candidates.columns).T.round(9).tolist()
    return dict(zip(candidates.names, figures, strict=True))


def _anew(sites: Sites) -> Sites:
    return Sites([each for each in sites.records if each is not None])


@pytest.mark.parametrize("seed", range(5))
def test_kept_columns_are_those_of_a_new_matrix_after_any_changes(seed: int) -> None:
    drawn = random.Random(seed)
    sites = Sites([fleet.site(number, drawn) for number in range(12)])
    shapes = list(fleet.requests(6, drawn))
    for number in range(40):
        match drawn.choice(("promise", "promise", "new", "replace", "remove")):
            case "promise":
                asked = drawn.choice(shapes)
                promise(asked, sites, decide(asked, sites, SitePolicy(), fleet.NOW).division, fleet.NOW)
            case "new":
                sites.apply(fleet.site(100 + number, drawn))
            case "replace":
                sites.apply(fleet.site(drawn.randrange(12), drawn))
            case _ if len(sites) > 2:
                sites.remove(drawn.choice(list(sites.row_of)))
        asked = drawn.choice(shapes)
        np.testing.assert_equal(_columns(asked, sites), _columns(asked, _anew(sites)))


def test_a_kind_of_node_that_is_new_is_judged() -> None:
    asked = request(template=pod("w").requests(cpu="1").node_selector("kubernetes.io/arch", "arm64"))
    sites = Sites([site("a", *nodes(1))])
    assert _columns(asked, sites)["a"][0] == 0
    sites.apply(site("b", node("n").cpu("4").label("kubernetes.io/arch", "arm64")))
    assert _columns(asked, sites)["b"][0] == 4


def test_requests_that_accept_other_nodes_are_other_shapes() -> None:
    sites = Sites([site("a", node("n").cpu("4").taint("dedicated"))])
    plain = pod("w").requests(cpu="1")
    assert _columns(request(template=plain), sites)["a"][0] == 0
    assert (
        _columns(request(template=plain.toleration(key="dedicated", operator="Exists")), sites)["a"][0] == 4
    )


def test_a_resource_that_a_site_brings_is_room_for_those_who_ask_for_it() -> None:
    asked = request(template=pod("w").requests({"nvidia.com/gpu": "1"}))
    sites = Sites([site("a", *nodes(1))])
    assert _columns(asked, sites)["a"][0] == 0
    sites.apply(site("b", node("n").resource("nvidia.com/gpu", "2")))
    assert [room for room, *_ in _columns(asked, sites).values()] == [0, 2]


def test_replicas_that_are_there_change_the_cost_for_their_own_request_alone() -> None:
    full = pod("full").requests(cpu="4").on("n0")
    sites = Sites([site("a", *nodes(1, 0.1), *nodes(1, 0.9, prefix="d"), pods=[full])])
    alone = _columns(request(), sites)["a"][1]
    assert _columns(request(current={"a": 1}), sites)["a"][1] < alone
    assert _columns(request(), sites)["a"][1] == alone


def test_only_the_last_shapes_are_kept() -> None:
    sites = Sites([site("a", *nodes(1))])
    for cpu in range(1, 2 * KEPT):
        decide(request(template=pod("w").requests(cpu=f"{cpu}m")), sites, SitePolicy(), NOW)
    assert len(sites.fits) == KEPT
    assert _columns(request(template=pod("w").requests(cpu="1m")), sites)["a"][0] == 110  # the node's pods


@pytest.mark.parametrize("count", [1, 3, 7, 20, 30])
def test_the_best_are_the_head_of_all_in_order(count: int) -> None:
    totals = np.array(random.Random(count).choices(range(6), k=20), np.float64)
    expected = np.argsort(-totals, kind="stable")[:count]
    assert best(totals, count).tolist() == expected.tolist()
