"""One measurement: pods that wait, then a fresh kube-scheduler, and the time from its first to last binding.

The pods are there before the scheduler is, so neither their creation nor its start is measured, and its queue
is never empty. A binding counts when a watch that was open before reports it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bench import service, workload
from bench.bindings import Bindings
from bench.contenders import Contender, Extender
from bench.errors import MeasurementError
from bench.service import Service
from e2e import fake, scheduler
from e2e.api import Api
from e2e.plane import ControlPlane
from e2e.processes import Process


@dataclass(frozen=True, kw_only=True)
class Case:
    """A cluster's size, the share of it that kube-scheduler looks at, and the pods to place."""

    nodes: int
    percentage: int  # of nodes to score; 0 is kube-scheduler's own sampling
    pods: int


@dataclass(frozen=True, kw_only=True)
class Cluster:
    plane: ControlPlane
    api: Api
    namespace: str


@dataclass(frozen=True, kw_only=True)
class Measurement:
    contender: str
    run: int
    pods: int
    seconds: float  # between the first and the last binding
    scheduler_cpu_seconds: float
    extender_cpu_seconds: float | None
    own_cpu_seconds: float  # of these two, the rest of the control plane and the benchmark itself
    others_cpu_seconds: float  # of whatever else ran on the machine
    service: dict[str, Service]

    @property
    def pods_a_second(self) -> float:
        return (self.pods - 1) / self.seconds

    @property
    def others_cores(self) -> float:
        return self.others_cpu_seconds / self.seconds

    @property
    def line(self) -> str:
        return f"{self.contender:10} {self.pods_a_second:6.0f} pods/s"


def measure(
    cluster: Cluster, case: Case, contender: Contender, run: int, until_calm: Callable[[], None]
) -> Measurement:
    """Leaves the nodes as they were, and no pod."""
    cluster.api.create_all(workload.pods(case.pods, cluster.namespace))
    try:
        with contender.running(cluster.plane) as extender:
            until_calm()
            return _measure(cluster, case, contender.name, extender, run)
    finally:
        fake.remove_pods(cluster.api, cluster.namespace)


def _measure(cluster: Cluster, case: Case, name: str, extender: Extender | None, run: int) -> Measurement:
    bindings = Bindings(cluster.api, cluster.namespace, case.pods)
    bindings.start()
    with kube_scheduler(cluster.plane, case.percentage, extender) as running:
        try:
            bindings.wait(running)
        except MeasurementError as error:
            logs = [process.tail() for process in (running, extender and extender.process) if process]
            raise MeasurementError("\n".join([f"{name}: {error}", *logs])) from error
    before, after = bindings.processor
    return Measurement(
        contender=name,
        run=run,
        pods=case.pods,
        seconds=bindings.seconds,
        scheduler_cpu_seconds=after.of(running.pid, before),
        extender_cpu_seconds=after.of(extender.process.pid, before) if extender else None,
        own_cpu_seconds=after.own(before),
        others_cpu_seconds=after.of_others(before),
        service=_served(case, name, extender) if extender else {},
    )


@contextmanager
def kube_scheduler(plane: ControlPlane, percentage: int, extender: Extender | None) -> Iterator[Process]:
    configuration = scheduler.configuration(
        extenders=[extender.entry] if extender else [], percentage_of_nodes_to_score=percentage
    )
    process = plane.start_scheduler(configuration)
    try:
        yield process
    finally:
        process.kill()


def _served(case: Case, name: str, extender: Extender) -> dict[str, Service]:
    served = service.read(extender.metrics)
    for verb, requests in served.items():
        if not requests.complete(case.pods):
            raise MeasurementError(f"{name}: {verb} for {case.pods} pods ended as {requests.outcomes}")
    return served
