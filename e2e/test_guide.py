"""The guide of the standing plan in a live cluster: solved by the leader, followed by every replica."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import urllib3

from e2e import manifests, objects, outcomes, scheduler
from e2e.api import Api, ApiError
from e2e.conftest import AddNodes, StartPlanner, StartScheduler, next_name
from e2e.objects import Object
from e2e.plane import ControlPlane
from e2e.tradewind import Tradewind
from tradewind.cluster.guide import CONFIG_MAP, KEY, VERSION, Guide, GuidedKind, Role, decode, encode
from tradewind.kube.client import USER_AGENT
from tradewind.market.offers import INTERRUPTION_RATE

_MAPS = f"/api/v1/namespaces/{manifests.NAMESPACE}/configmaps"
_PATH = f"{_MAPS}/{CONFIG_MAP}"
_SECONDS = 120.0
# Scores alone look at stability only, and choose the durable node; the guide outweighs them.
_WEIGHTS = dict.fromkeys(("price", "resource_fit", "workload_priority", "equivalence"), 0)
_SETTINGS = {"weights": {**_WEIGHTS, "stability": 1, "guide": 5}}
# No pod is planned, whether held or not.
_PLANNER = {**_SETTINGS, "planner": {"schedulers": []}}
_TERMS = "karpenter.sh/capacity-type"


class Replicas:
    """Two of them, of which kube-scheduler asks the first."""

    def __init__(self, plane: ControlPlane, kubeconfig: Path) -> None:
        self.both = [
            Tradewind(plane.workspace, kubeconfig, settings=_SETTINGS, name=next_name("tradewind"))
            for _ in range(2)
        ]

    def wait_following(self, *, following: bool) -> None:
        eventually(lambda: [each.metric("tradewind_guide_followed") for each in self.both] == [following] * 2)

    def refused(self, reason: str) -> list[float]:
        return [each.metric("tradewind_guide_refused_total", reason=reason) for each in self.both]

    def levels(self, pod: Object) -> list[dict[str, int]]:
        """What each of them says of the nodes to kube-scheduler."""
        return [_levels(each, pod) for each in self.both]


def _levels(tradewind: Tradewind, pod: Object) -> dict[str, int]:
    arguments = {"Pod": pod, "NodeNames": ["durable", "spot"]}
    answer = urllib3.request("POST", f"{tradewind.url}/prioritize", json=arguments).json()
    return {each["Host"]: each["Score"] for each in answer}


def eventually(condition: Callable[[], bool]) -> None:
    """For what no watch tells of."""
    deadline = time.monotonic() + _SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.fixture
def replicas(
    plane: ControlPlane,
    api: Api,
    role_kubeconfig: Path,
    start_scheduler: StartScheduler,
    add_nodes: AddNodes,
) -> Iterator[Replicas]:
    """With two nodes that differ in their terms, and no guide yet."""
    rate = {INTERRUPTION_RATE: "0.3"}
    add_nodes(
        objects.node("durable", price=1.0, labels={_TERMS: "on-demand"}),
        objects.node("spot", price=0.3, labels={_TERMS: "spot"}, annotations=rate),
    )
    _remove_guide(api)
    started = Replicas(plane, role_kubeconfig)
    entry = scheduler.extender(started.both[0].url, weight=100, ignorable=True)
    start_scheduler(scheduler.configuration(extenders=[entry]))
    yield started
    for each in started.both:
        each.stop()
    _remove_guide(api)


def _remove_guide(api: Api) -> None:
    try:
        api.delete(_PATH)
    except ApiError as error:
        if error.status != 404:
            raise


def _guide(api: Api) -> Guide | None:
    try:
        return decode(api.read(_PATH)["data"][KEY])
    except (ApiError, KeyError, ValueError):
        return None


def _written(lives: float = 600.0, version: int = VERSION) -> str:
    """A guide that asks for the spot node, as a planner would write it."""
    bids = {"durable": {"cpu": 0.001}, "spot": {"cpu": 0.0001}}
    kinds = [
        GuidedKind(bids=each, needed=1, own_pods=0, roles={Role.KEEP: [name]}) for name, each in bids.items()
    ]
    now = time.time()
    return encode(Guide(version=version, solved_at=now, until=now + lives, kinds=kinds))


def _publish(api: Api, text: str) -> None:
    metadata = {"name": CONFIG_MAP, "namespace": manifests.NAMESPACE}
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {KEY: text}}
    try:
        api.patch(_PATH, {"data": {KEY: text}})
    except ApiError as error:
        if error.status != 404:
            raise
        api.create(obj)


def _place(api: Api, namespace: str, name: str) -> str:
    api.create(objects.pod(name, namespace, cpu="500m"))
    return outcomes.bound_node(api, namespace, name)


def test_a_guide_appears_and_moves_a_placement_with_nothing_held(
    api: Api, replicas: Replicas, start_planner: StartPlanner, namespace: str
) -> None:
    assert _place(api, namespace, "before") == "durable"
    planner = start_planner(_PLANNER)
    replicas.wait_following(following=True)
    assert _place(api, namespace, "after") == "spot"
    pods = api.read(f"/api/v1/namespaces/{namespace}/pods")["items"]
    first, second = replicas.levels(pods[0])
    assert first == second
    assert first["spot"] > first["durable"]
    writers = {each["manager"] for pod in pods for each in pod["metadata"]["managedFields"]}
    assert USER_AGENT not in writers
    assert planner.metric("tradewind_standing_failures_total") == 0
    told = urllib3.request("GET", f"{replicas.both[0].explain}/explain/{namespace}/after").json()
    assert "room that the standing plan would rather fill" in " ".join(told["sentences"])


def test_a_change_of_the_leader_keeps_the_guide(
    api: Api, replicas: Replicas, start_planner: StartPlanner, add_nodes: AddNodes
) -> None:
    # A guide lives for 180 s: longer than the next leader takes to load the solvers, on a busy machine too.
    settings = {**_PLANNER, "planner": {"schedulers": [], "standing": {"seconds": 60}}}
    leader, follower = start_planner(settings), start_planner(settings)
    replicas.wait_following(following=True)
    leader.kill()
    # Before the other leads, so that it is in the first solve: another would come up to a minute later.
    add_nodes(objects.node("new", price=5.0))
    follower.wait_leading()

    def known() -> bool:
        found = _guide(api)
        return found is not None and found.kind_of("new") is not None

    eventually(known)
    replicas.wait_following(following=True)
    assert [replicas.refused(reason) for reason in ("old", "deleted", "corrupt", "version")] == [[0, 0]] * 4


def test_without_a_guide_that_can_be_followed_scores_do_without(
    api: Api, replicas: Replicas, namespace: str
) -> None:
    """One after the other what may become of it; the last is that nobody writes a newer one."""
    spoiled: dict[str, Callable[[], None]] = {
        "deleted": lambda: _remove_guide(api),
        "corrupt": lambda: _publish(api, "&&"),
        "version": lambda: _publish(api, _written(version=VERSION + 1)),
        "old": lambda: _publish(api, _written(lives=10.0)),
    }
    for reason, spoil in spoiled.items():
        _publish(api, _written())
        replicas.wait_following(following=True)
        assert _place(api, namespace, f"{reason}-before") == "spot"
        spoil()
        replicas.wait_following(following=False)
        assert replicas.refused(reason) == [1, 1]
        assert _place(api, namespace, f"{reason}-after") == "durable"


def test_the_leader_mends_a_guide(api: Api, replicas: Replicas, start_planner: StartPlanner) -> None:
    start_planner({**_PLANNER, "planner": {"schedulers": [], "standing": {"seconds": 2}}})
    eventually(lambda: _guide(api) is not None)
    _publish(api, "&&")
    eventually(lambda: _guide(api) is not None)
    _remove_guide(api)
    eventually(lambda: _guide(api) is not None)
    replicas.wait_following(following=True)
