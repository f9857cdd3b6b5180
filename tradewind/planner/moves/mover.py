"""Carries out what pays, one drain set at a time, through hands that reach the cluster.

Nothing here knows an API server: a test gives it a cluster of its own, and time.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

from tradewind.cluster.budgets import Budget
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Snapshot
from tradewind.planner import selection
from tradewind.planner.batch import PolicyOf
from tradewind.planner.drains import DrainSet, carried_out, drains
from tradewind.planner.keepers import SENTENCES, Keepers
from tradewind.planner.moves import drain as machine
from tradewind.planner.moves.crowding import Waiting
from tradewind.planner.moves.drain import Drain, InFlight, Moving, Phase
from tradewind.planner.moves.ledger import Ledger
from tradewind.planner.moves.rules import Rules, best_first, stakes
from tradewind.planner.plan_annotation import PlanAnnotation
from tradewind.planner.settings import PlannerSettings

# Sets that are tried against the pods that wait, at each look: each is a plan of its own.
_TRIES = 5


class Refusal(NamedTuple):
    text: str
    again: bool = False  # it may be granted later: a disruption budget


class Hands(Protocol):
    """Each call reaches the API server, and says what went wrong instead of raising."""

    def load(self) -> Ledger | None: ...  # None where it cannot be read

    def save(self, ledger: Ledger) -> bool: ...

    def budgets(self) -> Sequence[Budget] | None: ...  # None where they cannot be listed

    def evict(self, pod: Pod, *, dry_run: bool = False) -> Refusal | None: ...

    def reserve(self, pod: Pod, place: PlanAnnotation) -> bool: ...

    def release(self, pods: Collection[Pod]) -> None: ...  # of their reservations


class World(NamedTuple):
    """The cluster at one moment."""

    snapshot: Snapshot
    pods: Sequence[Pod]
    now: float  # seconds since 1970


class Advice(NamedTuple):
    """A set that would empty a node."""

    chosen: DrainSet
    trouble: str  # why it is not begun; empty where it may be


@dataclass(frozen=True)
class Round:
    """What came of one look."""

    advice: Sequence[Advice] | None = None  # None where nobody looked
    ended: Drain | None = None
    trouble: str = ""  # why nobody could look


class Mover:
    def __init__(
        self,
        hands: Hands,
        look: Callable[[], World],
        policy_of: PolicyOf,
        settings: Callable[[], PlannerSettings],
    ) -> None:
        self._hands = hands
        self._look = look
        self._policy_of = policy_of
        self._settings_of = settings
        self._ledger: Ledger | None = None
        self._unsaved = False
        self._next_look = 0.0
        self.drain: Drain | None = None

    def forget(self) -> None:
        """Another leads: what it does is in the ledger."""
        self._ledger = self.drain = None

    def in_flight(self, waiting: Sequence[Pod]) -> InFlight:
        return machine.in_flight(self.drain, waiting)

    def run(self) -> Round:
        """One round; to be called every second or so while leading."""
        world, settings = self._look(), self._settings_of().moves
        if settings.mode == "off" and self.drain is None and self._ledger is None:
            return Round()
        if not self._ready(world):
            return Round(trouble="the record of evictions cannot be read or written")
        if self.drain is not None:
            if settings.mode != "act":
                self.drain = machine.given_up(self.drain, "planner.moves.mode is no longer act")
            return Round(ended=self._advance(world))
        if settings.mode == "off" or world.now < self._next_look:
            return Round()
        self._next_look = world.now + settings.every_seconds
        return self._choose(world)

    def _choose(self, world: World) -> Round:
        budgets = self._hands.budgets()
        if budgets is None:
            return Round(trouble="disruption budgets cannot be listed")
        settings = self._settings_of().moves
        advice = self._advise(world, budgets)
        if settings.mode != "act":
            return Round(advice)
        advice = self._beside_waiting(advice, world)
        chosen = next((each.chosen for each in advice if not each.trouble), None)
        if chosen is None:
            return Round(advice)
        self.drain = machine.begin(chosen, world.pods, world.now, settings.place_seconds)
        return Round(advice, self._advance(world))

    def _ready(self, world: World) -> bool:
        """The record is read once, and what another leader had begun is given up."""
        if self._ledger is None:
            found = self._hands.load()
            if found is None:
                return False
            self._ledger = found.abandoned(world.now)
            self._unsaved = bool(found.under_way)
            self._hands.release(world.pods)
        if self._unsaved:
            self._unsaved = not self._hands.save(self._ledger)
        return not self._unsaved

    def _rules(self, world: World) -> Rules:
        namespaces = world.snapshot.nodes.cluster.namespaces
        return Rules(self._settings_of().moves, namespaces, self._ledger or Ledger(), world.now)

    def _advise(self, world: World, budgets: Sequence[Budget]) -> list[Advice]:
        settings, rules = self._settings_of(), self._rules(world)
        snapshot = _with_planned(world)
        limits = rules.limits(settings.schedulers)
        found = drains(snapshot, world.pods, self._policy_of, budgets, limits=limits, rent=settings.rent)
        at_stake = stakes(snapshot, world.pods)
        return [Advice(each, rules.trouble(each, at_stake)) for each in best_first(found, at_stake)]

    def _beside_waiting(self, advice: Sequence[Advice], world: World) -> list[Advice]:
        """With the reason where a set takes the room of pods that wait; a second look asks again."""
        waiting = self._waiting(world)
        free = [each.chosen for each in advice if not each.trouble][:_TRIES]
        crowding = {each.node: waiting.crowded_out(each.moves) for each in free}
        return [each._replace(trouble=each.trouble or crowding.get(each.chosen.node, "")) for each in advice]

    def _waiting(self, world: World) -> Waiting:
        flying = {pod.uid: pod for pod in selection.in_flight(world.pods, world.now)}
        pods = [flying.get(pod.uid, pod) for pod in world.pods]
        return Waiting(_with_planned(world), pods, self._policy_of, rent=self._settings_of().rent)

    def _advance(self, world: World) -> Drain | None:
        """As far as it goes for now; the set, once it has ended."""
        place_seconds = self._settings_of().moves.place_seconds
        while self.drain is not None and not self.drain.phase.ended:
            before = self.drain = machine.observed(self.drain, world.pods, world.now, place_seconds)
            if before.phase.ended:
                break
            self.drain = self._step(before, world)
            if self.drain is before:
                return None
            world = self._look()
        return self._end(world.now)

    def _step(self, drain: Drain, world: World) -> Drain:
        if drain.phase is Phase.CHOSEN:
            return machine.advanced(drain, Phase.TRIED, self._try(drain))
        if drain.phase is Phase.TRIED:
            return machine.advanced(drain, Phase.RESERVED, self._reserve(drain, world.now))
        if drain.phase is Phase.RESERVED:
            return machine.advanced(drain, Phase.EVICTING, self._second_look(drain, world))
        following = machine.due(drain)
        return drain if following is None else self._evict(drain, following, world)

    def _try(self, drain: Drain) -> str:
        for each in drain.moves:
            refused = self._hands.evict(each.pod, dry_run=True)
            if refused is not None:
                return f"{each.pod} may not be evicted: {refused.text}"
        return ""

    def _reserve(self, drain: Drain, now: float) -> str:
        """Booked first: what is not in the record does not happen."""
        booked = (self._ledger or Ledger()).begun(drain.node, [each.pod for each in drain.moves], now)
        if not self._hands.save(booked):
            return "its evictions could not be recorded"
        self._ledger = booked
        for each in drain.moves:
            if not self._hands.reserve(each.pod, PlanAnnotation(each.target, round(drain.until))):
                return f"room for {each.pod} on {each.target} could not be reserved"
        return ""

    def _second_look(self, drain: Drain, world: World) -> str:
        """What has changed since the set was chosen, so that it should not go on."""
        left = machine.moves_left(drain)
        there = {pod.uid: pod for pod in world.pods}
        # Neither its own booking nor the room of its replacements is a reason against it.
        rules = replace(self._rules(world), ledger=Ledger())
        keepers = Keepers(world.snapshot, world.pods, (), rules.limits(self._settings_of().schedulers))
        for move in left:
            pod = there.get(move.pod.uid)
            if pod is None or pod.deleting or pod.node_name != drain.node:
                return f"{move.pod} is no longer on {drain.node}"
            keeper = keepers.of_pod(pod)
            if keeper is not None:
                return f"{drain.node} is {SENTENCES[keeper]} ({pod})"
        came = machine.others_on(drain, world.pods)
        if came:
            return f"{came[0]} came to {drain.node} meanwhile"
        if carried_out(_with_planned(world), left, self._policy_of) is None:
            return f"the pods of {drain.node} no longer fit on their targets"
        crowding = self._waiting(world).crowded_out(left)
        return crowding or ("" if drain.evicted else self._pays_not(drain, world, rules))

    def _pays_not(self, drain: Drain, world: World, rules: Rules) -> str:
        row = world.snapshot.row_of.get(drain.node)
        if row is None:
            return f"{drain.node} is gone"
        price = float(world.snapshot.nodes.price[row])
        again = DrainSet(drain.node, price, tuple(machine.moves_left(drain)))
        return rules.trouble(again, stakes(world.snapshot, world.pods))

    def _evict(self, drain: Drain, each: Moving, world: World) -> Drain:
        trouble = self._second_look(drain, world)
        if trouble:
            return machine.given_up(drain, trouble)
        marked = self.drain = machine.evicting(drain, each.pod.uid, world.now)
        refused = self._hands.evict(each.pod)
        if refused is None:
            return marked
        if refused.again:
            return drain  # until it took too long
        return machine.given_up(
            machine.evicting(drain, each.pod.uid, None), f"{each.pod} may not be evicted: {refused.text}"
        )

    def _end(self, now: float) -> Drain | None:
        """Reservations and what was booked and not used are given back."""
        ended, self.drain = self.drain, None
        if ended is None:
            return None
        self._hands.release([each.pod for each in ended.moves])
        self._ledger = (self._ledger or Ledger()).ended(ended.node, ended.evicted, now)
        self._ledger = self._ledger.trimmed(self._settings_of().moves, now)
        self._unsaved = not self._hands.save(self._ledger)
        return ended


def _with_planned(world: World) -> Snapshot:
    """Pods that were sent to a node and are not there yet have its room."""
    return world.snapshot.with_pods(selection.in_flight(world.pods, world.now))
