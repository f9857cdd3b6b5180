"""What a pod costs a plan on a node, worked out by hand."""

from collections.abc import Sequence

import numpy as np
import pytest

from scoring.policy import Policy
from scoring.rules import Scorer
from scoring.scorers.price import Price
from scoring.scorers.resource_fit import ResourceFit
from scoring.scorers.stability import Stability
from scoring.scorers.workload_priority import WorkloadPriority
from tests.builders import NodeBuilder, PodBuilder, cluster_of, node, pod
from tradewind.config import document as config
from tradewind.planner.objective import pod_cost, wish
from tradewind.planner.planner import plan
from tradewind.planner.rent import NO_RENT, Rent

_SPOT = node("spot").cpu(4).price(1.0).label("karpenter.sh/capacity-type", "spot")
_SPOT = _SPOT.annotation("tradewind.dev/interruption-rate", "0.1").label("zone", "a")
_DURABLE = node("durable").cpu(4).price(3.0).label("zone", "b")
_NODES = [_SPOT, _DURABLE]
_RENT = Rent(2.0)
_SHARE = np.array([0.5, 0.25])  # so the pod costs 0.5 on spot, 0.75 on durable


def cost(of: PodBuilder, *scorers: tuple[Scorer, float], rent: Rent = NO_RENT) -> list[float]:
    nodes = cluster_of(_NODES).nodes
    policy = Policy(filters=(), scorers=scorers)
    return list(pod_cost(of.build(), policy, nodes, np.array([1.0, 3.0]), _SHARE, rent=rent))


def prefers(zone: str, weight: int = 1) -> PodBuilder:
    term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": [zone]}]}
    path = ("spec", "affinity", "nodeAffinity", "preferredDuringSchedulingIgnoredDuringExecution")
    return pod("p").requests(cpu=1).field(*path, value=[{"weight": weight, "preference": term}])


def test_the_loss_to_expect_is_an_hour_of_the_pods_work() -> None:
    # 0.1 x 0.5, and no rate on durable nodes
    assert cost(pod("p")) == pytest.approx([0.05, 0.0])


def test_rent_is_asked_for_the_room_that_is_taken() -> None:
    # 2 x the harmonic mean of 0.5, or 0.75, and the median 0.625 more: 0.5556 and 0.6818
    assert cost(pod("p"), rent=_RENT) == pytest.approx([0.05 + 1.1111, 1.3636], abs=1e-4)


@pytest.mark.parametrize(
    ("each", "more"),
    [
        # all of the 0.75 that it costs there, half as much again, and nothing on the spot node
        pytest.param(pod("p"), 1.125, id="a plain pod"),
        pytest.param(pod("p").priority(-1), 1.125, id="a batch pod"),
        pytest.param(pod("p").priority(2_000), 0.0, id="not a pod of high priority"),
        pytest.param(pod("p").priority(1_500), 1.125, id="what is high is the rule's to say"),
    ],
)
def test_durable_room_is_kept_for_pods_of_high_priority(each: PodBuilder, more: float) -> None:
    rule = (WorkloadPriority(high=2_000), 1.0)
    asked = np.subtract(cost(each, rule, rent=Rent(durable=1.5)), cost(each, rule))
    assert asked == pytest.approx([0.0, more])


def test_without_the_rule_high_priority_is_what_it_is_by_default() -> None:
    assert cost(pod("p").priority(1_000), rent=Rent(durable=1.0)) == cost(pod("p").priority(1_000))


@pytest.mark.parametrize(("rent", "times"), [(0.0, 1.0), (2.0, 1.0), (4.0, 2.0)])
def test_where_room_costs_more_so_does_a_spot_node_for_a_critical_pod(rent: float, times: float) -> None:
    critical, rules = pod("p").priority(2_000), ((WorkloadPriority(), 3.0), (Price(), 6.0))
    weighed, without = (cost(critical, *each, rent=Rent(rent)) for each in (rules, rules[1:]))
    # 4 x 2 x 3/6 on the spot node, as below, and twice that at twice the rent of the price score
    assert weighed[0] - without[0] == pytest.approx(4.0 * times, abs=0.01)


def test_a_critical_pod_is_weighed_against_the_price_of_a_node() -> None:
    critical = pod("p").priority(2_000)
    weighed = cost(critical, (WorkloadPriority(), 3.0), (Price(), 6.0))
    without = cost(critical, (Price(), 6.0))
    # The median price of a node is 2: 4 x 2 x 3/6 = 4 on the spot node, nothing on the durable one. What is
    # left to decide between equals, 1 % of the mean cost 0.625, is below a cent.
    assert np.subtract(weighed, without) == pytest.approx([4.0, 0.0], abs=0.01)


def test_a_plain_pod_is_not_pushed_anywhere_by_priorities() -> None:
    spot, durable = cost(pod("p"), (WorkloadPriority(), 3.0), (Price(), 6.0))
    plain_spot, plain_durable = cost(pod("p"), (Price(), 6.0))
    assert spot - plain_spot == pytest.approx(durable - plain_durable, abs=0.01)


def test_stability_is_worth_three_tenths_more_than_to_the_scores() -> None:
    weighed = cost(pod("p"), (Stability(), 3.0), (Price(), 6.0))
    without = cost(pod("p"), (Price(), 6.0))
    # The spot node lacks 0.1 of the score: 1.3 x 4 x 0.625 x 3/6 x 0.1
    assert np.subtract(weighed, without) == pytest.approx([0.1625, 0.0])


@pytest.mark.parametrize("weight", [1, 10, 100])
def test_a_preference_of_weight_100_is_worth_a_full_score_of_that_weight(weight: int) -> None:
    policy = Policy(filters=(), scorers=((Price(), 2.0), (ResourceFit(), 1.0)), preferences=3.0)
    nodes = cluster_of(_NODES).nodes
    prices = np.array([1.0, 3.0])
    wanting, plain = prefers("b", weight).build(), pod("p").requests(cpu=1).build()
    more = np.subtract(
        *(pod_cost(each, policy, nodes, prices, _SHARE, rent=NO_RENT) for each in (wanting, plain))
    )
    # 4 x 0.625 / 2 dollars a point, 3 points for a weight of 100
    assert more.tolist() == pytest.approx([3.75 * weight / 100, 0.0])
    assert wish(policy, prices, _SHARE) == pytest.approx(3.75)


def test_a_pod_without_requests_has_its_wishes_too() -> None:
    policy = Policy(filters=(), scorers=((Price(), 2.0),), preferences=1.0)
    # 4/2 x a hundredth of the median price
    assert wish(policy, np.array([1.0, 3.0]), np.zeros(2)) == pytest.approx(0.04)


def test_without_a_weight_of_the_price_other_weights_still_count() -> None:
    spot, durable = cost(pod("p").priority(2_000), (WorkloadPriority(), 1.0))
    assert np.isfinite([spot, durable]).all()
    assert spot > durable + 1


def placed(
    pods: list[PodBuilder],
    *,
    rent: Rent = _RENT,
    preset: str = "balanced",
    nodes: Sequence[NodeBuilder] = _NODES,
) -> dict[str, str]:
    head = "apiVersion: tradewind.dev/v1alpha1\nkind: TradewindConfiguration\n"
    policies = config.parse(f"{head}preset: {preset}\n").policies()
    snapshot = cluster_of(nodes, pods)
    done = plan(snapshot, [each.build() for each in pods], policies.of, None, 0.0, rent=rent)
    return {each.pod: each.node for each in done.plan.placements}


def test_a_plan_opens_a_durable_node_for_a_critical_pod_although_a_spot_node_is_open() -> None:
    running = pod("running").requests(cpu=1).on("spot")
    critical = pod("critical").requests(cpu=1).priority(100_000)
    assert placed([running, critical]) == {"default/critical": "durable"}
    assert placed([running, pod("plain").requests(cpu=1)]) == {"default/plain": "spot"}


def test_plain_pods_leave_durable_room_to_those_who_need_it() -> None:
    running = [pod(name).requests(cpu=1).on(name) for name in ("spot", "durable")]
    assert placed([*running, pod("plain").requests(cpu=1)]) == {"default/plain": "spot"}


def test_of_two_open_nodes_a_plan_takes_the_preferred_one() -> None:
    nodes = [node("cheap").cpu(4).price(1.0).label("zone", "a"), _DURABLE]
    running = [pod(name).requests(cpu=1).on(name) for name in ("cheap", "durable")]
    assert placed([*running, prefers("b")], rent=NO_RENT, nodes=nodes) == {"default/p": "durable"}
    assert placed([*running, prefers("a")], rent=NO_RENT, nodes=nodes) == {"default/p": "cheap"}


def test_a_plan_for_availability_opens_a_durable_node_for_a_plain_pod() -> None:
    running = pod("running").requests(cpu=1).on("spot")
    waiting = pod("plain").requests(cpu=1)
    nodes = [_SPOT.annotation("tradewind.dev/interruption-rate", "0.3"), _DURABLE]
    assert placed([running, waiting], preset="availability", nodes=nodes) == {"default/plain": "durable"}
    assert placed([running, waiting], preset="cost", nodes=nodes) == {"default/plain": "spot"}
