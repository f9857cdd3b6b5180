"""Every scorer of sites, with the arithmetic worked out."""

import math

import pytest

from tests.builders import node, pod
from tests.fleet.cases import NOW, nodes, request, site
from tradewind.fleet.candidates import Candidates
from tradewind.fleet.request import Near, Request
from tradewind.fleet.rules import SiteScorer
from tradewind.fleet.scorers.centroid import Centroid
from tradewind.fleet.scorers.energy import Energy
from tradewind.fleet.scorers.equivalence import Equivalence
from tradewind.fleet.scorers.health import Health
from tradewind.fleet.scorers.locality import Locality
from tradewind.fleet.scorers.price import Price
from tradewind.fleet.scorers.spread import Spread
from tradewind.fleet.scorers.stability import Stability
from tradewind.fleet.sites import Site, Sites
from tradewind.fleet.summary import Place


def _scores(scorer: SiteScorer, asked: Request, *sites: Site) -> list[float]:
    scores = scorer.score(Candidates.all_of(asked, Sites(sites), NOW)).tolist()
    return [round(float(score), 4) for score in scores]


def test_price_is_that_of_the_next_replica_against_the_median() -> None:
    # A core of four at 0.1, 0.2 and 0.6 dollars: 0.025, 0.05, 0.15 an hour; the median is 0.05.
    sites = [site("a", *nodes(1, 0.1)), site("b", *nodes(1, 0.2)), site("c", *nodes(1, 0.6))]
    assert _scores(Price(), request(), *sites) == [0.6667, 0.5, 0.25]


def test_price_of_a_site_without_one_is_the_median() -> None:
    sites = [site("a", *nodes(1, 0.1)), site("b", node("x")), site("c", *nodes(1, 0.3))]
    assert _scores(Price(), request(), *sites) == [round(0.05 / 0.075, 4), 0.5, round(0.05 / 0.125, 4)]


def test_price_counts_only_nodes_with_room() -> None:
    full = pod("full").requests(cpu="4").on("cheap")
    sites = [
        site("a", node("cheap").price(0.1), node("dear").price(0.6), pods=[full]),
        site("b", *nodes(1, 0.2)),
    ]
    # 0.6 / 4 against 0.2 / 4; the median of 0.15 and 0.05 is 0.1.
    assert _scores(Price(), request(), *sites) == [0.4, 0.6667]


def test_stability_is_the_mean_over_the_places_that_suit() -> None:
    spot = (
        node("spot")
        .label("karpenter.sh/capacity-type", "spot")
        .annotation("tradewind.dev/interruption-rate", "0.4")
    )
    sites = [site("a", node("x")), site("b", node("y"), spot), site("c", spot)]
    # b: four places that stay and four at 0.4.
    assert _scores(Stability(), request(), *sites) == [1, 0.8, 0.6]


def test_centroid_is_the_mean_of_what_is_left_of_the_average_node() -> None:
    # Y = (1 core, 4 GiB, 1 pod). X of a = (4, 16 GiB, 110), of b = (2, 8 GiB, 110) on average.
    asked = request(template=pod("w").requests(cpu="1", memory="4Gi"))
    sites = [
        site("a", node("x")),
        site("b", node("y").cpu("3").memory("15Gi"), node("z").cpu("1").memory("1Gi")),
    ]
    a = 1 - (1 / 4 + 4 / 16 + 1 / 110) / 3
    b = 1 - (1 / 2 + 4 / 8 + 1 / 110) / 3
    assert _scores(Centroid(), asked, *sites) == [round(a, 4), round(b, 4)]


def _cosine(cpu: float, memory: float) -> float:
    worst = 1 / math.sqrt(2)
    return round(((cpu + memory) / math.sqrt(2 * (cpu**2 + memory**2)) - worst) / (1 - worst), 4)


def test_equivalence_where_some_come_closer_prefers_the_worst_of_them() -> None:
    # 4 cores and 16 GiB; a has used memory only, b less of it, c is in balance. The request takes cpu only.
    asked = request(template=pod("w").requests(cpu="1"))
    sites = [
        site("a", node("x"), pods=[pod("p").requests(memory="12Gi").on("x")]),
        site("b", node("y"), pods=[pod("p").requests(memory="8Gi").on("y")]),
        site("c", node("z")),
    ]
    now_a, now_b, after_c = _cosine(1, 0.25), _cosine(1, 0.5), _cosine(0.75, 1)
    expected = [1 - now_a / 2, 1 - now_b / 2, after_c / 2]
    assert _scores(Equivalence(), asked, *sites) == pytest.approx(expected, abs=2e-4)
    assert expected[0] > expected[1] > expected[2]


def test_equivalence_where_none_comes_closer_prefers_what_stays_closest() -> None:
    asked = request(template=pod("w").requests(cpu="2"))
    sites = [site("a", node("x")), site("b", node("y").cpu("16").memory("64Gi"))]
    assert _scores(Equivalence(), asked, *sites) == pytest.approx(
        [_cosine(0.5, 1), _cosine(0.875, 1)], abs=2e-4
    )


def test_health_is_what_did_not_fail() -> None:
    assert _scores(Health(), request(), site("a", node("x"), error_rate=0.25)) == [0.75]


def test_energy_is_grams_of_a_core_hour_against_the_median() -> None:
    def emitting(name: str, watts: float | None, carbon: float | None) -> Site:
        return site(name, node("x"), place=Place(watts_per_core=watts, carbon=carbon))

    # 4 W at 50, 300 and 700 g/kWh: 0.2, 1.2, 2.8 g; the median is 1.2.
    sites = [emitting("a", 4, 50), emitting("b", 4, 300), emitting("c", 4, 700), emitting("d", 4, None)]
    assert _scores(Energy(), request(), *sites) == [round(1.2 / 1.4, 4), 0.5, 0.3, 0.5]


def test_locality_is_by_great_circle() -> None:
    berlin, paris, sydney = (52.52, 13.405), (48.857, 2.352), (-33.868, 151.209)

    def at(name: str, point: tuple[float, float]) -> Site:
        return site(name, node("x"), place=Place(latitude=point[0], longitude=point[1]))

    found = _scores(Locality(), request(near=berlin), at("b", berlin), at("p", paris), at("s", sydney))
    # Berlin to Paris 878 km, to Sydney 16 096 km.
    assert found == pytest.approx([1.0, 1000 / 1878, 1000 / 17_096], abs=1e-3)
    assert _scores(Locality(), request(near=berlin), site("x", node("x"))) == [0.5]
    assert _scores(Locality(), request(), at("b", berlin)) == [0.5]


@pytest.mark.parametrize(
    ("near", "expected"),
    [
        # 20 / (20 + ms): 5 ms of its own, 30 of its region, none known.
        pytest.param("users", [0.8, 0.4, 0.5], id="a site's own latency, else its region's, else 1/2"),
        pytest.param("data", [0.5, 0.5, 1.0], id="a row for one site says nothing of the others"),
        pytest.param("elsewhere", [0.5, 0.5, 0.5], id="a name that the table does not have says nothing"),
        pytest.param(None, [0.2, 0.2, 0.5], id="a request that does not say has the place of its class"),
        pytest.param((0.0, 0.0), [0.5, 0.5, 0.5], id="a point is no row of the table"),
    ],
)
def test_locality_is_by_the_latency_table(near: Near | None, expected: list[float]) -> None:
    table = {"users": {"a": 5.0, "eu": 30.0}, "data": {"c": 0.0}, "class": {"eu": 80.0, "": 1.0}}
    sites = [site("a", node("x"), region="eu"), site("b", node("x"), region="eu"), site("c", node("x"))]
    assert _scores(Locality(latencies=table, near="class"), request(near=near), *sites) == expected


def test_spread_is_the_smallest_free_share() -> None:
    sites = [
        site("a", node("x"), pods=[pod("p").requests(cpu="1", memory="8Gi").on("x")]),
        site("b", node("y")),
    ]
    assert _scores(Spread(), request(), *sites) == [0.5, 1.0]
