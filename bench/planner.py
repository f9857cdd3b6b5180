"""`python -m bench.planner`: how long a plan takes, what it needs, and how far from the best it may be.

Each case with every engine of the planner. A plan is measured from the snapshot to the binding order, with
the solvers' process running already. Prices are ratios to the bound of the linear programme, below which no
plan can be.
"""

import argparse
import resource
import sys
import time
from collections.abc import Sequence
from typing import get_args

from bench import planner_cases
from bench.planner_cases import Object
from tradewind.cluster.cache import Cache
from tradewind.config import document as config
from tradewind.planner.greedy import greedy
from tradewind.planner.planner import plan
from tradewind.planner.problem import money, placed_counts
from tradewind.planner.settings import Engine
from tradewind.planner.worker import Worker

_BOUND_SECONDS = 120.0
_HEAD = "case                                 pods  nodes placed  seconds price/bound  greedy  engine"
_ENGINES = get_args(Engine)
_LARGE = ((4_000, 1_000, 100, 2.5), (10_000, 5_000, 200, 5.0), (50_000, 12_500, 500, 10.0))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.planner", description=__doc__)
    parser.add_argument("--seeds", type=int, default=3, help="priced clusters of each size (default: 3)")
    parser.add_argument("--seconds", type=float, default=10.0, help="for each of those (default: 10)")
    options = parser.parse_args(arguments)
    worker = Worker()
    try:
        # The first problem also loads the solvers.
        _measure(worker, "warming up", planner_cases.synthetic(20, 5, 4), 1.0)
        print(_HEAD)
        _large(worker)
        _public(worker, options.seeds, options.seconds)
    finally:
        worker.close()
    for name, whose in (("planner", resource.RUSAGE_SELF), ("solvers", resource.RUSAGE_CHILDREN)):
        print(f"most memory, {name}: {resource.getrusage(whose).ru_maxrss / 1024:.0f} MiB")
    return 0


def _large(worker: Worker) -> None:
    for pods, nodes, classes, seconds in _LARGE:
        for tied in (0.0, 0.2):
            name = f"{tied:.0%} with anti-affinity or spread"
            _measure(worker, name, planner_cases.synthetic(pods, nodes, classes, tied), seconds)
        _measure(worker, "fifty kinds", planner_cases.synthetic(pods, nodes, classes, kinds=50), seconds)


def _public(worker: Worker, seeds: int, seconds: float) -> None:
    data = planner_cases.data_directory()
    if data is None:
        print("skipped: openb and the priced clusters need the data of $TRADEWIND_DATA")
        return
    _measure(worker, "openb, all pods of the trace at once", planner_cases.openb(data), 2.5)
    for nodes in (100, 200):
        for seed in range(1, seeds + 1):
            _measure(worker, f"priced cluster {seed}", planner_cases.priced(data, nodes, seed), seconds)


def _measure(worker: Worker, name: str, objects: Sequence[Object], seconds: float) -> None:
    cache = planner_cases.filled(objects)
    for engine in _ENGINES:
        _plan(worker, name, cache, seconds, engine)


def _plan(worker: Worker, name: str, cache: Cache, seconds: float, engine: Engine) -> None:
    policies = config.DEFAULT.policies()
    snapshot, pods = cache.snapshot(), cache.all_pods()
    started = time.monotonic()
    planned = plan(snapshot, pods, policies.of, worker, seconds, engine=engine)
    took = time.monotonic() - started
    problem, placements = planned.batch.problem, planned.plan.placements
    floor = greedy(problem)
    whole = sum(placed_counts(problem, floor)) == len(placements)
    bound = worker.lower_bound(problem, planned.assignment, _BOUND_SECONDS)
    ratio = f"{planned.plan.hourly_cost / bound:11.3f}" if bound else f"{'unknown':>11}"
    peer = f"{money(problem, floor) / bound:7.3f}" if bound and whole else f"{'-':>7}"
    sizes = f"{problem.pods:6} {len(problem.node_names):6} {len(placements):6}"
    found_by = "; ".join(filter(None, (planned.plan.engine, planned.failure)))
    print(f"{name:34} {sizes} {took:8.2f} {ratio} {peer}  {found_by}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
