"""Placement hints: annotations by which a pod asks for a place. kube-scheduler knows none of them.

What each of them means is a filter of its own (`scoring/filters`), for the planner as for every request.

Anybody who may create pods can write them. So they name pods of the pod's own namespace only, and what they
say is small: the decoder of pods drops unknown keys and long values, and a list has `MAX_PARTS` at most.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from tradewind.cluster.names import ANNOTATION_PREFIX, HOLD_OPT_OUTS, MAX_PODS, PLAN
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

# Written by planners and controllers, or for the admission policy; they ask for nothing.
_NO_HINTS = frozenset({PLAN, MOVE, DELETION_COST, *HOLD_OPT_OUTS})
_EVERY = "every"

# Their pods are in nobody's way, and have nobody in theirs.
SYSTEM_NAMESPACES = frozenset({"kube-system", "kube-public", "kube-node-lease"})

MAX_PARTS = 16  # names of pods to conflict with, or requirements of a node's labels
_MAX_NAME = 253  # of a pod
_MAX_READ = 2048  # different hints that are kept as read

WILD = "*"  # at the end of a name, for any end
_WILDCARDS = frozenset("*?[")

# Labels that the API server copies from its node to a pod when it is bound.
_BOUND = "topology.kubernetes.io/"


class HintError(TradewindError):
    """A placement hint that cannot be read."""


class _InvalidHintError(ValueError):
    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        self.key = key


class Alternatives(NamedTuple):
    """Pods of which only some have a place at a time."""

    name: str = ""  # namespace/name
    max_pods: int = 1  # at a time
    per_node: int = 0  # 0 for any number


class Hints(NamedTuple):
    """What the annotations of one pod say."""

    node: str
    node_labels: str
    conflicts: frozenset[str]  # namespace/name, or the beginning of one followed by *
    one_per_node: bool
    every_node: bool  # and every node that can is to have one
    replaces: str  # namespace/name
    beside: str  # namespace/name
    xor: "Alternatives"
    max_per_zone: int  # 0 for no limit
    gang_min: int  # 0 for all


NONE = Hints("", "", frozenset(), False, False, "", "", Alternatives(), 0, 0)


def read(pod: Pod) -> Hints:
    """Raise HintError where one makes no sense."""
    if not pod.annotations:
        return NONE
    try:
        return _read(pod.namespace, requested(pod))
    except _InvalidHintError as error:
        raise HintError(f"annotation {error.key} of pod {pod}: {error}") from error


@lru_cache(_MAX_READ)
def _read(namespace: str, requests: tuple[tuple[str, str], ...]) -> Hints:
    own = dict(requests)
    every_node = own.get(ONE_PER_NODE, "").lower() == _EVERY
    one_per_node = not every_node and _flag(own, ONE_PER_NODE)
    found = Hints(
        node=own.get(NODE, ""),
        node_labels=_selector(own),
        conflicts=_patterns(namespace, own),
        one_per_node=one_per_node or every_node,
        every_node=every_node,
        replaces=_qualified(namespace, REPLACES, own.get(REPLACES, "")),
        beside=_qualified(namespace, BESIDE, own.get(BESIDE, "")),
        xor=_alternatives(namespace, own),
        max_per_zone=_count(own, MAX_PER_ZONE),
        gang_min=_count(own, GANG_MIN),
    )
    if namespace in SYSTEM_NAMESPACES:
        return found._replace(conflicts=NONE.conflicts, replaces="", beside="", xor=NONE.xor)
    return found


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
    """The controller, or for a pod without one its labels; of its namespace, as anybody may name an owner."""
    if pod.owner:
        return pod.controller
    return f"{pod.namespace} {sorted(pair for pair in pod.labels.items() if not pair[0].startswith(_BOUND))}"


def patterns_of(pod: Pod) -> Iterator[str]:
    """Every pattern that is for the pod: looking these up costs the same, however many patterns there are."""
    name = str(pod)
    yield name
    for end in range(len(pod.namespace) + 1, len(name) + 1):
        yield name[:end] + WILD


def is_named(patterns: frozenset[str], pod: Pod) -> bool:
    """Whether one of the patterns is for the pod."""
    return bool(patterns) and not patterns.isdisjoint(patterns_of(pod))


def _listed(key: str, text: str) -> Sequence[str]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if len(parts) > MAX_PARTS:
        raise _InvalidHintError(key, f"{len(parts)} parts are more than {MAX_PARTS}")
    return parts


def _selector(own: Mapping[str, str]) -> str:
    text = own.get(NODE_LABELS, "")
    if not text:
        return ""
    try:
        requirements = parse_selector(text)
    except ValueError as error:
        raise _InvalidHintError(NODE_LABELS, str(error)) from error
    if len(requirements) > MAX_PARTS:
        raise _InvalidHintError(NODE_LABELS, f"{len(requirements)} parts are more than {MAX_PARTS}")
    return text


def _patterns(namespace: str, own: Mapping[str, str]) -> frozenset[str]:
    return frozenset(_pattern(namespace, text) for text in _listed(CONFLICTS, own.get(CONFLICTS, "")))


def _pattern(namespace: str, text: str) -> str:
    begin = text.removesuffix(WILD)
    if not _WILDCARDS.isdisjoint(begin):
        raise _InvalidHintError(CONFLICTS, f'"{text}" has a wildcard that is no {WILD} at its end')
    return _qualified(namespace, CONFLICTS, text)


def _qualified(namespace: str, key: str, text: str) -> str:
    """With its namespace, which must be the pod's own."""
    if not text:
        return ""
    before, slash, name = text.rpartition("/")
    if slash and before != namespace:
        raise _InvalidHintError(key, f'"{text}" is not in the namespace of the pod')
    if len(name) > _MAX_NAME:
        raise _InvalidHintError(key, f"a name of {len(name)} characters")
    return f"{namespace}/{name}"


def _flag(own: Mapping[str, str], key: str) -> bool:
    text = own.get(key, "false").lower()
    if text not in {"true", "false"}:
        raise _InvalidHintError(key, f'"{text}" is none of true, false, {_EVERY}')
    return text == "true"


def _alternatives(namespace: str, own: Mapping[str, str]) -> Alternatives:
    """A name, then p= and r= as the flow network's arcs have them: so many at a time, so many on a node."""
    name, *limits = _listed(XOR, own.get(XOR, "")) or [""]
    numbers = {"p": 1, "r": 0}
    for limit in limits:
        letter, _, text = limit.partition("=")
        if letter.strip() not in numbers:
            raise _InvalidHintError(XOR, f'"{limit}" is neither p=NUMBER nor r=NUMBER')
        numbers[letter.strip()] = _number(XOR, text.strip())
    return Alternatives(_qualified(namespace, XOR, name), numbers["p"], numbers["r"])


def _count(own: Mapping[str, str], key: str) -> int:
    text = own.get(key)
    return 0 if text is None else _number(key, text)


def _number(key: str, text: str) -> int:
    is_whole = text.isascii() and text.isdigit() and len(text) <= len(str(MAX_PODS))
    if not (is_whole and 0 < int(text) <= MAX_PODS):
        raise _InvalidHintError(key, f'"{text}" is not a number from 1 to {MAX_PODS:,}')
    return int(text)
