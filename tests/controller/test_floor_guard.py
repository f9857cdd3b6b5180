from pathlib import Path
from typing import Any

import pytest

from scoring.policy import Policy
from tests.builders import PodBuilder, cluster_of, node, offer_of, pod
from tradewind.cluster.cache import Cache
from tradewind.cluster.objects import DELETION_COST, Pod
from tradewind.config import document as config
from tradewind.config.metrics import ConfigMetrics
from tradewind.config.settings import Settings
from tradewind.controller.floor_guard import FloorGuard, to_protect
from tradewind.controller.metrics import PlanMetrics
from tradewind.errors import ApiError
from tradewind.kube.client import Client

_HEAD = "apiVersion: tradewind.dev/v1alpha1\nkind: TradewindConfiguration\n"
_SPOT = ("karpenter.sh/capacity-type", "spot")
_NODES = [node("durable"), node("spot").label(*_SPOT)]


def replica(number: int, place: str = "durable", revision: str = "aaa") -> PodBuilder:
    created = f"2026-01-0{number}T00:00:00Z"
    built = pod(f"web-{number}").owner("ReplicaSet", f"web-{revision}", f"uid-{revision}").on(place)
    return built.label("pod-template-hash", revision).field("metadata", "creationTimestamp", value=created)


def protected(floor: str, *pods: PodBuilder) -> list[str]:
    policies = config.parse(f"{_HEAD}rules: {{durable_floor: {{{floor}}}}}").policies()
    found = to_protect([each.build() for each in pods], cluster_of(_NODES, pods), policies.of)
    return [each.name for each in found]


@pytest.mark.parametrize(
    ("floor", "pods", "expected"),
    [
        pytest.param("min: 2", [replica(1), replica(2), replica(3)], ["web-1", "web-2"], id="the oldest"),
        pytest.param("min: 2", [replica(1, "spot"), replica(2)], ["web-2"], id="only those on durable nodes"),
        # half of 4 is 2
        pytest.param(
            "share: 0.5",
            [replica(1), replica(2), replica(3), replica(4, "spot")],
            ["web-1", "web-2"],
            id="share",
        ),
        pytest.param("min: 0", [replica(1)], [], id="no floor"),
        # a ReplicaSet deletes the first before it looks at any cost
        pytest.param(
            "min: 1",
            [replica(1).ready("False").annotation(DELETION_COST, "1000"), replica(2)],
            ["web-2"],
            id="only those that are Ready",
        ),
        pytest.param(
            "min: 2",
            [replica(1), replica(2), replica(3).annotation(DELETION_COST, "1000")],
            ["web-1"],
            id="one has it",
        ),
        pytest.param(
            "min: 1",
            [replica(1), replica(2, revision="bbb"), replica(3, revision="bbb")],
            ["web-1", "web-2"],
            id="one of each ReplicaSet of a rollout",
        ),
        # all 6 together need 3; of the old 3 none is on a durable node, so all three are of the new
        pytest.param(
            "share: 0.5",
            [
                *(replica(number, "spot") for number in range(1, 4)),
                *(replica(number, revision="bbb") for number in range(4, 7)),
            ],
            ["web-4", "web-5", "web-6"],
            id="the new stand in for the old",
        ),
        pytest.param(
            "min: 1",
            [pod("db-0").owner("StatefulSet", "db", "u").on("durable")],
            [],
            id="StatefulSets do not read the cost",
        ),
        pytest.param(
            "min: 1", [pod("cni").owner("DaemonSet", "cni", "u").on("durable")], [], id="nor do DaemonSets"
        ),
        pytest.param(
            "min: 1",
            [pod("rc").owner("ReplicationController", "rc", "u").on("durable")],
            ["rc"],
            id="ReplicationControllers do",
        ),
    ],
)
def test_replicas_to_protect(floor: str, pods: list[PodBuilder], expected: list[str]) -> None:
    assert protected(floor, *pods) == expected


class Recorder(Client):
    """An API server that notes which pods are patched, and the change that comes back by the watch."""

    def __init__(self, cache: Cache, known: dict[str, PodBuilder]) -> None:
        self._cache = cache
        self._known = known
        self.patched: list[str] = []
        self.broken = False

    def patch(self, path: str, patch: Any, seconds: float = 0) -> bytes:
        if self.broken:
            raise ApiError("refused")
        del patch, seconds
        name = path.rpartition("/")[2]
        self.patched.append(name)
        self._cache.apply_pod(self._known[name].annotation(DELETION_COST, "1000").build())
        return b""


class Watched(Settings):
    """Notes which workloads the guard looks at."""

    looked_at: list[str]

    def policy_of(self, pod: Pod) -> Policy:
        self.looked_at.append(pod.workload)
        return super().policy_of(pod)


class Guarded:
    """A guard over `workloads` Deployments of three replicas each, two of them on the durable node."""

    def __init__(self, tmp_path: Path, workloads: int, floor: str = "min: 1") -> None:
        self.document = tmp_path / "config.yaml"
        self.configure(floor)
        self.settings = Watched(self.document, ConfigMetrics())
        self.settings.looked_at = []
        self.cache = Cache(offer_of)
        self.now = 0.0
        for each_node in _NODES:
            self.cache.apply_node(each_node.build())
        places = ("durable", "durable", "spot")
        self.pods = {
            f"d{number}-{index}": pod(f"d{number}-{index}")
            .owner("ReplicaSet", f"d{number}-aaa", f"uid-{number}")
            .label("pod-template-hash", "aaa")
            .on(place)
            for number in range(workloads)
            for index, place in enumerate(places)
        }
        for each in self.pods.values():
            self.cache.apply_pod(each.build())
        self.server = Recorder(self.cache, self.pods)
        self.guard = FloorGuard(self.cache, self.server, self.settings, PlanMetrics(), clock=lambda: self.now)

    def configure(self, floor: str) -> None:
        self.document.write_text(f"{_HEAD}rules: {{durable_floor: {{{floor}}}}}")

    def run(self) -> tuple[list[str], list[str]]:
        """Which workloads a round looked at, and which pods it patched."""
        self.settings.looked_at = []
        self.server.patched = []
        self.guard.run()
        return self.settings.looked_at, self.server.patched


def test_a_round_looks_only_at_workloads_that_changed(tmp_path: Path) -> None:
    guarded = Guarded(tmp_path, workloads=100)
    looked_at, patched = guarded.run()
    assert len(looked_at) == 100
    assert sorted(patched) == sorted(f"d{number}-0" for number in range(100))
    assert len(guarded.run()[0]) == 100, "the patches themselves came back as changes"
    assert guarded.run() == ([], [])

    guarded.cache.remove_pod("default/d7-0")
    assert guarded.run() == (["Deployment default/d7"], ["d7-1"])
    guarded.cache.apply_pod(pod("alone").on("spot").build())
    guarded.cache.apply_pod(pod("waiting").owner("ReplicaSet", "x", "x").build())
    guarded.run()
    assert guarded.run() == ([], [])


def test_a_node_that_becomes_durable_brings_the_workloads_that_have_pods_there(tmp_path: Path) -> None:
    guarded = Guarded(tmp_path, workloads=1, floor="min: 3")
    assert guarded.run()[1] == ["d0-0", "d0-1"]
    guarded.run()
    guarded.cache.apply_node(node("spot").build())
    assert guarded.run()[1] == ["d0-2"]


def test_a_changed_floor_brings_all_workloads(tmp_path: Path) -> None:
    guarded = Guarded(tmp_path, workloads=3)
    guarded.run()
    guarded.run()
    guarded.configure("min: 2")
    guarded.settings.refresh(lambda _: None)
    assert sorted(guarded.run()[1]) == ["d0-1", "d1-1", "d2-1"]


def test_a_round_patches_at_most_200_pods_and_the_next_goes_on(tmp_path: Path) -> None:
    guarded = Guarded(tmp_path, workloads=150, floor="min: 2")
    assert len(guarded.run()[1]) == 200
    assert len(guarded.run()[1]) == 100
    assert guarded.run()[1] == []


def test_a_patch_that_failed_is_tried_again_after_a_while(tmp_path: Path) -> None:
    guarded = Guarded(tmp_path, workloads=1)
    guarded.server.broken = True
    guarded.run()
    guarded.server.broken = False
    assert guarded.run() == ([], [])
    guarded.now = 10.0
    assert guarded.run()[1] == ["d0-0"]
