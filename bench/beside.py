"""`python -m bench.beside`: what kube-scheduler's requests feel of the rest that the extender's process does.

Filter and prioritize are asked one after the other, as kube-scheduler does: left alone, while savings and a
what-if are worked out for somebody who looks at the page, and beside the rounds of the shadow.
"""

import argparse
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import urllib3

from bench import canned, listing, savings_cases
from bench.goals import markdown
from bench.machine import ProcessorTime
from bench.replay import Pair, Replay
from bench.tail import Distribution
from bench.throughput import candidates
from e2e.processes import Workspace, free_port
from e2e.tradewind import Service, Tradewind

_WARM_UP = 50
_SETTLE_SECONDS = 5.0
_EVENTS_A_SECOND = 200  # nine in ten of pods: half of those come, the others leave
_PAGE_SECONDS = 600.0
_PATHS = {"savings": "/savings", "what-if": f"/what-if?lost-zone={savings_cases.ZONES[0]}"}


class _FromFile(Service):
    def __init__(self, workspace: Workspace, cluster: Path, table: Path) -> None:
        port, explain_port = free_port(), free_port()
        self.url, self.explain = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{explain_port}"
        super().__init__(
            workspace,
            "serve",
            "tradewind",
            flags={"--port": port, "--explain-port": explain_port, "--cluster": cluster},
            settings={"market": {"table": str(table)}},
            environment=None,
        )


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Pairs of requests, in a row."""

    what: str
    seconds: float
    filter: Distribution
    prioritize: Distribution
    cores: float  # of the extender's process and those that it started
    bytes: int  # of memory that they held at most, together

    def cells(self, alone: "Asked") -> Iterator[str]:
        yield from (self.what, f"{self.seconds:.1f} s")
        for verb in ("filter", "prioritize"):
            now, before = getattr(self, verb).ms, getattr(alone, verb).ms
            yield f"{now[50]:.2f}, {now[99]:.2f}, {now[100]:.2f} ms"
            yield f"{now[50] / before[50]:.2f}, {now[99] / before[99]:.2f}"
        yield from (f"{self.cores:.2f}", f"{self.bytes / 2**20:,.0f} MB")


def looked_at(nodes: int, pairs: int) -> Iterator[Asked]:
    objects = savings_cases.eks(nodes)
    names = [each["metadata"]["name"] for each in objects if each["kind"] == "Node"]
    with Workspace() as workspace:
        table = workspace.directory / "prices.csv"
        table.write_text(savings_cases.PRICE_TABLE)
        cluster = savings_cases.write(objects, workspace.directory / "cluster.json")
        service = _FromFile(workspace, cluster, table)
        with Replay(service.url, names, candidates(nodes, 0)) as replay:
            yield _asked("alone", service, replay, lambda done: done < pairs)
            for name, path in _PATHS.items():
                looking = threading.Thread(target=_look, args=(f"{service.explain}{path}",))
                looking.start()
                yield _asked(name, service, replay, partial(_alive, looking))


def shadowed(nodes: int, pods: int, pairs: int) -> Iterator[Asked]:
    names = [each["metadata"]["name"] for each in listing.nodes(nodes)]
    for what, settings in (("live", {}), ("in the shadow", {"shadow": True})):
        with canned.running(nodes, pods, _EVENTS_A_SECOND) as cluster:
            service = Tradewind(cluster.workspace, cluster.kubeconfig, settings=settings)
            if settings:
                service.wait_metric("tradewind_shadow_leader", 1)
            yield _rested(f"{what}, nobody asks", service)
            with Replay(service.url, names, candidates(nodes, 0)) as replay:
                yield _asked(what, service, replay, lambda done: done < pairs)
            placed = sum(service.metric("tradewind_shadow_pods", node=each) for each in ("same", "other"))
            print(f"{what}: the shadow placed {placed:,.0f} pods", flush=True)


def _alive(looking: threading.Thread, _done: int) -> bool:
    return looking.is_alive()


def _look(url: str) -> None:
    answer = urllib3.request("GET", url, timeout=_PAGE_SECONDS, retries=False)
    if answer.status != 200:
        raise AssertionError(f"{url} gave {answer.status}: {answer.data[:500]!r}")


def _asked(what: str, service: Service, replay: Replay, on: Callable[[int], bool]) -> Asked:
    for _ in range(_WARM_UP if what in {"alone", "live", "in the shadow"} else 0):
        replay.pair()
    pid = service.process.pid
    before, started, memory = ProcessorTime.now(), time.monotonic(), 0
    timed: list[Pair] = []
    while on(len(timed)) or len(timed) < 2:
        timed.append(replay.pair())
        if len(timed) % 100 == 1:
            memory = max(memory, _memory(pid))
    seconds = time.monotonic() - started
    return Asked(
        what=what,
        seconds=seconds,
        filter=Distribution.of([each.filter for each in timed]),
        prioritize=Distribution.of([each.prioritize for each in timed]),
        cores=ProcessorTime.now().of(pid, before) / seconds,
        bytes=memory,
    )


def _rested(what: str, service: Service) -> Asked:
    pid = service.process.pid
    time.sleep(_SETTLE_SECONDS)
    before = ProcessorTime.now()
    time.sleep(2 * _SETTLE_SECONDS)
    nothing = Distribution(ms=[float("nan")] * 101)
    cores = ProcessorTime.now().of(pid, before) / (2 * _SETTLE_SECONDS)
    return Asked(
        what=what,
        seconds=2 * _SETTLE_SECONDS,
        filter=nothing,
        prioritize=nothing,
        cores=cores,
        bytes=_memory(pid),
    )


def _memory(pid: int) -> int:
    """What it and its children hold by now."""
    of = {int(each.name): each for each in Path("/proc").iterdir() if each.name.isdigit()}
    total, family = 0, [pid]
    for member in family:
        try:
            status = dict(
                line.split(":", 1) for line in (of[member] / "status").read_text().splitlines() if ":" in line
            )
            children = (of[member] / "task").glob("*/children")
            family += [int(word) for each in children for word in each.read_text().split()]
        except (OSError, KeyError):
            continue
        total += int(status.get("VmRSS", "0 kB").split()[0]) * 1024
    return total


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.beside", description=__doc__)
    parser.add_argument("what", choices=["page", "shadow"])
    parser.add_argument("--nodes", type=int, default=5_000)
    parser.add_argument(
        "--pods", type=int, default=50_000, help="in the shadow; the page's cluster has its own"
    )
    parser.add_argument("--pairs", type=int, default=2_000)
    options = parser.parse_args(arguments)
    if options.what == "page":
        found = looked_at(options.nodes, options.pairs)
    else:
        found = shadowed(options.nodes, options.pods, options.pairs)
    ratio = "p50, p99 / alone"
    rows = [["", "time", "filter p50, p99, max", ratio, "prioritize", ratio, "cores", "memory"]]
    asked: list[Asked] = []
    for each in found:
        asked.append(each)
        first = next((every for every in asked if every.filter.ms[50] == every.filter.ms[50]), each)
        rows.append(list(each.cells(first)))
        print("  ".join(rows[-1]), flush=True)
    print(markdown(rows, {0}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
