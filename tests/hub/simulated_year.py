"""Time passes over a fleet: sites flap, join, drain, fill up and go, workloads come, scale and are evicted.

The real scheduler runs over an API server in memory, with a clock of its own. A test runs some weeks of a few
sites; `python -m tests.hub.simulated_year` runs a year of 200 sites and 1,000 workloads in 1,460 steps.
"""

import argparse
import asyncio
import random
import sys
import time
from dataclasses import dataclass
from typing import Any
from unittest import mock

import msgspec

from tests.builders import node, pod
from tests.fleet.cases import summary_of
from tests.hub.fake_hub import FakeHub, FakeScheduler
from tests.hub.history_checker import History
from tradewind.fleet.summary import Summary

_STEP_SECONDS = 6 * 3600.0
_START = 1_700_000_000.0
_CORES = 8
_DIVIDED: dict[str, Any] = {"replicaScheduling": {"replicaSchedulingType": "Divided"}}
_PLACEMENTS: tuple[dict[str, Any], ...] = (
    {"replicaScheduling": {"replicaSchedulingType": "Duplicated"}},
    _DIVIDED,
    {"replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}},
    {"spreadConstraints": [{"spreadByField": "cluster", "minGroups": 2, "maxGroups": 3}], **_DIVIDED},
)


@dataclass
class _Site:
    tier: str
    nodes: int
    price: float
    ready: bool = True
    silent: bool = False


class _RecordedHub(FakeHub):
    def __init__(self, history: History) -> None:
        super().__init__()
        self._history = history

    async def patch(self, path: str, patch: dict[str, Any], content_type: str = "") -> bytes:
        before = self.objects.get(path)
        answer = await super().patch(path, patch, content_type)
        if before is not None and "resourcebindings" in path and "clusters" in patch.get("spec", {}):
            name = before["metadata"]["name"]
            self._history.written(name, before["spec"], self.objects[path]["spec"], time.time())
        return answer


class Year:
    def __init__(self, sites: int, bindings: int, seed: int) -> None:
        self.history = History()
        self.now = _START
        self._random = random.Random(seed)
        self._hub = _RecordedHub(self.history)
        self._scheduler = FakeScheduler(self._hub)
        self._versions = iter(range(1, 10**9))
        self._groups = [f"tier-{number}" for number in range(max(2, sites // 10))]
        self._sites: dict[str, _Site] = {}
        self._summaries: dict[str, tuple[object, Summary]] = {}
        self._names = iter(range(10**9))
        for _ in range(sites):
            self._join()
        self._bindings = [f"w{number}" for number in range(bindings)]
        for name in self._bindings:
            self._deploy(name)

    def run(self, steps: int) -> History:
        with mock.patch.object(time, "time", side_effect=lambda: self.now):
            asyncio.run(self._steps(steps))
        return self.history

    async def _steps(self, steps: int) -> None:
        for _ in range(steps):
            self._happen()
            self._publish()
            await self._schedule()
            self.now += _STEP_SECONDS

    def placed(self) -> int:
        return sum(bool(self._clusters(name)) for name in self._bindings)

    def _clusters(self, name: str) -> dict[str, int]:
        return self._hub.clusters(name)

    def _join(self) -> None:
        name = f"s{next(self._names):04}"
        tier = self._random.choice(self._groups)
        nodes = self._random.randint(2, 6)
        price = self._random.uniform(0.1, 1.0)
        self._sites[name] = _Site(tier, nodes, price)

    def _deploy(self, name: str) -> None:
        placement = dict(self._random.choice(_PLACEMENTS))
        if placement is not _PLACEMENTS[0] or self._random.random() < 0.8:
            tier = self._random.choice(self._groups)
            placement["clusterAffinity"] = {"labelSelector": {"matchLabels": {"tier": tier}}}
        needs = {"resourceRequest": {"cpu": "200m", "memory": "256Mi"}}
        replicas = self._random.randint(1, 6)
        self._hub.add_binding(name, replicas, placement=placement, replicaRequirements=needs)

    def _happen(self) -> None:
        """To about one site in twenty and one workload in twenty, each step."""
        for name, site in list(self._sites.items()):
            site.ready, site.silent = True, False
            if self._random.random() < 0.05:
                self._trouble(name, site)
        for name in self._bindings:
            if self._random.random() < 0.05:
                self._change(name)

    def _trouble(self, name: str, site: _Site) -> None:
        roll = self._random
        match roll.choice(["flap", "silent", "price", "drain", "full", "tier", "evict", "go"]):
            case "flap":
                site.ready = False
            case "silent":
                site.ready, site.silent = False, True
            case "price":
                site.price = roll.uniform(0.1, 1.0)
            case "drain":
                site.nodes = max(0, site.nodes - 1)
            case "full":
                site.nodes = roll.randint(0, 6)
            case "tier" if roll.random() < 0.1:
                site.tier = roll.choice(self._groups)
            case "evict" if roll.random() < 0.1:
                self._evict_all(name)
            case "go" if roll.random() < 0.1:
                self._remove(name)

    def _change(self, name: str) -> None:
        spec, roll = self._hub.binding(name)["spec"], self._random
        match roll.choice(["up", "down", "template", "reschedule"]):
            case "up":
                self._hub.change_binding(name, replicas=spec["replicas"] + 1)
            case "down":
                self._hub.change_binding(name, replicas=max(0, spec["replicas"] - 2))
            case "template":
                self._hub.change_binding(
                    name, resource={**spec["resource"], "resourceVersion": str(self.now)}
                )
            case "reschedule" if roll.random() < 0.2:
                asked = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.now))
                self._hub.change_binding(name, rescheduleTriggeredAt=asked)

    def _remove(self, name: str) -> None:
        del self._sites[name]
        self.history.site_gone(name)
        self._scheduler.state.members.remove(name)
        self._join()

    def _evict_all(self, site: str) -> None:
        """As Karmada's taint manager, whose tasks have ended by the next step."""
        for name in self._bindings:
            clusters = self._hub.binding(name)["spec"].get("clusters", [])
            left = [each for each in clusters if each["name"] != site]
            if len(left) < len(clusters):
                self._hub.change_binding(name, clusters=left)

    def _publish(self) -> None:
        """What each member sees of itself: replicas have nodes, first fit, or wait for one."""
        wanted: dict[str, list[tuple[str, int]]] = {name: [] for name in self._sites}
        for name in self._bindings:
            for where, count in self._clusters(name).items():
                if where in wanted:
                    wanted[where].append((name, count))
        for name, site in self._sites.items():
            self.history.site(name, {"tier": site.tier})
            self._scheduler.add_site(
                self._summary(name, site, wanted[name]),
                ready=site.ready,
                version=next(self._versions),
                labels={"tier": site.tier},
            )

    def _summary(self, name: str, site: _Site, wanted: list[tuple[str, int]]) -> Summary:
        room = places = site.nodes * _CORES * 5
        runs: dict[str, int] = {}
        for binding, count in wanted:
            runs[binding] = min(count, room)
            room -= runs[binding]
            self.history.unplaced[binding, name] = count - runs[binding]
        shape = (site.nodes, site.price, tuple(wanted))
        known = self._summaries.get(name)
        if known is None or known[0] != shape:
            members = [node(f"n{i}").cpu(str(_CORES)).price(site.price) for i in range(site.nodes)]
            requests = pod("p").requests(cpu="200m", memory="256Mi")
            pods = [requests.uid(str(i)).on(f"n{i // (_CORES * 5)}") for i in range(places - room)]
            waiting = {f"Deployment shop/{each}": count - runs[each] for each, count in wanted}
            some = {each: count for each, count in waiting.items() if count}
            known = self._summaries[name] = shape, summary_of(name, members, pods, waiting=some)
        age = 3600.0 if site.silent else 0.0
        return msgspec.structs.replace(known[1], time=self.now - age)

    async def _schedule(self) -> None:
        """Twice, a minute apart, so that pods that wait have waited for long enough."""
        for _ in range(2):
            self._scheduler.look()
            self._scheduler.scheduler._looked = 0.0
            await self._scheduler.settle()
            self.now += 61.0


def _run() -> None:
    argument = (arguments := argparse.ArgumentParser()).add_argument
    argument("--sites", type=int, default=200)
    argument("--bindings", type=int, default=1000)
    argument("--steps", type=int, default=1460)
    argument("--seed", type=int, default=1)
    options = arguments.parse_args()
    year = Year(options.sites, options.bindings, options.seed)
    started = time.perf_counter()
    history = year.run(options.steps)
    seconds = time.perf_counter() - started
    lines = [
        f"{options.steps} steps in {seconds:.0f} s; {year.placed()} workloads are placed at the end",
        f"{history.removals} times replicas left a site, {len(history.losses)} times without a cause",
        *map(str, history.losses[:20]),
    ]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    _run()
