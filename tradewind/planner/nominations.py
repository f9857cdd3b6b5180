"""Which nominations (`status.nominatedNodeName`) are ours, and when they end.

A pod with a nomination does not exist for Karpenter, and kube-scheduler clears none from a pod that may not
preempt. So every nomination of ours stands beside a plan that says so, and goes with it.
"""

from collections.abc import Mapping
from typing import Protocol

from tradewind.cluster.objects import Pod
from tradewind.planner import plan_annotation
from tradewind.planner.plan_annotation import PlanAnnotation


class Planned(Protocol):
    @property
    def annotations(self) -> Mapping[str, str]: ...

    @property
    def nominated(self) -> str: ...

    @property
    def unschedulable(self) -> bool: ...

    @property
    def preempts(self) -> bool: ...


def is_ours(pod: Planned) -> bool:
    """Whether the pod has a nomination of ours.

    Of an unschedulable pod that may preempt, kube-scheduler has cleared or replaced it, maybe by its own.
    """
    plan = plan_annotation.read(pod)
    return (
        plan is not None
        and plan.nominated
        and pod.nominated == plan.node
        and not (pod.unschedulable and pod.preempts)
    )


def can_nominate(pod: Pod) -> bool:
    """Not an unschedulable pod, which an autoscaler is to see, nor one that kube-scheduler has nominated."""
    return not pod.unschedulable and (not pod.nominated or bool(pod.gates) or is_ours(pod))


def is_refused(pod: Pod, plan: PlanAnnotation) -> bool:
    """Whether kube-scheduler has tried the nominated node in vain."""
    return plan.nominated and not pod.gates and (pod.unschedulable or not pod.nominated)


def has_ended(pod: Pod, now: float) -> bool:
    """Whether the plan on a waiting pod is to be taken back."""
    plan = plan_annotation.read(pod)
    return pod.waiting and plan is not None and (not plan.fresh(now) or is_refused(pod, plan))
