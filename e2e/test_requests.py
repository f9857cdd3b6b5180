"""What a pod takes from a node, as we count it, is what kube-scheduler counts, to the last unit.

The scheduler shows an extender exactly the nodes that passed its own check of the resources. So each random
pod gets nodes of its own: one with just what we count, one more for each resource with a single unit less of
it, and an ample one so that the extender is always asked. Only the first and the last may be left over.
"""

import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest
import urllib3

from e2e import objects, random_pods, scheduler
from e2e.api import Api, path
from e2e.conftest import AddNodes, StartScheduler
from e2e.objects import Object
from e2e.plane import ControlPlane
from e2e.recorder import Recorder, node_names
from e2e.tradewind import Tradewind
from tradewind.cluster.objects import read_pod

_GROUP = "tradewind.dev/e2e-group"
_AMPLE = {"cpu": 10**6, "memory": 2**42, "ephemeral-storage": 2**42, "pods": 100, random_pods.GPU: 100}
_ONE_OF_ALL = {"cpu": "1m", "memory": "1", "ephemeral-storage": "1", random_pods.GPU: "1"}
_PROBE = objects.container(requests=_ONE_OF_ALL, limits=_ONE_OF_ALL)


@dataclass(frozen=True, kw_only=True)
class Case:
    """A pod that the scheduler is asked about, and the nodes that it may choose from."""

    pod: str
    nodes: list[str]

    @classmethod
    def of(cls, pod: str, nodes: Sequence[Object]) -> "Case":
        return cls(pod=pod, nodes=[node["metadata"]["name"] for node in nodes])

    @property
    def fitting(self) -> set[str]:
        return {f"{self.pod}-exact", f"{self.pod}-ample"}


Look = Callable[[Sequence[Case]], None]


@pytest.fixture
def runtime_classes(api: Api, namespace: str) -> Iterator[list[Object]]:
    classes = api.create_all(random_pods.runtime_classes(namespace))
    yield classes
    api.concurrently("DELETE", [(path(entry), None) for entry in random_pods.runtime_classes(namespace)])


@pytest.fixture
def look(plane: ControlPlane, role_kubeconfig: Path, start_scheduler: StartScheduler) -> Iterator[Look]:
    """Compares both views of all cases; both see the cluster for the first time, and whole."""
    with Recorder(rejects=True) as recorder:

        def compare(cases: Sequence[Case]) -> None:
            settings = {"recheck": True}
            service = Tradewind(
                plane.workspace, role_kubeconfig, name="tradewind-requests", settings=settings
            )
            entry = scheduler.extender(recorder.url)
            start_scheduler(scheduler.configuration(extenders=[entry], percentage_of_nodes_to_score=100))
            fitting = {case.pod: case.fitting for case in cases}
            requests = {case.pod: recorder.wait_for("filter", case.pod).arguments for case in cases}
            assert {pod: set(node_names(request)) for pod, request in requests.items()} == fitting
            assert {case.pod: _our_view(service, requests[case.pod], case) for case in cases} == fitting
            service.stop()

        yield compare


@pytest.mark.parametrize("seed", range(3))
def test_waiting_pods(
    *, api: Api, add_nodes: AddNodes, namespace: str, runtime_classes: list[Object], look: Look, seed: int
) -> None:
    chance = random.Random(seed)  # noqa: S311  no secret
    names = [f"pod-{number}" for number in range(20)]
    specs = [random_pods.spec(chance, runtime_classes) for _ in names]
    pods = api.create_all(_pod(name, namespace, name, spec) for name, spec in zip(names, specs, strict=True))
    nodes = {name: _nodes(name, _count(pod)) for name, pod in zip(names, pods, strict=True)}
    add_nodes(*itertools.chain.from_iterable(nodes.values()))
    look([Case.of(name, nodes[name]) for name in names])


@pytest.mark.parametrize("seed", range(3))
def test_pods_on_nodes(
    *, api: Api, add_nodes: AddNodes, namespace: str, runtime_classes: list[Object], look: Look, seed: int
) -> None:
    """The pod to count is on every node of its case; what the scheduler looks at is a small probe."""
    chance = random.Random(seed)  # noqa: S311  no secret
    nodes: dict[str, list[Object]] = {}
    for name in (f"probe-{number}" for number in range(8)):
        probe = api.create(_pod(name, namespace, name, {"containers": [_PROBE]}))
        resident = _Resident(chance, random_pods.spec(chance, runtime_classes))
        counted = _count(resident.place(api, namespace, f"{name}-ample"))
        nodes[name] = _nodes(name, Counter(counted) + Counter(_count(probe)))
        for node in nodes[name][:-1]:
            resident.place(api, namespace, node["metadata"]["name"])
    add_nodes(*itertools.chain.from_iterable(nodes.values()))
    look([Case.of(name, around) for name, around in nodes.items()])


class _Resident:
    """A pod that can be put on many nodes, each time in the same state of its life."""

    def __init__(self, chance: random.Random, spec: Mapping[str, Any]) -> None:
        self._spec = spec
        self._status = random_pods.status(chance, spec)
        self._terminating = chance.random() < 0.2

    def place(self, api: Api, namespace: str, node: str) -> Object:
        pod = _pod(f"on-{node}", namespace, node, {**self._spec, "nodeName": node})
        api.create(pod)
        placed = api.patch(f"{path(pod)}/status", {"status": self._status})
        if self._terminating:
            api.delete(path(pod), gracePeriodSeconds="3600")
        return placed


def _pod(name: str, namespace: str, group: str, spec: Mapping[str, Any]) -> Object:
    return objects.pod(name, namespace, nodeSelector={_GROUP: group}, **spec)


def _count(pod: Object) -> dict[str, int]:
    read = read_pod(msgspec.json.encode(pod))
    return {} if read.finished else dict(read.requests)


def _nodes(group: str, counted: Mapping[str, int]) -> list[Object]:
    """The ample one comes last. Each has a GPU at least: nodes without one are left to kube-scheduler."""
    exact = {**_AMPLE, **counted}
    less = [
        _node(f"{group}-less-{resource.replace('/', '-')}", group, {**exact, resource: amount - 1})
        for resource, amount in counted.items()
        if amount > (resource == random_pods.GPU)
    ]
    return [_node(f"{group}-exact", group, exact), *less, _node(f"{group}-ample", group, _AMPLE)]


def _node(name: str, group: str, amounts: Mapping[str, int]) -> Object:
    written = {name: f"{amount}m" if name == "cpu" else str(amount) for name, amount in amounts.items()}
    return objects.node(name, resources=written, labels={_GROUP: group})


def _our_view(service: Tradewind, request: Object, case: Case) -> set[str]:
    body = msgspec.json.encode({**request, "NodeNames": case.nodes})
    answer = urllib3.request("POST", f"{service.url}/filter", body=body)
    return set(msgspec.json.decode(answer.data)["NodeNames"])
