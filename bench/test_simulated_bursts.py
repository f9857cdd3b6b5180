"""A burst without a control plane: what our watch has not seen yet must not cost a second node."""

import pytest

from bench.dollars import Case
from bench.planner_cases import node, pod
from bench.simulated_bursts import Burst
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Nodes

_GIB = 2**30
# Four pods fill one node of the four that are alike; one node is the least.
_CASE = Case(
    nodes=[node(f"n{number}", 4000, 4 * _GIB, price=1.0) for number in range(4)],
    pods=[pod("p", 1000, _GIB) for _ in range(4)],
    bound=1.0,
)


def test_pods_share_a_node_that_none_of_them_was_seen_on() -> None:
    assert list(Burst(_CASE, rate=1000.0, lag=1.0).run(1)) == [1.0, 1.0]


def test_if_nobody_counted_them_they_would_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """kube-scheduler's own scores spread them, and ours see four empty nodes each time."""

    def as_seen(_pod: Pod, nodes: Nodes, *_: object) -> Nodes:
        return nodes

    monkeypatch.setattr("extender.verbs.with_expected", as_seen)
    monkeypatch.setattr("scoring.in_tree_scores.chosen", lambda *_: None)
    assert next(Burst(_CASE, rate=1000.0, lag=1.0).run(1)) > 1.0
