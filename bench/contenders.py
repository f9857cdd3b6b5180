"""Who is measured: a contender has a name and a way to run beside kube-scheduler while pods are placed.

A new one is a context manager that yields its extender entry, or None for no extender, and an entry in ALL.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from bench import go_extender
from e2e import scheduler
from e2e.plane import ControlPlane
from e2e.processes import Process, Workspace, free_port
from e2e.tradewind import Planner, Tradewind

# As in the manifests. Not ignorable: an extender that fails must not look like a fast one.
_WEIGHT = 10


@dataclass(frozen=True, kw_only=True)
class Extender:
    entry: Mapping[str, Any]  # of KubeSchedulerConfiguration
    process: Process
    metrics: str  # address of its metrics, as bench.service reads them
    planner: Process | None = None

    @property
    def processes(self) -> list[Process]:
        return [self.process, *([self.planner] if self.planner else ())]


@dataclass(frozen=True, kw_only=True)
class Contender:
    name: str
    running: Callable[[ControlPlane], AbstractContextManager[Extender | None]]


@contextmanager
def _plain(_plane: ControlPlane) -> Iterator[None]:
    yield None


def served_echo() -> AbstractContextManager[Extender]:
    return _served("echo", [sys.executable, "-m", "bench.echo"])


def served_go() -> AbstractContextManager[Extender]:
    return _served("go", [go_extender.find()])


@contextmanager
def _served(name: str, command: Sequence[str | Path]) -> Iterator[Extender]:
    """An extender that takes its port as the last word."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    metrics = f"{url}/metrics"
    with Workspace() as workspace:
        process = workspace.start(name, [*command, str(port)], url)
        process.wait_healthy(metrics)
        yield Extender(entry=scheduler.extender(url, weight=_WEIGHT), process=process, metrics=metrics)


@contextmanager
def _tradewind(plane: ControlPlane) -> Iterator[Extender]:
    with Workspace() as workspace:
        yield _extender(Tradewind(workspace, plane.kubeconfig))


def _extender(service: Tradewind) -> Extender:
    return Extender(
        entry=scheduler.extender(service.url, weight=_WEIGHT),
        process=service.process,
        metrics=f"{service.probes}/metrics",
    )


@contextmanager
def _planned(plane: ControlPlane, *, guided: bool | None = None) -> Iterator[Extender]:
    """The extender, and a planner that leads; both with their default settings.

    Unless `guided` is None no pod is planned: all that comes from the planner is the guide, or nothing.
    """
    settings = {} if guided is None else {"planner": {"schedulers": [], "standing": {"enabled": guided}}}
    with Workspace() as workspace:
        service = Tradewind(workspace, plane.kubeconfig)
        planner = Planner(workspace, plane.kubeconfig, lease_seconds=15.0, settings=settings)
        planner.wait_leading()
        if guided:
            # One of a run before may be followed already, while the solvers are still to be loaded.
            planner.wait_metric("tradewind_standing_duration_seconds_count", 1)
            service.wait_metric("tradewind_guide_followed", 1)
        try:
            yield replace(_extender(service), planner=planner.process)
        finally:
            # Not killed: it gives up its Lease, so that the next one need not wait for it to run out.
            planner.stop()


PLAIN = Contender(name="plain", running=_plain)
ECHO = Contender(name="echo", running=lambda _plane: served_echo())
GO = Contender(name="go", running=lambda _plane: served_go())
TRADEWIND = Contender(name="tradewind", running=_tradewind)
PLANNED = Contender(name="planned", running=_planned)
UNGUIDED = Contender(name="unguided", running=partial(_planned, guided=False))
GUIDED = Contender(name="guided", running=partial(_planned, guided=True))

# Whose pods wait already when kube-scheduler starts; what is planned is measured by bench.burst.
ALL = (PLAIN, ECHO, GO, TRADEWIND)
# The guide against the same planner without it.
CHOICES = (*ALL, UNGUIDED, GUIDED)
