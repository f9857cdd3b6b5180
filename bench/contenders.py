"""Who is measured: a contender has a name and a way to run beside kube-scheduler while pods are placed.

A new one is a context manager that yields its extender entry, or None for no extender, and a line in ALL.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

from e2e import scheduler
from e2e.plane import ControlPlane
from e2e.processes import Process, Workspace, free_port
from e2e.tradewind import Tradewind

# As in the manifests. Not ignorable: an extender that fails must not look like a fast one.
_WEIGHT = 10


@dataclass(frozen=True, kw_only=True)
class Extender:
    entry: Mapping[str, Any]  # of KubeSchedulerConfiguration
    process: Process
    metrics: str  # address of its metrics, as bench.service reads them


@dataclass(frozen=True, kw_only=True)
class Contender:
    name: str
    running: Callable[[ControlPlane], AbstractContextManager[Extender | None]]


@contextmanager
def _plain(_plane: ControlPlane) -> Iterator[None]:
    yield None


@contextmanager
def _echo(_plane: ControlPlane) -> Iterator[Extender]:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with Workspace() as workspace:
        process = workspace.start("echo", [sys.executable, "-m", "bench.echo", str(port)], url)
        process.wait_healthy(url)
        yield Extender(entry=scheduler.extender(url, weight=_WEIGHT), process=process, metrics=url)


@contextmanager
def _tradewind(plane: ControlPlane) -> Iterator[Extender]:
    with Workspace() as workspace:
        service = Tradewind(workspace, plane.kubeconfig)
        yield Extender(
            entry=scheduler.extender(service.url, weight=_WEIGHT),
            process=service.process,
            metrics=f"{service.probes}/metrics",
        )


ALL = (
    Contender(name="plain", running=_plain),
    Contender(name="echo", running=_echo),
    Contender(name="tradewind", running=_tradewind),
)
