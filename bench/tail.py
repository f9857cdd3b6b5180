"""How even the answers are: filter and prioritize while the cluster changes and a planner works beside
them.

kube-scheduler asks about one pod at a time and waits, so one slow answer stops everything; the slowest
hundredth is what it feels. Measured twice: left alone, and with changes from the watches and a planner that
never rests.
"""

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from statistics import median, quantiles

from bench import canned, listing
from bench.canned import CannedCluster
from bench.errors import MeasurementError
from bench.goals import Goal, Outcome, short
from bench.machine import ProcessorTime
from bench.replay import Replay
from bench.runs import Runs
from bench.service import VERBS
from bench.throughput import candidates
from e2e.processes import Process
from e2e.tradewind import Tradewind

_PODS_A_NODE = 2
_WARM_UP = 50
EVENTS_A_SECOND = 200
_START_SECONDS = 60.0


@dataclass(frozen=True, kw_only=True)
class Distribution:
    """Milliseconds by percentile: the entry at 50 is the median."""

    ms: Sequence[float]

    @classmethod
    def of(cls, seconds: Sequence[float]) -> "Distribution":
        inner = quantiles(seconds, n=100, method="inclusive")
        return cls(ms=[1e3 * each for each in (min(seconds), *inner, max(seconds))])

    @property
    def p99_by_p50(self) -> float:
        return self.ms[99] / self.ms[50]


@dataclass(frozen=True, kw_only=True)
class Run:
    """By the share of nodes that is seen (0: kube-scheduler's own sampling), and by verb."""

    alone: dict[int, dict[str, Distribution]]
    busy: dict[int, dict[str, Distribution]]
    plans: int  # that were made meanwhile
    events: int  # that the watches brought meanwhile
    others_cores: float

    @property
    def line(self) -> str:
        ratios = (
            f"{verb} {distribution.p99_by_p50:.1f}"
            for verbs in self.busy.values()
            for verb, distribution in verbs.items()
        )
        return f"tail    p99/p50 {', '.join(ratios)}; {self.events} changes and {self.plans} plans meanwhile"


@dataclass(frozen=True, kw_only=True)
class Tail:
    nodes: int
    runs: Sequence[Run]

    def outcomes(self) -> list[Outcome]:
        return [
            _outcome(self.nodes, percentage, verb, [run.busy[percentage][verb] for run in self.runs])
            for percentage in self.runs[0].busy
            for verb in VERBS
        ]


def run(nodes: int, pairs: int, percentages: Sequence[int], runs: Runs) -> Tail:
    runs.say(
        f"{runs.count} runs of {pairs:,} pairs of requests to {nodes:,} nodes, alone and beside a planner"
    )
    return Tail(nodes=nodes, runs=runs.of(partial(measure, nodes, pairs, percentages)))


def measure(nodes: int, pairs: int, percentages: Sequence[int]) -> Run:
    names = [node["metadata"]["name"] for node in listing.nodes(nodes)]
    with canned.running(nodes, _PODS_A_NODE * nodes, 0) as cluster:
        service = Tradewind(cluster.workspace, cluster.kubeconfig)
        alone = {each: _distributions(service.url, names, pairs, each) for each in percentages}
    with canned.running(nodes, _PODS_A_NODE * nodes, EVENTS_A_SECOND) as cluster:
        service = Tradewind(cluster.workspace, cluster.kubeconfig)
        with _planner(cluster, nodes) as planner:
            before, started = ProcessorTime.now(), time.monotonic()
            plans, events = _plans(planner), _events(service)
            busy = {each: _distributions(service.url, names, pairs, each) for each in percentages}
            others = ProcessorTime.now().of_others(before) / (time.monotonic() - started)
            return Run(
                alone=alone,
                busy=busy,
                plans=_plans(planner) - plans,
                events=_events(service) - events,
                others_cores=others,
            )


@contextmanager
def _planner(cluster: CannedCluster, nodes: int) -> Iterator[Process]:
    """As many pods wait as there are nodes."""
    sizes = [str(nodes), str(nodes)]
    process = cluster.workspace.start("solving", [sys.executable, "-m", "bench.solving", *sizes])
    deadline = time.monotonic() + _START_SECONDS
    while not _plans(process):
        if not process.running or time.monotonic() > deadline:
            raise MeasurementError(f"the planner made no plan:\n{process.tail()}")
        time.sleep(0.1)
    yield process
    if not process.running:
        raise MeasurementError(f"the planner ended:\n{process.tail()}")


def _plans(process: Process) -> int:
    return process.log.read_text().count("placed by")


def _events(service: Tradewind) -> int:
    return round(sum(service.metric("tradewind_cluster_events_total", resource=r) for r in ("nodes", "pods")))


def _distributions(url: str, names: Sequence[str], pairs: int, percentage: int) -> dict[str, Distribution]:
    with Replay(url, names, candidates(len(names), percentage)) as replay:
        for _ in range(_WARM_UP):
            replay.pair()
        timed = [replay.pair() for _ in range(pairs)]
    return {verb: Distribution.of([getattr(pair, verb) for pair in timed]) for verb in VERBS}


def _outcome(nodes: int, percentage: int, verb: str, busy: Sequence[Distribution]) -> Outcome:
    medians = median(each.ms[99] for each in busy), median(each.ms[50] for each in busy)
    what = (
        f"p99 / p50 of {verb}, {candidates(nodes, percentage):,} of {nodes:,} nodes,"
        f" {EVENTS_A_SECOND} changes/s and a planner at work"
    )
    return Outcome(
        goal=Goal(what=what, limit=3.0, at_least=False),
        ratios=[each.p99_by_p50 for each in busy],
        figures="{} / {} ms".format(*map(short, medians)),
    )
