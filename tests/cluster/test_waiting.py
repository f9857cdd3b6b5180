"""Whether the pods that wait are all that is to come, and what they ask for."""

import pytest

from tests.builders import PodBuilder, pod
from tradewind.cluster.waiting import Waiting


class _Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> _Clock:
    return _Clock()


@pytest.fixture
def waiting(clock: _Clock) -> Waiting:
    return Waiting(clock)


def _asking(name: str, cores: int = 1) -> PodBuilder:
    return pod(name).requests(cpu=str(cores))


def _nominated(node: str) -> PodBuilder:
    return _asking("p").field("status", "nominatedNodeName", value=node)


_GATED = _asking("p").field("spec", "schedulingGates", value=[{"name": "tradewind.dev/planning"}])


def _of(pods: int) -> dict[str, int]:
    return {"cpu": 1000 * pods, "pods": pods}


def _come(waiting: Waiting, clock: _Clock, gaps: list[float]) -> None:
    for number, gap in enumerate(gaps):
        clock.now += gap
        waiting.put(_asking(f"p{number}").build())


def test_nobody_waits(waiting: Waiting) -> None:
    assert waiting.to_come() == {}
    assert not len(waiting)


@pytest.mark.parametrize(
    ("gaps", "pause", "known"),
    [
        pytest.param([0.0] * 100, 0.05, False, id="they have just come"),
        pytest.param([0.0] * 100, 0.11, True, id="a tenth of a second without a pod is a pause"),
        pytest.param([0.05] * 19, 0.12, False, id="shorter than three times the time between two"),
        pytest.param([0.05] * 19, 0.25, True, id="longer than that"),
        pytest.param([0.0], 0.99, False, id="after one alone nobody knows"),
        pytest.param([0.0], 1.01, True, id="until it is a second ago"),
    ],
)
def test_they_are_all_once_no_more_come(
    waiting: Waiting, clock: _Clock, gaps: list[float], pause: float, *, known: bool
) -> None:
    _come(waiting, clock, gaps)
    clock.now += pause
    assert waiting.to_come() == (_of(len(gaps)) if known else None)


def test_who_is_placed_or_gone_waits_no_more(waiting: Waiting, clock: _Clock) -> None:
    _come(waiting, clock, [0.0, 0.0, 0.0])
    clock.now = 9
    waiting.drop(_asking("p1").build().uid)
    waiting.drop("nobody")
    assert [pod.name for pod in waiting] == ["p0", "p2"]
    assert waiting.to_come() == _of(2)


def test_a_change_of_a_pod_is_no_new_one(waiting: Waiting, clock: _Clock) -> None:
    assert waiting.put(_asking("p").build())
    clock.now = 9
    assert not waiting.put(_asking("p", 3).build())
    assert waiting.to_come() == {"cpu": 3000, "pods": 1}


@pytest.mark.parametrize("sent", [_GATED, _nominated("a")], ids=["gate", "plan"])
def test_whom_a_gate_holds_or_a_plan_sends_is_not_among_them(
    waiting: Waiting, clock: _Clock, sent: PodBuilder
) -> None:
    assert waiting.put(sent.build())
    assert waiting.to_come() == {}
    clock.now = 9
    waiting.put(_asking("p").build())
    assert waiting.to_come() is None  # from now on it may go anywhere
    clock.now = 19
    assert waiting.to_come() == _of(1)


def test_a_nomination_that_was_taken_back_is_work(waiting: Waiting) -> None:
    assert waiting.put(_nominated("a").build())
    assert not waiting.put(_nominated("b").build())
    assert waiting.put(_asking("p").build())
