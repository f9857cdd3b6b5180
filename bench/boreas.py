"""`python -m bench.boreas`: the five deployments of the Boreas thesis, again and again.

Each run places every pod once held and planned, and once by kube-scheduler alone, on the same six nodes of a
real control plane. The exit code is 1 if a planned run was not complete on the fewest nodes.
"""

import argparse
import contextlib
import re
import sys
from collections.abc import Iterator, Sequence
from statistics import median
from typing import NamedTuple

import urllib3

from bench.goals import markdown
from e2e import binaries, boreas, boreas_run, fake, manifests, scheduler
from e2e.api import Api
from e2e.boreas import Case
from e2e.boreas_run import Outcome, Parked
from e2e.kubeconfig import Kubeconfig
from e2e.plane import ControlPlane
from e2e.processes import Process
from e2e.tradewind import Planner, Tradewind

_LOG_LINES = 15  # of the planner, where a run went wrong
_PARKED = re.compile(rb'^scheduler_pending_pods\{queue="unschedulable"\} (\S+)$', re.MULTILINE)
_HEAD = [
    "",
    "pods",
    "planned: complete",
    "on nodes",
    "s to the last binding: median, max",
    "kube-scheduler alone: complete",
    "fewest pods",
    "on nodes",
]


class _World(NamedTuple):
    api: Api
    planner: Planner
    parked: Parked  # by the kube-scheduler that is alone


def main(arguments: Sequence[str] | None = None) -> int:
    names = [case.name for case in boreas.CASES]
    parser = argparse.ArgumentParser(prog="python -m bench.boreas", description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--cases", nargs="+", choices=names, default=names)
    options = parser.parse_args(arguments)
    binaries.find()
    cases = [case for case in boreas.CASES if case.name in options.cases]
    with _six_nodes() as world:
        rows, whole = [], True
        for case in cases:
            planned, plain = _runs(world, case, options.runs)
            rows.append(row(case, planned, plain))
            whole &= all(_best(case, each) for each in planned)
            print("  ".join(rows[-1]), flush=True)
    print(f"{options.runs} runs of each:\n")
    print(markdown([_HEAD, *rows], {0}))
    return 0 if whole else 1


def _runs(world: _World, case: Case, count: int) -> tuple[list[Outcome], list[Outcome]]:
    planned: list[Outcome] = []
    plain: list[Outcome] = []
    for number in range(count):
        planned.append(boreas_run.place(world.api, case))
        if not _best(case, planned[-1]):
            print(f"{case.name} run {number + 1}: {planned[-1].placed} pods on {planned[-1].used} nodes")
            print(world.planner.process.tail(_LOG_LINES), flush=True)
        plain.append(boreas_run.place(world.api, case, parked=world.parked))
    return planned, plain


def _best(case: Case, seen: Outcome) -> bool:
    return (seen.placed, seen.used) == (case.pods, case.nodes)


def row(case: Case, planned: Sequence[Outcome], plain: Sequence[Outcome]) -> list[str]:
    seconds = [each.seconds for each in planned]
    return [
        case.name,
        str(case.pods),
        _complete(case, planned),
        _nodes(planned),
        f"{median(seconds):.2f}, {max(seconds):.2f}",
        _complete(case, plain),
        str(min(each.placed for each in plain)),
        _nodes(plain),
    ]


def _complete(case: Case, seen: Sequence[Outcome]) -> str:
    return f"{sum(each.placed == case.pods for each in seen)} of {len(seen)}"


def _nodes(seen: Sequence[Outcome]) -> str:
    used = sorted({each.used for each in seen})
    return str(used[0]) if len(used) == 1 else f"{used[0]}..{used[-1]}"


@contextlib.contextmanager
def _six_nodes() -> Iterator[_World]:
    with ControlPlane() as plane, contextlib.closing(Api(plane.kubeconfig)) as api:
        fake.add_nodes(api, boreas.nodes())
        service = Tradewind(plane.workspace, plane.kubeconfig)
        entry = scheduler.extender(service.url, weight=10)
        plane.start_scheduler(scheduler.configuration(extenders=[entry]))
        alone = plane.start_scheduler(
            scheduler.configuration(profiles=[scheduler.profile(boreas_run.PLAIN)]), "plain-scheduler"
        )
        fake.create_namespace(api, manifests.NAMESPACE)
        for obj in manifests.hold(plane):
            api.create(obj)
        planner = Planner(plane.workspace, plane.kubeconfig)
        planner.wait_leading()
        manifests.wait_holding(api)
        yield _World(api, planner, _parked(plane, alone))


def _parked(plane: ControlPlane, process: Process) -> Parked:
    """From the metrics of a kube-scheduler: pods in its queues for another try are not among them."""
    pool = urllib3.PoolManager(ssl_context=Kubeconfig.read(plane.kubeconfig).ssl_context())

    def count() -> int:
        found = _PARKED.search(pool.request("GET", f"{process.address}/metrics").data)
        return int(float(found[1])) if found else 0

    return count


if __name__ == "__main__":
    sys.exit(main())
