"""`python -m bench.simulated_bursts`: the bursts of `bench.dollars` without a control plane, in seconds.

Pods come at a rate, are placed one after the other by kube-scheduler's own scores and ours, and our watch
sees each of them a while later. It is for comparing scores, many times as fast as the real kube-scheduler.
"""

import argparse
import heapq
import itertools
import random
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor

import msgspec
import numpy as np

from bench import dollars
from bench.dollars import Case
from extender import verbs
from scoring.in_tree_scores import extender_scores, plugin_scores
from scoring.ranking import foremost
from tradewind.cluster.cache import Cache
from tradewind.cluster.objects import Pod, read_node, read_pod
from tradewind.config import document as config
from tradewind.market.market import Market
from tradewind.planner.standing.programme import Programme
from tradewind.planner.standing.standing import StandingPlan

_USED = 0.45  # of all cores, as there
_PLACED_A_SECOND = 220.0
_REST_SECONDS = 60.0  # between two bursts
_WEIGHT = 10


class Burst:
    """Twice the same pods, in another order; the standing plan is solved before and after each burst."""

    def __init__(self, case: Case, rate: float, lag: float) -> None:
        """`rate`: pods a second that come; `lag`: seconds by which our watch is behind."""
        self._case = case
        self._rate = rate
        self._lag = lag
        self._now = 0.0
        self._policies = config.DEFAULT.policies()
        self._plan = StandingPlan(config.DEFAULT.planner.standing.seconds, Programme().solve)
        self._real, self._seen = self._cache(), self._cache()  # kube-scheduler's and ours
        self._news: list[tuple[float, int, Pod]] = []
        self._numbers = itertools.count()

    def run(self, order: int) -> Iterator[float]:
        """Price / bound of the pods that nobody has seen, and when they come again."""
        for prefix in ("new", "again"):
            pods = list(self._pods(prefix, order))
            self._solve()
            yield self._place(pods)
            self._solve()
            for pod in pods:
                self._real.remove_pod(pod.uid)
                self._seen.remove_pod(pod.uid)
            self._now += _REST_SECONDS

    def _cache(self) -> Cache:
        cache = Cache(Market().offer_of, lambda: self._now)
        for each in self._case.nodes:
            cache.apply_node(read_node(msgspec.json.encode(each)))
        return cache

    def _pods(self, prefix: str, order: int) -> Iterator[Pod]:
        drawn = list(self._case.pods)
        random.Random(f"{prefix} {order}").shuffle(drawn)
        for number, each in enumerate(drawn):
            metadata = {**each["metadata"], "name": f"{prefix}-{number}", "uid": f"{prefix}-{number}"}
            yield read_pod(msgspec.json.encode({**each, "metadata": metadata}))

    def _solve(self) -> None:
        found = self._plan.run(*self._seen.state(), self._policies.of, self._now)
        for cache in (self._real, self._seen):
            cache.follow_guide(found.guide if found else None)

    def _place(self, pods: Sequence[Pod]) -> float:
        """Price of the nodes in use / bound."""
        comes = [self._now + number / self._rate for number in range(len(pods))]
        for pod, at in zip(pods, comes, strict=True):
            self._tell(at, pod)
        used, free = set(), self._now
        for pod, at in zip(pods, comes, strict=True):
            self._listen(max(free, at + self._lag))
            node = self._choose(pod)
            used.add(node)
            placed = msgspec.structs.replace(pod, node_name=node)
            self._real.apply_pod(placed)
            self._tell(self._now, placed)
            free = self._now + 1 / _PLACED_A_SECOND
        self._listen(free + self._lag)
        return sum(self._case.prices[name] for name in used) / self._case.bound

    def _tell(self, at: float, pod: Pod) -> None:
        heapq.heappush(self._news, (at + self._lag, next(self._numbers), pod))

    def _listen(self, until: float) -> None:
        while self._news and self._news[0][0] <= until:
            self._now, _, pod = heapq.heappop(self._news)
            self._seen.apply_pod(pod)
        self._now = until

    def _choose(self, pod: Pod) -> str:
        policy, nodes = self._policies.of(pod), self._real.snapshot().nodes
        rows = np.flatnonzero(policy.filter(pod, nodes).feasible)
        passed = nodes.take(rows)
        snapshot, assumed = self._seen.snapshot(), self._seen.assumed
        ours = verbs.with_expected(pod, snapshot.nodes.take(rows), snapshot, assumed)
        totals = policy.total(pod, ours)
        verbs.expect(pod, ours.names_at([foremost(totals, ours)])[0], assumed)
        scores = plugin_scores(pod, passed) + extender_scores(pod, totals, ours, _WEIGHT)
        return passed.names[int(scores.argmax())]


def _measure(nodes: int, seed: int, order: int, rate: float, lag: float) -> list[float]:
    return list(Burst(dollars.draw(nodes, seed, _USED, 0.0), rate, lag).run(order))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.simulated_bursts", description=__doc__)
    parser.add_argument("--nodes", type=int, default=100)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--orders", type=int, default=8, help="in which the pods come (default: 8)")
    parser.add_argument("--rate", type=float, default=300.0, help="pods a second that come (default: 300)")
    parser.add_argument("--lag", type=float, default=0.03, help="seconds of our watch (default: 0.03)")
    options = parser.parse_args(arguments)
    bursts = list(itertools.product(options.seeds, range(options.orders)))
    seeds, orders = zip(*bursts, strict=True)
    same = [itertools.repeat(each) for each in (options.nodes, options.rate, options.lag)]
    with ProcessPoolExecutor(2) as pool:
        found = np.array(list(pool.map(_measure, same[0], seeds, orders, same[1], same[2])))
    for name, column in zip(("unseen", "seen before"), found.T, strict=True):
        print(f"{name}: mean {column.mean():.3f}, most {column.max():.3f} of {column.size} bursts")
    return 0


if __name__ == "__main__":
    sys.exit(main())
