"""Which pods are still to come: by what their ReplicaSets want, for as long as some keep coming."""

import json

import pytest

from tests.builders import PodBuilder, offer_of, pod
from tradewind.cluster.cache import Cache
from tradewind.controller.owed_replicas import OwedReplicas
from tradewind.controller.wanted_pods import WantedPods
from tradewind.errors import ApiError
from tradewind.kube.client import Client
from tradewind.planner.gate import GATE

_PATIENCE = 1.0


class _Api(Client):
    def __init__(self, **replicas: int) -> None:
        self.replicas = replicas  # by name of the ReplicaSet
        self.reads = 0

    def get(self, path: str, seconds: float = 10.0) -> bytes:
        del seconds
        self.reads += 1
        start, _, name = path.rpartition("/")
        assert start == "/apis/apps/v1/namespaces/default/replicasets"
        if name not in self.replicas:
            raise ApiError("forbidden", 403)
        return json.dumps({"spec": {"replicas": self.replicas[name]}}).encode()


class World:
    def __init__(self, api: _Api) -> None:
        self.cache = Cache(offer_of)
        self.now = 0.0
        self._owed = OwedReplicas(self.cache, WantedPods(api), lambda: self.now)

    def create(self, count: int, owner: str = "web", kind: str = "ReplicaSet", *, held: bool = True) -> None:
        there = len(self.cache.all_pods())
        for number in range(there, there + count):
            one = pod(f"p-{number}").owner(kind, owner, f"uid-{owner}")
            self.cache.apply_pod((_held(one) if held else one).build())

    def owed(self) -> bool:
        return self._owed.owed(_PATIENCE)


def _held(start: PodBuilder) -> PodBuilder:
    return start.field("spec", "schedulingGates", value=[{"name": GATE}])


def test_pods_are_owed_until_all_are_there() -> None:
    api = _Api(web=4)
    world = World(api)
    assert not world.owed()
    for count, owed in ((1, True), (2, True), (1, False)):
        world.create(count)
        assert world.owed() is owed
    assert api.reads == 1


def test_pods_that_are_bound_are_there() -> None:
    world = World(_Api(web=2))
    world.cache.apply_pod(pod("bound").owner("ReplicaSet", "web", "uid-web").on("n").build())
    world.create(1)
    assert not world.owed()


def test_of_several_workloads_each_is_waited_for() -> None:
    world = World(_Api(web=1, db=2))
    world.create(1, "web")
    world.create(1, "db")
    assert world.owed()


def test_pods_that_do_not_come_are_not_waited_for() -> None:
    """A quota, or a webhook, refuses them."""
    world = World(_Api(web=4))
    world.create(1)
    assert world.owed()
    world.now = 0.9
    world.create(1)
    assert world.owed()
    world.now = 1.8
    assert world.owed(), "one came 0.9 s ago"
    world.now = 2.0
    assert not world.owed()


@pytest.mark.parametrize("growing", [False, True], ids=["under a quota", "that is scaled up all the time"])
def test_a_workload_that_gets_one_pod_after_the_other_is_not_waited_for_again_and_again(
    growing: bool,
) -> None:
    api = _Api(web=2 if growing else 1_000)
    world, found = World(api), list[bool]()
    for number in range(10):
        world.now = 0.5 * number
        api.replicas["web"] += growing * 2
        world.create(1)
        found.append(world.owed())
    assert found[:3] == [True] * 3
    assert not any(found[4:])
    world.create(1, "db")
    api.replicas["db"] = 2
    assert world.owed(), "another is waited for"


def test_a_workload_that_grows_is_read_again() -> None:
    api = _Api(web=1)
    world = World(api)
    world.create(1)
    assert not world.owed()
    api.replicas["web"] = 3
    world.create(1)
    assert world.owed()


@pytest.mark.parametrize(
    ("kind", "held"),
    [
        pytest.param("ReplicaSet", False, id="pods that nobody holds"),
        pytest.param("StatefulSet", True, id="pods that come one after the other by design"),
    ],
)
def test_nothing_is_read_for(kind: str, held: bool) -> None:
    api = _Api(web=4)
    world = World(api)
    world.create(1, kind=kind, held=held)
    assert not world.owed()
    assert api.reads == 0


def test_what_cannot_be_read_is_not_waited_for() -> None:
    world = World(_Api())
    world.create(1)
    assert not world.owed()


def test_many_workloads_at_once_are_not_all_read_while_pods_wait() -> None:
    api = _Api(**{f"web{number}": 1 for number in range(30)})
    world = World(api)
    for number in range(30):
        world.create(1, f"web{number}")
    world.owed()
    assert api.reads == 20
    world.owed()
    assert api.reads == 30


def test_a_pod_of_another_namespace_that_names_the_controller_is_not_one_of_its_pods() -> None:
    world = World(_Api(web=2))
    forged = pod("forged").namespace("evil").owner("ReplicaSet", "web", "uid-web").on("n")
    world.cache.apply_pod(forged.build())
    world.create(1)
    assert world.owed()
