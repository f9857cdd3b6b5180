"""Pods a second of every contender, over cluster sizes and samplings."""

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from bench import machine, workload
from bench.contenders import Contender
from bench.measurement import Case, Cluster, Measurement, measure
from e2e import fake
from e2e.api import Api
from e2e.plane import ControlPlane

Say = Callable[[str], None]

# With this many looks at a node, the slowest case takes about as long as the others.
_LOOKS = 500_000
_MOST_ATTEMPTS = 4
_PATIENCE_SECONDS = 300.0
_FEWEST_PODS, _MOST_PODS = 150, 1_000


@dataclass(frozen=True, kw_only=True)
class Plan:
    sizes: Sequence[int]
    percentages: Sequence[int]
    pods: int | None  # None: so many that every case takes about as long
    runs: int
    calm: float  # cores that other work may take before a measurement is repeated
    contenders: Sequence[Contender]

    def cases(self, nodes: int) -> list[Case]:
        return [
            Case(nodes=nodes, percentage=percentage, pods=self.pods or _pods(nodes, percentage))
            for percentage in self.percentages
        ]


@dataclass(frozen=True, kw_only=True)
class Result:
    case: Case
    candidates: int  # nodes that kube-scheduler looks at for a pod
    measurements: Sequence[Measurement]
    disturbed: Sequence[Measurement]  # repeated, because other work took too much of the machine


def run(plan: Plan, say: Say) -> list[Result]:
    return [result for nodes in plan.sizes for result in _run_size(plan, nodes, say)]


def _run_size(plan: Plan, nodes: int, say: Say) -> list[Result]:
    started = time.monotonic()
    with ControlPlane() as plane, contextlib.closing(Api(plane.kubeconfig)) as api:
        fake.add_nodes(api, workload.nodes(nodes))
        cluster = Cluster(plane=plane, api=api, namespace=fake.add_namespace(api, "bench"))
        say(f"{nodes:,} nodes on a control plane of their own, in {time.monotonic() - started:.0f} s")
        return [_run_case(plan, cluster, case, say) for case in plan.cases(nodes)]


def _run_case(plan: Plan, cluster: Cluster, case: Case, say: Say) -> Result:
    count = candidates(case.nodes, case.percentage)
    say(f"{plan.runs} runs of {case.pods:,} pods, each with a look at {count:,} of {case.nodes:,} nodes")
    measurements: list[Measurement] = []
    disturbed: list[Measurement] = []
    for run in range(plan.runs):
        for contender in rotated(plan.contenders, run):
            calmest, *rest = attempts(partial(measure, cluster, case, contender, run), plan.calm, say)
            measurements.append(calmest)
            disturbed += rest
    return Result(case=case, candidates=count, measurements=measurements, disturbed=disturbed)


def attempts(once: Callable[[], Measurement], calm: float, say: Say) -> list[Measurement]:
    """The calmest first: chosen by the noise alone, never by the speed."""
    made: list[Measurement] = []
    while not made or (len(made) < _MOST_ATTEMPTS and made[-1].others_cores > calm):
        machine.wait_for_calm(calm, _PATIENCE_SECONDS)
        measured = once()
        noise = f"  while other work took {measured.others_cores:.1f} cores"
        line = f"  run {measured.run + 1}  {measured.contender:10} {measured.pods_a_second:6.0f} pods/s"
        say(line + noise if measured.others_cores > calm else line)
        made.append(measured)
    return sorted(made, key=lambda measured: measured.others_cores)


def rotated(contenders: Sequence[Contender], run: int) -> list[Contender]:
    """Each contender is first, second and last equally often, so that a machine's drift hits all alike."""
    first = run % len(contenders)
    return [*contenders[first:], *contenders[:first]]


def candidates(nodes: int, percentage: int) -> int:
    """How many feasible nodes kube-scheduler is content with: numFeasibleNodesToFind of schedule_one.go."""
    if nodes < 100:
        return nodes
    percentage = percentage or max(5, 50 - nodes // 125)
    return nodes if percentage >= 100 else max(100, nodes * percentage // 100)


def _pods(nodes: int, percentage: int) -> int:
    return min(_MOST_PODS, max(_FEWEST_PODS, _LOOKS // candidates(nodes, percentage)))
