"""Which controllers owe pods: few of them are asked, and those again and again."""

from datetime import UTC, datetime

import pytest

from tests.builders import PodBuilder, pod
from tradewind.controller.growing import Growing
from tradewind.controller.wanted_pods import WantedPods

_NOW = 1_772_625_600.0


class _Reader(WantedPods):
    def __init__(self, **wanted: int) -> None:
        self.wanted = wanted  # by name of the controller; those that are not here cannot be read
        self.asked: list[str] = []

    def of(self, kind: str, namespace: str, name: str) -> int | None:
        assert (kind in {"ReplicaSet", "Job"}, namespace) == (True, "default")
        self.asked.append(name)
        return self.wanted.get(name)


class _Look:
    def __init__(self, reader: _Reader) -> None:
        self.reader = reader
        self.now = _NOW
        self._growing = Growing(reader, lambda: self.now)

    def __call__(self, *pods: PodBuilder) -> dict[str, int]:
        """By name; whom it asks for that is in `asked`."""
        self.reader.asked.clear()
        found = self._growing.wanted([each.build() for each in pods])
        return {uid.removeprefix("default/uid-"): count for uid, count in found.items()}

    @property
    def asked(self) -> list[str]:
        return self.reader.asked


def _pods(count: int, owner: str = "web", kind: str = "ReplicaSet", age: float = 0.0) -> list[PodBuilder]:
    created = datetime.fromtimestamp(_NOW - age, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return [
        pod(f"{owner}-{number}-{age:.0f}")
        .owner(kind, owner, f"uid-{owner}")
        .field("metadata", "creationTimestamp", value=created)
        for number in range(count)
    ]


@pytest.mark.parametrize("kind", ["ReplicaSet", "Job"])
def test_who_owes_is_asked_at_each_look_and_who_is_complete_once(kind: str) -> None:
    look = _Look(_Reader(web=5, done=2))
    done = _pods(2, "done", kind)
    assert look(*_pods(3, kind=kind), *done) == {"web": 5}
    assert sorted(look.asked) == ["done", "web"]
    assert look(*_pods(4, kind=kind), *done) == {"web": 5}
    assert look.asked == ["web"]
    assert look(*_pods(5, kind=kind), *done) == {}
    assert look.asked == ["web"], "its pods are more than before"
    assert look(*_pods(5, kind=kind), *done) == {}
    assert look.asked == []


def test_a_workload_that_is_scaled_down_owes_nothing() -> None:
    look = _Look(_Reader(web=5))
    assert look(*_pods(3)) == {"web": 5}
    look.reader.wanted["web"] = 2
    assert look(*_pods(3)) == {}


def test_a_pod_that_is_lost_is_owed() -> None:
    look = _Look(_Reader(web=3))
    assert look(*_pods(3)) == {}
    assert look(*_pods(2), *[each.deleting() for each in _pods(1, age=1.0)]) == {"web": 3}


def test_who_got_no_pod_for_long_is_not_asked() -> None:
    """A quota refuses the rest, or there is no rest."""
    look = _Look(_Reader(web=5))
    assert look(*_pods(1, age=300.0), *_pods(1, age=900.0)) == {"web": 5}
    look.now += 1.0
    assert look(*_pods(1, age=300.0), *_pods(1, age=900.0)) == {}
    assert look.asked == []


@pytest.mark.parametrize(
    "pods",
    [
        pytest.param(_pods(1, kind="StatefulSet"), id="its pods are numbered"),
        pytest.param(_pods(1, kind="DaemonSet"), id="its pods are the nodes' own"),
        pytest.param([_pods(1)[0].phase("Succeeded")], id="nobody is left to be like"),
        pytest.param([pod("alone")], id="no controller"),
    ],
)
def test_nobody_is_asked_for(pods: list[PodBuilder]) -> None:
    look = _Look(_Reader(web=5))
    assert look(*pods) == {}
    assert look.asked == []


def test_what_cannot_be_read_is_left_out_and_not_asked_for_at_each_look() -> None:
    look = _Look(_Reader())
    for _ in range(3):
        assert look(*_pods(2)) == {}
    assert look.asked == []
    look.reader.wanted["web"] = 4
    assert look(*_pods(3)) == {"web": 4}, "another pod is a reason to ask again"


def test_of_many_some_are_asked_at_each_look_and_everybody_in_turn() -> None:
    names = [f"w{number}" for number in range(50)]
    look = _Look(_Reader(**dict.fromkeys(names, 2)))
    pods = [each for name in names for each in _pods(1, name)]
    asked: list[str] = []
    for known in (20, 40, 50):
        assert len(look(*pods)) == known
        assert len(look.asked) == 20
        asked += look.asked
    assert set(asked[:50]) == set(names)
    look(*pods)
    assert set(look.asked) == set(names[10:30]), "those who were asked the longest ago"


def test_a_pod_of_another_namespace_that_names_the_controller_counts_for_nothing() -> None:
    class Reader(WantedPods):
        def __init__(self) -> None:
            pass

        def of(self, kind: str, namespace: str, name: str) -> int:
            wanted = {("default", "web"): 5, ("evil", "huge"): 2**31}
            return wanted[namespace, name] if kind == "ReplicaSet" else 0

    forged = _pods(1, age=1.0)[0].namespace("evil").owner("ReplicaSet", "huge", "uid-web")
    pods = [each.build() for each in (*_pods(3), forged)]
    found = Growing(Reader(), lambda: _NOW).wanted(pods)
    assert found["default/uid-web"] == 5
