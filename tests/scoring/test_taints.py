import pytest

from scoring.filters.taints import Taints
from tests.builders import NodeBuilder, PodBuilder, node, pod
from tests.scoring.feasible import feasible

_GPU = node("gpu").taint("dedicated", "NoSchedule", "gpu")
_BROKEN = node("broken").taint("dedicated", "NoExecute", "gpu")
_AVOIDED = node("avoided").taint("dedicated", "PreferNoSchedule", "gpu")
_BOTH = node("both").taint("dedicated", "NoSchedule", "gpu").taint("slow", "NoSchedule")
_NODES = [node("free"), _GPU, _BROKEN, _AVOIDED, _BOTH]


@pytest.mark.parametrize(
    ("wanted", "passing"),
    [
        pytest.param(pod("w"), "free avoided", id="nothing tolerated"),
        pytest.param(
            pod("w").toleration(key="dedicated", operator="Equal", value="gpu"),
            "free gpu broken avoided",
            id="a value and every effect",
        ),
        pytest.param(
            pod("w").toleration(key="dedicated", value="gpu", effect="NoSchedule"),
            "free gpu avoided",
            id="Equal is meant where nothing is said",
        ),
        pytest.param(pod("w").toleration(key="dedicated", value="batch"), "free avoided", id="another value"),
        pytest.param(pod("w").toleration(key="dedicated"), "free avoided", id="an empty value is a value"),
        pytest.param(
            pod("w").toleration(key="dedicated", operator="Exists", effect="NoExecute"),
            "free broken avoided",
            id="any value and one effect",
        ),
        pytest.param(pod("w").toleration(key="other", operator="Exists"), "free avoided", id="another key"),
        pytest.param(
            pod("w").toleration(operator="Exists"), "free gpu broken avoided both", id="everything tolerated"
        ),
        pytest.param(
            pod("w").toleration(operator="Exists", effect="NoSchedule"),
            "free gpu avoided both",
            id="everything of one effect",
        ),
        pytest.param(
            pod("w").toleration(key="dedicated", operator="Exists").toleration(key="slow"),
            "free gpu broken avoided both",
            id="each taint by a toleration of its own",
        ),
        pytest.param(
            pod("w").toleration(key="dedicated", operator="Like", value="gpu"),
            "free avoided",
            id="an operator that there is not",
        ),
    ],
)
def test_taints(wanted: PodBuilder, passing: str) -> None:
    assert feasible(Taints(), wanted, _NODES) == passing


def _sla(value: str) -> NodeBuilder:
    return node("n").taint("sla", "NoSchedule", value)


@pytest.mark.parametrize(
    ("tainted", "operator", "bound", "tolerated"),
    [
        pytest.param("99", "Gt", "95", True, id="the taint is greater than the bound"),
        pytest.param("95", "Gt", "95", False, id="greater is not equal"),
        pytest.param("95", "Lt", "99", True, id="the taint is less than the bound"),
        pytest.param("99", "Lt", "99", False, id="less is not equal"),
        pytest.param("9", "Lt", "10", True, id="numbers and not texts"),
        pytest.param("-7", "Lt", "-6", True, id="negative numbers"),
        pytest.param("0", "Gt", "-1", True, id="zero"),
        pytest.param("099", "Gt", "95", False, id="leading zeros are no number"),
        pytest.param("99", "Gt", "095", False, id="nor in the bound"),
        pytest.param("99", "Gt", "+95", False, id="nor a plus"),
        pytest.param("0", "Gt", "-0", False, id="nor minus nothing"),
        pytest.param("", "Lt", "95", False, id="no value"),
        pytest.param("99.5", "Gt", "95", False, id="no fractions"),
        pytest.param("9223372036854775808", "Gt", "95", False, id="beyond 64 bits"),
    ],
)
def test_comparisons(tainted: str, operator: str, bound: str, tolerated: bool) -> None:
    wanted = pod("w").toleration(key="sla", operator=operator, value=bound, effect="NoSchedule")
    assert feasible(Taints(comparisons=True), wanted, [_sla(tainted)]) == ("n" if tolerated else "")


def test_comparisons_tolerate_nothing_unless_they_are_switched_on() -> None:
    wanted = pod("w").toleration(key="sla", operator="Gt", value="95")
    assert not feasible(Taints(), wanted, [_sla("99")])
