"""Carries out what pays or is safer, one set of moves at a time, through hands that reach the cluster.

Nothing here knows an API server: a test gives it a cluster of its own, and time.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

from tradewind.cluster.budgets import Budget
from tradewind.cluster.objects import Pod
from tradewind.planner.batch import PolicyOf
from tradewind.planner.drains import DrainSet, drains
from tradewind.planner.moves import drain as machine
from tradewind.planner.moves import second_look
from tradewind.planner.moves.causes import Cause
from tradewind.planner.moves.drain import Drain, InFlight, Moving, Phase
from tradewind.planner.moves.ledger import Ledger
from tradewind.planner.moves.rescues import rescues
from tradewind.planner.moves.rules import Rules, best_first, stakes, unready
from tradewind.planner.moves.world import World
from tradewind.planner.plan_annotation import PlanAnnotation
from tradewind.planner.settings import MoveSettings, PlannerSettings

# Sets that are looked at a second time, at each look: each is a plan of its own, for the pods that wait.
_TRIES = 5
# A set that was overtaken before its first eviction has disturbed nobody: after so many looks, in which
# others have their turn, the node may be chosen again.
_OVERTAKEN_LOOKS = 2.0


class Refusal(NamedTuple):
    text: str
    again: bool = False  # it may be granted later: a disruption budget
    gone: bool = False  # there is no such pod any more
    unsure: bool = False  # nobody knows whether it was carried out: no answer, or one of a broken server


class Hands(Protocol):
    """Each call reaches the API server, and says what went wrong instead of raising."""

    def load(self) -> Ledger | None: ...  # None where it cannot be read

    def save(self, ledger: Ledger) -> Ledger | None: ...  # as it is stored; None where that failed

    def budgets(self) -> Sequence[Budget] | None: ...  # None where they cannot be listed

    def evict(self, pod: Pod, *, dry_run: bool = False) -> Refusal | None: ...

    def reserve(self, pod: Pod, place: PlanAnnotation) -> bool: ...

    def release(self, pods: Collection[Pod]) -> None: ...  # of their reservations


class Advice(NamedTuple):
    """A set that would be worth moving."""

    chosen: DrainSet
    trouble: str  # why it is not begun; empty where it may be
    cause: Cause = Cause.MONEY


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
        self._noticed = frozenset[str]()
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
        if Cause.NOTICE in settings.causes:
            self._notice(world)
        if self.drain is not None:
            if settings.mode != "act":
                self.drain = machine.given_up(self.drain, "planner.moves.mode is no longer act")
            return Round(ended=self._advance(world))
        following = world.now + settings.every_seconds  # no look is later, whenever the last one was
        if settings.mode == "off" or world.now < self._next_look <= following:
            return Round()
        self._next_look = following
        return self._choose(world)

    def _notice(self, world: World) -> None:
        """A node that is about to go is looked at now, and money is not worth a wait."""
        new = {pod.node_name for pod in world.pods} & (world.leaving() - self._noticed)
        self._noticed = world.leaving()
        if new:
            self._next_look = world.now
            if self.drain is not None and self.drain.cause is Cause.MONEY:
                why = f"{min(new)} has a termination notice, and goes first"
                self.drain = machine.given_up(self.drain, why)

    def _choose(self, world: World) -> Round:
        budgets = self._hands.budgets()
        if budgets is None:
            return Round(trouble="disruption budgets cannot be listed")
        settings = self._settings_of().moves
        advice = self._advise(world, budgets)
        if settings.mode != "act":
            return Round(advice)
        advice = self._begin(advice)
        return Round(advice, self._advance(self._look()))

    def _begin(self, advice: Sequence[Advice]) -> list[Advice]:
        """The first set that nothing speaks against now: to find it took a while, in which pods were planned.

        With the reason where it speaks against others, such as that one takes the room of pods that wait.
        """
        told, tries = list(advice), 0
        place_seconds = self._settings_of().moves.place_seconds
        for number, each in enumerate(advice):
            if each.trouble or tries == _TRIES:
                continue
            tries, world = tries + 1, self._look()
            drain = machine.begin(each.chosen, world.pods, world.now, place_seconds, each.cause)
            trouble = self._second_look(drain, world)
            if not trouble:
                self.drain = drain
                break
            told[number] = each._replace(trouble=trouble)
        return told

    def _ready(self, world: World) -> bool:
        """The record is read once, and what another leader had begun is given up."""
        if self._ledger is None:
            found = self._hands.load()
            if found is None:
                return False
            self._ledger = found.capped(world.now).abandoned(world.now)
            self._unsaved = self._ledger != found
            self._hands.release(world.pods)
        if self._unsaved:
            self._save(self._ledger, world.now)
        return not self._unsaved

    def _save(self, ledger: Ledger, now: float) -> None:
        stored = self._hands.save(ledger)
        self._ledger, self._unsaved = (stored or ledger).capped(now), stored is None

    def _rules(self, world: World) -> Rules:
        namespaces = world.snapshot.nodes.cluster.namespaces
        ledger = self._ledger or Ledger()
        return Rules(self._settings_of().moves, namespaces, ledger, world.now, unready(world.pods))

    def _advise(self, world: World, budgets: Sequence[Budget]) -> list[Advice]:
        """Those for safety first."""
        settings, rules, planned = self._settings_of(), self._rules(world), world.as_planned()
        at_stake = stakes(planned.snapshot, world.pods)
        terms = rules.terms(planned.snapshot, world.pods, budgets, settings.schedulers)
        found = [
            Advice(each.chosen, rules.trouble(each.chosen, at_stake, each.cause), each.cause)
            for each in rescues(planned.snapshot, planned.pods, self._policy_of, terms, rent=settings.rents)
        ]
        if Cause.MONEY in settings.moves.causes:
            limits = rules.limits(settings.schedulers)
            limits = replace(limits, nodes=limits.nodes | world.destinations())
            saving = drains(
                planned.snapshot, world.pods, self._policy_of, budgets, limits=limits, rent=settings.rents
            )
            found += [Advice(each, rules.trouble(each, at_stake)) for each in best_first(saving, at_stake)]
        return found

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
            return self._try(drain)
        if drain.phase is Phase.TRIED:
            return machine.advanced(drain, Phase.RESERVED, self._reserve(drain, world.now))
        if drain.phase is Phase.RESERVED:
            return machine.advanced(drain, Phase.EVICTING, self._second_look(drain, world))
        following = machine.due(drain)
        return drain if following is None else self._evict(drain, following, world)

    def _try(self, drain: Drain) -> Drain:
        for each in drain.moves:
            refused = self._hands.evict(each.pod, dry_run=True)
            if refused is not None:
                why = f"{each.pod} may not be evicted: {refused.text}"
                return machine.given_up(drain, why, refused=not refused.gone)
        return machine.advanced(drain, Phase.TRIED)

    def _reserve(self, drain: Drain, now: float) -> str:
        """Booked first: what is not in the record does not happen."""
        booked = (self._ledger or Ledger()).begun(
            drain.node, [each.pod for each in drain.moves], now, drain.cause
        )
        stored = self._hands.save(booked)
        if stored is None:
            return "its evictions could not be recorded"
        self._ledger = stored.capped(now)
        for each in drain.moves:
            if not self._hands.reserve(each.pod, PlanAnnotation(each.target, round(drain.until))):
                return f"room for {each.pod} on {each.target} could not be reserved"
        return ""

    def _second_look(self, drain: Drain, world: World) -> str:
        return second_look.trouble(drain, world, self._policy_of, self._rules(world), self._settings_of())

    def _evict(self, drain: Drain, each: Moving, world: World) -> Drain:
        trouble = self._second_look(drain, world)
        if trouble:
            return machine.given_up(drain, trouble)
        marked = self.drain = machine.evicting(drain, each.pod.uid, world.now)
        refused = self._hands.evict(each.pod)
        if refused is None or refused.unsure:
            return marked  # stays booked, and a replacement may come
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
        settings = self._settings_of().moves
        cooled = now if ended.evicted or ended.refused else _almost_cool(settings, now)
        self._ledger = (self._ledger or Ledger()).ended(ended.node, ended.evicted, cooled)
        self._save(self._ledger.trimmed(settings, now), now)
        return ended


def _almost_cool(settings: MoveSettings, now: float) -> float:
    """When its cool-down would have begun, for it to end soon."""
    return now - max(settings.node_cooldown_seconds - _OVERTAKEN_LOOKS * settings.every_seconds, 0.0)
