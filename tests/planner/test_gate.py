"""Whom we hold: behind our gates alone, of this version or the one before."""

import pytest

from tests.builders import pod
from tradewind.planner import plan_annotation
from tradewind.planner.gate import GATE, GATES, OLD_GATE, held

_OTHER = "example.com/quota"


def test_names_are_part_of_the_interface() -> None:
    assert GATE == "tradewind.dev/planning"
    assert OLD_GATE == "tradewind.dev/plan"
    assert GATE != plan_annotation.ANNOTATION
    assert {GATE, OLD_GATE} == GATES


@pytest.mark.parametrize(
    ("gates", "ours"),
    [
        pytest.param((), False, id="no gate"),
        pytest.param((GATE,), True, id="ours"),
        pytest.param((OLD_GATE,), True, id="of the version before"),
        pytest.param((OLD_GATE, GATE), True, id="both"),
        pytest.param((GATE, _OTHER), False, id="ours and another"),
        pytest.param((_OTHER, OLD_GATE), False, id="the old one and another"),
        pytest.param((_OTHER,), False, id="another"),
    ],
)
def test_who_is_held(gates: tuple[str, ...], ours: bool) -> None:
    waiting = pod("p").field("spec", "schedulingGates", value=[{"name": name} for name in gates])
    assert held(waiting.build()) is ours
