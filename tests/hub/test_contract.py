"""What a scheduler owes Karmada: running workloads stay, and what is not supported is refused visibly.

Karmada's own behaviour was read in its scheduler at v1.18.2; docs/fleet.md compares the two.
"""

import asyncio
import time
from typing import Any

import pytest

from tests.builders import pod
from tests.fleet.cases import nodes, summary_of
from tests.hub.fake_hub import FakeHub, FakeScheduler
from tradewind.fleet.settings import FleetSettings
from tradewind.fleet.summary import Summary

_DUPLICATED: dict[str, Any] = {"replicaScheduling": {"replicaSchedulingType": "Duplicated"}}
_DIVIDED: dict[str, Any] = {"replicaScheduling": {"replicaSchedulingType": "Divided"}}
_NO_PODS: dict[str, Any] = {
    "resource": {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "shop", "name": "web"},
    "replicaRequirements": None,
}


def summary(name: str, count: int = 2, price: float = 0.1, age: float = 0.0, **fields: Any) -> Summary:
    """So many nodes of 4 cores."""
    return summary_of(name, nodes(count, price), time=time.time() - age, **fields)


def rounds(scheduler: FakeScheduler, count: int = 3) -> None:
    for _ in range(count):
        scheduler.look()
        scheduler.scheduler._looked = 0.0
        asyncio.run(scheduler.settle())


def condition(hub: FakeHub, name: str = "web") -> dict[str, Any]:
    found: dict[str, Any] = hub.binding(name)["status"]["conditions"][0]
    return found


class World:
    """One scheduler over sites a and b."""

    def __init__(self, settings: FleetSettings | None = None) -> None:
        self.hub = FakeHub()
        self.waited = 0.0
        self.scheduler = FakeScheduler(self.hub, settings)
        self._versions = iter(range(1, 1000))
        for name in "ab":
            self.site(name)

    def wait(self, seconds: float) -> None:
        self.waited += seconds
        for name in "ab":
            self.site(name)

    def site(self, name: str, count: int = 2, *, ready: bool = True, **fields: Any) -> None:
        self.scheduler.add_site(summary(name, count, **fields), ready=ready, version=next(self._versions))

    def placed(self, replicas: int, placement: dict[str, Any], **spec: Any) -> dict[str, int]:
        self.hub.add_binding("web", replicas, placement=placement, **spec)
        return self.after()

    def change(self, **spec: Any) -> dict[str, int]:
        self.hub.change_binding("web", **spec)
        return self.after()

    def after(self) -> dict[str, int]:
        rounds(self.scheduler)
        return self.hub.clusters("web")


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    started, found = time.time, World()
    monkeypatch.setattr(time, "time", lambda: started() + found.waited)
    return found


def test_a_duplicated_workload_stays_on_a_cluster_that_was_not_ready_for_a_while(world: World) -> None:
    assert world.placed(2, _DUPLICATED) == {"a": 2, "b": 2}
    world.site("a", ready=False)
    assert world.after() == {"a": 2, "b": 2}
    world.wait(600)
    world.site("a", ready=False, age=600)
    assert world.after() == {"a": 2, "b": 2}
    world.site("a")
    assert world.after() == {"a": 2, "b": 2}


def test_a_pending_pod_takes_no_duplicated_workload_away() -> None:
    world = World(FleetSettings(unplaced_seconds=0.001))
    assert world.placed(3, _DUPLICATED) == {"a": 3, "b": 3}
    world.site("b", waiting={"Deployment shop/web": 1})
    for _ in range(3):
        time.sleep(0.01)
        assert world.after() == {"a": 3, "b": 3}
    assert condition(world.hub)["status"] == "True"


def test_a_full_cluster_keeps_its_copy_when_the_template_changes(world: World) -> None:
    assert world.placed(2, _DUPLICATED) == {"a": 2, "b": 2}
    full = summary_of("b", nodes(1), [pod("p").requests(cpu="4").on("n0")], time=time.time())
    world.scheduler.add_site(full, version=50)
    assert world.change(
        resource={**world.hub.binding("web")["spec"]["resource"], "resourceVersion": "9"}
    ) == {
        "a": 2,
        "b": 2,
    }


def test_a_cluster_that_joins_later_gets_a_copy(world: World) -> None:
    assert world.placed(2, _DUPLICATED) == {"a": 2, "b": 2}
    world.site("c")
    assert world.after() == {"a": 2, "b": 2, "c": 2}


def test_a_cluster_that_has_room_later_gets_its_copy_and_the_condition_says_who_waits(world: World) -> None:
    full = summary_of("b", nodes(1), [pod("p").requests(cpu="4").on("n0")], time=time.time())
    world.scheduler.add_site(full, version=50)
    assert world.placed(2, _DUPLICATED) == {"a": 2}
    assert condition(world.hub)["status"] == "True"
    assert "1 site(s) had no node that fits a replica" in condition(world.hub)["message"]
    world.scheduler.add_site(summary("b"), version=51)
    assert world.after() == {"a": 2, "b": 2}
    assert "site(s)" not in condition(world.hub)["message"]


def test_a_copy_follows_the_labels_that_its_policy_selects(world: World) -> None:
    """As Karmada does for duplicated workloads and objects without replicas."""
    for name, tier in (("a", "gold"), ("b", "tin")):
        world.scheduler.add_site(summary(name), version=60, labels={"tier": tier})
    chosen = {"clusterAffinity": {"labelSelector": {"matchLabels": {"tier": "gold"}}}}
    assert world.placed(2, {**chosen, **_DUPLICATED}) == {"a": 2}
    world.scheduler.add_site(summary("b"), version=61, labels={"tier": "gold"})
    assert world.after() == {"a": 2, "b": 2}
    world.scheduler.add_site(summary("a"), version=61, labels={"tier": "tin"})
    assert world.after() == {"b": 2}


def test_a_full_reschedule_takes_no_copy_away(world: World) -> None:
    assert world.placed(2, _DUPLICATED) == {"a": 2, "b": 2}
    world.site("a", age=900)
    assert world.change(rescheduleTriggeredAt="2099-01-01T00:00:00Z") == {"a": 2, "b": 2}


def test_objects_without_replicas_need_no_summary_and_stay_without_one(world: World) -> None:
    world.site("b", age=300)
    assert world.placed(0, _DIVIDED, **_NO_PODS) == {"a": 0, "b": 0}
    world.site("a", age=300)
    assert world.after() == {"a": 0, "b": 0}
    assert world.change(resource={**_NO_PODS["resource"], "resourceVersion": "9"}) == {"a": 0, "b": 0}


def test_objects_without_replicas_keep_to_their_spread_constraints(world: World) -> None:
    spread = {"spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}]}
    (first,) = world.placed(0, spread, **_NO_PODS)
    world.site("a", age=300)
    world.site("b", price=0.01)
    world.site("c", price=0.001)
    assert world.after() == {first: 0}


def test_nothing_leaves_a_cluster_that_falls_silent(world: World) -> None:
    """Karmada's taint manager evicts, where it is turned on, as tolerations say."""
    small = {"resourceRequest": {"cpu": "100m"}}
    only_a = {"clusterAffinity": {"clusterNames": ["a"]}, **_DIVIDED}
    for number in range(50):
        world.hub.add_binding(f"w{number}", 1, placement=only_a, replicaRequirements=small)
    rounds(world.scheduler)
    for number in range(50):
        world.hub.change_binding(f"w{number}", placement=_DIVIDED)
    for _ in range(2):
        world.site("a", ready=False, age=world.waited)
        rounds(world.scheduler)
        assert [world.hub.clusters(f"w{number}") for number in range(50)] == [{"a": 1}] * 50
        world.wait(600)


def test_what_karmada_evicts_goes_elsewhere_and_not_back(world: World) -> None:
    """Its taint manager moves the cluster from the targets to the tasks."""
    assert world.placed(2, {"clusterAffinity": {"clusterNames": ["a", "b"]}, **_DIVIDED}) == {"a": 2}
    task = {"fromCluster": "a", "reason": "TaintUntolerated", "producer": "TaintManager"}
    assert world.change(clusters=[], gracefulEvictionTasks=[task]) == {"b": 2}
    assert world.hub.binding("web")["spec"]["gracefulEvictionTasks"] == [task]
    assert world.change(gracefulEvictionTasks=[]) == {"b": 2}


def test_a_cluster_that_is_being_removed_loses_its_replicas(world: World) -> None:
    assert world.placed(2, _DIVIDED) == {"a": 2}
    world.scheduler.add_site(summary("a"), version=70, leaving=True)
    assert world.after() == {"b": 2}


_GROUPS: dict[str, Any] = {
    "clusterAffinities": [
        {"affinityName": "primary", "clusterNames": ["a"]},
        {"affinityName": "backup", "clusterNames": ["b"]},
    ],
    **_DIVIDED,
}


def test_the_affinity_group_in_use_is_kept(world: World) -> None:
    world.site("a", count=0)
    assert world.placed(3, _GROUPS) == {"b": 3}
    assert world.hub.binding("web")["status"]["schedulerObservingAffinityName"] == "backup"
    world.site("a")
    assert world.change(replicas=4) == {"b": 4}
    assert world.change(replicas=2) == {"b": 2}


def test_the_next_affinity_group_is_used_where_the_one_in_use_has_no_place(world: World) -> None:
    assert world.placed(3, _GROUPS) == {"a": 3}
    task = {"fromCluster": "a", "reason": "TaintUntolerated", "producer": "TaintManager"}
    assert world.change(clusters=[], gracefulEvictionTasks=[task]) == {"b": 3}


def test_a_spread_constraint_moves_nothing_to_a_cheaper_cluster(world: World) -> None:
    one = {"spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}], **_DIVIDED}
    assert world.placed(3, one) == {"a": 3}
    world.site("a", price=0.9)
    assert world.change(replicas=4) == {"a": 4}


def test_aggregated_replicas_stay_together_while_there_is_room(world: World) -> None:
    aggregated = {
        "replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}
    }
    assert world.placed(3, aggregated) == {"a": 3}
    world.site("a", price=0.9)
    assert world.change(replicas=4) == {"a": 4}


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ({"components": [{"name": "jobmanager", "replicas": 1}]}, "spec.components"),
        (
            {"placement": {"spreadConstraints": [{"spreadByLabel": "rack", "minGroups": 1}]}},
            "placement.spreadConstraints[].spreadByLabel",
        ),
        (
            {
                "placement": {
                    "clusterAffinities": [
                        {
                            "affinityName": "near",
                            "clusterNames": ["a"],
                            "overflowAffinities": [{"affinityName": "far", "clusterNames": ["b"]}],
                        }
                    ]
                }
            },
            "placement.clusterAffinities[].overflowAffinities",
        ),
        ({"placement": {"spreadConstraints": [{"spreadByField": "planet"}]}}, "cannot be read"),
        ({"replicaRequirements": {"resourceRequest": {"cpu": "much"}}}, "cannot be read"),
    ],
)
def test_what_is_not_supported_is_refused_in_the_condition(
    world: World, spec: dict[str, Any], says: str
) -> None:
    world.hub.add_binding("web", 2, **{"clusters": [{"name": "a", "replicas": 2}], **spec})
    assert world.after() == {"a": 2}
    said = condition(world.hub)
    assert (said["status"], said["reason"]) == ("False", "Unsupported")
    assert says in said["message"]


def test_workloads_of_an_affinity_group_are_on_the_same_cluster(world: World) -> None:
    """Also where the first has gone to the dearer cluster."""
    only_b = {"clusterAffinity": {"clusterNames": ["b"]}, **_DIVIDED}
    world.site("b", price=0.9)
    together = {"affinityGroup": "app=shop"}
    world.hub.add_binding("db", 1, placement=only_b, workloadAffinityGroups=together)
    rounds(world.scheduler)
    for name in ("web", "cache"):
        world.hub.add_binding(name, 1, placement=_DIVIDED, workloadAffinityGroups=together)
    world.hub.add_binding("other", 1, placement=_DIVIDED, workloadAffinityGroups={"affinityGroup": "app=x"})
    assert world.after() == {"b": 1}
    assert [world.hub.clusters(name) for name in ("db", "cache", "other")] == [{"b": 1}, {"b": 1}, {"a": 1}]


def test_workloads_of_an_anti_affinity_group_are_on_different_clusters(world: World) -> None:
    for number in range(3):
        apart = {"antiAffinityGroup": "app=db"}
        world.hub.add_binding(f"db{number}", 1, placement=_DIVIDED, workloadAffinityGroups=apart)
    rounds(world.scheduler)
    found = [world.hub.clusters(f"db{number}") for number in range(3)]
    assert sorted(map(str, found)) == ["{'a': 1}", "{'b': 1}", "{}"]
    (left,) = (f"db{number}" for number in range(3) if not found[number])
    assert "2 site(s) didn't match the workload affinity" in condition(world.hub, left)["message"]


def test_cluster_resource_bindings_are_scheduled(world: World) -> None:
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "name": "reader"}
    world.hub.add_binding("reader", 0, namespace="", resource=role, replicaRequirements=None, placement={})
    rounds(world.scheduler)
    found = world.hub.binding("reader", "")
    assert [each["name"] for each in found["spec"]["clusters"]] == ["a", "b"]
    assert found["status"]["schedulerObservedGeneration"] == found["metadata"]["generation"]


def test_a_rolling_update_moves_nothing() -> None:
    """Three run, and the surge pod waits for a node."""
    world = World(FleetSettings(unplaced_seconds=0.001))
    assert world.placed(3, _DIVIDED) == {"a": 3}
    for status in (
        {"replicas": 4, "readyReplicas": 3, "updatedReplicas": 1},
        {"replicas": 4, "readyReplicas": 3},  # a kind that does not say
    ):
        world.hub.set_status("web", aggregatedStatus=[{"clusterName": "a", "status": status}])
        world.site("a", waiting={"Deployment shop/web": 1})
        for _ in range(3):
            time.sleep(0.01)
            assert world.after() == {"a": 3}


def test_scaled_to_0_is_nowhere_and_comes_back(world: World) -> None:
    assert world.placed(3, _DIVIDED) == {"a": 3}
    assert world.change(replicas=0) == {}
    assert condition(world.hub)["status"] == "True"
    version = world.hub.binding("web")["metadata"]["resourceVersion"]
    assert world.after() == {}
    assert world.hub.binding("web")["metadata"]["resourceVersion"] == version
    assert world.change(replicas=2) == {"a": 2}


def test_a_workload_that_starts_with_0_replicas_is_nowhere(world: World) -> None:
    assert world.placed(0, _DUPLICATED) == {}


def _quota(scheduler: FakeScheduler, **overall: str) -> None:
    scheduler.add_quota("shop", {key.replace("_", "."): value for key, value in overall.items()})


def test_a_quota_counts_each_copy(world: World) -> None:
    _quota(world.scheduler, cpu="4")
    assert world.placed(4, _DUPLICATED) == {}
    assert condition(world.hub)["reason"] == "QuotaExceeded"
    assert world.change(replicas=2) == {"a": 2, "b": 2}
    assert world.change(replicas=3) == {"a": 2, "b": 2}
    assert world.change(replicas=1) == {"a": 1, "b": 1}


def test_a_quota_of_limits_holds_at_least_for_the_requests(world: World) -> None:
    _quota(world.scheduler, limits_cpu="4")
    assert world.placed(5, _DIVIDED) == {}
    assert world.change(replicas=4) == {"a": 4}


def test_a_quota_holds_for_bindings_that_are_decided_at_once(world: World) -> None:
    _quota(world.scheduler, cpu="4")
    for number in range(4):
        world.hub.add_binding(f"w{number}", 4)
    world.scheduler.look()
    asyncio.run(world.scheduler.settle())  # no watch has brought what the others took
    assert sum(sum(world.hub.clusters(f"w{number}").values()) for number in range(4)) == 4


def test_a_smaller_quota_takes_nothing_away(world: World) -> None:
    assert world.placed(4, _DIVIDED) == {"a": 4}
    _quota(world.scheduler, cpu="1")
    assert world.after() == {"a": 4}
    assert world.change(replicas=3) == {"a": 3}


def test_a_policy_says_where_its_users_are_and_its_class() -> None:
    classes = {"cheap": {"weights": {"price": 4, "locality": 0}}, "near": {"weights": {"locality": 9}}}
    world = World(
        FleetSettings.model_validate(
            {"classes": classes, "latencies": {"munich": {"a": 500, "b": 1}}, "weights": {"stability": 0}}
        )
    )
    world.site("b", price=0.2)
    for name, wishes, expected in (
        ("web", {"workload-class": "near", "near": "munich"}, {"b": 1}),
        ("batch", {"workload-class": "cheap", "near": "munich"}, {"a": 1}),
    ):
        annotations = {f"tradewind.dev/{key}": value for key, value in wishes.items()}
        world.scheduler.add_policy(name, "shop", annotations)
        world.hub.add_binding(name, 1, policy=name)
        rounds(world.scheduler)
        assert world.hub.clusters(name) == expected


def test_an_answered_reschedule_is_not_answered_again(world: World) -> None:
    """Times are whole seconds: scaled later, the replicas stay where they are."""
    world.site("b", price=0.5)
    assert world.placed(2, _DIVIDED) == {"a": 2}
    asked = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    assert world.change(rescheduleTriggeredAt=asked) == {"a": 2}
    world.site("a", price=0.9)
    assert world.change(replicas=3) == {"a": 2, "b": 1}


def test_a_policy_that_allows_no_cluster_any_more_takes_the_workload_away(world: World) -> None:
    """As Karmada: the policy is what the user asks for."""
    assert world.placed(2, _DIVIDED) == {"a": 2}
    nowhere = {"clusterAffinity": {"clusterNames": ["gone"]}, **_DIVIDED}
    assert world.change(placement=nowhere) == {}
    assert condition(world.hub)["reason"] == "NoClusterFit"


def test_a_policy_that_allows_another_cluster_without_room_takes_nothing_away(world: World) -> None:
    assert world.placed(2, _DIVIDED) == {"a": 2}
    world.site("b", count=0)
    elsewhere = {"clusterAffinity": {"clusterNames": ["b"]}, **_DIVIDED}
    assert world.change(placement=elsewhere) == {"a": 2}
    assert condition(world.hub)["status"] == "False"
