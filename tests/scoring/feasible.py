from collections.abc import Iterable

from scoring.rules import Filter
from tests.builders import NamespaceBuilder, NodeBuilder, PodBuilder, cluster_of


def feasible(
    rule: Filter,
    wanted: PodBuilder,
    nodes: Iterable[NodeBuilder],
    placed: Iterable[PodBuilder] = (),
    namespaces: Iterable[NamespaceBuilder] = (),
) -> str:
    """The names of the nodes that pass, in one line: "a c"."""
    columns = cluster_of(nodes, placed, namespaces).nodes
    mask = rule.feasible(wanted.build(), columns)
    return " ".join(name for name, passed in zip(columns.names, mask, strict=True) if passed)
