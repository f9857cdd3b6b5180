"""Each scorer speaks in the words of its own subject."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from scoring.filters.disk_type import DiskType
from scoring.filters.network_type import NetworkType
from scoring.policy import Policy, weighted_sum
from scoring.rules import Scorer, Scores
from scoring.scorers.equivalence import Equivalence
from scoring.scorers.price import Price
from scoring.scorers.resource_fit import ResourceFit
from scoring.scorers.stability import Stability
from scoring.scorers.workload_priority import WorkloadPriority
from tests.builders import NodeBuilder, PodBuilder, cluster_of, node, pod
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Nodes
from tradewind.explain.comparison import advantages, decisive, outweighed
from tradewind.explain.decisions import Ranking, ranking_of
from tradewind.explain.words import dollars

_POD = pod("web").requests(cpu="1", memory="4Gi")  # a quarter of a node of the builder
_SPOT = "tradewind.dev/capacity-type"
_RATE = "tradewind.dev/interruption-rate"
_MEDIAN = "tradewind.dev/median-price"


@dataclass(frozen=True)
class Length:
    """A scorer that nobody has words for: the longest name wins."""

    name: ClassVar[str] = "name_length"

    def score(self, _pod: Pod, nodes: Nodes) -> Scores:
        return np.array([len(name) / 10 for name in nodes.names])


def ranking_by(scorers: list[tuple[Scorer, float]], wanted: PodBuilder, nodes: list[NodeBuilder]) -> Ranking:
    built, columns = wanted.build(), cluster_of(nodes).nodes
    terms = tuple(Policy((), tuple(scorers)).terms(built, columns))
    ranking = ranking_of(built, columns, terms, weighted_sum(terms, len(columns)))
    assert ranking is not None
    return ranking


@pytest.mark.parametrize(
    ("scorer", "wanted", "better", "worse", "words"),
    [
        pytest.param(
            Price(),
            _POD,
            node("a").price(0.048),
            node("b").price(0.076),
            "a lower price ($0.0120/h instead of $0.0190/h)",
            id="price is what the pod costs there: a quarter of the node's",
        ),
        pytest.param(
            Price(),
            _POD,
            node("a").price(0.4),
            node("b").price(0.40008),
            "a lower price ($0.10000/h instead of $0.10002/h)",
            id="as many digits as show the difference",
        ),
        pytest.param(
            Price(formula="literal"),
            _POD,
            node("a").price(0.3).annotation(_MEDIAN, "0.1"),
            node("b").price(0.2).annotation(_MEDIAN, "0.1"),
            "a price further above its median (300% instead of 200% of it)",
            id="the literal formula likes a dearer node",
        ),
        pytest.param(
            Stability(),
            _POD,
            node("a").annotation(_RATE, "0.05"),
            node("b").annotation(_RATE, "0.2"),
            "a lower risk of interruption (5% instead of 20%)",
            id="interruption rate",
        ),
        pytest.param(
            Stability(),
            _POD,
            node("a").annotation(_RATE, "0.2").price(0.1).annotation(_MEDIAN, "0.1"),
            node("b").annotation(_RATE, "0.1").price(0.5).annotation(_MEDIAN, "0.1"),
            "a price less above its median (100% instead of 500% of it)",
            id="the likelier to vanish is better: only its price explains that",
        ),
        pytest.param(
            ResourceFit(),
            _POD,
            node("a").cpu("2").memory("8Gi"),
            node("b"),
            "a tighter fit (50% instead of 75% of the node stays free)",
            id="tighter fit",
        ),
        pytest.param(
            ResourceFit(formula="literal"),
            _POD,
            node("a"),
            node("b").cpu("2").memory("8Gi"),
            "more room (75% instead of 50% of the node stays free)",
            id="the literal formula likes the emptiest node",
        ),
        pytest.param(
            DiskType(),
            _POD.annotation("tradewind.dev/disk-type", "ssd"),
            node("a").label("disktype", "ssd"),
            node("b").label("disktype", "hdd"),
            "the disk type that the pod asks for",
            id="disk type",
        ),
        pytest.param(
            NetworkType(),
            _POD.annotation("tradewind.dev/network-type", "fast"),
            node("a").label("networktype", "fast"),
            node("b"),
            "the network type that the pod asks for",
            id="network type",
        ),
        pytest.param(
            WorkloadPriority(),
            _POD.priority(5000),
            node("a"),
            node("b").label(_SPOT, "spot"),
            "a durable node for a pod of high priority",
            id="high priority",
        ),
        pytest.param(
            WorkloadPriority(),
            _POD.owner("Job", "nightly", "u"),
            node("a").label(_SPOT, "spot"),
            node("b"),
            "a spot node for a batch pod",
            id="batch",
        ),
        pytest.param(
            Equivalence(),
            _POD.requests(cpu="1", memory="1Gi"),
            node("a").cpu("8"),
            node("b"),
            "a better balance of free resources",
            id="balance",
        ),
        pytest.param(
            Length(),
            _POD,
            node("long"),
            node("b"),
            "a higher score for name length (0.4 instead of 0.1)",
            id="a scorer without words of its own",
        ),
    ],
)
def test_what_speaks_for_the_better_node(
    scorer: Scorer, wanted: PodBuilder, better: NodeBuilder, worse: NodeBuilder, words: str
) -> None:
    ranking = ranking_by([(scorer, 1.0)], wanted, [worse, better])
    assert ranking.names[0] == better.build().name
    assert [each.words for each in advantages(ranking, 0, 1)] == [words]
    assert not advantages(ranking, 1, 0)


def test_an_unknown_price_is_said_to_count_as_the_median() -> None:
    # Costs: 0.1 and 0.3 of 0.4 and 1.2, so the unknown one counts as 0.2.
    nodes = [node("cheap").price(0.4), node("unknown"), node("dear").price(1.2)]
    ranking = ranking_by([(Price(), 1.0)], _POD, nodes)
    assert ranking.names == ("cheap", "unknown", "dear")
    first, second = advantages(ranking, 0, 1)[0], advantages(ranking, 1, 2)[0]
    assert first.words == "a lower price ($0.100/h instead of an unknown one, which counts as the median)"
    assert second.words == "an unknown price, which counts as the median, instead of $0.300/h"


def test_the_largest_weighted_difference_decides() -> None:
    # Stability: 1 x (0.95 - 0.8) = 0.15. Price: costs 0.03 and 0.02, the median is 0.025;
    # 0.025 / 0.055 = 0.4545 and 0.025 / 0.045 = 0.5556, so the other is better by 1 x 0.101.
    stable = node("stable").price(0.12).annotation(_RATE, "0.05")
    cheap = node("cheap").price(0.08).annotation(_RATE, "0.2")
    ranking = ranking_by([(Price(), 1.0), (Stability(), 1.0)], _POD, [cheap, stable])
    assert ranking.names == ("stable", "cheap")
    ours, theirs = advantages(ranking, 0, 1), advantages(ranking, 1, 0)
    assert [(each.scorer, round(each.difference, 3)) for each in ours] == [("stability", 0.15)]
    assert [(each.scorer, round(each.difference, 3)) for each in theirs] == [("price", 0.101)]
    assert outweighed(theirs, by=ours[0]) == theirs


def test_a_reason_of_half_the_weight_is_still_a_reason_and_a_trifle_is_not_mentioned() -> None:
    # Stability: 0.2; fit: 0.25 free, so 0.75, against 0.5 free: 0.25 x weight.
    one = node("one").cpu("2").memory("8Gi").annotation(_RATE, "0.0")
    other = node("other").annotation(_RATE, "0.2")
    for weight, expected in ((0.5, ["stability", "resource_fit"]), (0.3, ["stability"])):
        ranking = ranking_by([(Stability(), 1.0), (ResourceFit(), weight)], _POD, [one, other])
        assert [each.scorer for each in decisive(advantages(ranking, 0, 1))] == expected
    strong, weak = advantages(ranking, 0, 1)
    trifle = weak._replace(difference=strong.difference / 21)
    assert outweighed([weak, trifle], by=strong) == [weak]


@pytest.mark.parametrize(
    ("amount", "shown"),
    [
        pytest.param(12.345, "$12.35/h", id="dollars"),
        pytest.param(0.192, "$0.192/h", id="tenths"),
        pytest.param(0.0181122, "$0.0181/h", id="three digits"),
        pytest.param(0.00000123, "$0.00000123/h", id="never as a power"),
        pytest.param(0.0, "$0.00/h", id="nothing"),
        pytest.param(float("nan"), "at an unknown price", id="unknown"),
    ],
)
def test_dollars(amount: float, shown: str) -> None:
    assert dollars(amount) == shown
