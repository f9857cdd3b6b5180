"""What the annotations say, and what is wrong with those that cannot be read."""

import pytest

from tests.builders import node, pod
from tests.planner.cases import filled
from tradewind.planner import hints, plan_annotation


def test_names_without_a_slash_are_in_the_namespace_of_the_pod() -> None:
    asking = pod("p").namespace("shop").annotation(hints.CONFLICTS, " noisy-*, other/db ,")
    asking = asking.annotation(hints.BESIDE, "cache").annotation(hints.REPLACES, "other/old")
    found = hints.read(asking.build())
    assert found.conflicts == ("other/db", "shop/noisy-*")
    assert (found.beside, found.replaces) == ("shop/cache", "other/old")


def test_a_pod_without_annotations_asks_for_nothing() -> None:
    assert hints.read(pod("p").build()) == hints.NONE


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        (hints.ONE_PER_NODE, "yes", '"yes" is neither true nor false'),
        (hints.MAX_PER_ZONE, "0", '"0" is not a number above 0'),
        (hints.MAX_PER_ZONE, "1" * 10, "is not a number above 0"),
        (hints.GANG_MIN, "\N{SUPERSCRIPT TWO}", "is not a number above 0"),
        (hints.NODE_LABELS, "a in (", "node-labels of pod default/p: "),
    ],
)
def test_what_cannot_be_read_is_named(key: str, value: str, message: str) -> None:
    asking = pod("p").annotation(key, value)
    with pytest.raises(hints.HintError) as caught:
        hints.read(asking.build())
    assert message in str(caught.value)
    assert key in str(caught.value)
    assert hints.read_placed(asking.on("n").build()) == hints.NONE


def test_what_planners_write_asks_for_nothing() -> None:
    asking = pod("p").annotation(plan_annotation.ANNOTATION, "{}").annotation(hints.NODE, "n")
    assert hints.requested(asking.build()) == ((hints.NODE, "n"),)


def test_nodes_that_the_hints_leave() -> None:
    nodes = [node("a").label("rack", "1"), node("b").label("rack", "2"), node("c").label("rack", "1")]
    table = filled(nodes, []).snapshot().nodes.cluster.table
    asked = hints.NONE._replace(node_labels="rack in (1)")
    assert hints.admitted(asked, table).tolist() == [True, False, True]
    assert hints.admitted(asked._replace(node="c"), table).tolist() == [False, False, True]
    assert hints.admitted(hints.NONE._replace(node="gone"), table).tolist() == [False, False, False]


def test_the_node_of_a_placed_pod() -> None:
    table = filled([node("a"), node("b")], []).snapshot().nodes.cluster.table
    placed = {"default/x": pod("x").on("b").build()}
    beside = hints.beside_rows(hints.NONE._replace(beside="default/x"), placed, table)
    assert beside is not None
    assert beside.tolist() == [False, True]
    assert hints.beside_rows(hints.NONE._replace(beside="default/y"), placed, table) is None
