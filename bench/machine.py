"""What a measurement costs in processor time, and on which machine; from Linux' /proc."""

import math
import os
import platform
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Self

from e2e.binaries import Binaries

_PROC = Path("/proc")
_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
# proc(5) counts the fields of a process' stat from 1; the first two, pid and (name), are cut off before.
_PARENT, _USER_TICKS, _SYSTEM_TICKS = 4 - 3, 14 - 3, 15 - 3
# Of the machine's first line: user nice system idle iowait irq softirq steal; guest time is in user already.
_IDLE = (3, 4)
_COUNTED = 8
_CALM_SECONDS = 2.0


@dataclass(frozen=True, kw_only=True)
class ProcessorTime:
    """Seconds since their start: of the machine's cores together, and of our own processes by pid.

    Each process that we started counts with its descendants.
    """

    busy: float
    processes: Mapping[int, float]

    @classmethod
    def now(cls) -> Self:
        return cls(busy=_busy_seconds(), processes=dict(_own_processes()))

    def of(self, pid: int, since: Self) -> float:
        return self.processes[pid] - since.processes.get(pid, 0.0)

    def own(self, since: Self) -> float:
        return sum(self.of(pid, since) for pid in self.processes)

    def of_others(self, since: Self) -> float:
        """What processes took that do not belong to the measurement: the noise in it."""
        return max(0.0, self.busy - since.busy - self.own(since))


def wait_for_calm(cores: float, seconds: float) -> None:
    """Returns when other work takes no more than these cores, or when the time is over."""
    deadline = time.monotonic() + seconds
    while cores < math.inf and time.monotonic() < deadline:
        before, started = ProcessorTime.now(), time.monotonic()
        time.sleep(_CALM_SECONDS)
        if ProcessorTime.now().of_others(before) <= cores * (time.monotonic() - started):
            return


def _busy_seconds() -> float:
    with (_PROC / "stat").open() as file:
        ticks = [int(word) for word in file.readline().split()[1 : 1 + _COUNTED]]
    return sum(count for place, count in enumerate(ticks) if place not in _IDLE) / _TICKS_A_SECOND


def _own_processes() -> Iterator[tuple[int, float]]:
    """This process and its children; whatever they start in turn counts as theirs."""
    processes = dict(_all_processes())
    children: dict[int, list[int]] = {}
    for pid, (parent, _) in processes.items():
        children.setdefault(parent, []).append(pid)
    own = os.getpid()
    yield own, processes[own][1]
    for child in children.get(own, ()):
        family = [child]
        for pid in family:
            family += children.get(pid, ())
        yield child, sum(processes[pid][1] for pid in family)


def _all_processes() -> Iterator[tuple[int, tuple[int, float]]]:
    """Each process' parent and processor seconds, by its pid."""
    for directory in _PROC.iterdir():
        if not directory.name.isdecimal():
            continue
        try:
            stat = (directory / "stat").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        fields = stat[stat.rindex(")") + 2 :].split()
        ticks = int(fields[_USER_TICKS]) + int(fields[_SYSTEM_TICKS])
        yield int(directory.name), (int(fields[_PARENT]), ticks / _TICKS_A_SECOND)


def supported() -> bool:
    return (_PROC / "stat").exists()


def facts(programs: Binaries) -> dict[str, str | int | float]:
    """What a reader must know before comparing figures of two machines."""
    said = subprocess.run([programs.kube_scheduler, "--version"], capture_output=True, text=True, check=True)
    return {
        "cores": len(os.sched_getaffinity(0)),
        "processor": _processor(),
        "memory_gib": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30, 1),
        "system": platform.platform(),
        "python": platform.python_version(),
        "kubernetes": said.stdout.split()[-1],
        "tradewind": version("tradewind"),
        "load_average_at_start": round(os.getloadavg()[0], 2),
    }


def _processor() -> str:
    for line in (_PROC / "cpuinfo").read_text().splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "model name":
            return value.strip()
    return platform.machine()
