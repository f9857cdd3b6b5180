"""What has changed since a set was chosen, so that it should not go on: asked right before each eviction."""

from dataclasses import replace

from tradewind.planner.batch import PolicyOf
from tradewind.planner.drains import DrainSet, carried_out
from tradewind.planner.keepers import SENTENCES, Keeper, Keepers
from tradewind.planner.moves import drain as machine
from tradewind.planner.moves.causes import Cause
from tradewind.planner.moves.crowding import Waiting
from tradewind.planner.moves.drain import Drain
from tradewind.planner.moves.ledger import Ledger
from tradewind.planner.moves.rescues import better
from tradewind.planner.moves.rules import Rules, stakes
from tradewind.planner.moves.world import World
from tradewind.planner.settings import PlannerSettings

# While the replacement of another pod of the workload becomes Ready: pods of other workloads need not wait.
_PASSING = frozenset({Keeper.UNREADY, Keeper.SINGLE})


def trouble(drain: Drain, world: World, policy_of: PolicyOf, rules: Rules, settings: PlannerSettings) -> str:
    """Empty where it may go on."""
    # Neither its own booking nor the room of its replacements is a reason against it.
    rules = replace(rules, ledger=Ledger())
    kept = _kept(drain, world, rules, settings)
    if kept:
        return kept
    left, planned = machine.moves_left(drain), world.as_planned()
    if carried_out(planned.snapshot, left, policy_of) is None:
        return f"the pods of {drain.node} no longer fit on their targets"
    waiting = Waiting(planned.snapshot, planned.pods, policy_of, rent=settings.rents)
    return waiting.crowded_out(left) or _worth_it(drain, world, rules)


def _kept(drain: Drain, world: World, rules: Rules, settings: PlannerSettings) -> str:
    there, recovering = {pod.uid: pod for pod in world.pods}, machine.recovering(drain)
    limits = rules.limits(settings.schedulers, drain.cause)
    keepers = Keepers(world.snapshot, world.pods, (), limits)
    for move in machine.moves_left(drain):
        pod, source = there.get(move.pod.uid), move.pod.node_name
        if pod is None or pod.deleting or pod.node_name != source:
            return f"{move.pod} is no longer on {source}"
        keeper = keepers.of_pod(pod)
        if keeper is not None and not (keeper in _PASSING and pod.workload in recovering):
            return f"{source} is {SENTENCES[keeper]} ({pod})"
    came = machine.others_on(drain, world.pods)
    if came:
        return f"{came[0]} came to {drain.node} meanwhile"
    coming = machine.others_on(drain, world.as_planned().pods)
    return f"{coming[0]} is on its way to {drain.node}" if coming else ""


def _worth_it(drain: Drain, world: World, rules: Rules) -> str:
    """Money is asked for before the first eviction alone: half of a set saves nothing."""
    left = machine.moves_left(drain)
    if drain.cause is not Cause.MONEY:
        return _safer(drain, world)
    if drain.evicted:
        return ""
    row = world.snapshot.row_of.get(drain.node)
    if row is None:
        return f"{drain.node} is gone"
    again = DrainSet(drain.node, float(world.snapshot.nodes.price[row]), tuple(left))
    return rules.trouble(again, stakes(world.snapshot, world.pods))


def _safer(drain: Drain, world: World) -> str:
    for move in machine.moves_left(drain):
        row = world.snapshot.row_of.get(move.target)
        if row is None or not better(world.snapshot, move.pod.node_name)[row]:
            return f"{move.target} is no better place any more for {move.pod}"
    return ""
