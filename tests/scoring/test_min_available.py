import itertools
import math
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.filters import min_available
from scoring.filters.min_available import PROBABILITY, REPLICAS, Lot, MinAvailable, hourly_loss, survivors
from tests.builders import NodeBuilder, PodBuilder, cluster_of, node, pod
from tradewind.cluster.snapshot import Floats

_RATE = "tradewind.dev/interruption-rate"


def _spot(name: str, kind: str, rate: float) -> NodeBuilder:
    built = node(name).label("karpenter.sh/capacity-type", "spot").annotation(_RATE, str(rate))
    built = built.label("node.kubernetes.io/instance-type", kind)
    return built.label("topology.kubernetes.io/zone", "a")


def _web(name: str) -> PodBuilder:
    return pod(name).owner("StatefulSet", "web", "web")


_NODES = [node("durable"), _spot("m1", "m5", 0.5), _spot("m2", "m5", 0.5), _spot("c1", "c5", 0.5)]
# A rate of 50 % a month is a chance of 1 - 0.5^(1/730) = 0.00095 to be lost within an hour.
_LOSS = 0.000949


@pytest.mark.parametrize(
    ("placed", "replicas", "probability", "passing"),
    [
        pytest.param([], 0, 0.0, "durable m1 m2 c1", id="off"),
        pytest.param([], 1, 0.999, "durable m1 m2 c1", id="1 - 0.00095 is enough"),
        pytest.param([], 1, 0.9995, "durable", id="and here it is not"),
        # Both must survive: with the first on m1, another kind makes it 1 - 2 x 0.00095, the same does not.
        pytest.param(["m1"], 2, 0.999, "durable m1 m2", id="kinds fail independently"),
        pytest.param(["m1"], 1, 0.99999, "durable c1", id="one of two kinds survives"),
        pytest.param(["durable"], 1, 0.99999, "durable m1 m2 c1", id="enough on durable nodes"),
        pytest.param(["m1", "c1"], 2, 0.99999, "durable", id="two of three kinds survive"),
        pytest.param(["m1", "c1"], 2, 0.995, "durable m1 m2 c1", id="a lower promise"),
    ],
)
def test_min_available(placed: list[str], replicas: int, probability: float, passing: str) -> None:
    pods = [_web(f"p{number}").on(name) for number, name in enumerate(placed)]
    nodes = cluster_of(_NODES, pods).nodes
    mask = MinAvailable(replicas, probability).feasible(_web("new").build(), nodes)
    assert [name for name, passed in zip(nodes.names, mask, strict=True) if passed] == passing.split()


def test_two_of_three_kinds() -> None:
    """All three, or any two of them: q^2 x 3 and q^3 are what is left out."""
    q = _LOSS
    lots = [Lot(1, q), Lot(1, q), Lot(1, q)]
    assert survivors(lots, 2)[2] == pytest.approx((1 - q) ** 3 + 3 * q * (1 - q) ** 2)


def test_kinds_of_nodes_are_not_added_anew_for_each_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    """64 replicas on as many kinds: 64 x 64 additions for all of them, one by one."""
    added = list[Lot]()

    def counted(chances: Floats, lots: Iterable[Lot]) -> Floats:
        lots = list(lots)
        added.extend(lots)
        return with_lots(chances, lots)

    with_lots = min_available._with_lots
    nodes = [_spot(f"n{number}", f"kind-{number}", number / 100) for number in range(64)]
    pods = [_web(f"p{number}").on(f"n{number}") for number in range(64)]
    columns = cluster_of(nodes, pods).nodes
    rule, new = MinAvailable(32, 0.9), _web("new").build()
    loss = hourly_loss(columns.columns.supply).tolist()
    others = [Lot(1, each) for each in loss]
    expected = [
        survivors([*others[:row], *others[row + 1 :], Lot(2, loss[row])], 32)[32] for row in range(64)
    ]
    monkeypatch.setattr(min_available, "_with_lots", counted)
    assert rule.chances(new, columns).tolist() == pytest.approx(expected, rel=1e-9)
    assert len(added) <= 64 * (6 + 2)


def test_the_rate_is_that_of_a_month() -> None:
    nodes = cluster_of(_NODES).nodes
    loss = hourly_loss(nodes.columns.supply)
    assert loss.tolist() == pytest.approx([0, _LOSS, _LOSS, _LOSS], rel=1e-3)


_LOTS = st.lists(st.tuples(st.integers(1, 4), st.floats(0, 1)), max_size=6)


@given(lots=_LOTS, minimum=st.integers(0, 8))
def test_survival_is_the_sum_over_all_that_may_happen(lots: list[tuple[int, float]], minimum: int) -> None:
    outcomes = itertools.product([True, False], repeat=len(lots))
    expected = sum(
        math.prod(1 - loss if lives else loss for lives, (_, loss) in zip(outcome, lots, strict=True))
        for outcome in outcomes
        if sum(count for lives, (count, _) in zip(outcome, lots, strict=True) if lives) >= minimum
    )
    assert survivors(itertools.starmap(Lot, lots), minimum)[minimum] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    "wanted",
    [
        pytest.param(pod("bare"), id="no controller"),
        pytest.param(pod("daemon").owner("DaemonSet", "d", "d"), id="the node is fixed"),
    ],
)
def test_pods_that_it_says_nothing_of(wanted: PodBuilder) -> None:
    nodes = cluster_of(_NODES).nodes
    assert MinAvailable(1, 0.99999).feasible(wanted.build(), nodes).all()


def test_annotations_go_first_and_nonsense_says_nothing() -> None:
    nodes = cluster_of(_NODES).nodes
    wanted = _web("new").annotation(REPLICAS, "1").annotation(PROBABILITY, "0.99999")
    assert MinAvailable().feasible(wanted.build(), nodes).tolist() == [True, False, False, False]
    odd = _web("new").annotation(REPLICAS, "many").annotation(PROBABILITY, "7")
    assert MinAvailable().feasible(odd.build(), nodes).all()


def test_it_gives_way_where_no_node_keeps_the_promise() -> None:
    nodes = cluster_of(_NODES[1:]).nodes
    assert MinAvailable(1, 0.99999).feasible(_web("new").build(), nodes).all()


@pytest.mark.parametrize(
    ("wanted", "durable"),
    [
        pytest.param(_web("new"), node("durable").taint("CriticalAddonsOnly"), id="tainted"),
        pytest.param(
            _web("new").node_selector("karpenter.sh/capacity-type", "spot"),
            node("durable"),
            id="selects spot",
        ),
        pytest.param(_web("new").requests(cpu="5"), node("durable").cpu("4"), id="too small"),
    ],
)
def test_it_gives_way_where_no_eligible_node_keeps_the_promise(
    wanted: PodBuilder, durable: NodeBuilder
) -> None:
    nodes = cluster_of([durable, *_NODES[1:]]).nodes
    assert MinAvailable(1, 0.99999).feasible(wanted.build(), nodes).all()


def test_only_candidates_are_answered_and_all_nodes_are_looked_at() -> None:
    """The durable node keeps the promise; that it is not offered makes no other node better."""
    nodes = cluster_of(_NODES).nodes
    candidates = nodes.take(nodes.rows[1:])
    assert not MinAvailable(1, 0.99999).feasible(_web("new").build(), candidates).any()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"replicas": -1}, "replicas: -1 is negative"),
        ({"probability": 1.0}, "probability: 1.0 is not within 0 and 1"),
    ],
)
def test_impossible_parameters(parameters: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MinAvailable(**parameters)  # type: ignore[arg-type]


def test_the_sentence_says_how_far_it_is() -> None:
    """Both replicas must survive: (1 - 0.00095)^2 on another kind."""
    nodes = cluster_of(_NODES, [_web("old").on("m1")]).nodes
    rule = MinAvailable(2, 0.999)
    assert rule.shortfall(_web("new").build(), nodes, nodes.rows[3:]) == (
        "2 of its replicas would survive an hour with 99.8103%, 99.9% is asked for"
    )
