"""`tradewind plan`."""

import argparse
import json
import sys
import time

from tradewind.cli.arguments import input_file, refuse_stdin_twice
from tradewind.errors import TradewindError
from tradewind.planner import hints
from tradewind.planner.planner import PlanResult, plan
from tradewind.planner.worker import Worker
from tradewind.runtime.assembly import Assembly
from tradewind.runtime.source import from_file

_SECONDS = 10.0
_BOUND_SECONDS = 60.0


def add(command: argparse.ArgumentParser) -> None:
    argument = command.add_argument
    argument(
        "--cluster",
        type=input_file,
        metavar="FILE",
        required=True,
        help="the output of 'kubectl get nodes,pods -A -o json' (or -o yaml), - for standard input",
    )
    argument("--config", type=input_file, metavar="FILE", help="the TradewindConfiguration to use")
    argument("-o", "--output", choices=["table", "json"], default="table")
    argument(
        "--seconds",
        type=_positive,
        default=_SECONDS,
        metavar="N",
        help="that the solvers may take (default: %(default)g)",
    )
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    refuse_stdin_twice(options.cluster, options.config)
    parts = Assembly(from_file(options.cluster), options.config)
    settings = parts.settings
    started = time.monotonic()
    worker = Worker()
    try:
        with parts.started():
            snapshot, pods = parts.cache.snapshot(), parts.cache.all_pods()
        for pod in pods:
            hints.read(pod)  # a running planner goes on without such a pod; a file can be put right
        planned = plan(
            snapshot, pods, settings.policy_of, worker, options.seconds, pools=settings.planner.pools
        )
        seconds = time.monotonic() - started
        bound = worker.lower_bound(planned.batch.problem, planned.assignment, _BOUND_SECONDS)
    except TradewindError as error:
        raise TradewindError(f"{options.cluster}: {error}") from error
    finally:
        worker.close()
    if planned.failure:
        print(f"tradewind: {planned.failure}; this is the plan without it", file=sys.stderr)
    show = _json if options.output == "json" else _table
    print(show(planned, bound, seconds))


def _json(planned: PlanResult, bound: float | None, seconds: float) -> str:
    plan = planned.plan
    grown = {"pools": dict(planned.pools), "newNodes": dict(planned.new_nodes)} if planned.pools else {}
    return json.dumps(
        {
            "placements": {each.pod: each.node for each in plan.placements},
            "unplaced": dict(plan.unplaced),
            **grown,
            "nodesUsed": plan.nodes_used,
            "hourlyCost": round(plan.hourly_cost, 6),
            "lowerBound": None if bound is None else round(bound, 6),
            "seconds": round(seconds, 3),
            "engine": plan.engine,
        },
        indent=2,
    )


def _table(planned: PlanResult, bound: float | None, seconds: float) -> str:
    plan = planned.plan
    rows = [("POD", "NODE"), *((each.pod, each.node) for each in plan.placements)]
    width = max(len(pod) for pod, _ in rows)
    lines = [f"{pod:<{width}}  {node}" for pod, node in rows]
    if plan.unplaced:
        rows = [("UNPLACED", "REASON"), *sorted(plan.unplaced.items())]
        width = max(len(pod) for pod, _ in rows)
        lines += ["", *(f"{pod:<{width}}  {reason}" for pod, reason in rows)]
    for pool, count in sorted(planned.new_nodes.items()):
        pods = sum(each == pool for each in planned.pools.values())
        lines += ["", f"Nodes to add to pool {pool}: {count}, for {pods} of these pods."]
    return "\n".join(
        [
            *lines,
            "",
            f"{len(plan.placements)} pods placed, {len(plan.unplaced)} not; {plan.nodes_used} nodes in use.",
            f"{plan.hourly_cost:.4f} an hour{_below(bound)}.",
            f"Found by {plan.engine} in {seconds:.2f} s.",
        ]
    )


def _below(bound: float | None) -> str:
    return "" if bound is None else f"; no plan can be below {bound:.4f}"


def _positive(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < 86400:  # noqa: PLR2004  a day
        raise argparse.ArgumentTypeError(f'"{text}" is not a number of seconds above 0')
    return number
