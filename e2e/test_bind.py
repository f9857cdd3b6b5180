"""Many pods race for places that only a rule of ours limits."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e import fake, manifests, objects, outcomes, scheduler
from e2e.api import Api
from e2e.conftest import AddNodes, StartScheduler, next_name
from e2e.objects import Object
from e2e.plane import ControlPlane
from e2e.tradewind import Tradewind

_PODS = 200
_NODES = 10
# The limits of 8 pods add up to the 16Gi of a node; their requests would leave room for 16.
_PLACES = 8
_HUNGRY = objects.container(requests={"memory": "1Gi"}, limits={"memory": "2Gi"})
_LIMITED = {"rules": {"limits": {"overcommit": {"memory": 1}}}}


@pytest.fixture
def binding(plane: ControlPlane, role_kubeconfig: Path, api: Api) -> Iterator[Tradewind]:
    """Tradewind as a binder, with the role that the manifests add for it."""
    with fake.existing(api, manifests.component_roles("bind")):
        service = Tradewind(
            plane.workspace,
            role_kubeconfig,
            name=next_name("tradewind"),
            settings=_LIMITED,
            switches=["--bind"],
        )
        yield service
        service.stop()


@pytest.fixture
def asked_only(plane: ControlPlane, role_kubeconfig: Path) -> Iterator[Tradewind]:
    """The same without binding."""
    service = Tradewind(plane.workspace, role_kubeconfig, name=next_name("tradewind"), settings=_LIMITED)
    yield service
    service.stop()


def pods(namespace: str) -> list[Object]:
    return [objects.pod(f"hungry-{i}", namespace, containers=[_HUNGRY]) for i in range(_PODS)]


def overfull(api: Api, namespace: str) -> dict[str, int]:
    """Nodes with more pods than places."""
    listed = api.read(f"/api/v1/namespaces/{namespace}/pods")["items"]
    counts = Counter(outcomes.bound_to(pod) for pod in listed if outcomes.bound_to(pod))
    return {node: count for node, count in counts.items() if count > _PLACES}


def test_not_one_place_is_given_twice(
    api: Api,
    binding: Tradewind,
    start_scheduler: StartScheduler,
    add_nodes: AddNodes,
    namespace: str,
) -> None:
    add_nodes(*(objects.node(f"n{i}", price=0.1 + i / 100) for i in range(_NODES)))
    api.create_all(pods(namespace))
    asked = scheduler.extender(binding.url, weight=200, ignorable=True)
    # An error of an ignorable extender would be ignored: kube-scheduler would bind all the same.
    binds = scheduler.extender(binding.url, filter_verb="", prioritize_verb="", bind_verb="bind")
    start_scheduler(scheduler.configuration(extenders=[asked, binds]))
    nodes = outcomes.bound_nodes(api, namespace, _NODES * _PLACES, seconds=90)
    assert Counter(nodes.values()) == {f"n{i}": _PLACES for i in range(_NODES)}
    refused = binding.metric("tradewind_bindings_total", outcome="refused")
    print(f"\n{len(nodes)} pods bound by Tradewind, {refused:.0f} bindings refused, no place given twice")
    assert overfull(api, namespace) == {}


def test_without_bind_the_race_may_be_lost(
    api: Api,
    asked_only: Tradewind,
    start_scheduler: StartScheduler,
    add_nodes: AddNodes,
    namespace: str,
) -> None:
    """Shows what bind is for; whether the race is lost is a matter of luck, so only the count is shown."""
    add_nodes(*(objects.node(f"n{i}", price=0.1 + i / 100) for i in range(_NODES)))
    api.create_all(pods(namespace))
    asked = scheduler.extender(asked_only.url, weight=200, ignorable=True)
    start_scheduler(scheduler.configuration(extenders=[asked]))
    outcomes.bound_nodes(api, namespace, _NODES * _PLACES, seconds=90)
    twice = overfull(api, namespace)
    print(f"\nwithout bind: {twice or 'the race could not be provoked'}")
    fake.remove_pods(api, namespace)
