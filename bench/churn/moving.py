"""Moves in the simulation: the planner's own drain sets, rules and budgets, carried out in no time at all."""

from collections.abc import Iterator, Mapping
from typing import Any

from bench.churn.scenario import SECONDS, Arrival
from scoring.filters.durable_floor import SHARE
from tradewind.cluster.cache import Cache
from tradewind.cluster.objects import Namespace
from tradewind.config.classes import Policies
from tradewind.planner.drains import Move, drains
from tradewind.planner.gate import LABEL
from tradewind.planner.moves.crowding import Waiting
from tradewind.planner.moves.ledger import HOUR_SECONDS, Ledger
from tradewind.planner.moves.rules import Rules, best_first, stakes
from tradewind.planner.settings import PlannerSettings

# The replay is an hour, sped up.
SPEED = HOUR_SECONDS / SECONDS


def controlled(arrival: Arrival, kind: str = "ReplicaSet", uid: str = "") -> dict[str, Any]:
    """Metadata of a pod that somebody starts again: others are never moved.

    Without a floor: half of a workload of one pod is all of it, and durable nodes have not the room for all.
    """
    owner = {"apiVersion": "v1", "kind": kind, "name": arrival.name, "uid": uid or arrival.name}
    return {"ownerReferences": [{**owner, "controller": True}], "annotations": {SHARE: "0"}}


def sped_up(moves: Mapping[str, Any]) -> dict[str, Any]:
    """These settings for an hour that is over in a hundred seconds; budgets are for the hour as they are."""
    return {key: value / SPEED if key.endswith("Seconds") else value for key, value in moves.items()}


class Moving:
    def __init__(self, policies: Policies, settings: PlannerSettings, namespace: str) -> None:
        self._policies = policies
        self._settings = settings
        self._held = {namespace: Namespace(namespace, {LABEL: "enabled"})}
        self._ledger = Ledger()
        self._next = 0.0

    def run(self, cache: Cache, seconds: float) -> Iterator[tuple[Move, ...]]:
        """The sets to be carried out now, one after the other; `seconds` into the replay."""
        now = seconds * SPEED
        if now < self._next:
            return
        self._next = now + self._settings.moves.every_seconds
        snapshot, pods = cache.state()
        rules = Rules(self._settings.moves, self._held, self._ledger, now)
        limits = rules.limits(self._settings.schedulers)
        found = drains(snapshot, pods, self._policies.of, limits=limits, rent=self._settings.rents)
        at_stake = stakes(snapshot, pods)
        for each in best_first(found, at_stake):
            rules = Rules(self._settings.moves, self._held, self._ledger, now)
            if rules.trouble(each, at_stake) or self._waiting(cache).crowded_out(each.moves):
                continue
            moved = [move.pod for move in each.moves]
            begun = self._ledger.begun(each.node, moved, now)
            self._ledger = begun.ended(each.node, {pod.uid: now for pod in moved}, now)
            yield each.moves

    def _waiting(self, cache: Cache) -> Waiting:
        return Waiting(*cache.state(), self._policies.of, rent=self._settings.rents)
