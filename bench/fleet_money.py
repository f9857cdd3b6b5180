"""What a day of a fleet costs: Tradewind, each scorer off, Karmada's Aggregated, random, a lower bound.

    python -m bench.fleet_money --sites 200 --requests 2000 --hours 24

`bench.fleet_world` says what the day is. Karmada's scheduler is modelled as it is without resource models:
what a cluster has free is the sum over its nodes, the fewest clusters that seem to hold all replicas take
them. The bound is a linear programme over kinds of nodes for every step: replicas may be cut into pieces and
move freely.
"""

import argparse
import contextlib
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from ortools.linear_solver import pywraplp  # type: ignore[import-untyped]

from bench.fleet import RESOURCES
from bench.fleet_world import STEP_HOURS, Member, Tally, World
from tradewind.fleet.candidates import Candidates
from tradewind.fleet.decision import decide
from tradewind.fleet.division import Option, weighted
from tradewind.fleet.filters.affinity import Affinity
from tradewind.fleet.moves import Moves, gain
from tradewind.fleet.policy import FILTERS, SitePolicy
from tradewind.fleet.request import Request
from tradewind.fleet.sites import Sites
from tradewind.fleet.weights import DEFAULT_WEIGHTS

if TYPE_CHECKING:
    from bench.fleet_stock import Stock

Division = Mapping[str, int]
_UNSERVED = 100.0  # dollars an hour for a replica that the bound leaves out: never, if it can be helped
_MOVE_GAIN, _MOVE_HOURS = 0.03, 1.0


@dataclass(frozen=True)
class Contender:
    name: str
    place: Callable[[Request, Sites], Division | None]
    policy: SitePolicy | None = None  # that running replicas follow


def tradewind(name: str, weights: Mapping[str, float], *, follows: bool = False) -> Contender:
    policy = SitePolicy(weights={**DEFAULT_WEIGHTS, **weights})

    def place(request: Request, sites: Sites) -> Division | None:
        decision = decide(request, sites, policy, 0.0)
        return decision.division if decision.placed else None

    return Contender(name, place, policy if follows else None)


def _ready(request: Request, sites: Sites) -> Candidates:
    """Sites that are there and that the placement accepts: all that a scheduler of sums asks."""
    policy = SitePolicy(filters=FILTERS[:1])
    return policy.filter(Candidates.all_of(request, sites, 0.0), Affinity(request.placement.affinities[0]))[0]


def aggregated(request: Request, sites: Sites) -> Division | None:
    """As Karmada's scheduler: those that have replicas first, then those with most available."""
    candidates = _ready(request, sites)
    available = np.full(len(candidates), np.inf)
    for resource, amount in candidates.needs or ():
        np.minimum(available, candidates.column(sites.total_free[resource]) // amount, out=available)
    missing = request.replicas - sum(request.current.values())
    names = candidates.names
    order = sorted(
        range(len(names)), key=lambda i: (-(request.current.get(names[i], 0) > 0), -available[i], names[i])
    )
    chosen: list[Option] = []
    for index in order:
        if sum(option.room for option in chosen) >= missing:
            break
        room = int(available[index])
        if room:
            chosen.append(Option(names[index], room, weight=room))
    more = weighted(chosen, missing)
    return None if more is None else _sum(request.current, more)


def _sum(current: Division, more: Division) -> Division:
    return {name: current.get(name, 0) + more.get(name, 0) for name in {**current, **more}}


def at_random(seed: int) -> Callable[[Request, Sites], Division | None]:
    random_ = random.Random(seed)

    def place(request: Request, sites: Sites) -> Division | None:
        candidates = _ready(request, sites)
        left = request.replicas - sum(request.current.values())
        more: dict[str, int] = {}
        for index in random_.sample(range(len(candidates)), len(candidates)):
            taken = min(left, int(candidates.room[index]))
            if taken:
                more[candidates.record(index).name] = taken
                left -= taken
            if not left:
                return _sum(request.current, more)
        return None

    return place


class Day:
    """One contender's."""

    def __init__(self, world: World, contender: Contender) -> None:
        self._world, self._contender = world, contender
        self._sites = Sites([member.record(0.0) for member in world.members.values()])
        self._assigned: dict[str, dict[str, int]] = {}
        self._moves = Moves()
        self.tally = Tally()

    def run(self) -> Tally:
        for now in self._world.steps():
            live = {a.request.key: a.request for a in self._world.arrivals if a.at <= now < a.until}
            self._leave(live)
            self._look(self._world.members.values())
            for key, request in live.items():
                self._place(replace(request, current=self._assigned.get(key, {})))
            if self._contender.policy is not None:
                self._follow(live, self._contender.policy, now)
            self.tally.add(self._world, live)
            self.tally.asked += STEP_HOURS * sum(r.replicas * r.requests["cpu"] / 1000 for r in live.values())
        return self.tally

    def _leave(self, live: Mapping[str, Request]) -> None:
        """Requests that have ended, and replicas of sites that have vanished."""
        requests = {arrival.request.key: arrival.request for arrival in self._world.arrivals}
        for key in [key for key in self._assigned if key not in live]:
            for site in self._assigned.pop(key):
                self._world.members[site].stop(requests[key])
        for name, member in self._world.members.items():
            for key in list(member.running) if member.gone else ():
                self.tally.interruptions += len(member.running[key])
                member.stop(requests[key])
            for sites in self._assigned.values():
                if member.gone:
                    sites.pop(name, None)

    def _look(self, members: Iterable[Member]) -> None:
        for member in members:
            self._sites.apply(member.record(0.0))

    def _place(self, request: Request) -> None:
        division = dict(request.current)
        if sum(division.values()) < request.replicas:
            found = self._contender.place(request, self._sites)
            division = dict(found) if found is not None else division
        self._apply(request, division)

    def _apply(self, request: Request, division: Mapping[str, int]) -> None:
        changed = []
        for name in {**request.current, **division}:
            member, wanted = self._world.members[name], division.get(name, 0)
            before = len(member.running.get(request.key, ()))
            if before > wanted:
                member.stop(request, before - wanted)
            elif before < wanted:
                member.start(request, wanted - before)  # one that found no node tries again each step
            if len(member.running.get(request.key, ())) != before:
                changed.append(member)
        self._assigned[request.key] = {name: count for name, count in division.items() if count}
        self._look(changed)

    def _follow(self, live: Mapping[str, Request], policy: SitePolicy, now: float) -> None:
        for key, request in live.items():
            asked = replace(request, current=self._assigned[key])
            gained = gain(asked, self._sites, policy, 0.0)
            if self._moves.due(key, gained, least=_MOVE_GAIN, seconds=_MOVE_HOURS, now=now):
                decision = decide(replace(asked, fresh=True), self._sites, policy, 0.0)
                stays = sum(
                    min(count, decision.division.get(name, 0)) for name, count in asked.current.items()
                )
                self.tally.moved += request.replicas - stays
                self._apply(asked, decision.division)


def lower_bound(world: World) -> tuple[float, float]:
    """Dollars of a core hour, and the share of core hours for which there is no room at all."""
    dollars = served = asked = 0.0
    for now in world.steps():
        live = [arrival.request for arrival in world.arrivals if arrival.at <= now < arrival.until]
        cost, cores = _relaxed(world, live)
        dollars += cost
        served += cores
        asked += sum(each.replicas * each.requests["cpu"] / 1000 for each in live)
    return dollars / served, 1 - served / asked


def _relaxed(world: World, live: list[Request]) -> tuple[float, float]:
    """Dollars an hour of what is served, and its cores."""
    solver = pywraplp.Solver.CreateSolver("GLOP")
    room = {}
    for member in world.members.values():
        for kind, found in enumerate(member.kinds):
            count = 0 if member.gone else member.kind_of.count(kind)
            for resource, total in zip(RESOURCES, found.allocatable, strict=True):
                room[member.name, kind, resource] = solver.Constraint(0, count * total)
    alike: dict[object, tuple[Request, int]] = {}
    for request in live:
        key = (tuple(request.requests.items()), str(request.placement), str(request.pod.node_selector))
        alike[key] = (request, alike.get(key, (request, 0))[1] + request.replicas)
    left_out = [(each, _add(solver, room, world, each, replicas)) for each, replicas in alike.values()]
    solver.Solve()
    cores = sum(replicas * each.requests["cpu"] / 1000 for each, replicas in alike.values())
    cores -= sum(variable.solution_value() * each.requests["cpu"] / 1000 for each, variable in left_out)
    unserved = sum(variable.solution_value() for _, variable in left_out)
    return float(solver.Objective().Value()) - _UNSERVED * unserved, cores


def _add(
    solver: Any, room: Mapping[tuple[str, int, str], Any], world: World, request: Request, replicas: int
) -> Any:
    """Gives the variable of what is left out."""
    demand = solver.Constraint(replicas, replicas)
    demand.SetCoefficient(left_out := solver.NumVar(0, replicas, ""), 1)
    solver.Objective().SetCoefficient(left_out, _UNSERVED)
    fields = request.placement.affinities[0].field_selector
    regions = fields.match_expressions[0].values if fields and fields.match_expressions else None
    for member in world.members.values():
        if member.gone or (regions and member.region not in regions):
            continue
        for kind, found in enumerate(member.kinds):
            if any(found.labels.get(key) != value for key, value in request.pod.node_selector.items()):
                continue
            placed = solver.NumVar(0, replicas, "")
            demand.SetCoefficient(placed, 1)
            solver.Objective().SetCoefficient(placed, member.cost(request, member.kind_of.index(kind)))
            for resource in RESOURCES:
                taken = request.requests[resource]
                room[member.name, kind, resource].SetCoefficient(placed, taken)
    return left_out


def contenders() -> Iterator[Contender]:
    """All that need nothing but this process."""
    yield tradewind("Tradewind", {})
    yield tradewind("Tradewind, moveGain 0.03", {}, follows=True)
    for name, weight in DEFAULT_WEIGHTS.items():
        said = f"without {name}" if weight else f"with {name} 1"
        yield tradewind(said, {name: 0.0 if weight else 1.0})
    yield tradewind("price alone", {name: float(name == "price") for name in DEFAULT_WEIGHTS})
    yield Contender("Karmada's Aggregated, modelled", aggregated)
    yield Contender("random", at_random(1))


def row(name: str, tally: Tally) -> list[str]:
    ran = max(tally.core_hours, 1e-9)
    return [
        name,
        f"{1000 * tally.dollars / ran:.1f}",
        f"{100 * (1 - tally.core_hours / tally.asked):.1f} %",
        f"{100 * float(np.mean(tally.stranded)):.1f} %",
        f"{1000 * tally.interruptions / ran:.0f}",
        f"{tally.kilometres / ran:,.0f}",
        f"{tally.grams / ran:.2f}",
        f"{tally.moved:,}",
    ]


HEAD = [
    "", "$ for 1,000 core hours", "not served", "free cores stranded", "interruptions in 1,000 core hours",
    "km to users", "g CO2 a core hour", "replicas moved",
]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.fleet_money")
    parser.add_argument("--sites", type=int, default=200)
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--hours", type=float, default=24.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--stock", action="store_true", help="a real Karmada scheduler beside its model")
    options = parser.parse_args()
    drawn = (options.sites, options.requests, options.hours, options.seed)
    print(f"| {' | '.join(HEAD)} |\n|{'---|' * len(HEAD)}")
    with contextlib.ExitStack() as cleanup:
        chosen = contenders()
        if options.stock:
            stock = cleanup.enter_context(_stock())
            few = (tradewind("Tradewind", {}), Contender("Karmada's Aggregated, modelled", aggregated))
            chosen = iter((*few, Contender("Karmada's scheduler, Aggregated", stock.place)))
        for contender in chosen:
            tally = Day(World.drawn(*drawn), contender).run()
            print(f"| {' | '.join(row(contender.name, tally))} |", flush=True)
    dollars, left_out = lower_bound(World.drawn(*drawn))
    print(
        f"| lower bound | {1000 * dollars:.1f} | {100 * left_out:.1f} % |{' |' * (len(HEAD) - 3)}", flush=True
    )


def _stock() -> "Stock":
    from bench.fleet_stock import Stock  # noqa: PLC0415  the others need no control plane

    return Stock()


if __name__ == "__main__":
    main()
