"""The five deployments of the Boreas thesis, on its six nodes of 0.9 cores and 3931 MB."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from e2e import objects
from e2e.objects import Object

NODES = 6


@dataclass(frozen=True, kw_only=True)
class Workload:
    name: str
    replicas: int
    cpu: str
    memory: str
    apart: Sequence[str] = ()  # workloads, its own too, with which it shares no node
    near: str = ""  # workload without which it goes nowhere

    def deployment(self, namespace: str, scheduler: str) -> Object:
        return objects.deployment(
            self.name,
            namespace,
            replicas=self.replicas,
            cpu=self.cpu,
            memory=self.memory,
            scheduler=scheduler,
            affinity=self._affinity(),
        )

    def _affinity(self) -> Mapping[str, Any]:
        near = {"podAffinity": _required([self.near])} if self.near else {}
        apart = {"podAntiAffinity": _required(self.apart)} if self.apart else {}
        return near | apart


def _required(names: Sequence[str]) -> Mapping[str, Any]:
    terms = [
        {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": name}}}
        for name in names
    ]
    return {"requiredDuringSchedulingIgnoredDuringExecution": terms}


def _norse(*, balder_apart: Sequence[str] = ()) -> tuple[Workload, ...]:
    return (
        Workload(name="balder", replicas=4, cpu="200m", memory="800M", apart=balder_apart),
        Workload(name="freyja", replicas=4, cpu="300m", memory="1200M", apart=["freyja"], near="nerthus"),
        Workload(name="nerthus", replicas=4, cpu="300m", memory="1200M", apart=["nerthus"]),
        Workload(name="skadi", replicas=8, cpu="200m", memory="800M"),
    )


@dataclass(frozen=True, kw_only=True)
class Case:
    name: str
    workloads: Sequence[Workload]
    nodes: int  # in use by the best placement

    @property
    def pods(self) -> int:
        return sum(each.replicas for each in self.workloads)


CASES = (
    Case(
        name="verification",
        workloads=[Workload(name="simple", replicas=30, cpu="180m", memory="750M")],
        nodes=6,
    ),
    Case(name="A", workloads=[Workload(name="simple", replicas=20, cpu="180m", memory="750M")], nodes=4),
    Case(name="B", workloads=_norse(), nodes=6),
    Case(name="C", workloads=_norse(balder_apart=["skadi"]), nodes=6),
    Case(
        name="D",
        workloads=[
            Workload(name="asperitas", replicas=3, cpu="400m", memory="1800M", apart=["asperitas"]),
            Workload(name="cirrus", replicas=2, cpu="200m", memory="900M"),
            Workload(
                name="cumulus", replicas=3, cpu="200m", memory="900M", apart=["cumulus"], near="asperitas"
            ),
            Workload(name="nimbus", replicas=2, cpu="200m", memory="900M", apart=["nimbus", "asperitas"]),
            Workload(name="stratus", replicas=4, cpu="200m", memory="900M", apart=["stratus"]),
        ],
        nodes=5,
    ),
)


def nodes() -> list[Object]:
    return [objects.node(f"boreas-{number}", cpu="900m", memory="3931M") for number in range(NODES)]
