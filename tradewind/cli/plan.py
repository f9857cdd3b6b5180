"""`tradewind plan`."""

import argparse
import time
from collections.abc import Sequence

from tradewind.cli.arguments import input_file, positive_seconds, refuse_stdin_twice
from tradewind.cli.plan_report import PlanReport
from tradewind.cli.progress import progress
from tradewind.cli.terminal import complain, terminal_width
from tradewind.cluster import hints
from tradewind.cluster.files import DUMP
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Snapshot
from tradewind.errors import TradewindError
from tradewind.explain.words import counted
from tradewind.planner.planner import plan
from tradewind.planner.worker import Worker
from tradewind.runtime.assembly import Assembly
from tradewind.runtime.source import from_file

_SECONDS = 10.0
_LEAST_BOUND = 1.0  # seconds for the lower bound, where the solvers took all of theirs


def add(command: argparse.ArgumentParser) -> None:
    argument = command.add_argument
    argument(
        "--cluster",
        type=input_file,
        metavar="FILE",
        required=True,
        help=f"the output of '{DUMP}' (or yaml), - for standard input",
    )
    argument("--config", type=input_file, metavar="FILE", help="the TradewindConfiguration to use")
    argument("-o", "--output", choices=["table", "json"], default="table")
    argument(
        "--seconds",
        type=positive_seconds,
        default=_SECONDS,
        metavar="N",
        help="time limit of solvers and lower bound (default: %(default)g)",
    )
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    refuse_stdin_twice(options.cluster, options.config)
    parts = Assembly(from_file(options.cluster), options.config)
    with parts.started():
        snapshot, pods = parts.cache.snapshot(), parts.cache.all_pods()
        if missing := parts.missing:
            complain(
                f"{options.cluster} seems to lack pods, so nodes look emptier than they are: {missing[0]}"
            )
    worker = Worker()
    try:
        for pod in pods:
            hints.read(pod)  # a running planner goes on without such a pod; a file can be put right
        waiting = sum(pod.waiting for pod in pods)
        what = f"{counted(waiting, 'pod')} on {counted(len(snapshot.nodes), 'node')}"
        with progress(f"Planning {what}, up to {options.seconds:g} s"):
            report = _planned(parts, snapshot, pods, worker, options.seconds)
    except TradewindError as error:
        raise TradewindError(f"{options.cluster}: {error}") from error
    finally:
        worker.close()
    if report.planned.failure:
        complain(f"{report.planned.failure}; this is the plan without it")
    print(report.json() if options.output == "json" else report.text(terminal_width()))


def _planned(
    parts: Assembly, snapshot: Snapshot, pods: Sequence[Pod], worker: Worker, limit: float
) -> PlanReport:
    started = time.monotonic()
    pools = parts.pools()
    settings = parts.settings
    planned = plan(
        snapshot, pods, settings.policy_of, worker, limit, pools=pools, engine=settings.planner.engine
    )
    seconds = time.monotonic() - started
    return PlanReport(
        planned=planned,
        pods=pods,
        pool_prices={pool.name: pool.price for pool in pools},
        coverage=parts.market.price_coverage(),
        bound=worker.lower_bound(
            planned.batch.problem, planned.assignment, max(_LEAST_BOUND, limit - seconds)
        ),
        seconds=seconds,
    )
