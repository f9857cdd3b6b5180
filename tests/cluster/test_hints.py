"""What the annotations say, and what is wrong with those that cannot be read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.filters import durable_floor, min_available
from scoring.label_preference import LabelPreference
from scoring.registry import FILTERS
from tests.builders import cluster_of, node, pod
from tradewind.cluster import hints
from tradewind.cluster.names import ANNOTATION_PREFIX, MAX_POD_ANNOTATION, POD_ANNOTATIONS
from tradewind.config import classes
from tradewind.planner import plan_annotation


def test_names_are_in_the_namespace_of_the_pod() -> None:
    asking = pod("p").namespace("shop").annotation(hints.CONFLICTS, " noisy-*, shop/db ,")
    asking = asking.annotation(hints.BESIDE, "cache").annotation(hints.REPLACES, "shop/old")
    found = hints.read(asking.build())
    assert found.conflicts == {"shop/db", "shop/noisy-*"}
    assert (found.beside, found.replaces) == ("shop/cache", "shop/old")


def test_a_pod_without_annotations_asks_for_nothing() -> None:
    assert hints.read(pod("p").build()) == hints.NONE


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        (hints.ONE_PER_NODE, "yes", '"yes" is none of true, false, every'),
        (hints.MAX_PER_ZONE, "0", '"0" is not a number from 1 to 150,000'),
        (hints.MAX_PER_ZONE, "1" * 10, "is not a number from 1 to"),
        (hints.XOR, "either,q=1", '"q=1" is neither p=NUMBER nor r=NUMBER'),
        (hints.MAX_PER_ZONE, "150001", '"150001" is not a number from 1 to 150,000'),
        (hints.XOR, "either,p=0", '"0" is not a number from 1 to 150,000'),
        (hints.GANG_MIN, "\N{SUPERSCRIPT TWO}", "is not a number from 1 to"),
        (hints.NODE_LABELS, "a in (", "node-labels of pod default/p: "),
        (hints.NODE_LABELS, ",".join(f"l{i}" for i in range(17)), "17 parts are more than 16"),
        (hints.CONFLICTS, ",".join(f"p{i}" for i in range(17)), "17 parts are more than 16"),
        (hints.CONFLICTS, "*/*", '"*/*" has a wildcard that is no * at its end'),
        (hints.CONFLICTS, "a?c", '"a?c" has a wildcard that is no * at its end'),
        (hints.CONFLICTS, "other/*", '"other/*" is not in the namespace of the pod'),
        (hints.CONFLICTS, "a" * 254, "a name of 254 characters"),
        (hints.REPLACES, "other/old", '"other/old" is not in the namespace of the pod'),
        (hints.BESIDE, "other/db", '"other/db" is not in the namespace of the pod'),
        (hints.XOR, "other/either", '"other/either" is not in the namespace of the pod'),
    ],
)
def test_what_cannot_be_read_is_named(key: str, value: str, message: str) -> None:
    asking = pod("p").annotation(key, value)
    with pytest.raises(hints.HintError) as caught:
        hints.read(asking.build())
    assert message in str(caught.value)
    assert key in str(caught.value)
    assert hints.readable(asking.on("n").build()) == hints.NONE


def test_what_is_too_long_is_not_there() -> None:
    """Each of them, in whatever room it is read."""
    asking = pod("p")
    for key in POD_ANNOTATIONS:
        asking = asking.annotation(key, "x" * (MAX_POD_ANNOTATION + 1))
    assert not asking.build().annotations
    assert not asking.build().gang
    assert asking.annotation(hints.NODE, "x" * MAX_POD_ANNOTATION).build().annotations


def test_what_no_rule_reads_is_not_there() -> None:
    """So it tells no two pods apart."""
    marked = pod("p").annotation("tradewind.dev/whatever", "x").build()
    assert not marked.annotations
    assert hints.requested(marked) == hints.requested(pod("p").build())


def test_all_that_is_read_of_a_pod_is_known() -> None:
    rules = [each for each in FILTERS if issubclass(each, LabelPreference)]
    preferences = {f"{ANNOTATION_PREFIX}{each.annotation}{end}" for each in rules for end in ("", "-policy")}
    floors = {durable_floor.MIN, durable_floor.SHARE, durable_floor.STRICT}
    floors |= {min_available.REPLICAS, min_available.PROBABILITY}
    assert {classes.CLASS} | preferences | floors <= POD_ANNOTATIONS
    own = {value for value in vars(hints).values() if isinstance(value, str) and ANNOTATION_PREFIX in value}
    assert own - {ANNOTATION_PREFIX} - {hints.__doc__} <= POD_ANNOTATIONS


@pytest.mark.parametrize("namespace", sorted(hints.SYSTEM_NAMESPACES))
def test_pods_of_the_system_are_in_nobodys_way(namespace: str) -> None:
    asking = pod("p").namespace(namespace).annotation(hints.CONFLICTS, "*").annotation(hints.XOR, "e")
    asking = asking.annotation(hints.REPLACES, "q").annotation(hints.BESIDE, "r")
    found = hints.read(asking.annotation(hints.NODE, "n").build())
    assert found == hints.NONE._replace(node="n")


def test_a_long_list_of_conflicts_concerns_no_pod() -> None:
    """However many pods have one: what is refused when it is decoded costs no request anything."""
    patterns = ",".join(f"p{number}*" for number in range(2000))
    hostile = [pod(f"h{number}").annotation(hints.CONFLICTS, patterns).on("n") for number in range(100)]
    roster = cluster_of([node("n")], hostile).nodes.cluster.roster
    assert not roster.reaching
    assert not list(roster.hostile(pod("p1").build()))


_names = st.text("ab-", min_size=1, max_size=5)


@given(_names, st.lists(st.tuples(_names, st.booleans()), max_size=4))
def test_a_pattern_is_a_name_or_its_beginning(name: str, wanted: list[tuple[str, bool]]) -> None:
    text = ",".join(each + "*" * wild for each, wild in wanted)
    patterns = hints.read(pod("p").annotation(hints.CONFLICTS, text).build()).conflicts
    expected = any(name.startswith(each) if wild else name == each for each, wild in wanted)
    assert hints.is_named(patterns, pod(name).build()) == expected
    assert not hints.is_named(patterns, pod(name).namespace("other").build())


def test_what_planners_write_asks_for_nothing() -> None:
    asking = pod("p").annotation(plan_annotation.ANNOTATION, "{}").annotation(hints.NODE, "n")
    assert hints.requested(asking.build()) == ((hints.NODE, "n"),)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("either", hints.Alternatives("default/either", 1, 0)),
        ("default/either", hints.Alternatives("default/either", 1, 0)),
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


def test_a_workload_is_of_one_namespace() -> None:
    """Anybody may name the controller of another namespace as the owner of a pod."""
    own, forged = (
        pod("p").namespace(each).owner("ReplicaSet", "web", "uid-1").build() for each in ("a", "b")
    )
    assert hints.workload(own) != hints.workload(forged)
    assert own.workload != forged.workload
