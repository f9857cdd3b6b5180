"""`python -m bench.boreas`: the five deployments of the Boreas thesis, again and again.

Each run places every pod once held and planned, and once by kube-scheduler alone, on the same six nodes of a
real control plane. The exit code is 1 if a planned run was not complete on the fewest nodes.

Many runs take long: with --record each is kept in a file, and the next call goes on after the last one there.
"""

import argparse
import contextlib
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

import msgspec
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
    held: str  # namespaces, this one for the planner
    free: str


class Run(msgspec.Struct):
    case: str
    planned: Outcome
    plain: Outcome


_runs = msgspec.json.Decoder(Run)


def main(arguments: Sequence[str] | None = None) -> int:
    names = [case.name for case in boreas.CASES]
    parser = argparse.ArgumentParser(prog="python -m bench.boreas", description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--cases", nargs="+", choices=names, default=names)
    parser.add_argument("--record", type=Path, help="file of runs, one a line: go on after these")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="after which no run is begun")
    options = parser.parse_args(arguments)
    binaries.find()
    cases = [case for case in boreas.CASES if case.name in options.cases]
    runs = recorded(options.record)
    deadline = time.monotonic() + 60 * options.minutes
    with _six_nodes() as world:
        for case in due(cases, runs, options.runs):
            if time.monotonic() > deadline:
                break
            runs.append(_run(world, case))
            if options.record:
                with options.record.open("ab") as file:
                    file.write(msgspec.json.encode(runs[-1]) + b"\n")
    rows = [row(case, runs) for case in cases if any(each.case == case.name for each in runs)]
    print(markdown([_HEAD, *rows], {0}))
    case_of = {case.name: case for case in boreas.CASES}
    return 0 if all(_best(case_of[each.case], each.planned) for each in runs) else 1


def recorded(file: Path | None) -> list[Run]:
    if file is None or not file.exists():
        return []
    return [_runs.decode(line) for line in file.read_bytes().splitlines()]


def due(cases: Sequence[Case], runs: Sequence[Run], count: int) -> Iterator[Case]:
    """One run of each in turn, until each has so many."""
    done = Counter(each.case for each in runs)
    for number in range(count):
        yield from (case for case in cases if done[case.name] <= number)


def _run(world: _World, case: Case) -> Run:
    planned = boreas_run.place(world.api, case, world.held)
    if not _best(case, planned):
        print(f"{case.name}: {planned.placed} pods on {planned.used} nodes")
        print(world.planner.process.tail(_LOG_LINES), flush=True)
    plain = boreas_run.place(world.api, case, world.free, parked=world.parked)
    return Run(case.name, planned, plain)


def _best(case: Case, seen: Outcome) -> bool:
    return (seen.placed, seen.used) == (case.pods, case.nodes)


def row(case: Case, runs: Sequence[Run]) -> list[str]:
    planned = [each.planned for each in runs if each.case == case.name]
    plain = [each.plain for each in runs if each.case == case.name]
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
        namespaces = (fake.add_namespace(api, held=held) for held in (True, False))
        yield _World(api, planner, _parked(plane, alone), *namespaces)


def _parked(plane: ControlPlane, process: Process) -> Parked:
    """From the metrics of a kube-scheduler: pods in its queues for another try are not among them."""
    pool = urllib3.PoolManager(ssl_context=Kubeconfig.read(plane.kubeconfig).ssl_context())

    def count() -> int:
        found = _PARKED.search(pool.request("GET", f"{process.address}/metrics").data)
        return int(float(found[1])) if found else 0

    return count


if __name__ == "__main__":
    sys.exit(main())
