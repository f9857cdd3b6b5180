"""`python -m bench.standing`: how long the standing plan takes, at first and after small changes.

In its own process, as the planner has it. Pods run where a greedy plan puts them, a tenth wait; before each
further solve one in a hundred ends, and as many come.
"""

import argparse
import random
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import median

import msgspec

from bench import planner_cases
from bench.goals import markdown
from bench.planner_cases import Object
from tradewind.cluster.cache import Cache
from tradewind.cluster.guide import encode
from tradewind.cluster.objects import Pod
from tradewind.config import document as config
from tradewind.planner.planner import plan
from tradewind.planner.standing.standing import Solved
from tradewind.planner.standing.worker import StandingWorker

_SECONDS = 15.0
_CHANGED = 0.01
_WAITING = 0.1
_SOLVES = 6
_HEAD = ["", "pods", "nodes", "classes", "kinds", "first", "next", "arcs", "rebuilt", "memory", "guide"]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.standing", description=__doc__)
    parser.add_argument("--small", action="store_true", help="one small case, to see that it works")
    options = parser.parse_args(arguments)
    synthetic = planner_cases.synthetic
    cases = {
        "six kinds": partial(synthetic, 50_000, 12_500, 500),
        "fifty kinds": partial(synthetic, 10_000, 5_000, 200, kinds=50),
        "fifty kinds, larger": partial(synthetic, 50_000, 12_500, 500, kinds=50),
    }
    data = planner_cases.data_directory()
    if data is not None:
        cases["openb"] = partial(planner_cases.openb, data)
    if options.small:
        cases = {"small": partial(synthetic, 200, 50, 20, kinds=10)}
    rows = [measure(name, draw()) for name, draw in cases.items()]
    print(markdown([_HEAD, *rows], {0}))
    return 0


def measure(name: str, objects: Sequence[Object]) -> list[str]:
    cache = planner_cases.filled(objects)
    _place(cache)
    chance = random.Random(1)
    worker = StandingWorker()
    try:
        first, solved = _solve(worker, cache)
        times = []
        for number in range(_SOLVES):
            _change(cache, chance, number)
            took, solved = _solve(worker, cache)
            times.append(took)
        memory = _memory_mib(worker)
    finally:
        worker.close()
    return [
        name,
        f"{cache.counts()['pods']:,}",
        f"{cache.counts()['nodes']:,}",
        f"{len(solved.solution.flow)}",
        f"{len(solved.guide.kinds)}",
        f"{first:.2f} s",
        f"{median(times):.2f} s ({min(times):.2f} to {max(times):.2f})",
        f"{solved.solution.arcs:,}",
        f"{solved.solution.rebuilt:,}",
        f"{memory:.0f} MiB",
        f"{len(encode(solved.guide)) / 1024:.0f} KiB",
    ]


def _place(cache: Cache) -> None:
    planned = plan(*cache.state(), config.DEFAULT.policies().of, None, 0.0).plan
    pods = {pod.uid: pod for pod in cache.all_pods()}
    with cache.batch():
        for each in planned.placements[int(_WAITING * len(pods)) :]:
            cache.apply_pod(msgspec.structs.replace(pods[each.uid], node_name=each.node))


def _change(cache: Cache, chance: random.Random, number: int) -> None:
    pods = cache.all_pods()
    with cache.batch():
        for pod in chance.sample(pods, max(int(_CHANGED * len(pods)), 1)):
            cache.remove_pod(pod.uid)
            cache.apply_pod(_another(pod, number))


def _another(pod: Pod, number: int) -> Pod:
    return msgspec.structs.replace(pod, uid=f"{pod.uid}-{number}", name=f"{pod.name}-{number}", node_name="")


def _solve(worker: StandingWorker, cache: Cache) -> tuple[float, Solved]:
    started = time.monotonic()
    solved = worker.solve(*cache.state(), config.DEFAULT.policies().of, _SECONDS)
    assert solved is not None
    return time.monotonic() - started, solved


def _memory_mib(worker: StandingWorker) -> float:
    status = Path(f"/proc/{worker.pid}/status").read_text(encoding="utf-8")
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM"))


if __name__ == "__main__":
    sys.exit(main())
