"""Placement hints: annotations by which a pod asks for a place. kube-scheduler knows none of them.

What each of them means is a filter of its own (`scoring/filters`), for the planner as for every request.
"""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from tradewind.cluster.names import ANNOTATION_PREFIX, PLAN
from tradewind.cluster.objects import DELETION_COST, Pod
from tradewind.cluster.selectors import parse_selector
from tradewind.errors import TradewindError

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

MOVE = ANNOTATION_PREFIX + "move"

# Written by planners and controllers; they ask for nothing.
_NO_HINTS = frozenset({PLAN, MOVE, DELETION_COST})
_EVERY = "every"

_MAX_DIGITS = 9
# Labels that the API server copies from its node to a pod when it is bound.
_BOUND = "topology.kubernetes.io/"


class HintError(TradewindError):
    """A placement hint that cannot be read."""


class Alternatives(NamedTuple):
    """Pods of which only some have a place at a time."""

    name: str = ""  # namespace/name
    max_pods: int = 1  # at a time
    per_node: int = 0  # 0 for any number


class Hints(NamedTuple):
    """What the annotations of one pod say."""

    node: str
    node_labels: str
    conflicts: tuple[str, ...]  # patterns of namespace/name
    one_per_node: bool
    every_node: bool  # and every node that can is to have one
    replaces: str  # namespace/name
    beside: str  # namespace/name
    xor: "Alternatives"
    max_per_zone: int  # 0 for no limit
    gang_min: int  # 0 for all


NONE = Hints("", "", (), False, False, "", "", Alternatives(), 0, 0)


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
    every_node = own.get(ONE_PER_NODE, "").lower() == _EVERY
    one_per_node = not every_node and _flag(pod, ONE_PER_NODE)
    return Hints(
        node=own.get(NODE, ""),
        node_labels=node_labels,
        conflicts=tuple(sorted(_qualified(pod, name) for name in _listed(own.get(CONFLICTS, "")))),
        one_per_node=one_per_node or every_node,
        every_node=every_node,
        replaces=_qualified(pod, own.get(REPLACES, "")),
        beside=_qualified(pod, own.get(BESIDE, "")),
        xor=_alternatives(pod),
        max_per_zone=_count(pod, MAX_PER_ZONE),
        gang_min=_count(pod, GANG_MIN),
    )


def readable(pod: Pod) -> Hints:
    """For who must go on without: hints of which one cannot be read say nothing."""
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
    if pod.owner:
        return pod.owner.uid
    return f"{pod.namespace} {sorted(pair for pair in pod.labels.items() if not pair[0].startswith(_BOUND))}"


def named(patterns: Iterable[str], pod: Pod) -> bool:
    """Whether one of the patterns is for the pod's namespace/name."""
    return any(fnmatchcase(str(pod), pattern) for pattern in patterns)


def _listed(text: str) -> Sequence[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _qualified(pod: Pod, name: str) -> str:
    return name if not name or "/" in name else f"{pod.namespace}/{name}"


def _flag(pod: Pod, key: str) -> bool:
    text = pod.annotations.get(key, "false").lower()
    if text not in {"true", "false"}:
        raise HintError(f'annotation {key} of pod {pod}: "{text}" is none of true, false, {_EVERY}')
    return text == "true"


def _alternatives(pod: Pod) -> Alternatives:
    """A name, then p= and r= as the flow network's arcs have them: so many at a time, so many on a node."""
    name, *limits = _listed(pod.annotations.get(XOR, "")) or [""]
    numbers = {"p": 1, "r": 0}
    for limit in limits:
        letter, _, text = limit.partition("=")
        if letter.strip() not in numbers:
            raise HintError(f'annotation {XOR} of pod {pod}: "{limit}" is neither p=NUMBER nor r=NUMBER')
        numbers[letter.strip()] = _number(pod, XOR, text.strip())
    return Alternatives(_qualified(pod, name), numbers["p"], numbers["r"])


def _count(pod: Pod, key: str) -> int:
    text = pod.annotations.get(key)
    return 0 if text is None else _number(pod, key, text)


def _number(pod: Pod, key: str, text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS and int(text)):
        raise HintError(f'annotation {key} of pod {pod}: "{text}" is not a number above 0')
    return int(text)
