import pytest

from scoring.scorers.workload_priority import WorkloadPriority
from tests.builders import PodBuilder, cluster_of, node, pod

_NODES = cluster_of([node("durable"), node("spot").label("karpenter.sh/capacity-type", "spot")]).nodes
_JOB = ("Job", "nightly", "uid-nightly")


@pytest.mark.parametrize(
    ("wanted", "scores"),
    [
        pytest.param(pod("w").priority(1000), [1, 0], id="high priority goes to durable nodes"),
        pytest.param(pod("w").priority(-1), [0, 1], id="negative priority goes to spot nodes"),
        pytest.param(pod("w").owner(*_JOB), [0, 1], id="jobs go to spot nodes"),
        pytest.param(pod("w").owner(*_JOB).priority(1000), [1, 0], id="an important job is important first"),
        pytest.param(pod("w").priority(999), [0.5, 0.5], id="any other pod is neutral"),
    ],
)
def test_workload_priority(wanted: PodBuilder, scores: list[float]) -> None:
    assert WorkloadPriority().score(wanted.build(), _NODES).tolist() == scores


def test_the_threshold_is_a_parameter() -> None:
    assert WorkloadPriority(high=10).score(pod("w").priority(10).build(), _NODES).tolist() == [1, 0]


def test_the_literal_formula_is_the_same_on_all_nodes() -> None:
    literal = WorkloadPriority(formula="literal")
    assert literal.score(pod("w").priority(1000).build(), _NODES).tolist() == [1, 1]
    assert literal.score(pod("w").owner(*_JOB).build(), _NODES).tolist() == [0, 0]
