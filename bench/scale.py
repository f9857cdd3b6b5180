"""How the time of filter and prioritize grows with the cluster: a small and a large one, asked in turn.

Both run at the same time, each with a Tradewind of its own, and every pair of requests names all nodes.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from statistics import median

from bench import canned, listing
from bench.goals import Goal, Outcome, short
from bench.machine import ProcessorTime
from bench.replay import Pair, Replay
from bench.runs import Runs
from e2e.tradewind import Tradewind

_PODS_A_NODE = 2
_WARM_UP = 20


@dataclass(frozen=True, kw_only=True)
class Run:
    small_ms: float  # of filter and prioritize together, the median
    large_ms: float
    others_cores: float

    @property
    def line(self) -> str:
        return f"scale   filter + prioritize {self.small_ms:.2f} ms, {self.large_ms:.2f} ms"


@dataclass(frozen=True, kw_only=True)
class Scale:
    small: int
    large: int
    runs: Sequence[Run]

    def outcomes(self) -> list[Outcome]:
        what = f"time of filter + prioritize at {self.large:,} nodes / at {self.small:,}"
        medians = median(run.large_ms for run in self.runs), median(run.small_ms for run in self.runs)
        return [
            Outcome(
                # Linear, and nothing more.
                goal=Goal(what=what, limit=self.large / self.small, at_least=False),
                ratios=[run.large_ms / run.small_ms for run in self.runs],
                figures="{} / {} ms".format(*map(short, medians)),
            )
        ]


def run(small: int, large: int, pairs: int, runs: Runs) -> Scale:
    runs.say(f"{runs.count} runs of {pairs:,} pairs of requests, to {small:,} and to {large:,} nodes in turn")
    return Scale(small=small, large=large, runs=runs.of(partial(measure, small, large, pairs)))


def measure(small: int, large: int, pairs: int) -> Run:
    with ExitStack() as running:
        replays = [running.enter_context(_replay(nodes)) for nodes in (small, large)]
        for _ in range(_WARM_UP):
            _once(replays)
        before, started = ProcessorTime.now(), time.monotonic()
        timed = [_once(replays) for _ in range(pairs)]
        others = ProcessorTime.now().of_others(before) / (time.monotonic() - started)
    small_ms, large_ms = (1e3 * median(each) for each in zip(*timed, strict=True))
    return Run(small_ms=small_ms, large_ms=large_ms, others_cores=others)


@contextmanager
def _replay(nodes: int) -> Iterator[Replay]:
    names = [node["metadata"]["name"] for node in listing.nodes(nodes)]
    with canned.running(nodes, _PODS_A_NODE * nodes, 0) as cluster:
        service = Tradewind(cluster.workspace, cluster.kubeconfig)
        with Replay(service.url, names, nodes) as replay:
            yield replay


def _once(replays: Sequence[Replay]) -> list[float]:
    return [_both(replay.pair()) for replay in replays]


def _both(pair: Pair) -> float:
    return pair.filter + pair.prioritize
