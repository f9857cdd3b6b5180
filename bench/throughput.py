"""Pods a second of every contender, over cluster sizes and samplings."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from bench import clusters
from bench.contenders import Contender
from bench.measurement import Case, Cluster, Measurement, measure
from bench.runs import Runs

Turn = TypeVar("Turn")

# With this many looks at a node, the slowest case takes about as long as the others.
_LOOKS = 500_000
_FEWEST_PODS, _MOST_PODS = 150, 1_000


@dataclass(frozen=True, kw_only=True)
class Plan:
    sizes: Sequence[int]
    percentages: Sequence[int]
    pods: int | None  # None: so many that every case takes about as long
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


def run(plan: Plan, runs: Runs) -> list[Result]:
    return [result for nodes in plan.sizes for result in _run_size(plan, nodes, runs)]


def _run_size(plan: Plan, nodes: int, runs: Runs) -> list[Result]:
    with clusters.running(nodes, runs.say) as cluster:
        return [_run_case(plan, cluster, case, runs) for case in plan.cases(nodes)]


def _run_case(plan: Plan, cluster: Cluster, case: Case, runs: Runs) -> Result:
    count = candidates(case.nodes, case.percentage)
    runs.say(
        f"{runs.count} runs of {case.pods:,} pods, each with a look at {count:,} of {case.nodes:,} nodes"
    )
    measurements: list[Measurement] = []
    disturbed: list[Measurement] = []
    for run in range(runs.count):
        for contender in rotated(plan.contenders, run):
            once = partial(measure, cluster, case, contender, run, runs.until_calm)
            calmest, *rest = runs.attempts(run, once)
            measurements.append(calmest)
            disturbed += rest
    return Result(case=case, candidates=count, measurements=measurements, disturbed=disturbed)


def rotated(turns: Sequence[Turn], run: int) -> list[Turn]:
    """Each is first, second and last equally often, so that a machine's drift hits all alike."""
    first = run % len(turns)
    return [*turns[first:], *turns[:first]]


def candidates(nodes: int, percentage: int) -> int:
    """How many feasible nodes kube-scheduler is content with: numFeasibleNodesToFind of schedule_one.go."""
    if nodes < 100:
        return nodes
    percentage = percentage or max(5, 50 - nodes // 125)
    return nodes if percentage >= 100 else max(100, nodes * percentage // 100)


def _pods(nodes: int, percentage: int) -> int:
    return min(_MOST_PODS, max(_FEWEST_PODS, _LOOKS // candidates(nodes, percentage)))
