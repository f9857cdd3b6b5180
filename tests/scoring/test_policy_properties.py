"""What holds of the default policy as a whole, whichever rules it is made of."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring.ranking import levels
from tests.builders import NodeBuilder, PodBuilder, cluster_of, node, pod
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Nodes
from tradewind.config.document import DEFAULT

_POLICY = DEFAULT.policies().default


@st.composite
def priced_nodes(draw: st.DrawFn) -> list[NodeBuilder]:
    nodes = []
    for index in range(draw(st.integers(2, 6))):
        built = node(f"n{index}").cpu(draw(st.sampled_from(["1", "2", "4", "16"])))
        built = built.memory(draw(st.sampled_from(["2Gi", "8Gi", "64Gi"]))).price(draw(st.floats(0.01, 5)))
        if draw(st.booleans()):
            built = built.label("karpenter.sh/capacity-type", "spot")
        nodes.append(built)
    return nodes


wanted_pods = st.builds(
    lambda cpu, memory, priority: pod("w").requests(cpu=cpu, memory=memory).priority(priority),
    st.sampled_from(["100m", "500m", "2"]),
    st.sampled_from(["128Mi", "1Gi", "4Gi"]),
    st.sampled_from([-1, 0, 1000]),
)


def ranking(wanted: Pod, nodes: Nodes) -> dict[str, float]:
    """As over the two verbs: only what filter keeps is scored."""
    kept = nodes.take(np.flatnonzero(_POLICY.filter(wanted, nodes).feasible))
    return dict(zip(kept.names, levels(_POLICY.total(wanted, kept)).tolist(), strict=True))


@given(nodes=priced_nodes(), wanted=wanted_pods)
@settings(max_examples=100)
def test_an_infeasible_node_changes_nothing_for_the_others(
    nodes: list[NodeBuilder], wanted: PodBuilder
) -> None:
    hopeless = node("hopeless").cpu("10m").price(0.001)
    alone = ranking(wanted.build(), cluster_of(nodes).nodes)
    assert ranking(wanted.build(), cluster_of([*nodes, hopeless]).nodes) == alone


@given(nodes=priced_nodes(), wanted=wanted_pods, power=st.integers(-6, 6))
@settings(max_examples=100)
def test_the_currency_does_not_matter(nodes: list[NodeBuilder], wanted: PodBuilder, power: int) -> None:
    dearer = [each.price(float(price_of(each)) * 2.0**power) for each in nodes]
    assert ranking(wanted.build(), cluster_of(dearer).nodes) == ranking(
        wanted.build(), cluster_of(nodes).nodes
    )


@given(nodes=priced_nodes(), wanted=wanted_pods, discount=st.floats(0.1, 0.99))
@settings(max_examples=100)
def test_a_cheaper_twin_never_ranks_lower(
    nodes: list[NodeBuilder], wanted: PodBuilder, discount: float
) -> None:
    metadata = nodes[0].document["metadata"]
    twin = nodes[0].field("metadata", value={**metadata, "name": "twin"}).price(price_of(nodes[0]) * discount)
    ranked = ranking(wanted.build(), cluster_of([*nodes, twin]).nodes)
    assert "n0" not in ranked or ranked["twin"] >= ranked["n0"]


def price_of(built: NodeBuilder) -> float:
    return float(built.document["metadata"]["annotations"]["tradewind.dev/price"])
