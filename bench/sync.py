"""How long a client takes to know a cluster, and how much memory: our reflector and the official typed
lists.

Both list the same nodes and pods, page by page, from bench.canned, each in a process of its own. Ours ends
with a snapshot that requests can be answered from; the official client's with its models in lists.

`python -m bench.sync WHO URL PAGE_SIZE` is such a process: it prints its seconds and its most bytes of
memory.
"""

import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

import msgspec
from kubernetes.client import ApiClient, Configuration, CoreV1Api

from bench import canned
from bench.errors import MeasurementError
from bench.goals import Goal, Outcome, short
from bench.machine import ProcessorTime
from bench.runs import Runs
from tests.synced import wait_synced
from tradewind.cluster.cache import Cache
from tradewind.cluster.reflector import Reflector, cluster_resources
from tradewind.kube.watch import Pace
from tradewind.market.market import Market

_LONGEST_SECONDS = 600.0
_PAGE_SIZE = Pace().page_size


@dataclass(frozen=True, kw_only=True)
class Synced:
    """What a process says of itself."""

    seconds: float  # from the first request to the last object, without the imports before
    processor_seconds: float
    max_bytes: int  # resident, of the whole process
    nodes: int
    pods: int


@dataclass(frozen=True, kw_only=True)
class Run:
    ours: Synced
    official: Synced
    others_cores: float

    @property
    def line(self) -> str:
        return f"sync    ours {_shown(self.ours)}, official client {_shown(self.official)}"


def _shown(synced: Synced) -> str:
    return f"{synced.seconds:.2f} s and {synced.max_bytes / 2**20:.0f} MiB"


@dataclass(frozen=True, kw_only=True)
class Sync:
    nodes: int
    pods: int
    runs: Sequence[Run]

    def outcomes(self) -> list[Outcome]:
        what = f"to sync {self.nodes:,} nodes and {self.pods:,} pods / the official client's typed list"
        sides = [(run.ours, run.official) for run in self.runs]
        seconds = [(ours.seconds, official.seconds) for ours, official in sides]
        mebibytes = [(ours.max_bytes / 2**20, official.max_bytes / 2**20) for ours, official in sides]
        return [
            _outcome(f"time {what}", 1 / 8, seconds, "s"),
            _outcome(f"memory {what}", 1 / 4, mebibytes, "MiB"),
        ]


def run(nodes: int, pods: int, runs: Runs) -> Sync:
    runs.say(f"{runs.count} runs of a sync of {nodes:,} nodes and {pods:,} pods")
    return Sync(nodes=nodes, pods=pods, runs=runs.of(partial(measure, nodes, pods)))


def measure(nodes: int, pods: int) -> Run:
    with canned.running(nodes, pods, 0) as cluster:
        before, started = ProcessorTime.now(), time.monotonic()
        ours, official = (_in_a_process(who, cluster.url, nodes, pods) for who in ("ours", "official"))
        taken = time.monotonic() - started
        others = ProcessorTime.now().of_others(before) / taken
    return Run(ours=ours, official=official, others_cores=others)


def _in_a_process(who: str, url: str, nodes: int, pods: int) -> Synced:
    command = [sys.executable, "-m", "bench.sync", who, url, str(_PAGE_SIZE)]
    done = subprocess.run(command, capture_output=True, check=False, timeout=_LONGEST_SECONDS)
    if done.returncode:
        raise MeasurementError(f"sync, {who}: {done.stderr.decode(errors='replace')[-2000:]}")
    synced = msgspec.json.decode(done.stdout, type=Synced)
    if (synced.nodes, synced.pods) != (nodes, pods):
        raise MeasurementError(f"sync, {who}: {synced.nodes} nodes and {synced.pods} pods came")
    return synced


def _outcome(what: str, limit: float, pairs: Sequence[tuple[float, float]], unit: str) -> Outcome:
    ours, official = (median(side) for side in zip(*pairs, strict=True))
    return Outcome(
        goal=Goal(what=what, limit=limit, at_least=False),
        ratios=[one / other for one, other in pairs],
        figures=f"{short(ours)} / {short(official)} {unit}",
    )


def _ours(url: str, page_size: int, cleanup: ExitStack) -> tuple[int, int]:
    cache = Cache(Market().offer_of)
    reflector = Reflector(ApiClient(_configuration(url)), cluster_resources(cache), Pace(page_size=page_size))
    reflector.start()
    cleanup.callback(reflector.stop)
    if not wait_synced(reflector, _LONGEST_SECONDS):
        raise MeasurementError(f"not synced after {_LONGEST_SECONDS:.0f} s")
    cache.snapshot()
    counts = cache.counts()
    return counts["nodes"], counts["pods"]


def _official(url: str, page_size: int, _cleanup: ExitStack) -> tuple[int, int]:
    core = CoreV1Api(ApiClient(_configuration(url)))
    nodes = list(_typed(core.list_node, page_size))
    pods = list(_typed(core.list_pod_for_all_namespaces, page_size))
    return len(nodes), len(pods)


def _typed(verb: Callable[..., Any], page_size: int) -> Iterator[Any]:
    token = None
    while token != "":
        page = verb(limit=page_size, _continue=token) if token else verb(limit=page_size)
        yield from page.items
        token = page.metadata._continue or ""  # noqa: SLF001  the official client's name for `continue`


def _configuration(url: str) -> Configuration:
    configuration = Configuration()
    configuration.host = url
    return configuration


def main(arguments: Sequence[str]) -> None:
    who, url, page_size = arguments
    list_all = {"ours": _ours, "official": _official}[who]
    with ExitStack() as cleanup:
        started, processor = time.monotonic(), time.process_time()
        nodes, pods = list_all(url, int(page_size), cleanup)
        synced = Synced(
            seconds=time.monotonic() - started,
            processor_seconds=time.process_time() - processor,
            # Kibibytes on Linux.
            max_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            nodes=nodes,
            pods=pods,
        )
    sys.stdout.buffer.write(msgspec.json.encode(synced))


if __name__ == "__main__":
    main(sys.argv[1:])
