"""What this process can see of the planner, which is another process: plans on pods, and pods without one."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from tradewind.cluster.objects import Pod
from tradewind.page.pending import waiting_seconds
from tradewind.planner import gate, plan_annotation
from tradewind.planner.plan_annotation import PlanAnnotation

# A held pod without a plan for so long is none that a planner at work has overlooked.
OVERDUE_SECONDS = 60.0


@dataclass(frozen=True, kw_only=True)
class PlannedPod:
    pod: Pod
    plan: PlanAnnotation
    fresh: bool


@dataclass(frozen=True, kw_only=True)
class PlannerView:
    on_the_way: Sequence[PlannedPod]  # the newest last
    followed: int  # placed pods that are where their plan says
    strayed: Sequence[PlannedPod]  # placed elsewhere
    held: int
    overdue: Sequence[Pod]  # held, and without a fresh plan for too long

    @property
    def coming(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for each in self.on_the_way:
            if each.fresh:
                found[each.plan.node] = found.get(each.plan.node, 0) + 1
        return found


def planner_view(pods: Sequence[Pod]) -> PlannerView:
    now = time.time()
    alive = [pod for pod in pods if not (pod.finished or pod.deleting)]
    planned = [
        PlannedPod(pod=pod, plan=plan, fresh=plan.fresh(now))
        for pod in alive
        if (plan := plan_annotation.read(pod)) is not None
    ]
    placed = [each for each in planned if each.pod.node_name]
    waiting = [each for each in planned if not each.pod.node_name]
    fresh = {each.pod.uid for each in waiting if each.fresh}
    held = [pod for pod in alive if not pod.node_name and gate.held(pod)]
    return PlannerView(
        on_the_way=sorted(waiting, key=lambda each: each.plan.until),
        followed=sum(each.pod.node_name == each.plan.node for each in placed),
        strayed=[each for each in placed if each.pod.node_name != each.plan.node],
        held=len(held),
        overdue=[
            pod
            for pod in held
            if pod.uid not in fresh and (waiting_seconds(pod, now) or 0.0) > OVERDUE_SECONDS
        ],
    )
