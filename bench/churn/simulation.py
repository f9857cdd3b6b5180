"""The same hours without a control plane: pods are placed by the planner or by the scores in no time at all.

It leaves out what waiting and races cost, so its figures lie below those of a replay; it is for comparing
objectives, deterministic and many times as fast.
"""

import heapq
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import msgspec
import numpy as np

from bench.churn.ledger import Account, Stay, account
from bench.churn.moving import SPEED, Moving, controlled
from bench.churn.replay import NAMESPACE, node_object, pod_object
from bench.churn.scenario import CRITICAL_PRIORITY, Arrival, Scenario
from bench.churn.ways import Way
from scoring.in_tree import in_tree
from scoring.in_tree_scores import extender_scores, plugin_scores
from scoring.policy import Policy
from tradewind.cluster.cache import Cache
from tradewind.cluster.objects import Pod, read_node, read_pod
from tradewind.config import document
from tradewind.config.classes import Policies
from tradewind.market.market import Market
from tradewind.planner.planner import plan
from tradewind.planner.rent import Rent
from tradewind.planner.standing.programme import Programme
from tradewind.planner.standing.standing import StandingPlan
from tradewind.planner.worker import Worker

_PRIORITIES = {"critical": CRITICAL_PRIORITY, "batch": -10}
_WINDOW_SECONDS = 0.5
_EXACT_SECONDS = 0.3
_SOLVE_SECONDS = 5.0  # between two standing plans

Place = Callable[[Cache, Sequence[Pod]], dict[str, str]]
"""The nodes of these waiting pods, by UID."""


Watch = Callable[[Cache, float], None]
"""Is shown the cluster after each window, with the seconds that have passed."""


def simulate(
    scenario: Scenario,
    way: Way,
    seconds: float,
    watch: Watch = lambda _cache, _now: None,
    *,
    exact: bool = False,
) -> Account:
    """Plans are greedy; `exact` has the solvers for what is planned, and closes batches as they are live."""
    if way.settings is None:
        return Simulation(scenario, scored(None), _WINDOW_SECONDS, watch).run(seconds)
    head = {"apiVersion": document.DEFAULT.api_version, "kind": document.DEFAULT.kind}
    settings = document.Document.model_validate({**head, **way.settings})
    moving = Moving(settings.policies(), settings.planner, NAMESPACE) if way.moved else None
    if not (exact and way.planned):
        return Simulation(scenario, _placing(way, settings), _WINDOW_SECONDS, watch, moving).run(seconds)
    worker = Worker()
    try:
        place = planned(settings.policies(), worker, _EXACT_SECONDS, settings.planner.rents)
        batch = settings.planner.batch
        played = Simulation(
            scenario, place, batch.wait_seconds, watch, moving, first_seconds=batch.burst_seconds
        )
        return played.run(seconds)
    finally:
        worker.close()


def simulate_exactly(scenario: Scenario, way: Way, seconds: float) -> Account:
    return simulate(scenario, way, seconds, exact=True)


def _placing(way: Way, settings: document.Document) -> Place:
    policies = settings.policies()
    if way.planned:
        return planned(policies, None, 0.0, settings.planner.rents)
    scores = scored(policies, way.weight)
    return guided(scores, policies, _WINDOW_SECONDS, _SOLVE_SECONDS) if way.guided else scores


def planned(policies: Policies, worker: Worker | None, seconds: float, rent: Rent) -> Place:
    def place(cache: Cache, _pods: Sequence[Pod]) -> dict[str, str]:
        """Those that run are told of too: their nodes are in use."""
        done = plan(*cache.state(), policies.of, worker, seconds, rent=rent)
        return {each.uid: each.node for each in done.plan.placements}

    return place


def scored(policies: Policies | None, weight: int = 10) -> Place:
    """One pod after the other to the best of all nodes, by kube-scheduler's own scores and ours."""

    def place(cache: Cache, pods: Sequence[Pod]) -> dict[str, str]:
        chosen = {}
        for pod in sorted(pods, key=lambda each: -each.priority):
            nodes = cache.snapshot().nodes
            policy = policies.of(pod) if policies else Policy(in_tree(()), ())
            rows = np.flatnonzero(policy.filter(pod, nodes).feasible)
            if rows.size:
                passed = nodes.take(rows)
                scores = plugin_scores(pod, passed)
                if policies:
                    scores += extender_scores(pod, policy.total(pod, passed), passed, weight)
                name = nodes.cluster.table.nodes[rows[int(np.argmax(scores))]].name
                chosen[pod.uid] = name
                cache.apply_pod(msgspec.structs.replace(pod, node_name=name))
        return chosen

    return place


def guided(inner: Place, policies: Policies, window_seconds: float, solve_seconds: float) -> Place:
    """With the guide of a standing plan that is solved anew each `solve_seconds` of the simulation."""
    plan = StandingPlan(solve_seconds, Programme().solve)
    windows, solved_at = itertools.count(), -np.inf

    def place(cache: Cache, pods: Sequence[Pod]) -> dict[str, str]:
        nonlocal solved_at
        now = next(windows) * window_seconds
        if now - solved_at >= solve_seconds:
            solved_at = now
            found = plan.run(*cache.state(), policies.of, now)
            cache.follow_guide(found.guide if found else None)
        return inner(cache, pods)

    return place


@dataclass(order=True)
class _Event:
    at: float
    number: int
    act: Callable[[float], None] = field(compare=False)


class Simulation:
    def __init__(
        self,
        scenario: Scenario,
        place: Place,
        window_seconds: float,
        watch: Watch = lambda _cache, _now: None,
        moving: Moving | None = None,
        *,
        first_seconds: float | None = None,
    ) -> None:
        """Pods that come within a window are placed together at its end; then `watch` may look.

        In between `moving` moves others. The first window may be longer than the others.
        """
        self._first = window_seconds if first_seconds is None else first_seconds
        self._place = place
        self._watch = watch
        self._moving = moving
        self._window = window_seconds
        self._now = 0.0
        self._cache = Cache(Market().offer_of, lambda: self._now)
        self._nodes = {each.name: each for each in scenario.nodes}
        self._name_of = {each.name: each.name for each in scenario.nodes}
        self._stays: dict[str, Stay] = {}
        self._waiting: dict[str, Pod] = {}
        self._numbers = itertools.count()
        self._events: list[_Event] = []
        for each in scenario.nodes:
            self._apply_node(each.name)
        for arrival in scenario.arrivals:
            self._at(arrival.at, lambda now, each=arrival: self._create(each, each.name, now))
        for vanishing in scenario.vanishings:
            self._at(vanishing.at, lambda now, each=vanishing.node: self._vanish(each, now))
            self._at(vanishing.back_at, lambda _, each=vanishing.node: self._come_back(each))

    def run(self, seconds: float) -> Account:
        ends = self._first
        while self._events and self._events[0].at < seconds:
            while self._events[0].at > ends:
                self._now = ends
                self._place_waiting(ends)
                self._move(ends)
                self._watch(self._cache, ends)
                ends += self._window
            event = heapq.heappop(self._events)
            self._now = event.at
            event.act(event.at)
        return account(list(self._stays.values()), self._nodes, seconds)

    def _at(self, at: float, act: Callable[..., Any]) -> None:
        heapq.heappush(self._events, _Event(at, next(self._numbers), act))

    def _apply_node(self, name: str) -> None:
        self._cache.apply_node(read_node(msgspec.json.encode(node_object(self._nodes[name], name))))

    def _create(self, arrival: Arrival, name: str, now: float) -> None:
        obj = pod_object(arrival, name)
        obj["metadata"]["uid"] = name
        obj["metadata"]["creationTimestamp"] = datetime.fromtimestamp(now * SPEED, UTC).isoformat()
        obj["metadata"] |= controlled(arrival)
        obj["spec"]["priority"] = _PRIORITIES.get(arrival.kind, 0)
        pod = read_pod(msgspec.json.encode(obj))
        self._stays[name] = Stay(pod=arrival, created=now)
        self._waiting[name] = pod
        self._cache.apply_pod(pod)
        self._at(arrival.until, lambda at: self._end(name, at))

    def _place_waiting(self, now: float) -> None:
        if not self._waiting:
            return
        for name, node in self._place(self._cache, list(self._waiting.values())).items():
            self._cache.apply_pod(msgspec.structs.replace(self._waiting.pop(name), node_name=node))
            self._stays[name].bound, self._stays[name].node = now, node

    def _move(self, now: float) -> None:
        for moves in self._moving.run(self._cache, now) if self._moving else ():
            for pod, target in moves:
                old = self._stays[pod.uid]
                old.ended, old.evicted = now, True
                self._forget(pod.uid)
                name = f"{pod.uid}-m"
                self._create(old.pod, name, now)
                self._cache.apply_pod(msgspec.structs.replace(self._waiting.pop(name), node_name=target))
                self._stays[name].bound, self._stays[name].node = now, target

    def _end(self, name: str, now: float) -> None:
        if self._stays[name].ended is None:
            self._stays[name].ended = now
            self._forget(name)

    def _forget(self, name: str) -> None:
        self._waiting.pop(name, None)
        self._cache.remove_pod(name)

    def _vanish(self, kind: str, now: float) -> None:
        node = self._name_of[kind]
        self._cache.remove_node(node)
        hit = [name for name, stay in self._stays.items() if stay.node == node and stay.ended is None]
        for name in hit:
            self._stays[name].ended, self._stays[name].interrupted = now, True
            self._forget(name)
            self._create(self._stays[name].pod, f"{name}-r", now)

    def _come_back(self, kind: str) -> None:
        name = f"{kind}-{next(self._numbers)}"
        self._nodes[name] = self._nodes[self._name_of[kind]]
        self._name_of[kind] = name
        self._apply_node(name)
