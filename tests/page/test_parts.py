"""What the pages are made of: who is shown in the stream, how large a tile is, what helps a waiting pod."""

import pytest

from tests.builders import NodeBuilder, PodBuilder, node, offer_of, pod
from tests.explain.service import serving
from tests.guides import guide
from tradewind.cluster.cache import Cache
from tradewind.explain.decisions import Decisions
from tradewind.market.quotes import Origin, Origins
from tradewind.page.map import NodeMap, node_map
from tradewind.page.pending import helps
from tradewind.page.rendering import age
from tradewind.page.stream import stream
from tradewind.savings.bill import Bill

_NODES = (
    node("cheap").cpu("4").price(0.1),
    node("dear").cpu("4").price(0.4),
    node("tiny").cpu("1").price(0.01),
)


@pytest.mark.parametrize(
    ("kind", "namespace", "shown"),
    [
        ("all", "", {"followed", "otherwise", "large"}),
        ("all", "shop", {"followed"}),
        ("otherwise", "", {"otherwise"}),
        ("refused", "", {"large"}),
        ("planned", "", set()),
        ("aside", "", set()),
    ],
)
def test_the_stream_shows_who_is_looked_for(kind: str, namespace: str, shown: set[str]) -> None:
    service = serving(*_NODES)
    placed = {"followed": "cheap", "otherwise": "dear", "large": ""}
    for name, on in placed.items():
        wanted: PodBuilder = pod(name).namespace("shop" if name == "followed" else "other")
        wanted = wanted.requests(cpu="64" if name == "large" else "2")
        service.schedule(wanted)
        service.cluster.cache.apply_pod((wanted.on(on) if on else wanted).build())
    found = stream(service.decisions, service.cluster.cache, kind=kind, namespace=namespace)
    assert {each.name for each in found.told} == shown
    assert found.kept == 3
    assert [
        each.name for each in stream(service.decisions, service.cluster.cache, kind="all", namespace="").told
    ] == [
        "large",
        "otherwise",
        "followed",
    ]


def test_old_decisions_are_not_shown() -> None:
    assert stream(Decisions(10, 0.0), Cache(offer_of), kind="all", namespace="").told == []


def mapped(*nodes: NodeBuilder, by: str = "zone", only: str = "") -> NodeMap:
    cache = Cache(offer_of)
    for each in nodes:
        cache.apply_node(each.build())
    snapshot = cache.snapshot()
    bill = Bill(snapshot, lambda _: Origins(Origin.NODE, Origin.NODE))
    return node_map(snapshot, bill, {}, by=by, only=only)


def test_nodes_that_the_standing_plan_can_do_without_are_marked() -> None:
    cache = Cache(offer_of)
    for name in "abc":
        cache.apply_node(node(name).price(1).build())
    cache.follow_guide(guide(drain="b"))
    bill = Bill(cache.snapshot(), lambda _: Origins(Origin.NODE, Origin.NODE))
    found = node_map(cache.snapshot(), bill, {"c": 2}, by="zone")
    marks = {tile.name: tile.badge for tile in found.tiles}
    assert marks == {"a": "", "b": "to be drained", "c": "2 pods coming"}


def in_zone(name: str, zone: str, price: float) -> NodeBuilder:
    return node(name).price(price).label("topology.kubernetes.io/zone", zone)


def test_within_a_group_area_is_price_and_groups_are_by_price() -> None:
    """a: 3 + 1 = 4; b: 2. Within a the tiles are as 3 to 1."""
    found = mapped(in_zone("x", "a", 3), in_zone("y", "a", 1), in_zone("z", "b", 2))
    assert [(group.name, group.money.hourly) for group in found.groups] == [("a", 4), ("b", 2)]
    areas = {tile.name: tile.at.width * tile.at.height for tile in found.tiles}
    assert areas["x"] / areas["y"] == pytest.approx(3)


def test_one_group_alone_and_one_that_is_gone() -> None:
    nodes = (in_zone("x", "a", 3), in_zone("z", "b", 2))
    assert [tile.name for tile in mapped(*nodes, only="b").tiles] == ["z"]
    assert mapped(*nodes, only="gone").groups == []


@pytest.mark.parametrize(
    ("reason", "word"),
    [
        ("resources: cpu: more than any node has (1 of 1 nodes)", "smaller requests"),
        ("taints: had untolerated taint (3 of 7 nodes; 2 would do without this)", "toleration"),
        ("node_affinity: x (1 of 2 nodes) or taints: y (1 of 2 nodes)", "labels"),
        ("the cluster has no node", "a node"),
        ("something new", "another node"),
    ],
)
def test_what_helps_is_said_by_the_first_rule_of_the_reason(reason: str, word: str) -> None:
    assert word in helps(reason)


@pytest.mark.parametrize(
    ("seconds", "words"), [(-5, "0 s"), (59, "59 s"), (60, "1 min"), (7199, "1 h"), (172_800, "2 days")]
)
def test_ages_are_said_in_one_unit(seconds: float, words: str) -> None:
    assert age(seconds) == words
