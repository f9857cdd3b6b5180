from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
import yaml

from tests.builders import (
    NamespaceBuilder,
    NodeBuilder,
    PodBuilder,
    namespace,
    node,
    offer_of,
    pod,
    requested,
)
from tradewind.cluster.cache import Cache
from tradewind.cluster.files import load
from tradewind.errors import ClusterFileError

Built = NodeBuilder | PodBuilder | NamespaceBuilder

OBJECTS: Sequence[Built] = [
    node("a").price(0.5),
    node("b"),
    pod("web").namespace("shop").requests(cpu="500m").on("a"),
    namespace("kube-system"),
]


@pytest.fixture
def cache() -> Cache:
    return Cache(offer_of)


def documents(objects: Sequence[Built]) -> list[object]:
    return [msgspec.json.decode(each.json()) for each in objects]


def list_of(objects: Sequence[Built]) -> dict[str, object]:
    """What kubectl writes."""
    return {"apiVersion": "v1", "kind": "List", "items": documents(objects), "metadata": {}}


def as_json(objects: Sequence[Built]) -> bytes:
    return msgspec.json.encode(list_of(objects))


def as_api_lists(objects: Sequence[Built]) -> bytes:
    """What the API itself answers: the items do not say of what kind they are."""
    parts: dict[str, list[object]] = {}
    for document in (msgspec.json.decode(each.json()) for each in objects):
        parts.setdefault(document.pop("kind"), []).append(document)
    lists = [{"kind": f"{kind}List", "apiVersion": "v1", "items": items} for kind, items in parts.items()]
    return yaml.safe_dump_all(lists).encode()


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(as_json(OBJECTS), id="JSON list"),
        pytest.param(msgspec.json.format(as_json(OBJECTS), indent=4), id="indented JSON list"),
        pytest.param(yaml.safe_dump(list_of(OBJECTS)).encode(), id="YAML list"),
        pytest.param(yaml.safe_dump_all(documents(OBJECTS)).encode(), id="YAML stream"),
        pytest.param(
            b"---\n" + yaml.safe_dump_all(documents(OBJECTS)).encode() + b"---\n", id="empty document"
        ),
        pytest.param(as_api_lists(OBJECTS), id="lists of one kind each"),
        pytest.param(as_json(OBJECTS).decode().encode("utf-8-sig"), id="UTF-8 with a mark"),
        pytest.param(as_json(OBJECTS).decode().encode("utf-16"), id="UTF-16 as PowerShell writes it"),
        pytest.param(yaml.safe_dump(list_of(OBJECTS)).encode("utf-16"), id="YAML in UTF-16"),
    ],
)
def test_every_form_holds_the_same_cluster(tmp_path: Path, cache: Cache, data: bytes) -> None:
    file = tmp_path / "cluster"
    file.write_bytes(data)
    load(file, cache)
    assert cache.counts() == {"nodes": 2, "pods": 1, "namespaces": 2}
    columns = cache.snapshot().nodes
    row = columns.names.index("a")
    assert columns.price[row] == 0.5
    assert requested(columns)[0, row] == 500


def test_one_object_alone(tmp_path: Path, cache: Cache) -> None:
    file = tmp_path / "node.json"
    file.write_bytes(node("a").json())
    load(file, cache)
    assert cache.counts() == {"nodes": 1, "pods": 0, "namespaces": 0}


def test_objects_of_other_kinds_are_left_out(tmp_path: Path, cache: Cache) -> None:
    others = [
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}},
        {"apiVersion": "longhorn.io/v1beta2", "kind": "Node", "metadata": {"name": "a"}},
        {"apiVersion": "metrics.k8s.io/v1beta1", "kind": "NodeMetrics", "metadata": {"name": "a"}},
        {"kind": "Unknown"},
        {},
    ]
    file = tmp_path / "cluster.yaml"
    file.write_text(yaml.safe_dump_all([*others, *documents([node("b")])]))
    load(file, cache)
    assert list(cache.snapshot().nodes.names) == ["b"]


def test_yaml_dates_and_numbers_are_taken_as_they_stand(tmp_path: Path, cache: Cache) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text(
        """
        kind: Node
        apiVersion: v1
        metadata: {name: a, creationTimestamp: 2024-05-01T10:00:00Z}
        spec:
        status: {allocatable: {cpu: 3920m, memory: 1Gi, pods: 110}}
        """
    )
    load(file, cache)
    assert cache.snapshot().nodes.allocatable[:, 0].tolist() == [3920, 2**30, 0, 110]


def test_pods_written_by_hand_need_no_uid(tmp_path: Path, cache: Cache) -> None:
    file = tmp_path / "cluster.json"
    file.write_bytes(as_json([pod(name).without("metadata", "uid") for name in ("x", "y")]))
    load(file, cache)
    assert cache.counts()["pods"] == 2


def test_namespaces_of_pods_are_implied_with_their_label(tmp_path: Path) -> None:
    applied = []

    class Recording(Cache):
        def apply_namespace(self, namespace: object) -> None:
            applied.append(namespace)

    file = tmp_path / "cluster.json"
    listed = namespace("shop").label("team", "blue")
    file.write_bytes(as_json([pod("x").namespace("new"), pod("y").namespace("shop"), listed]))
    load(file, Recording(offer_of))
    assert sorted(applied, key=str) == [namespace("new").build(), listed.build()]


def test_loading_again_replaces(tmp_path: Path, cache: Cache) -> None:
    file = tmp_path / "cluster.json"
    file.write_bytes(as_json(OBJECTS))
    load(file, cache)
    file.write_bytes(as_json([node("c"), node("b")]))
    load(file, cache)
    assert set(cache.snapshot().nodes.names) == {"b", "c"}
    assert cache.counts() == {"nodes": 2, "pods": 0, "namespaces": 0}


@pytest.mark.parametrize(
    ("data", "messages"),
    [
        pytest.param(b"", ["holds no node, pod or namespace"], id="empty"),
        pytest.param(b'{"items": []}', ["holds no node, pod or namespace"], id="an empty list"),
        pytest.param(b"a text", ["document 1: Expected `object`, got `str`"], id="not a cluster"),
        pytest.param(b'{"items": [', ["as JSON", "truncated"], id="JSON that was cut off"),
        pytest.param(b"a: [", ["neither JSON nor YAML", ", column "], id="broken YAML"),
        pytest.param(b"\xff\xff", ["can't decode"], id="no text at all"),
        pytest.param(b'{"kind": 1}', ["`$.kind`"], id="a kind that is no word"),
        pytest.param(b"a: &a [*a]", ["neither JSON nor YAML"], id="YAML that holds itself"),
        pytest.param(
            as_json([node("a"), pod("web").namespace("shop").requests(cpu="4Gb")]),
            [", item 1: ", 'quantity "4Gb" (cpu) of container "main" in pod shop/web'],
            id="a bad quantity",
        ),
        pytest.param(
            yaml.safe_dump_all(
                documents([node("a"), node("b").label("x", "y").field("spec", value=7)])
            ).encode(),
            [", document 2: ", "`$.spec` in node b"],
            id="a field of the wrong type",
        ),
        pytest.param(
            yaml.safe_dump(list_of([node("a").field("metadata", "labels", value={"on": True})])).encode(),
            [", document 1, item 0: ", "`$.metadata.labels[...]` in node a"],
            id="a label that YAML takes for a truth value",
        ),
    ],
)
def test_a_bad_file_is_refused_with_its_place(
    tmp_path: Path, cache: Cache, data: bytes, messages: list[str]
) -> None:
    cache.apply_node(node("kept").build())
    file = tmp_path / "cluster.json"
    file.write_bytes(data)
    with pytest.raises(ClusterFileError) as caught:
        load(file, cache)
    assert all(message in str(caught.value) for message in [str(file), *messages]), caught.value
    assert list(cache.snapshot().nodes.names) == ["kept"]


def test_a_file_that_is_not_there(tmp_path: Path, cache: Cache) -> None:
    with pytest.raises(ClusterFileError, match=r"missing\.json"):
        load(tmp_path / "missing.json", cache)
