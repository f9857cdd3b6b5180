"""What a round of planning is made for, and what comes of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from tradewind.cluster.cache import WorkCounter
from tradewind.cluster.hints import NODE
from tradewind.cluster.objects import Pod
from tradewind.planner import nominations, selection
from tradewind.planner.moves.drain import InFlight
from tradewind.planner.plan_annotation import PlanAnnotation
from tradewind.planner.planner import PlanResult
from tradewind.planner.settings import PlannerSettings


class Order(NamedTuple):
    """One pod is to go to one node."""

    pod: Pod
    plan: PlanAnnotation


@dataclass(frozen=True, kw_only=True)
class Orders:
    diverted: Sequence[Order] = ()  # ungated to another node before; written before all others
    waves: Sequence[Sequence[Order]] = ()  # one is bound before the next is written
    ungate: Sequence[Pod] = ()  # no longer held, for whatever reason
    overdue: Sequence[Pod] = ()  # of these, because they were held for too long
    nodeless: Sequence[Pod] = ()  # of these, because no node can take them now
    on_pools: Sequence[tuple[Pod, str]] = ()  # with the pool that would have to grow for it
    unplaced: Mapping[str, tuple[Pod, str]] = field(default_factory=dict)  # by UID, with the reason
    more: bool = False  # pods that found no room in the batch

    def placed(self) -> list[Order]:
        return [*self.diverted, *(order for wave in self.waves for order in wave)]

    def staying_held(self) -> list[tuple[Pod, str]]:
        """Pods without a place that are not ungated, with the reason."""
        ungated = {pod.uid for pod in self.ungate}
        return [each for uid, each in self.unplaced.items() if each[0].gates and uid not in ungated]


@dataclass(frozen=True, kw_only=True)
class Round:
    """What one plan is made for."""

    settings: PlannerSettings
    now: float
    seen: WorkCounter  # before the pods were chosen
    chosen: Sequence[Pod]
    waited: Mapping[str, float]  # by UID, in seconds
    in_flight: Mapping[str, Pod]  # by UID, as if they were on their nodes
    moves: InFlight  # of running pods
    more: bool  # pods wait that found no room in the batch
    hurried: bool  # plans are made faster than they are written, or the solvers are still being loaded
    flying: Mapping[str, str] = field(default_factory=dict)  # of the chosen: UID to the node on the pod
    release: Callable[[Orders], None] = lambda _: None  # takes orders that need not wait for the plan


def orders_of(result: PlanResult, this: Round, nodeless_of: Callable[[Sequence[Pod]], list[Pod]]) -> Orders:
    pod_of = {pod.uid: pod for pod in this.chosen}
    waves: dict[int, list[Order]] = {}
    diverted: list[Order] = []
    for each in result.plan.placements:
        pod = pod_of[each.uid]
        nominated = this.settings.nominate and nominations.can_nominate(pod)
        order = Order(
            pod, PlanAnnotation(each.node, result.plan.expires_at, each.strict, nominated=nominated)
        )
        moved = this.flying.get(each.uid, each.node) != each.node
        (diverted if moved else waves.setdefault(each.wave, [])).append(order)
    named = {str(pod): pod for pod in this.chosen}
    unplaced = {named[name].uid: (named[name], why) for name, why in result.plan.unplaced.items()}
    # An autoscaler does not look at pods that are held.
    on_pools = [(named[name], pool) for name, pool in result.pools.items() if named[name].gates]
    left = [pod for pod, _ in unplaced.values() if str(pod) not in result.pools]
    late = overdue(left, this.waited, this.settings)
    let_go = {pod.uid for pod in late}
    nodeless = nodeless_of([pod for pod in left if pod.uid not in let_go])
    return Orders(
        diverted=diverted,
        waves=[waves[number] for number in sorted(waves)],
        ungate=[*late, *nodeless, *(pod for pod, _ in on_pools)],
        overdue=late,
        nodeless=nodeless,
        on_pools=on_pools,
        unplaced=unplaced,
        more=this.more,
    )


def pinned(pod: Pod, moves: InFlight) -> Pod:
    """To its target, if it replaces a pod that was moved."""
    node = moves.pins.get(pod.uid)
    return pod if node is None else msgspec.structs.replace(pod, annotations={**pod.annotations, NODE: node})


def overdue(pods: Sequence[Pod], waited: Mapping[str, float], settings: PlannerSettings) -> list[Pod]:
    """Only pods that are held can be ungated."""
    return [pod for pod in selection.overdue(pods, waited, settings.hold_seconds) if pod.gates]
