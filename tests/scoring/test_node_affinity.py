import pytest

from scoring.filters.node_affinity import NodeAffinity
from tests.builders import PodBuilder, expression, node, pod
from tests.scoring.feasible import feasible

_NODES = [
    node("a").label("zone", "z1").label("cores", "4"),
    node("b").label("zone", "z2").label("cores", "16"),
    node("c").label("cores", "many"),
    node("d").label("zone", "").label("cores", "-3"),
]
_NAME = "metadata.name"


@pytest.mark.parametrize(
    ("wanted", "passing"),
    [
        pytest.param(pod("w"), "a b c d", id="no wish"),
        pytest.param(pod("w").node_selector("zone", "z1"), "a", id="a selector"),
        pytest.param(
            pod("w").node_selector("zone", "z1").node_selector("cores", "16"),
            "",
            id="all labels of a selector",
        ),
        pytest.param(pod("w").node_selector("zone", ""), "d", id="an empty value is not a missing label"),
        pytest.param(pod("w").node_term(expression("zone", "In", "z1", "z3")), "a", id="In"),
        pytest.param(
            pod("w").node_term(expression("zone", "NotIn", "z1")), "b c d", id="NotIn or without the label"
        ),
        pytest.param(pod("w").node_term(expression("zone", "Exists")), "a b d", id="Exists"),
        pytest.param(pod("w").node_term(expression("zone", "DoesNotExist")), "c", id="DoesNotExist"),
        pytest.param(
            pod("w").node_term(expression("cores", "Gt", "4")), "b", id="Gt leaves the bound itself out"
        ),
        pytest.param(pod("w").node_term(expression("cores", "Lt", "4")), "d", id="Lt"),
        pytest.param(
            pod("w").node_term(expression("cores", "Lt", "0004")), "d", id="leading zeros are no octal"
        ),
        pytest.param(pod("w").node_term(expression("cores", "Gt", "x")), "", id="a bound that is no number"),
        pytest.param(pod("w").node_term(expression("cores", "Gt", "1", "2")), "", id="two bounds"),
        pytest.param(
            pod("w").node_term(expression("zone", "Near", "z1")), "", id="an operator that there is not"
        ),
        pytest.param(
            pod("w").node_term(expression("zone", "Exists"), expression("cores", "Gt", "0")),
            "a b",
            id="every requirement of a term",
        ),
        pytest.param(
            pod("w").node_term(expression("zone", "In", "z1")).node_term(expression("cores", "In", "16")),
            "a b",
            id="any term",
        ),
        pytest.param(
            pod("w").node_selector("zone", "z1").node_term(expression("cores", "In", "16")),
            "",
            id="the selector and a term",
        ),
        pytest.param(pod("w").node_term(), "", id="an empty term matches nothing"),
        pytest.param(
            pod("w").node_term().node_term(expression("zone", "Exists")), "a b d", id="the other term does"
        ),
        pytest.param(
            pod("w").field(
                "spec",
                "affinity",
                "nodeAffinity",
                "requiredDuringSchedulingIgnoredDuringExecution",
                "nodeSelectorTerms",
                value=[],
            ),
            "",
            id="no term at all matches nothing",
        ),
        pytest.param(
            pod("w").field(
                "spec",
                "affinity",
                "nodeAffinity",
                value={"preferredDuringSchedulingIgnoredDuringExecution": []},
            ),
            "a b c d",
            id="a mere preference",
        ),
        pytest.param(pod("w").node_term(fields=[expression(_NAME, "In", "b")]), "b", id="a node by its name"),
        pytest.param(
            pod("w").node_term(fields=[expression(_NAME, "NotIn", "b")]), "a c d", id="any other node"
        ),
        pytest.param(
            pod("w").node_term(fields=[expression(_NAME, "In", "gone")]), "", id="a node that is not there"
        ),
        pytest.param(
            pod("w").node_term(fields=[expression(_NAME, "In", "a"), expression(_NAME, "In", "b")]),
            "",
            id="two names at once",
        ),
        pytest.param(
            pod("w")
            .node_term(fields=[expression(_NAME, "In", "a")])
            .node_term(fields=[expression(_NAME, "In", "b")]),
            "a b",
            id="one name or the other",
        ),
        pytest.param(
            pod("w").node_term(expression("zone", "In", "z2"), fields=[expression(_NAME, "NotIn", "a")]),
            "b",
            id="a name and a label",
        ),
        pytest.param(
            pod("w").node_term(fields=[expression(_NAME, "In", "a", "b")]), "", id="a list of names"
        ),
        pytest.param(pod("w").node_term(fields=[expression(_NAME, "Exists")]), "", id="a name that exists"),
        pytest.param(
            pod("w").node_term(fields=[expression("spec.x", "In", "a")]), "", id="a field that is no name"
        ),
    ],
)
def test_node_affinity(wanted: PodBuilder, passing: str) -> None:
    assert feasible(NodeAffinity(), wanted, _NODES) == passing
