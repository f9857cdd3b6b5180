from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from scoring.rules import Mask
from tradewind.cluster import lazy_numpy as np
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Nodes
from tradewind.cluster.table import NodeTable
from tradewind.cluster.wire import NodeSelectorTerm, Requirement

_NAME_FIELD = "metadata.name"
_HOSTNAME = "kubernetes.io/hostname"


@dataclass(frozen=True)
class NodeAffinity:
    """The node has the labels of the pod's nodeSelector and matches a term of its required node affinity."""

    name: ClassVar[str] = "node_affinity"
    reason: ClassVar[str] = "node(s) didn't match Pod's node affinity/selector"
    resolvable: ClassVar[bool] = False

    def feasible(self, pod: Pod, nodes: Nodes) -> Mask:
        return accepted(pod, nodes.cluster.table).take(nodes.rows)


def accepted(pod: Pod, table: NodeTable) -> Mask:
    """(N,) of all nodes, those that the pod's node selector and node affinity accept."""
    return matching(pod.node_selector.items(), pod.node_terms, table)


def matching(
    selector: Iterable[tuple[str, str]], terms: Iterable[NodeSelectorTerm] | None, table: NodeTable
) -> Mask:
    """(N,) of all nodes, those with the labels of the selector that match one of the terms, if any."""
    mask = table.satisfying(Requirement(key, "In", (value,)) for key, value in selector)
    if terms is not None:
        any_term = np.zeros(len(table), np.bool_)
        for term in terms:
            any_term |= matching_nodes(term, table)
        mask &= any_term
    return mask


def names_one_node(pod: Pod) -> bool:
    """Whether the pod's node selector or every term of its node affinity names the same one node."""
    if _HOSTNAME in pod.node_selector:
        return True
    named = {_named_by(term) for term in pod.node_terms or ()}
    return len(named) == 1 and None not in named


def _named_by(term: NodeSelectorTerm) -> str | None:
    """The name of the only node that can match, where the term says it."""
    fields = ((field, _NAME_FIELD) for field in term.match_fields or ())
    expressions = ((expression, _HOSTNAME) for expression in term.match_expressions or ())
    for requirement, key in (*fields, *expressions):
        values = requirement.values or ()
        if requirement.key == key and requirement.operator == "In" and len(values) == 1:
            return values[0]
    return None


def matching_nodes(term: NodeSelectorTerm, table: NodeTable) -> Mask:
    expressions, fields = term.match_expressions or (), term.match_fields or ()
    if not (expressions or fields):  # an empty term matches nothing, unlike an empty label selector
        return np.zeros(len(table), np.bool_)
    mask = table.satisfying(expressions)
    for field in fields:
        mask &= _named(field, table)
    return mask


def _named(field: Requirement, table: NodeTable) -> Mask:
    """The name is the only field, and In or NotIn with one value is all that can be asked of it."""
    named = np.zeros(len(table), np.bool_)
    if field.key != _NAME_FIELD or len(field.values or ()) != 1:
        return named
    named[table.rows(field.values or ())] = True
    match field.operator:
        case "In":
            return named
        case "NotIn":
            return ~named
        case _:
            return np.zeros_like(named)
