"""What a pod asks of the planner in annotations; kube-scheduler knows none of these."""

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
GLOBAL = ANNOTATION_PREFIX + "one-per-node"
REPLACES = ANNOTATION_PREFIX + "replaces"
BESIDE = ANNOTATION_PREFIX + "beside"
XOR = ANNOTATION_PREFIX + "xor"
MAX_PER_ZONE = ANNOTATION_PREFIX + "max-per-zone"
GANG_MIN = ANNOTATION_PREFIX + "gang-min"
OF_A_WORKLOAD = frozenset({GLOBAL, MAX_PER_ZONE})
SPREAD_KEY = "topology.kubernetes.io/zone"


# Written by planners and controllers; they ask for nothing.
_SAY_NOTHING = frozenset({plan_annotation.ANNOTATION, DELETION_COST})

_MOST_DIGITS = 9


class WishError(TradewindError):
    """An annotation of a pod that makes no sense."""


class Wishes(NamedTuple):
    """The annotations of one pod, read."""

    node: str
    node_labels: str
    conflicts: tuple[str, ...]  # patterns of namespace/name
    one_per_node: bool
    replaces: str  # namespace/name
    beside: str  # namespace/name
    xor: str
    max_per_zone: int  # 0 for no limit
    gang_min: int  # 0 for all


NOTHING = Wishes("", "", (), False, "", "", "", 0, 0)


def read(pod: Pod) -> Wishes:
    own = pod.annotations
    if not own:
        return NOTHING
    node_labels = own.get(NODE_LABELS, "")
    if node_labels:
        try:
            parse_selector(node_labels)
        except ValueError as error:
            raise WishError(f"annotation {NODE_LABELS} of pod {pod}: {error}") from error
    return Wishes(
        node=own.get(NODE, ""),
        node_labels=node_labels,
        conflicts=tuple(sorted(_qualified(pod, name) for name in _listed(own.get(CONFLICTS, "")))),
        one_per_node=_flag(pod, GLOBAL),
        replaces=_qualified(pod, own.get(REPLACES, "")),
        beside=_qualified(pod, own.get(BESIDE, "")),
        xor=_qualified(pod, own.get(XOR, "")),
        max_per_zone=_count(pod, MAX_PER_ZONE),
        gang_min=_count(pod, GANG_MIN),
    )


def standing(pod: Pod) -> Wishes:
    """Of a pod that has its place: what cannot be read is no reason to stop planning for the others."""
    try:
        return read(pod)
    except WishError:
        return NOTHING


def asking(pod: Pod) -> tuple[tuple[str, str], ...]:
    """The annotations that say what the pod asks for, of us or of any rule."""
    if not pod.annotations:
        return ()
    return tuple((key, value) for key, value in pod.annotations.items() if key not in _SAY_NOTHING)


def hits(patterns: Iterable[str], pod: Pod) -> bool:
    return any(fnmatchcase(str(pod), pattern) for pattern in patterns)


def admitted(wishes: Wishes, table: NodeTable) -> Mask:
    """(N,) nodes that the pod's own choice of node and of node labels leaves."""
    mask = np.ones(len(table), np.bool_)
    if wishes.node:
        mask[:] = False
        mask[table.rows([wishes.node])] = True
    if wishes.node_labels:
        mask &= table.satisfying(parse_selector(wishes.node_labels))
    return mask


def beside_rows(wishes: Wishes, placed: Mapping[str, Pod], table: NodeTable) -> Mask | None:
    """(N,) the node of the pod that is to be next to or replaced; None where none of these is placed."""
    names = [name for name in (wishes.beside, wishes.replaces) if name in placed]
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
        raise WishError(f'annotation {key} of pod {pod}: "{text}" is neither true nor false')
    return text == "true"


def _count(pod: Pod, key: str) -> int:
    text = pod.annotations.get(key)
    if text is None:
        return 0
    if not (text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS and int(text)):
        raise WishError(f'annotation {key} of pod {pod}: "{text}" is not a number above 0')
    return int(text)
