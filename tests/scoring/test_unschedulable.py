import pytest

from scoring.filters.unschedulable import Unschedulable
from tests.builders import PodBuilder, node, pod
from tests.scoring.feasible import feasible

_TAINT = "node.kubernetes.io/unschedulable"


@pytest.mark.parametrize(
    ("wanted", "passing"),
    [
        pytest.param(pod("w"), "open", id="a cordoned node takes nobody"),
        pytest.param(
            pod("w").toleration(key=_TAINT, operator="Exists", effect="NoSchedule"),
            "open cordoned",
            id="but who tolerates the taint that stands for it",
        ),
        pytest.param(pod("w").toleration(operator="Exists"), "open cordoned", id="or everything"),
        pytest.param(pod("w").toleration(key=_TAINT), "open cordoned", id="the taint has no value"),
        pytest.param(pod("w").toleration(key=_TAINT, value="true"), "open", id="so none may be asked for"),
        pytest.param(
            pod("w").toleration(key=_TAINT, operator="Exists", effect="NoExecute"),
            "open",
            id="another effect",
        ),
    ],
)
def test_unschedulable(wanted: PodBuilder, passing: str) -> None:
    assert feasible(Unschedulable(), wanted, [node("open"), node("cordoned").unschedulable()]) == passing
