"""Karmada's objects as they are on the wire, and what becomes of them."""

import json
from typing import Any

import msgspec
import pytest

from tests.builders import node
from tests.fleet.cases import summary_of
from tradewind.fleet.summary import encode
from tradewind.hub.records import Binding, binding_of, member_of, note_of, quota_of
from tradewind.hub.wire import BindingObject, ClusterObject, ConfigMapObject, QuotaObject

_PLACEMENT = {
    "clusterAffinity": {"clusterNames": ["a"]},
    "replicaScheduling": {"replicaSchedulingType": "Divided"},
}


def binding(
    spec: dict[str, Any] | None = None, status: dict[str, Any] | None = None, **metadata: Any
) -> Binding:
    document = {
        "metadata": {
            "name": "web-deployment",
            "namespace": "shop",
            "generation": 3,
            "resourceVersion": "7",
            **metadata,
        },
        "spec": {
            "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": "web"},
            "replicas": 3,
            "replicaRequirements": {"resourceRequest": {"cpu": "500m", "memory": "1Gi"}},
            "placement": _PLACEMENT,
            "schedulerName": "tradewind",
            **(spec or {}),
        },
        "status": status or {},
    }
    return binding_of(msgspec.json.decode(json.dumps(document), type=BindingObject))


def test_promises_are_to_one_binding_and_not_to_its_name() -> None:
    assert binding(uid="u-1").request(current={}, fresh=False).key == "u-1"


def test_a_binding_is_a_request() -> None:
    claim = {
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"key": "gpu", "operator": "Exists"}],
        "hardNodeAffinity": {
            "nodeSelectorTerms": [{"matchExpressions": [{"key": "arch", "operator": "Exists"}]}]
        },
    }
    requirements = {"resourceRequest": {"cpu": "500m", "memory": "1Gi"}, "nodeClaim": claim}
    found = binding(
        {
            "replicaRequirements": requirements,
            "schedulePriority": {"priority": 9},
            "gracefulEvictionTasks": [{"fromCluster": "old"}],
        },
        annotations={"tradewind.dev/near": "52.5, 13.4"},
    )
    request = found.request(current={"a": 1}, fresh=False)
    assert request.requests == {"cpu": 500, "memory": 2**30, "pods": 1}
    assert (request.api, request.tenant, request.priority) == ("apps/v1/Deployment", "shop", 9)
    assert request.pod.node_selector == {"disk": "ssd"}
    assert request.pod.node_terms
    assert request.pod.tolerations
    assert request.evicting == {"old"}
    assert request.near == (52.5, 13.4)
    assert found.workload_name == "Deployment shop/web"


def test_a_place_may_have_a_name_and_a_request_a_class() -> None:
    annotations = {"tradewind.dev/near": " frankfurt", "tradewind.dev/workload-class": "web"}
    request = binding(annotations=annotations).request(current={}, fresh=False)
    assert (request.near, request.workload_class) == ("frankfurt", "web")


@pytest.mark.parametrize("text", ["", " ", "91,0", "1,2,3", "1,x", "x,1"])
def test_a_point_that_is_none_counts_for_nothing(text: str) -> None:
    assert binding(annotations={"tradewind.dev/near": text}).request(current={}, fresh=False).near is None


@pytest.mark.parametrize(
    ("spec", "status", "ours"),
    [
        ({}, {}, True),
        ({"schedulerName": "default-scheduler"}, {}, False),
        ({"suspension": {"scheduling": True}}, {}, False),
    ],
)
def test_only_what_names_us_is_ours(spec: dict[str, Any], status: dict[str, Any], ours: bool) -> None:
    assert binding(spec, status).ours("tradewind") is ours


_APPLIED = {"annotations": {"policy.karmada.io/applied-placement": json.dumps(_PLACEMENT)}}
_PLACED = {"clusters": [{"name": "a", "replicas": 2}, {"name": "b", "replicas": 1}]}
_EARLY, _LATE = "2026-01-01T00:00:00Z", "2026-01-01T00:00:09Z"


@pytest.mark.parametrize(
    ("spec", "status", "metadata", "unsettled"),
    [
        ({}, {}, {}, True),  # no clusters yet
        (_PLACED, {}, _APPLIED, False),
        (_PLACED, {}, {}, True),  # the placement was never applied
        ({**_PLACED, "replicas": 4}, {}, _APPLIED, True),
        ({**_PLACED, "placement": {}}, {}, _APPLIED, True),
        ({**_PLACED, "rescheduleTriggeredAt": _LATE}, {"lastScheduledTime": _EARLY}, _APPLIED, True),
        ({**_PLACED, "rescheduleTriggeredAt": _EARLY}, {"lastScheduledTime": _LATE}, _APPLIED, False),
        (
            {**_PLACED, "rescheduleTriggeredAt": _EARLY},
            {"lastScheduledTime": _EARLY, "schedulerObservedGeneration": 2},
            _APPLIED,
            True,
        ),  # in the same second, but the generation has moved on
    ],
)
def test_what_needs_a_decision(
    spec: dict[str, Any], status: dict[str, Any], metadata: dict[str, Any], unsettled: bool
) -> None:
    assert binding(spec, status, **metadata).unsettled is unsettled


def test_ready_replicas_are_read_where_they_are_told() -> None:
    items = [
        {"clusterName": "a", "status": {"readyReplicas": 2}},
        {"clusterName": "b"},
        {"clusterName": "c", "status": []},
    ]
    assert binding(status={"aggregatedStatus": items}).ready == {"a": 2, "b": 0, "c": 0}


def test_a_cluster_is_a_member() -> None:
    cluster = {
        "metadata": {"name": "m", "labels": {"tier": "gold"}, "resourceVersion": "5"},
        "spec": {"region": "eu", "zone": "1", "taints": [{"key": "k", "effect": "NoSchedule"}]},
        "status": {
            "conditions": [{"type": "Ready", "status": "True"}],
            "apiEnablements": [{"groupVersion": "apps/v1", "resources": [{"kind": "Deployment"}]}],
        },
    }
    site = member_of(_decoded(cluster, ClusterObject)).site
    assert (site.region, site.zones, site.ready) == ("eu", ("1",), True)
    assert site.apis == {"apps/v1/Deployment"}
    leaving = {**cluster, "metadata": {**cluster["metadata"], "deletionTimestamp": _EARLY}}  # type: ignore[dict-item]
    assert member_of(_decoded(leaving, ClusterObject)).leaving


def _decoded(document: dict[str, Any], kind: type[Any]) -> Any:
    return msgspec.json.decode(json.dumps(document), type=kind)


def _config_map(what: str, data: dict[str, str]) -> ConfigMapObject:
    metadata = {
        "name": "site-m",
        "namespace": "tradewind-system",
        "labels": {"tradewind.dev/fleet": what},
        "annotations": {"tradewind.dev/site": "m"},
    }
    found: ConfigMapObject = _decoded({"metadata": metadata, "data": data}, ConfigMapObject)
    return found


def test_summaries_and_ledgers_are_read_or_the_trouble_is_said() -> None:
    summary = summary_of("m", [node("a")])
    assert note_of(_config_map("summary", {"summary": encode(summary)})).summary == summary
    assert "version 9" in note_of(_config_map("summary", {"summary": '{"version": 9}'})).trouble
    assert "cannot be read" in note_of(_config_map("summary", {})).trouble
    assert note_of(_config_map("ledger", {"ledger": "nonsense"})).ledger.promises == ()


def test_a_quota_has_amounts_by_the_names_that_it_uses() -> None:
    quota = {
        "metadata": {"name": "q", "namespace": "shop"},
        "spec": {"overall": {"requests.cpu": "10", "memory": "4Gi"}},
        "status": {"overallUsed": {"requests.cpu": "4"}},
    }
    found = quota_of(_decoded(quota, QuotaObject))
    assert (found.hard, found.used) == ({"requests.cpu": 10_000, "memory": 4 * 2**30}, {"requests.cpu": 4000})
