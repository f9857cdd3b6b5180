"""A burst of pods, from the first creation to the last binding: planned, and by kube-scheduler alone.

kube-scheduler and whatever else belongs to a way run and have placed a few pods before. Then one client
creates all pods as fast as the API server takes them: the same client and the same pods for every way. What
is planned goes the whole way: the shipped admission policy holds the pods, a planner with its default
settings plans, writes and ungates, and kube-scheduler asks Tradewind's extender and binds.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import median
from typing import NamedTuple

from bench import clusters, contenders, hold, workload
from bench.bindings import Bindings
from bench.contenders import Contender
from bench.errors import MeasurementError
from bench.goals import Goal, Outcome, Spread, markdown, short
from bench.machine import ProcessorTime
from bench.measurement import Cluster, kube_scheduler
from bench.runs import Runs
from bench.throughput import rotated
from e2e.processes import Process

_WARM_UP_PODS = 40
LEGEND = "A burst's processes: CPU milliseconds a pod; all: the rest of the control plane and the client too"
_PROCESSES = ("kube-scheduler", "tradewind", "planner", "kube-apiserver", "etcd", "all")


@dataclass(frozen=True, kw_only=True)
class Way:
    name: str
    contender: Contender
    percentage: int = 0  # of nodes to score; 0 is kube-scheduler's own sampling
    held: bool = False  # the pods are, until they are planned


PLAIN = Way(name="plain", contender=contenders.PLAIN)
PLAIN_ALL = Way(name="plain 100 %", contender=contenders.PLAIN, percentage=100)
SCORES = Way(name="scores", contender=contenders.TRADEWIND)
PLANNED = Way(name="planned", contender=contenders.PLANNED, held=True)
WAYS = (PLAIN, PLAIN_ALL, PLANNED)


@dataclass(frozen=True, kw_only=True)
class Burst:
    way: str
    run: int
    pods: int
    seconds: float  # from the first creation to the last binding
    creation_seconds: float  # until the last pod was created
    cpu_seconds: Mapping[str, float]  # by process, each with what it started; `all` is the benchmark's too
    as_planned: int  # pods that are where their annotation says
    others_cpu_seconds: float

    @property
    def pods_a_second(self) -> float:
        return self.pods / self.seconds

    @property
    def scheduler_ms_a_pod(self) -> float:
        return 1e3 * self.cpu_seconds["kube-scheduler"] / self.pods

    @property
    def others_cores(self) -> float:
        return self.others_cpu_seconds / self.seconds

    @property
    def line(self) -> str:
        planned = f", {self.as_planned:,} pods where planned" if self.as_planned else ""
        return f"burst   {self.way:11} {self.pods_a_second:6.0f} pods/s{planned}"


@dataclass(frozen=True, kw_only=True)
class Bursts:
    nodes: int
    bursts: Sequence[Burst]

    def of(self, way: Way) -> list[Burst]:
        return [burst for burst in self.bursts if burst.way == way.name]

    def speeds(self) -> dict[str, Spread]:
        return {way.name: Spread.of([each.pods_a_second for each in self.of(way)]) for way in WAYS}

    def table(self) -> str:
        """Where the machine's time goes, in processor milliseconds a pod; medians over the runs."""
        rows = [[way.name, *_cells(self.of(way))] for way in WAYS]
        return markdown([["", "pods/s (min..max)", "all created after", *_PROCESSES, "others"], *rows], {0})

    def outcomes(self) -> list[Outcome]:
        planned, plain, plain_all = (self.of(way) for way in (PLANNED, PLAIN, PLAIN_ALL))
        of = f"{planned[0].pods:,} pods at once, {self.nodes:,} nodes, planned / kube-scheduler alone"
        ours, theirs = ([each.scheduler_ms_a_pod for each in bursts] for bursts in (planned, plain))
        return [
            _rates(f"pods/s, {of}", 1.0, planned, plain),
            Outcome(
                goal=Goal(what=f"kube-scheduler's CPU a pod, {of}", limit=0.33, at_least=False),
                ratios=[one / other for one, other in zip(ours, theirs, strict=True)],
                figures=f"{short(median(ours))} / {short(median(theirs))} ms",
            ),
            _rates(f"pods/s, {of} with a look at all nodes", 4.0, planned, plain_all),
        ]


def _cells(bursts: Sequence[Burst]) -> Iterator[str]:
    speed = Spread.of([each.pods_a_second for each in bursts])
    yield f"{speed.median:.0f} ({speed.low:.0f}..{speed.high:.0f})"
    yield f"{median(each.creation_seconds for each in bursts):.1f} s"
    for name in _PROCESSES:
        shown = [1e3 * each.cpu_seconds[name] / each.pods for each in bursts if name in each.cpu_seconds]
        yield f"{median(shown):.1f}" if shown else ""
    yield f"{median(each.others_cores for each in bursts):.2f}"


def measure(
    cluster: Cluster, pods: int, way: Way, run: int, until_calm: Callable[[], None], *, shrink: int = 1
) -> Burst:
    """Leaves the nodes as they were, and no pod."""
    if way.held:
        cluster = replace(cluster, namespace=hold.namespace(cluster.api))
    try:
        with (
            way.contender.running(cluster.plane) as extender,
            kube_scheduler(cluster.plane, way.percentage, extender) as binder,
        ):
            if way.held:
                hold.wait_in_force(cluster.api, cluster.namespace)
            processes = [binder, *(extender.processes if extender else ())]
            _place(cluster, _WARM_UP_PODS, processes)
            clusters.remove_pods(cluster)
            until_calm()
            return _measure(cluster, pods, way, run, processes, shrink=shrink)
    finally:
        clusters.remove_pods(cluster)


def _measure(
    cluster: Cluster, pods: int, way: Way, run: int, processes: Sequence[Process], *, shrink: int
) -> Burst:
    placed = _place(cluster, pods, processes, shrink)
    after = ProcessorTime.now()
    named = {each.name: each for each in (*cluster.plane.workspace.processes, *processes) if each.running}
    cpu_seconds = {name: after.of(each.pid, placed.before) for name, each in named.items()}
    return Burst(
        way=way.name,
        run=run,
        pods=pods,
        seconds=placed.ended - placed.started,
        creation_seconds=placed.created - placed.started,
        cpu_seconds=cpu_seconds | {"all": after.own(placed.before)},
        as_planned=hold.placed_as_planned(cluster.api, cluster.namespace),
        others_cpu_seconds=after.of_others(placed.before),
    )


class _Placed(NamedTuple):
    before: ProcessorTime
    started: float
    created: float  # the last one
    ended: float


def _place(cluster: Cluster, pods: int, processes: Sequence[Process], shrink: int = 1) -> _Placed:
    """Creates the pods and returns when all are bound."""
    wanted = list(workload.pods(pods, cluster.namespace, shrink))
    bindings = Bindings(cluster.api, cluster.namespace, pods)
    bindings.start()
    before, started = ProcessorTime.now(), time.monotonic()
    cluster.api.create_all(wanted)
    created = time.monotonic()
    try:
        bindings.wait(processes[0])
    except MeasurementError as error:
        raise MeasurementError("\n".join([str(error), *(each.tail() for each in processes)])) from error
    return _Placed(before, started, created, bindings.latest)


def run(nodes: int, pods: int, runs: Runs) -> Bursts:
    with clusters.running(nodes, runs.say) as cluster:
        bursts = [
            runs.attempts(number, partial(measure, cluster, pods, way, number, runs.until_calm))[0]
            for number in range(runs.count)
            for way in rotated(WAYS, number)
        ]
    return Bursts(nodes=nodes, bursts=bursts)


def _rates(what: str, limit: float, ours: Sequence[Burst], theirs: Sequence[Burst]) -> Outcome:
    return Outcome(
        goal=Goal(what=what, limit=limit, at_least=True),
        ratios=[one.pods_a_second / other.pods_a_second for one, other in zip(ours, theirs, strict=True)],
        figures=f"{median(each.pods_a_second for each in ours):.0f}"
        f" / {median(each.pods_a_second for each in theirs):.0f} pods/s",
    )
