"""Where the time of an answer goes: the verbs in this process, without HTTP, looked at a thousand times a
second.

Each look charges the innermost function of ours that is at work, with whatever it calls in libraries.
Processor time only, so other work on the machine does not show.
"""

import asyncio
import random
import signal
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import msgspec

from bench import listing
from bench.goals import markdown
from bench.service import VERBS
from extender.metrics import ExtenderMetrics
from extender.verb import Answer
from extender.verbs import Verbs
from tradewind.cluster.cache import Cache
from tradewind.cluster.objects import read_node, read_pod
from tradewind.config import document as config
from tradewind.explain.decisions import Decisions
from tradewind.market.market import Market

_ROOT = Path(__file__).parents[1]
_ROOMS = ("extender", "scoring", "tradewind")
_PODS_A_NODE = 2
_WARM_UP = 20
_INTERVAL_SECONDS = 0.001  # the kernel may make it a few times as long
_LEAST_SHARE = 0.02
_REST = "less than a fiftieth each"


@dataclass(frozen=True, kw_only=True)
class Profile:
    """Microseconds of processor time a request, by verb and by function."""

    nodes: int
    requests: int
    steps: Mapping[str, Mapping[str, float]]

    def table(self) -> str:
        total = {verb: sum(steps.values()) for verb, steps in self.steps.items()}
        where = sorted(
            {step for steps in self.steps.values() for step in steps},
            key=lambda step: -sum(steps.get(step, 0.0) for steps in self.steps.values()),
        )
        large = [
            step
            for step in where
            if any(steps.get(step, 0.0) > _LEAST_SHARE * total[verb] for verb, steps in self.steps.items())
        ]
        rest = [
            total[verb] - sum(steps.get(step, 0.0) for step in large) for verb, steps in self.steps.items()
        ]
        rows = [
            [step, *(f"{steps[step]:,.0f}" if step in steps else "" for steps in self.steps.values())]
            for step in large
        ]
        rows += [
            [_REST, *(f"{each:,.0f}" for each in rest)],
            ["all", *(f"{each:,.0f}" for each in total.values())],
        ]
        return markdown([["microseconds a request", *self.steps], *rows], {0})


class _Cluster:
    """What the verbs need of one, complete from the start."""

    synced = True
    stale = ""
    now = staticmethod(time.time)

    def __init__(self, nodes: int) -> None:
        self.cache = Cache(Market().offer_of)
        with self.cache.batch():
            names = []
            for node in listing.nodes(nodes):
                self.cache.apply_node(read_node(msgspec.json.encode(node)))
                names.append(node["metadata"]["name"])
            for pod in listing.bound_pods(_PODS_A_NODE * nodes, names):
                self.cache.apply_pod(read_pod(msgspec.json.encode(pod)))
        self.names = names


def run(nodes: int, requests: int, say: Callable[[str], None]) -> Profile:
    say(f"a profile of {requests:,} requests of each verb, each with all of {nodes:,} nodes")
    cluster = _Cluster(nodes)
    verbs = Verbs(cluster, config.DEFAULT.policies().of, ExtenderMetrics(), None, Decisions(5_000, 3_600.0))
    bodies = list(_bodies(cluster.names, _WARM_UP + requests))
    steps = asyncio.run(_profiled({verb: getattr(verbs, verb) for verb in VERBS}, bodies))
    return Profile(nodes=nodes, requests=requests, steps=steps)


def _bodies(names: Sequence[str], count: int) -> Iterator[bytes]:
    chance = random.Random(count)
    for pod in listing.waiting_pods(count):
        shuffled = chance.sample(names, len(names))
        yield msgspec.json.encode({"Pod": pod, "Nodes": None, "NodeNames": shuffled})


async def _profiled(
    answers: Mapping[str, Callable[[bytes], Awaitable[Answer]]], bodies: Sequence[bytes]
) -> dict[str, dict[str, float]]:
    """As kube-scheduler asks: about each pod by every verb, and the nodes in the same order."""
    for body in bodies[:_WARM_UP]:
        for answer in answers.values():
            await answer(body)
    seconds = dict.fromkeys(answers, 0.0)
    with _looking(answers) as looker:
        for body in bodies[_WARM_UP:]:
            for verb, answer in answers.items():
                looker.verb, started = verb, time.process_time()
                await answer(body)
                await asyncio.sleep(0)  # what is done after the answer
                seconds[verb] += time.process_time() - started
    micros = {verb: 1e6 * seconds[verb] / (len(bodies) - _WARM_UP) for verb in answers}
    return {
        verb: {step: micros[verb] * count / looks.total() for step, count in looks.most_common()}
        for verb, looks in looker.looks.items()
    }


class _Looker:
    """Counts in which function it finds us, by the verb that is being answered."""

    def __init__(self, verbs: Iterable[str]) -> None:
        self.looks: dict[str, Counter[str]] = {verb: Counter() for verb in verbs}
        self.verb = next(iter(self.looks))

    def look(self, _signal: int, frame: FrameType | None) -> None:
        self.looks[self.verb][_innermost(frame)] += 1


@contextmanager
def _looking(verbs: Iterable[str]) -> Iterator[_Looker]:
    looker = _Looker(verbs)
    before = signal.signal(signal.SIGPROF, looker.look)
    signal.setitimer(signal.ITIMER_PROF, _INTERVAL_SECONDS, _INTERVAL_SECONDS)
    try:
        yield looker
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


def _innermost(frame: FrameType | None) -> str:
    while frame is not None:
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(_ROOT) and path.relative_to(_ROOT).parts[0] in _ROOMS:
            module = ".".join(path.relative_to(_ROOT).with_suffix("").parts)
            return f"{module}.{frame.f_code.co_qualname}"
        frame = frame.f_back
    return "the event loop"
