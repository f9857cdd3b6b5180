"""What every registered rule promises, whatever it does."""

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster.objects import Pod
from cluster.snapshot import Nodes
from scoring.registry import FILTERS, SCORERS
from scoring.rules import Filter, Scorer
from tests.builders import NodeBuilder, PodBuilder, cluster_of, node, pod

_scorers = [entry.scorer for entry in SCORERS]

_cores = st.sampled_from(["0", "250m", "1", "2", "4", "64"])
_memory = st.sampled_from(["0", "128Mi", "1Gi", "16Gi", "1Ti"])
_prices = st.none() | st.sampled_from([0.0, 0.01, 0.1, 0.192, 3.06])


@st.composite
def _nodes(draw: st.DrawFn) -> list[NodeBuilder]:
    nodes = []
    for index in range(draw(st.integers(1, 6))):
        each = node(f"n{index}").cpu(draw(_cores)).memory(draw(_memory)).pods(draw(st.integers(0, 3)))
        if draw(st.booleans()):
            each = each.resource("example.com/gpu", draw(st.integers(0, 2)))
        price = draw(_prices)
        nodes.append(each if price is None else each.price(price))
    return nodes


@st.composite
def _pods(draw: st.DrawFn) -> PodBuilder:
    wanted = {"cpu": draw(_cores), "memory": draw(_memory)}
    if draw(st.booleans()):
        wanted["example.com/gpu"] = "1"
    return pod("wanted").requests(wanted)


@st.composite
def _cases(draw: st.DrawFn) -> tuple[Pod, Nodes]:
    nodes = draw(_nodes())
    places = st.sampled_from([f"n{index}" for index in range(len(nodes))])
    placed = [draw(_pods()).uid(f"u{i}").on(draw(places)) for i in range(draw(st.integers(0, 4)))]
    return draw(_pods()).build(), cluster_of(nodes, placed).nodes


@pytest.mark.parametrize("rule", _scorers, ids=lambda rule: rule.name)
@given(case=_cases(), order=st.randoms())
@settings(max_examples=60)
def test_scorer_keeps_the_contract(rule: type[Scorer], case: tuple[Pod, Nodes], order: Random) -> None:
    wanted, nodes = case
    scores = rule().score(wanted, nodes)
    assert scores.shape == (len(nodes),)
    assert scores.dtype == np.float64
    assert np.isfinite(scores).all()
    assert ((scores >= 0) & (scores <= 1)).all()
    rows = _shuffled(len(nodes), order)
    np.testing.assert_array_equal(rule().score(wanted, nodes.take(rows)), scores[rows])


@pytest.mark.parametrize("rule", FILTERS, ids=lambda rule: rule.name)
@given(case=_cases(), order=st.randoms())
@settings(max_examples=60)
def test_filter_keeps_the_contract(rule: type[Filter], case: tuple[Pod, Nodes], order: Random) -> None:
    wanted, nodes = case
    mask = rule().feasible(wanted, nodes)
    assert mask.shape == (len(nodes),)
    assert mask.dtype == np.bool_
    rows = _shuffled(len(nodes), order)
    np.testing.assert_array_equal(rule().feasible(wanted, nodes.take(rows)), mask[rows])


@pytest.mark.parametrize("rule", FILTERS, ids=lambda rule: rule.name)
def test_reason_is_a_constant_sentence_that_reads_well_in_an_event(rule: type[Filter]) -> None:
    assert rule.reason
    assert rule.reason[0].islower()
    assert not rule.reason.endswith(".")
    assert not any(character.isdigit() or character in ",;" for character in rule.reason)


def test_names_are_unique() -> None:
    names = [rule.name for rule in FILTERS] + [name for e in SCORERS for name in (e.scorer.name, e.letter)]
    assert len(names) == len(set(names))


def _shuffled(count: int, order: Random) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    rows = list(range(count))
    order.shuffle(rows)
    return np.array(rows, np.intp)
