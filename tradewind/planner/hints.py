"""Placement hints: annotations by which a pod asks for a place. kube-scheduler knows none of them."""

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

import numpy as np

from tradewind.cluster.objects import ANNOTATION_PREFIX, DELETION_COST, Pod
from tradewind.cluster.selectors import parse_selector
from tradewind.cluster.table import NodeTable
from tradewind.errors import TradewindError
from tradewind.planner import plan_annotation
from tradewind.planner.problem import Mask

NODE = ANNOTATION_PREFIX + "node"
NODE_LABELS = ANNOTATION_PREFIX + "node-labels"
CONFLICTS = ANNOTATION_PREFIX + "conflicts"
ONE_PER_NODE = ANNOTATION_PREFIX + "one-per-node"
REPLACES = ANNOTATION_PREFIX + "replaces"
BESIDE = ANNOTATION_PREFIX + "beside"
XOR = ANNOTATION_PREFIX + "xor"
MAX_PER_ZONE = ANNOTATION_PREFIX + "max-per-zone"
GANG_MIN = ANNOTATION_PREFIX + "gang-min"
PER_WORKLOAD = frozenset({ONE_PER_NODE, MAX_PER_ZONE})
SPREAD_KEY = "topology.kubernetes.io/zone"

# Written by planners and controllers; they ask for nothing.
_NO_HINTS = frozenset({plan_annotation.ANNOTATION, DELETION_COST})

_MAX_DIGITS = 9


class HintError(TradewindError):
    """A placement hint that cannot be read."""


class Hints(NamedTuple):
    """What the annotations of one pod say."""

    node: str
    node_labels: str
    conflicts: tuple[str, ...]  # patterns of namespace/name
    one_per_node: bool
    replaces: str  # namespace/name
    beside: str  # namespace/name
    xor: str
    max_per_zone: int  # 0 for no limit
    gang_min: int  # 0 for all


NONE = Hints("", "", (), False, "", "", "", 0, 0)


def read(pod: Pod) -> Hints:
    own = pod.annotations
    if not own:
        return NONE
    node_labels = own.get(NODE_LABELS, "")
    if node_labels:
        try:
            parse_selector(node_labels)
        except ValueError as error:
            raise HintError(f"annotation {NODE_LABELS} of pod {pod}: {error}") from error
    return Hints(
        node=own.get(NODE, ""),
        node_labels=node_labels,
        conflicts=tuple(sorted(_qualified(pod, name) for name in _listed(own.get(CONFLICTS, "")))),
        one_per_node=_flag(pod, ONE_PER_NODE),
        replaces=_qualified(pod, own.get(REPLACES, "")),
        beside=_qualified(pod, own.get(BESIDE, "")),
        xor=_qualified(pod, own.get(XOR, "")),
        max_per_zone=_count(pod, MAX_PER_ZONE),
        gang_min=_count(pod, GANG_MIN),
    )


def read_placed(pod: Pod) -> Hints:
    """Of a pod that is on a node: hints that cannot be read must not keep others from being planned."""
    try:
        return read(pod)
    except HintError:
        return NONE


def requested(pod: Pod) -> tuple[tuple[str, str], ...]:
    """The annotations by which the pod asks for something, of the planner or of any rule."""
    if not pod.annotations:
        return ()
    return tuple((key, value) for key, value in pod.annotations.items() if key not in _NO_HINTS)


def workload(pod: Pod) -> str:
    """The controller, or for a pod without one its namespace and labels."""
    return pod.owner.uid if pod.owner else f"{pod.namespace} {sorted(pod.labels.items())}"


def named(patterns: Iterable[str], pod: Pod) -> bool:
    """Whether one of the patterns is for the pod's namespace/name."""
    return any(fnmatchcase(str(pod), pattern) for pattern in patterns)


def admitted(own: Hints, table: NodeTable) -> Mask:
    """(N,) nodes that the pod's own choice of node and of node labels leaves."""
    mask = np.ones(len(table), np.bool_)
    if own.node:
        mask[:] = False
        mask[table.rows([own.node])] = True
    if own.node_labels:
        mask &= table.satisfying(parse_selector(own.node_labels))
    return mask


def beside_rows(own: Hints, placed: Mapping[str, Pod], table: NodeTable) -> Mask | None:
    """(N,) the node of the pod that is to be next to or replaced; None where none of these is placed."""
    names = [name for name in (own.beside, own.replaces) if name in placed]
    if not names:
        return None
    mask = np.ones(len(table), np.bool_)
    for name in names:
        there = np.zeros(len(table), np.bool_)
        there[table.rows([placed[name].node_name])] = True
        mask &= there
    return mask


def _listed(text: str) -> Sequence[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _qualified(pod: Pod, name: str) -> str:
    return name if not name or "/" in name else f"{pod.namespace}/{name}"


def _flag(pod: Pod, key: str) -> bool:
    text = pod.annotations.get(key, "false").lower()
    if text not in {"true", "false"}:
        raise HintError(f'annotation {key} of pod {pod}: "{text}" is neither true nor false')
    return text == "true"


def _count(pod: Pod, key: str) -> int:
    text = pod.annotations.get(key)
    if text is None:
        return 0
    if not (text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS and int(text)):
        raise HintError(f'annotation {key} of pod {pod}: "{text}" is not a number above 0')
    return int(text)
