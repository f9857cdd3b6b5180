import json
from pathlib import Path
from typing import Any

import pytest

from tests.builders import node, offer_of, pod
from tradewind.cluster import bonds
from tradewind.cluster.budgets import Budget, CoveringBudgets, read_budget
from tradewind.cluster.cache import Cache
from tradewind.cluster.files import load
from tradewind.cluster.selectors import parse_selector
from tradewind.errors import UnreadableObjectError


def budget(**fields: Any) -> bytes:
    spec = {"selector": {"matchLabels": {"app": "web"}}} | fields.pop("spec", {})
    metadata = {"name": "web", "namespace": "default"}
    kind = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"}
    return json.dumps({**kind, "metadata": metadata, "spec": spec, **fields}).encode()


PODS = [pod(f"web-{number}").label("app", "web").on("n").build() for number in range(4)]
OTHERS = [
    pod("db").label("app", "db").build(),
    pod("web").namespace("other").label("app", "web").build(),
]


@pytest.mark.parametrize(
    ("fields", "evictions"),
    [
        pytest.param({"minAvailable": 3}, 0, id="3 of 4 are Ready: 3 - 3"),
        pytest.param({"minAvailable": 2}, 1, id="3 - 2"),
        pytest.param({"maxUnavailable": 1}, 0, id="one is unavailable already"),
        pytest.param({"maxUnavailable": 2}, 1, id="and another may be"),
    ],
)
def test_pods_that_are_not_ready_are_unavailable(fields: dict[str, Any], evictions: int) -> None:
    unready = pod("web-0").label("app", "web").on("n").ready("False").build()
    assert read_budget(budget(spec=fields)).evictions([unready, *PODS[1:], *OTHERS]) == evictions


@pytest.mark.parametrize(
    ("fields", "evictions"),
    [
        pytest.param({"spec": {"minAvailable": 3}}, 1, id="4 - 3"),
        pytest.param({"spec": {"minAvailable": "60%"}}, 1, id="60 % of 4 is 2.4, so 3 stay"),
        pytest.param({"spec": {"minAvailable": 9}}, 0, id="more than there are"),
        pytest.param({"spec": {"maxUnavailable": 1}}, 1, id="one"),
        pytest.param({"spec": {"maxUnavailable": 0}}, 0, id="none"),
        pytest.param({"spec": {"maxUnavailable": "30%"}}, 2, id="30 % of 4 is 1.2, which is rounded up"),
        pytest.param({"spec": {}}, 0, id="says nothing"),
        pytest.param(
            {"spec": {"minAvailable": 1}, "status": {"disruptionsAllowed": 0}}, 0, id="its controller knows"
        ),
        pytest.param({"spec": {"minAvailable": 1}, "status": {}}, 3, id="its controller did not count yet"),
    ],
)
def test_evictions(fields: dict[str, Any], evictions: int) -> None:
    assert read_budget(budget(**fields)).evictions([*PODS, *OTHERS]) == evictions


@pytest.mark.parametrize("spec", [{"minAvailable": "some"}, {"selector": []}, {"maxUnavailable": "²%"}])
def test_what_makes_no_sense_is_named(spec: dict[str, Any]) -> None:
    with pytest.raises(UnreadableObjectError, match="PodDisruptionBudget"):
        read_budget(budget(spec=spec))


@pytest.mark.parametrize(
    ("annotation", "value", "held"),
    [
        (bonds.DO_NOT_DISRUPT, "true", True),
        (bonds.DO_NOT_DISRUPT, "4h", True),
        (bonds.DO_NOT_DISRUPT, "false", False),
        (bonds.SAFE_TO_EVICT, "false", True),
        (bonds.SAFE_TO_EVICT, "true", False),
        (bonds.PREFER_NO_EVICTION, "", True),
        ("example.com/other", "true", False),
    ],
)
def test_annotations_that_hold_a_pod(annotation: str, value: str, held: bool) -> None:
    assert pod("p").annotation(annotation, value).build().bonds == ((annotation,) if held else ())


@pytest.mark.parametrize(
    ("volumes", "found"),
    [
        ([{"name": "t", "emptyDir": {}}], (bonds.LOCAL_STORAGE,)),
        ([{"name": "t", "hostPath": {"path": "/"}}], (bonds.LOCAL_STORAGE,)),
        ([{"name": "t", "persistentVolumeClaim": {"claimName": "c"}}], (bonds.CLAIM,)),
        ([{"name": "t", "ephemeral": {}}, {"name": "u", "emptyDir": {}}], (bonds.LOCAL_STORAGE, bonds.CLAIM)),
        ([{"name": "token", "projected": {}}, {"name": "c", "configMap": {}}], ()),
        ([{"name": "t", "emptyDir": None}], ()),
        (None, ()),
    ],
)
def test_volumes_that_hold_a_pod(volumes: object, found: tuple[str, ...]) -> None:
    assert pod("p").field("spec", "volumes", value=volumes).build().bonds == found


def test_a_pod_may_say_that_its_local_storage_can_be_lost() -> None:
    safe = pod("p").annotation(bonds.SAFE_TO_EVICT, "true")
    assert safe.field("spec", "volumes", value=[{"emptyDir": {}}]).build().bonds == ()


@pytest.mark.parametrize(
    ("safe", "found"),
    [
        ("cache,tmp", ()),
        ("cache", (bonds.LOCAL_STORAGE,)),
        ("claim", (bonds.LOCAL_STORAGE,)),
        ("", (bonds.LOCAL_STORAGE,)),
    ],
)
def test_a_pod_may_name_local_volumes_that_can_be_lost(safe: str, found: tuple[str, ...]) -> None:
    volumes = [{"name": "cache", "emptyDir": {}}, {"name": "tmp", "hostPath": {"path": "/tmp"}}]  # noqa: S108  of a node
    naming = pod("p").annotation(bonds.SAFE_LOCAL_VOLUMES, safe)
    assert naming.field("spec", "volumes", value=volumes).build().bonds == found


def test_a_claim_holds_a_pod_whatever_local_volumes_it_names() -> None:
    naming = pod("p").annotation(bonds.SAFE_LOCAL_VOLUMES, "t")
    claiming = naming.field("spec", "volumes", value=[{"name": "t", "persistentVolumeClaim": {}}])
    assert claiming.build().bonds == (bonds.CLAIM,)


@pytest.mark.parametrize(("value", "held"), [("true", True), ("false", False)])
def test_the_former_name_of_do_not_disrupt_holds_a_pod(value: str, held: bool) -> None:
    found = pod("p").annotation(bonds.DO_NOT_EVICT, value).build().bonds
    assert found == ((bonds.DO_NOT_DISRUPT,) if held else ())


def test_annotations_that_hold_a_node() -> None:
    assert node("n").annotation(bonds.SCALE_DOWN_DISABLED, "true").build().bonds
    assert node("n").annotation(bonds.DO_NOT_DISRUPT, "true").build().bonds
    assert not node("n").annotation(bonds.SCALE_DOWN_DISABLED, "false").build().bonds


@pytest.mark.parametrize("listed", [False, True])
def test_a_cluster_file_may_have_budgets(listed: bool, tmp_path: Path) -> None:
    found = json.loads(budget(spec={"minAvailable": 1}))
    kinds = {"kind": "PodDisruptionBudgetList", "apiVersion": "policy/v1", "items": [found]}
    if listed:
        del found["kind"], found["apiVersion"]
    file = tmp_path / "cluster.json"
    items = [json.loads(node("n").json()), kinds if listed else found]
    file.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": items}))
    cache = Cache(offer_of)
    load(file, cache)
    assert [str(each) for each in cache.budgets()] == ["default/web"]


def test_the_budgets_of_a_pod_are_those_that_cover_it() -> None:
    selectors = ["app=web", "app in (web, db)", "tier=front,app=web", "tier", "app!=web", "app=db"]
    budgets = [
        Budget(namespace, text, parse_selector(text), 1)
        for text in selectors
        for namespace in ("default", "other")
    ]
    budgets += [Budget("default", "all", ()), Budget("default", "none", None)]
    covering = CoveringBudgets(budgets)
    for labels in ({"app": "web"}, {"app": "web", "tier": "front"}, {"tier": "x"}, {}, {"app": "db"}):
        wanted = pod("p")
        for key, value in labels.items():
            wanted = wanted.label(key, value)
        found = {budget.name for budget in covering.of(wanted.build())}
        assert found == {each.name for each in budgets if each.covers(wanted.build())}
        assert len(found) == len(covering.of(wanted.build()))
