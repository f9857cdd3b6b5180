"""Placement hints as filters: which nodes they leave to a pod that no plan was made for."""

from typing import ClassVar

import numpy as np
import pytest

from scoring.filters.beside import Beside
from scoring.filters.conflicts import Conflicts
from scoring.filters.hinted_labels import HintedLabels
from scoring.filters.hinted_node import HintedNode
from scoring.filters.max_per_zone import MaxPerZone
from scoring.filters.one_per_node import OnePerNode
from scoring.filters.replaces import Replaces
from scoring.filters.xor import Xor
from scoring.policy import Policy
from scoring.registry import FILTERS
from scoring.rules import Filter, Hint, Mask
from tests.builders import PodBuilder, cluster_of, node, pod
from tests.scoring.feasible import feasible
from tradewind.cluster import hints
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Nodes

_NODES = [
    node("a").label("rack", "1").label(hints.SPREAD_KEY, "x"),
    node("b").label("rack", "2").label(hints.SPREAD_KEY, "x"),
    node("c").label("rack", "1").label(hints.SPREAD_KEY, "y"),
    node("d"),
]


def _of(workload: str, name: str) -> PodBuilder:
    return pod(name).owner("ReplicaSet", workload, workload)


def _asking(hint: str, text: str) -> PodBuilder:
    return _of("web", "p").annotation(hint, text)


@pytest.mark.parametrize(
    ("rule", "hint", "text", "placed", "expected"),
    [
        (HintedNode(), hints.NODE, "b", [], "b"),
        (HintedNode(), hints.NODE, "gone", [], ""),
        (HintedNode(), hints.NODE, "", [], "a b c d"),
        (HintedLabels(), hints.NODE_LABELS, "rack in (1)", [], "a c"),
        (HintedLabels(), hints.NODE_LABELS, "rack", [], "a b c"),
        (HintedLabels(), hints.NODE_LABELS, "rack in (", [], "a b c d"),  # makes no sense: says nothing
        (Conflicts(), hints.CONFLICTS, "noisy", [pod("noisy").on("a"), pod("quiet").on("b")], "b c d"),
        (Conflicts(), hints.CONFLICTS, "no*", [pod("noisy").on("a"), pod("nosy").on("b")], "c d"),
        (Conflicts(), hints.CONFLICTS, "n*y", [pod("noisy").on("a")], "a b c d"),  # makes no sense either
        (Conflicts(), hints.CONFLICTS, "*", [pod("x").namespace("shop").on("c"), pod("y").on("a")], "b c d"),
        (Conflicts(), hints.CONFLICTS, "shop/*", [pod("x").namespace("shop").on("c")], "a b c d"),
        (Conflicts(), hints.CONFLICTS, "noisy", [pod("noisy")], "a b c d"),  # it has no node yet
        (Conflicts(), hints.NODE, "", [pod("x").annotation(hints.CONFLICTS, "p").on("b")], "a c d"),
        (Conflicts(), hints.NODE, "", [pod("x").annotation(hints.CONFLICTS, "q").on("b")], "a b c d"),
        (
            OnePerNode(),
            hints.ONE_PER_NODE,
            "true",
            [
                _of("web", "w").annotation(hints.ONE_PER_NODE, "true").on("a"),
                _of("web", "v").on("b"),  # does not ask for it
                _of("db", "x").annotation(hints.ONE_PER_NODE, "true").on("c"),
            ],
            "b c d",
        ),
        (
            OnePerNode(),
            hints.ONE_PER_NODE,
            "every",
            [_of("web", "w").annotation(hints.ONE_PER_NODE, "every").on("a")],
            "b c d",
        ),
        (
            OnePerNode(),
            hints.ONE_PER_NODE,
            "false",
            [_of("web", "w").annotation(hints.ONE_PER_NODE, "true").on("a")],
            "a b c d",
        ),
        (
            MaxPerZone(),
            hints.MAX_PER_ZONE,
            "2",
            [_of("web", f"w{i}").annotation(hints.MAX_PER_ZONE, "2").on("ab"[i]) for i in range(2)],
            "c d",  # zone x is full, and d is in no zone
        ),
        (
            MaxPerZone(),
            hints.MAX_PER_ZONE,
            "3",
            [_of("web", f"w{i}").annotation(hints.MAX_PER_ZONE, "3").on("ab"[i]) for i in range(2)],
            "a b c d",
        ),
        (Beside(), hints.BESIDE, "db", [pod("db").on("c")], "c"),
        (Beside(), hints.BESIDE, "db", [pod("db")], ""),
        (Beside(), hints.BESIDE, "db", [], ""),
        (Replaces(), hints.REPLACES, "old", [pod("old").on("c")], "c"),
        (Replaces(), hints.REPLACES, "old", [], "a b c d"),  # nothing is left to replace
        (Replaces(), hints.NODE, "", [pod("new").annotation(hints.REPLACES, "p")], ""),
        (Xor(), hints.XOR, "e", [pod("x").annotation(hints.XOR, "e").on("a")], ""),
        (Xor(), hints.XOR, "e", [pod("x").annotation(hints.XOR, "f").on("a")], "a b c d"),
        (Xor(), hints.XOR, "e,p=2", [pod("x").annotation(hints.XOR, "e,p=2").on("a")], "a b c d"),
        (Xor(), hints.XOR, "e,p=2", [pod("x").annotation(hints.XOR, "e").on("a")], ""),  # the stricter
        (Xor(), hints.XOR, "e,p=3,r=1", [pod("x").annotation(hints.XOR, "e,p=3,r=1").on("a")], "b c d"),
        (
            Xor(),
            hints.XOR,
            "e,p=4,r=2",
            [pod(f"x{i}").annotation(hints.XOR, "e,p=4,r=2").on("aab"[i]) for i in range(3)],
            "b c d",
        ),
    ],
)
def test_which_nodes_a_hint_leaves(
    rule: Filter, hint: str, text: str, placed: list[PodBuilder], expected: str
) -> None:
    assert feasible(rule, _asking(hint, text), _NODES, placed) == expected


@pytest.mark.parametrize("namespace", ["default", "kube-system"])
@pytest.mark.parametrize("pattern", ["*/*", "*", "kube-system/*", "default/p"])
def test_no_pod_is_in_the_way_of_those_of_other_namespaces(namespace: str, pattern: str) -> None:
    hostile = [
        pod(f"x{on}")
        .namespace("evil")
        .annotation(hints.CONFLICTS, pattern)
        .annotation(hints.XOR, "default/e")
        for on in "abcd"
    ]
    asking = _of("web", "p").namespace(namespace).annotation(hints.XOR, "e")
    placed = [each.on(on) for each, on in zip(hostile, "abcd", strict=True)]
    for rule in (Conflicts(), Xor()):
        assert feasible(rule, asking, _NODES, placed) == "a b c d"


def test_a_pod_of_another_namespace_cannot_close_the_nodes_to_one_that_it_says_it_replaces() -> None:
    stranger = pod("new").namespace("evil").uid("evil/new").annotation(hints.REPLACES, "default/p")
    assert feasible(Replaces(), _of("web", "p"), _NODES, [stranger]) == "a b c d"


def test_one_that_is_placed_already_is_not_in_its_own_way() -> None:
    """As at a second request, after the watch has brought the binding."""
    for hint, text in ((hints.ONE_PER_NODE, "true"), (hints.XOR, "e"), (hints.CONFLICTS, "p")):
        itself = _asking(hint, text)
        for rule in (OnePerNode(), Xor(), Conflicts()):
            assert feasible(rule, itself, _NODES, [itself.on("a")]) == "a b c d"


class _Counting(Hint):
    """Counts how often it is asked."""

    name: ClassVar[str] = "counting"
    reason: ClassVar[str] = "node(s) were counted"
    resolvable: ClassVar[bool] = False

    def __init__(self) -> None:
        self.asked = 0

    def feasible(self, pod: Pod, nodes: Nodes) -> Mask:
        del pod
        self.asked += 1
        return np.ones(len(nodes), np.bool_)


@pytest.mark.parametrize(
    ("wanted", "others", "asked"),
    [
        pytest.param(pod("p"), [], 0, id="plain"),
        pytest.param(pod("p"), [_asking(hints.XOR, "e").uid("x").on("a")], 0, id="others ask"),
        pytest.param(pod("p"), [pod("x").annotation(hints.CONFLICTS, "q").on("a")], 1, id="others conflict"),
        pytest.param(pod("p").annotation(hints.XOR, "e"), [], 1, id="it asks"),
        pytest.param(pod("p").label("scheduling.x-k8s.io/pod-group", "g"), [], 1, id="it is of a gang"),
    ],
)
def test_no_hint_is_looked_at_for_a_pod_that_none_can_speak_of(
    wanted: PodBuilder, others: list[PodBuilder], asked: int
) -> None:
    counting = _Counting()
    policy = Policy(filters=(counting,), scorers=())
    policy.filter(wanted.build(), cluster_of(_NODES, others).nodes)
    assert counting.asked == asked


def test_every_hint_is_marked_as_one() -> None:
    """An unmarked one would be asked about every pod."""
    first = [rule.name for rule in FILTERS].index("hinted_node")
    assert all(issubclass(rule, Hint) for rule in FILTERS[first:])
    assert not any(issubclass(rule, Hint) for rule in FILTERS[:first])
