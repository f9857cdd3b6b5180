from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from scoring.policy import Policy
from scoring.rules import Mask, Scores
from tests.builders import cluster_of, node, pod
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Nodes

_NODES = cluster_of([node("a"), node("b"), node("c")]).nodes
_POD = pod("w").build()


@dataclass(frozen=True)
class Only:
    name: ClassVar[str] = "only"
    reason: ClassVar[str] = "not one of the chosen"
    resolvable: ClassVar[bool] = False

    names: frozenset[str]

    def feasible(self, _pod: Pod, nodes: Nodes) -> Mask:
        return np.array([name in self.names for name in nodes.names])


@dataclass(frozen=True)
class Fixed:
    name: ClassVar[str] = "fixed"

    scores: tuple[float, ...]

    def score(self, _pod: Pod, _nodes: Nodes) -> Scores:
        return np.array(self.scores)


def test_the_first_filter_that_says_no_gives_the_reason() -> None:
    first, second = Only(frozenset({"a", "b"})), Only(frozenset({"a"}))
    verdict = Policy((first, second), ()).filter(_POD, _NODES)
    assert verdict.feasible.tolist() == [True, False, False]
    assert [(r.rule, r.rows.tolist()) for r in verdict.rejections] == [(first, [2]), (second, [1])]


def test_without_filters_every_node_passes() -> None:
    verdict = Policy((), ()).filter(_POD, _NODES)
    assert verdict.feasible.all()
    assert verdict.rejections == ()


def test_total_is_the_weighted_sum() -> None:
    policy = Policy((), ((Fixed((0.0, 0.5, 1.0)), 2.0), (Fixed((1.0, 0.5, 0.0)), 1.0)))
    # 2 x 0 + 1 x 1, 2 x 0.5 + 1 x 0.5, 2 x 1 + 1 x 0
    assert policy.total(_POD, _NODES).tolist() == pytest.approx([1.0, 1.5, 2.0])


def test_a_scorer_without_weight_is_not_asked() -> None:
    terms = list(Policy((), ((Fixed((0, 0, 0)), 0.0), (Fixed((1, 1, 1)), 1.0))).terms(_POD, _NODES))
    assert [term.weight for term in terms] == [1.0]
