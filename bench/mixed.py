"""`python -m bench.mixed`: full clusters of many different workloads, planned offline.

Each is drawn from a complete placement, which stays hidden (`tests/planner/mixed.py`): workloads differ in
size, replicas and constraints, and every node is at least as full as `--fullest`. A plan has the time of
`tradewind plan`, but ends soon after its last gain. The exit code is 1 if a plan breaks a rule of
kube-scheduler.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from typing import NamedTuple

from tests.planner.cases import filled, policy_of
from tests.planner.check import violations
from tests.planner.mixed import mixed
from tradewind.cluster.cache import Cache
from tradewind.planner.greedy import greedy
from tradewind.planner.planner import plan
from tradewind.planner.settings import Engine
from tradewind.planner.worker import Worker

_IDLE_SECONDS = 0.5  # without a gain that end a plan
_HEAD = "nodes  seed  pods  left by greedy  left  seconds  engine"


class _Outcome(NamedTuple):
    pods: int
    left_by_greedy: int
    left: int
    seconds: float
    engine: str
    broken: Sequence[str]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.mixed", description=__doc__)
    parser.add_argument("--nodes", type=int, nargs="+", default=(12, 40, 120))
    parser.add_argument("--seeds", type=int, nargs="+", default=range(100, 103))
    parser.add_argument("--fullest", type=float, default=0.9, help="least share of a node that is taken")
    parser.add_argument("--seconds", type=float, default=10.0, help="for each plan (default: %(default)g)")
    parser.add_argument("--engine", choices=("auto", "flow"), default="auto")
    options = parser.parse_args(arguments)
    worker = Worker()
    try:
        return _run(worker, options)
    finally:
        worker.close()


def _run(worker: Worker, options: argparse.Namespace) -> int:
    complete, total, broken = 0, 0, 0
    print(_HEAD)
    for nodes in options.nodes:
        for seed in options.seeds:
            cache = filled(*mixed(seed, nodes, options.fullest))
            found = _plan(worker, cache, options.seconds, options.engine)
            sizes = f"{nodes:5} {seed:5} {found.pods:5} {found.left_by_greedy:15} {found.left:5}"
            print(f"{sizes} {found.seconds:8.1f}  {found.engine}", flush=True)
            for violation in found.broken:
                print(f"  broken: {violation}", flush=True)
            complete += not found.left
            total += 1
            broken += len(found.broken)
    print(f"{complete} of {total} complete, {broken} rules broken")
    return 1 if broken else 0


def _plan(worker: Worker, cache: Cache, seconds: float, engine: Engine) -> _Outcome:
    started = time.monotonic()
    planned = plan(
        cache.snapshot(), cache.all_pods(), policy_of, worker, seconds, idle=_IDLE_SECONDS, engine=engine
    )
    took = time.monotonic() - started
    problem, found = planned.batch.problem, planned.plan
    return _Outcome(
        pods=problem.pods,
        left_by_greedy=problem.pods - sum(greedy(problem).values()),
        left=len(found.unplaced),
        seconds=took,
        engine="; ".join(filter(None, (found.engine, planned.failure))),
        broken=violations(cache, policy_of, found),
    )


if __name__ == "__main__":
    sys.exit(main())
