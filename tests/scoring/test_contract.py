"""What every registered rule promises, whatever it does."""

import re
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extender.verbs import OTHER_NODE, REFUSED_NODE, UNKNOWN_NODE
from scoring.filters.leaving import Leaving
from scoring.filters.resources import KubeResources
from scoring.in_tree import IN_TREE
from scoring.registry import FILTERS, SCORERS
from scoring.rules import Filter, Scorer
from tests.scoring.drawn import UNHURRIED, Case, cases
from tradewind.planner.boost import PlannedNodeOnly
from tradewind.planner.gang_room import WholeGangFits

_scorers = [entry.scorer for entry in SCORERS]

_filters: list[type[Filter]] = list(dict.fromkeys([*FILTERS, *IN_TREE, Leaving]))


# kube-scheduler's: a predicate after "node(s)", which it puts the number of nodes before.
_REASON = re.compile(r"node\(s\) (had|didn't|were|weren't|refused) [^.:;\d]+[^.:;\d\s]")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        *((rule.name, rule.reason) for rule in _filters),
        ("plan", PlannedNodeOnly.reason),
        ("gang room", WholeGangFits.reason),
        ("other node", OTHER_NODE),
        ("unknown node", UNKNOWN_NODE),
        ("refused node", REFUSED_NODE),
    ],
)
def test_reasons_share_a_grammar(name: str, reason: str) -> None:
    assert _REASON.fullmatch(reason), f"{name}: {reason}"
    assert len(reason) < 100


@given(case=cases(), order=st.randoms())
@settings(UNHURRIED, max_examples=100)
def test_scorers_keep_the_contract(case: Case, order: Random) -> None:
    wanted, nodes = case.build()
    rows = _shuffled(len(nodes), order)
    for rule in _scorers:
        scores = rule().score(wanted, nodes)
        assert scores.shape == (len(nodes),), rule.name
        assert scores.dtype == np.float64, rule.name
        assert np.isfinite(scores).all(), rule.name
        assert ((scores >= 0) & (scores <= 1)).all(), rule.name
        np.testing.assert_array_equal(rule().score(wanted, nodes.take(rows)), scores[rows], rule.name)


@given(case=cases(), order=st.randoms(), candidates=st.integers(0, 4))
@settings(UNHURRIED, max_examples=100)
def test_filters_keep_the_contract(case: Case, order: Random, candidates: int) -> None:
    """A filter judges each node by itself and by the whole cluster, whichever nodes are the candidates."""
    wanted, nodes = case.build()
    rows = _shuffled(len(nodes), order)[:candidates]
    for rule in _filters:
        mask = rule().feasible(wanted, nodes)
        assert mask.shape == (len(nodes),), rule.name
        assert mask.dtype == np.bool_, rule.name
        np.testing.assert_array_equal(rule().feasible(wanted, nodes.take(rows)), mask[rows], rule.name)


@given(case=cases())
@settings(UNHURRIED, max_examples=30)
def test_nobody_can_spoil_what_rules_keep(case: Case) -> None:
    """What a rule answers is either for who asked alone, to change as they like, or nobody can change it."""
    wanted, nodes = case.build()
    for rule in _filters:
        mask = rule().feasible(wanted, nodes)
        before = mask.copy()
        if mask.flags.writeable:
            mask ^= True
        np.testing.assert_array_equal(rule().feasible(wanted, nodes), before, rule.name)
    for scorer in _scorers:
        scores = scorer().score(wanted, nodes)
        kept = scores.copy()
        if scores.flags.writeable:
            scores += 1
        np.testing.assert_array_equal(scorer().score(wanted, nodes), kept, scorer.name)


@pytest.mark.parametrize("rule", _filters, ids=lambda rule: rule.name)
def test_reason_is_a_constant_sentence_that_reads_well_in_an_event(rule: type[Filter]) -> None:
    assert rule.reason
    assert rule.reason[0].islower()
    assert not rule.reason.endswith(".")
    assert not any(character.isdigit() or character in ",;" for character in rule.reason)


def test_names_are_unique() -> None:
    rules: set[type[Filter | Scorer]] = {*_filters, *_scorers}  # a rule may be both
    rules.discard(KubeResources)  # stands for Resources where nobody else judges
    names = [rule.name for rule in rules] + [entry.letter for entry in SCORERS]
    assert len(names) == len(set(names))


def _shuffled(count: int, order: Random) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    rows = list(range(count))
    order.shuffle(rows)
    return np.array(rows, np.intp)
