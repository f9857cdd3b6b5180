"""What the annotations say, and what is wrong with those that cannot be read."""

import pytest

from tests.builders import pod
from tradewind.cluster import hints
from tradewind.planner import plan_annotation


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
        (hints.ONE_PER_NODE, "yes", '"yes" is none of true, false, every'),
        (hints.MAX_PER_ZONE, "0", '"0" is not a number above 0'),
        (hints.MAX_PER_ZONE, "1" * 10, "is not a number above 0"),
        (hints.XOR, "either,q=1", '"q=1" is neither p=NUMBER nor r=NUMBER'),
        (hints.XOR, "either,p=0", '"0" is not a number above 0'),
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
    assert hints.readable(asking.on("n").build()) == hints.NONE


def test_what_planners_write_asks_for_nothing() -> None:
    asking = pod("p").annotation(plan_annotation.ANNOTATION, "{}").annotation(hints.NODE, "n")
    assert hints.requested(asking.build()) == ((hints.NODE, "n"),)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("either", hints.Alternatives("default/either", 1, 0)),
        ("other/either", hints.Alternatives("other/either", 1, 0)),
        ("either, p=3", hints.Alternatives("default/either", 3, 0)),
        ("either,p=3,r=2", hints.Alternatives("default/either", 3, 2)),
        ("either,r=1", hints.Alternatives("default/either", 1, 1)),
        ("", hints.Alternatives("", 1, 0)),
    ],
)
def test_alternatives_have_a_name_and_two_numbers(text: str, expected: hints.Alternatives) -> None:
    assert hints.read(pod("p").annotation(hints.XOR, text).build()).xor == expected


@pytest.mark.parametrize(
    ("text", "one", "every"),
    [("true", True, False), ("every", True, True), ("Every", True, True), ("false", False, False)],
)
def test_one_on_each_node_or_at_most(text: str, one: bool, every: bool) -> None:
    found = hints.read(pod("p").annotation(hints.ONE_PER_NODE, text).build())
    assert (found.one_per_node, found.every_node) == (one, every)


def test_a_pod_without_a_controller_is_of_the_same_workload_after_it_was_bound() -> None:
    """The API server copies the labels of zone and region from the node."""
    waiting = pod("p").label("app", "web")
    bound = waiting.label("topology.kubernetes.io/zone", "a").on("n")
    assert hints.workload(waiting.build()) == hints.workload(bound.build())
    assert hints.workload(waiting.build()) != hints.workload(pod("q").label("app", "db").build())
