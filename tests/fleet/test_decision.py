"""Where requests go, and the sentence for those that go nowhere."""

from typing import Any

import pytest

from tests.builders import node, pod
from tests.fleet.cases import NOW, nodes, request, site
from tradewind.cluster.wire import Taint
from tradewind.errors import TradewindError
from tradewind.fleet.decision import Decision, decide
from tradewind.fleet.policy import SitePolicy, site_policies
from tradewind.fleet.request import Request
from tradewind.fleet.settings import FleetSettings
from tradewind.fleet.sites import Site, Sites
from tradewind.fleet.weights import DEFAULT_WEIGHTS

_BY_PRICE = SitePolicy(weights={"price": 1.0})


def _decided(asked: Request, *sites: Site, policy: SitePolicy = _BY_PRICE) -> Decision:
    return decide(asked, Sites(sites), policy, NOW)


def _divided(**preference: Any) -> dict[str, Any]:
    return {"replicaScheduling": {"replicaSchedulingType": "Divided", **preference}}


def test_figure_2_one_node_that_fits_counts_and_not_the_sum_or_the_mean() -> None:
    """The new VM needs 128M; cluster 1 has 110M on average, and one node of 256M."""
    first = [node("n1").memory("37M"), node("n2").memory("37M"), node("n3").memory("256M")]
    second = [node(f"m{i}").memory("120M") for i in range(3)]  # 360M in sum, more on average, none of 128M
    decision = _decided(
        request(template=pod("vm").requests(memory="128M")),
        site("cluster-1", *first),
        site("cluster-2", *second),
    )
    assert decision.division == {"cluster-1": 1}


def test_enough_in_sum_and_no_node_that_fits_is_no_place() -> None:
    decision = _decided(request(template=pod("w").requests(cpu="3")), site("a", *nodes(8, cpu="2")))
    assert decision.reason == "0/1 sites are available: 1 site(s) had no node that fits a replica"


def test_goes_to_the_cheapest_that_can_hold_it_and_the_rest_to_the_next() -> None:
    cheap, dear = site("cheap", *nodes(1, 0.1)), site("dear", *nodes(5, 0.2))
    assert _decided(request(3), cheap, dear).division == {"cheap": 3}
    assert _decided(request(10), cheap, dear).division == {"cheap": 4, "dear": 6}


def test_a_site_s_dear_nodes_count_when_its_cheap_ones_are_full() -> None:
    mixed = site("mixed", *nodes(1, 0.1), *nodes(4, 0.9, prefix="d"))
    assert _decided(request(8), mixed, site("plain", *nodes(4, 0.3))).division == {"mixed": 4, "plain": 4}


@pytest.mark.parametrize(
    ("preference", "expected"),
    [
        ({"replicaDivisionPreference": "Aggregated"}, {"large": 6}),  # fewest sites, though small is cheaper
        ({}, {"small": 4, "large": 2}),
        ({"replicaDivisionPreference": "Weighted"}, {"small": 4, "large": 2}),
        (
            {
                "replicaDivisionPreference": "Weighted",
                "weightPreference": {"staticWeightList": [{"targetCluster": {}, "weight": 1}]},
            },
            {"small": 3, "large": 3},
        ),
        (
            {
                "replicaDivisionPreference": "Weighted",
                "weightPreference": {"dynamicWeight": "AvailableReplicas"},
            },
            {"small": 2, "large": 4},  # room for 4 and 8
        ),
        (
            {
                "replicaDivisionPreference": "Weighted",
                "weightPreference": {
                    "staticWeightList": [
                        {"targetCluster": {"clusterNames": ["small"]}, "weight": 1},
                        {"targetCluster": {"clusterNames": ["large"]}, "weight": 5},
                    ]
                },
            },
            {"small": 1, "large": 5},
        ),
    ],
)
def test_keeps_karmada_s_preferences(preference: dict[str, Any], expected: dict[str, int]) -> None:
    sites = [site("small", *nodes(1, 0.1)), site("large", *nodes(2, 0.3))]
    assert _decided(request(6, placement=_divided(**preference)), *sites).division == expected


def test_duplicated_goes_everywhere() -> None:
    sites = [site("a", *nodes(1)), site("b", *nodes(2)), site("tiny", *nodes(1, cpu="1"))]
    assert _decided(request(3, placement={}), *sites).division == {"a": 3, "b": 3}


@pytest.mark.parametrize(
    ("affinity", "expected"),
    [
        ({}, "abc"),
        ({"clusterNames": ["a", "missing"]}, "a"),
        ({"exclude": ["a"]}, "bc"),
        ({"labelSelector": {"matchLabels": {"tier": "gold"}}}, "b"),
        ({"labelSelector": {"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]}}, "ac"),
        (
            {"fieldSelector": {"matchExpressions": [{"key": "region", "operator": "In", "values": ["eu"]}]}},
            "ab",
        ),
        ({"fieldSelector": {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["1"]}]}}, "a"),
        (
            {"fieldSelector": {"matchExpressions": [{"key": "zone", "operator": "NotIn", "values": ["2"]}]}},
            "ac",
        ),
        (
            {
                "fieldSelector": {
                    "matchExpressions": [{"key": "provider", "operator": "NotIn", "values": ["x"]}]
                }
            },
            "bc",
        ),
    ],
)
def test_cluster_affinity(affinity: dict[str, Any], expected: str) -> None:
    sites = [
        site("a", *nodes(1), region="eu", zones=("1",), provider="x"),
        site("b", *nodes(1), region="eu", zones=("1", "2"), labels={"tier": "gold"}),
        site("c", *nodes(1), region="us"),
    ]
    decision = _decided(request(placement={"clusterAffinity": affinity}), *sites)
    assert "".join(sorted(decision.division)) == expected


def test_affinities_are_tried_in_their_order() -> None:
    both = [
        {"affinityName": "first", "clusterNames": ["small"]},
        {"affinityName": "second", "clusterNames": ["large"]},
    ]
    sites = [site("small", *nodes(1)), site("large", *nodes(3, 9.0))]
    small = _decided(request(4, placement={"clusterAffinities": both, **_divided()}), *sites)
    large = _decided(request(8, placement={"clusterAffinities": both, **_divided()}), *sites)
    assert (small.affinity_name, small.division) == ("first", {"small": 4})
    assert (large.affinity_name, large.division) == ("second", {"large": 8})


def _spread(by: str, least: int, most: int) -> dict[str, Any]:
    return {"spreadByField": by, "minGroups": least, "maxGroups": most}


@pytest.mark.parametrize(
    ("constraints", "expected"),
    [
        ([_spread("cluster", 1, 1)], {"d": 6}),  # a, the cheapest, holds 4 only, and so does b
        ([_spread("cluster", 3, 3)], {"a": 4, "b": 1, "c": 1}),
        ([_spread("region", 2, 2)], {"a": 4, "b": 1, "c": 1}),
        ([_spread("region", 3, 3), _spread("cluster", 3, 3)], {"a": 4, "c": 1, "d": 1}),
        ([_spread("region", 4, 4)], None),
        ([_spread("zone", 1, 1)], None),  # no site says its zone
    ],
)
def test_spread_constraints(constraints: list[dict[str, Any]], expected: dict[str, int] | None) -> None:
    sites = [
        site("a", *nodes(1, 0.1), region="eu"),
        site("b", *nodes(1, 0.2), region="eu"),
        site("c", *nodes(1, 0.3), region="us"),
        site("d", *nodes(9, 0.9), region="ap"),
    ]
    decision = _decided(request(6, placement={"spreadConstraints": constraints, **_divided()}), *sites)
    assert (dict(decision.division) if decision.placed else None) == expected


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"ready": False}, "were not ready"),
        ({"taints": (Taint("dedicated", "", "NoSchedule"),)}, "had untolerated cluster taint(s)"),
        ({"apis": frozenset({"apps/v1/StatefulSet"})}, "did not serve the workload's API"),
        ({"summary": None}, "had no summary, or an old or broken one"),
    ],
)
def test_a_site_that_cannot_is_left_out_and_said_so(changed: dict[str, Any], reason: str) -> None:
    whole = site("a", *nodes(1))
    broken = Site(**{**{name: getattr(whole, name) for name in whole.__dataclass_fields__}, **changed})
    assert _decided(request(api="apps/v1/Deployment"), whole).placed
    assert reason in _decided(request(api="apps/v1/Deployment"), broken).reason


def test_an_old_summary_takes_the_site_out() -> None:
    assert "an old or broken one" in _decided(request(), site("a", *nodes(1), time=NOW - 121)).reason


def test_too_many_failed_bindings_take_the_site_out() -> None:
    assert "failed too many" in _decided(request(), site("a", *nodes(1), error_rate=0.6)).reason


def test_an_excluded_site_is_left_out() -> None:
    decision = _decided(request(excluded=frozenset({"a"})), site("a", *nodes(1)), site("b", *nodes(1, 9.0)))
    assert decision.division == {"b": 1}


def test_a_quota_holds_for_what_is_added() -> None:
    left = {"cpu": 2_000}
    assert _decided(request(2, quota=left), site("a", *nodes(2))).placed
    over = _decided(request(3, quota=left), site("a", *nodes(2)))
    assert ("over its quota" in over.reason, over.outcome) == (True, "QuotaExceeded")
    assert _decided(request(3, current={"a": 3}, held=3, quota=left), site("a", *nodes(2))).placed


def test_node_selectors_affinity_and_tolerations_reach_the_site_s_nodes() -> None:
    arm = site("arm", node("x").label("kubernetes.io/arch", "arm64").taint("arm"))
    amd = site("amd", node("y").label("kubernetes.io/arch", "amd64").price(0.1))
    plain = pod("w").requests(cpu="1")
    assert _decided(request(template=plain), arm, amd).division == {"amd": 1}
    wants = plain.node_selector("kubernetes.io/arch", "arm64")
    assert not _decided(request(template=wants), arm, amd).placed
    tolerant = wants.toleration(key="arm", operator="Exists")
    assert _decided(request(template=tolerant), arm, amd).division == {"arm": 1}


def test_replicas_stay_where_they_are_when_there_are_more_or_fewer() -> None:
    cheap, dear = site("cheap", *nodes(2, 0.1)), site("dear", *nodes(2, 0.9))
    here = {"cheap": 2, "dear": 3}
    assert _decided(request(6, current=here), cheap, dear).division == {"cheap": 3, "dear": 3}
    assert _decided(request(3, current=here), cheap, dear).division == {"cheap": 2, "dear": 1}
    assert _decided(request(5, current=here), cheap, dear).division == here
    assert _decided(request(5, current=here, fresh=True), cheap, dear).division == {"cheap": 5}


def test_replicas_leave_the_dear_site_first_though_the_cheap_one_is_full() -> None:
    full = [pod("p").requests(cpu="4").on("n0")]
    cheap, dear = site("cheap", *nodes(1, 0.1), pods=full), site("dear", *nodes(2, 0.9))
    assert _decided(request(3, current={"cheap": 4, "dear": 4}), cheap, dear).division == {"cheap": 3}


def test_replicas_of_a_site_that_is_gone_go_elsewhere() -> None:
    decision = _decided(request(5, current={"gone": 3, "a": 2}), site("a", *nodes(2)))
    assert decision.division == {"a": 5}


def test_what_is_there_stays_where_no_more_may_come() -> None:
    """A summary that has grown old is no reason to take a workload away."""
    old, fresh = site("old", *nodes(2), time=NOW - 999), site("fresh", *nodes(2, 9.0))
    assert _decided(request(5, current={"old": 3}), old, fresh).division == {"old": 3, "fresh": 2}
    assert _decided(request(3, current={"old": 3}, fresh=True), old, fresh).division == {"fresh": 3}


def test_a_site_that_is_not_ready_gets_no_more() -> None:
    silent, alive = site("silent", *nodes(2), ready=False), site("alive", *nodes(2))
    asked = request(6, current={"silent": 3, "alive": 1})
    assert _decided(asked, silent, alive).division == {"silent": 3, "alive": 3}


def test_what_has_no_pods_goes_everywhere() -> None:
    sites = [site("a", *nodes(1)), site("full", *nodes(1), pods=[pod("p").requests(cpu="4").on("n0")])]
    assert _decided(request(0, workload=False, placement={}), *sites).division == {"a": 0, "full": 0}


def test_a_tie_goes_to_the_lower_name_however_sites_arrive() -> None:
    sites = [site(name, *nodes(1)) for name in ("c", "a", "b")]
    assert _decided(request(), *sites).division == {"a": 1}


def test_weights_of_unknown_scorers_are_refused() -> None:
    with pytest.raises(TradewindError, match='"luck"'):
        SitePolicy(weights={"luck": 1})


def test_a_site_that_changes_or_leaves_is_seen_at_once() -> None:
    sites = Sites([site(f"s{i}", *nodes(1)) for i in range(40)])  # more than the first arrays hold
    sites.apply(site("s7", *nodes(1, 0.01)))
    assert decide(request(), sites, _BY_PRICE, NOW).division == {"s7": 1}
    sites.remove("s7")
    assert decide(request(), sites, _BY_PRICE, NOW).division == {"s0": 1}
    sites.apply(site("new", *nodes(1, 0.02)))
    assert decide(request(), sites, _BY_PRICE, NOW).division == {"new": 1}


def test_equivalence_counts_the_resources_that_are_configured() -> None:
    """Half of a's GPUs and half of b's cores are free: GPUs are taken where they are the plentiful part."""
    taken_gpu = pod("p").requests({"nvidia.com/gpu": "2"}).on("n")
    taken_cpu = pod("q").requests(cpu="4").on("n")
    rich = node("n").cpu("8").resource("nvidia.com/gpu", "4")
    sites = [site("a", rich, pods=[taken_gpu]), site("b", rich, pods=[taken_cpu])]
    asked = request(template=pod("train").requests({"nvidia.com/gpu": "1"}))
    weights = dict.fromkeys(DEFAULT_WEIGHTS, 0.0) | {"equivalence": 1.0}
    for resources, expected in ((("cpu", "memory"), "a"), (("cpu", "nvidia.com/gpu"), "b")):
        settings = FleetSettings(weights=weights, equivalence_resources=resources)
        assert _decided(asked, *sites, policy=site_policies(settings).default).division == {expected: 1}
