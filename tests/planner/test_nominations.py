"""Every nomination of ours has an end, and no other is touched."""

import pytest

from tests.builders import PodBuilder, pod
from tradewind.planner import gate, nominations
from tradewind.planner.plan_annotation import ANNOTATION, PlanAnnotation

NOW = 1_800_000_000.0


def planned(*, on: str = "a", left: float = 1.0, nominated: str = "a", flag: bool = True) -> PodBuilder:
    plan = PlanAnnotation(on, NOW + left, nominated=flag)
    built = pod("web").annotation(ANNOTATION, plan.text())
    return built.field("status", "nominatedNodeName", value=nominated)


def refused(base: PodBuilder, reason: str = "Unschedulable") -> PodBuilder:
    condition = {"type": "PodScheduled", "status": "False", "reason": reason}
    return base.field("status", "conditions", value=[condition])


def never_preempting(base: PodBuilder) -> PodBuilder:
    return base.field("spec", "preemptionPolicy", value="Never")


def held(base: PodBuilder) -> PodBuilder:
    return base.field("spec", "schedulingGates", value=[{"name": gate.GATE}])


@pytest.mark.parametrize(
    ("tried", "ended", "ours"),
    [
        pytest.param(pod("web"), False, False, id="no plan"),
        pytest.param(planned(), False, True, id="fresh"),
        pytest.param(planned(left=0.0), True, True, id="expired"),
        pytest.param(planned(flag=False, nominated="", left=0.0), True, False, id="expired, never nominated"),
        pytest.param(planned(nominated=""), True, False, id="kube-scheduler cleared it"),
        pytest.param(
            never_preempting(refused(planned())), True, True, id="refused, and kube-scheduler clears none"
        ),
        pytest.param(
            refused(planned()), True, False, id="refused, then nominated by kube-scheduler for the same"
        ),
        pytest.param(refused(planned(nominated="b")), True, False, id="the same, for another"),
        pytest.param(refused(planned(), "SchedulerError"), False, True, id="an error is no refusal"),
        pytest.param(
            refused(planned(flag=False, nominated="")), False, False, id="refused before it was planned"
        ),
        pytest.param(held(planned()), False, True, id="about to be ungated"),
        pytest.param(held(planned(left=0.0)), True, True, id="never ungated"),
        pytest.param(planned(left=0.0).on("a"), False, False, id="bound"),
    ],
)
def test_when_a_plan_ends_and_whose_the_nomination_is(tried: PodBuilder, ended: bool, ours: bool) -> None:
    built = tried.build()
    assert nominations.has_ended(built, NOW) is ended
    assert nominations.is_ours(built) is ours


@pytest.mark.parametrize(
    ("tried", "can"),
    [
        pytest.param(pod("web"), True, id="new"),
        pytest.param(held(pod("web")), True, id="held"),
        pytest.param(held(planned(left=0.0)), True, id="held, with an old one"),
        pytest.param(planned(left=0.0), True, id="another of ours"),
        pytest.param(refused(pod("web")), False, id="an autoscaler is to see it"),
        pytest.param(planned(on="b"), False, id="kube-scheduler's"),
    ],
)
def test_who_is_nominated(tried: PodBuilder, can: bool) -> None:
    assert nominations.can_nominate(tried.build()) is can
