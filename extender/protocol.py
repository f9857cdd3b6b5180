"""The extender protocol, as kube-scheduler 1.36 speaks it.

The outer keys are PascalCase, and nil is null; the pod and the nodes inside are ordinary API objects. With
`nodeCacheCapable: true` a request carries NodeNames, otherwise whole Nodes, and the answer has the same form.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache

import msgspec
import numpy as np
from numpy.typing import NDArray

from scoring.ranking import TOP
from tradewind.cluster.objects import Pod, read_pod
from tradewind.cluster.table import NodeTable, Rows
from tradewind.errors import RequestError, UnreadableObjectError
from tradewind.kube.objects import UNREADABLE

_NULL = msgspec.Raw(b"null")


class _NodeList(msgspec.Struct):
    items: list[msgspec.Raw] | None = None


class _Args(msgspec.Struct, rename="pascal"):
    pod: msgspec.Raw = _NULL
    nodes: _NodeList | None = None
    node_names: msgspec.Raw = _NULL


class _NodeName(msgspec.Struct):
    name: str


class _NodeIdentity(msgspec.Struct):
    metadata: _NodeName


class _FilterResult(msgspec.Struct, rename="pascal"):
    nodes: _NodeList | None = None
    node_names: Sequence[str] | None = None
    failed_nodes: Mapping[str, str] = {}
    failed_and_unresolvable_nodes: Mapping[str, str] = {}
    error: str = ""


class _MetaPod(msgspec.Struct):
    uid: str = msgspec.field(name="UID")


class _MetaVictims(msgspec.Struct, rename="pascal"):
    pods: list[_MetaPod | None] | None = None
    num_pdb_violations: int = msgspec.field(default=0, name="NumPDBViolations")


class _Victims(msgspec.Struct, rename="pascal"):
    pods: list[msgspec.Raw] | None = None
    num_pdb_violations: int = msgspec.field(default=0, name="NumPDBViolations")


class _PreemptArgs(msgspec.Struct, rename="pascal"):
    pod: msgspec.Raw = _NULL
    node_name_to_victims: dict[str, _Victims | None] | None = None
    node_name_to_meta_victims: dict[str, _MetaVictims | None] | None = None


class _PreemptResult(msgspec.Struct, rename="pascal"):
    node_name_to_meta_victims: dict[str, _MetaVictims]


class _BindArgs(msgspec.Struct, rename="pascal"):
    pod_name: str
    pod_namespace: str
    node: str
    pod_uid: str = msgspec.field(name="PodUID")


class _BindResult(msgspec.Struct, rename="pascal"):
    error: str = ""


class _HostPriority(msgspec.Struct, rename="pascal"):
    host: str
    score: int


_args_decoder = msgspec.json.Decoder(_Args)
_preempt_decoder = msgspec.json.Decoder(_PreemptArgs)
_bind_decoder = msgspec.json.Decoder(_BindArgs)
_names_decoder = msgspec.json.Decoder(tuple[str, ...])
_identity_decoder = msgspec.json.Decoder(_NodeIdentity)
_encoder = msgspec.json.Encoder()

_REMEMBERED = 16  # pods
_SCORE = b',"Score":  },'
_DIGITS = slice(-4, -2)  # where they go in it
_LEVELS = np.array([[*b"%2d" % level] for level in range(TOP + 1)], np.uint8)
_NOTHING_FAILED = b',"FailedNodes":{},"FailedAndUnresolvableNodes":{},"Error":""}'


@dataclass(frozen=True)
class Request:
    """A pod and its candidate nodes; `items` are the nodes' own bytes where whole nodes were sent."""

    pod: Pod
    names: tuple[str, ...]
    raw_names: bytes  # as they were sent
    items: Sequence[msgspec.Raw] | None = None


@dataclass(frozen=True)
class Victims:
    """Pods that would have to leave a node."""

    uids: Sequence[str]
    broken_budgets: int  # of PodDisruptionBudgets
    pods: Sequence[Pod] = ()  # the same pods, where whole ones were sent


@dataclass(frozen=True)
class PreemptRequest:
    pod: Pod
    victims: Mapping[str, Victims]  # by node name


@dataclass(frozen=True)
class BindRequest:
    namespace: str
    name: str
    uid: str
    node_name: str


def decode(body: bytes) -> Request:
    with _request_errors():
        args = _args_decoder.decode(body)
        pod = _read_pod(bytes(args.pod))
        raw_names = bytes(args.node_names)
        if raw_names != bytes(_NULL):
            return Request(pod, _decode_names(raw_names), raw_names)
        if args.nodes is not None:
            items = args.nodes.items or []
            names = tuple(_identity_decoder.decode(item).metadata.name for item in items)
            return Request(pod, names, raw_names, items)
    raise RequestError(f"the request for pod {pod} has neither NodeNames nor Nodes")


def decode_preempt(body: bytes) -> PreemptRequest:
    with _request_errors():
        args = _preempt_decoder.decode(body)
        whole = {node: _whole_victims(each) for node, each in (args.node_name_to_victims or {}).items()}
        meta = {node: _meta_victims(each) for node, each in (args.node_name_to_meta_victims or {}).items()}
        return PreemptRequest(_read_pod(bytes(args.pod)), whole | meta)


def decode_bind(body: bytes) -> BindRequest:
    with _request_errors():
        args = _bind_decoder.decode(body)
        return BindRequest(args.pod_namespace, args.pod_name, args.pod_uid, args.node)


def _decode_names(raw: bytes) -> tuple[str, ...]:
    try:
        return _names_decoder.decode(raw)
    except msgspec.ValidationError as error:
        raise RequestError(f"NodeNames: {error}") from error


@contextmanager
def _request_errors() -> Iterator[None]:
    try:
        yield
    except (*UNREADABLE, UnreadableObjectError) as error:
        raise RequestError(str(error)) from error


@lru_cache(maxsize=_REMEMBERED)
def _read_pod(data: bytes) -> Pod:
    """Remembered, because prioritize is sent the same pod as filter before it."""
    if data == b"null":
        raise RequestError("the request has no Pod")
    return read_pod(data)


def _whole_victims(victims: _Victims | None) -> Victims:
    pods = [read_pod(bytes(pod)) for pod in (victims and victims.pods) or () if bytes(pod) != b"null"]
    return Victims([pod.uid for pod in pods], victims.num_pdb_violations if victims else 0, pods)


def _meta_victims(victims: _MetaVictims | None) -> Victims:
    pods = [pod.uid for pod in (victims and victims.pods) or () if pod is not None]
    return Victims(pods, victims.num_pdb_violations if victims else 0)


def encode_preempt(victims: Mapping[str, Victims]) -> bytes:
    """Nothing in it is ever null: kube-scheduler does not survive that."""
    answer = {
        node: _MetaVictims([_MetaPod(uid) for uid in each.uids], each.broken_budgets)
        for node, each in victims.items()
    }
    return _encoder.encode(_PreemptResult(answer))


def encode_bind(error: str = "") -> bytes:
    return _encoder.encode(_BindResult(error))


def encode_filter(
    request: Request,
    kept: Sequence[int],
    failed: Mapping[str, str],
    unresolvable: Mapping[str, str],
) -> bytes:
    """`kept` are indices into the request's nodes, so that nothing unasked can be answered."""
    if request.items is None and len(kept) == len(request.names):
        return b'{"Nodes":null,"NodeNames":' + request.raw_names + _NOTHING_FAILED
    result = _FilterResult(failed_nodes=failed, failed_and_unresolvable_nodes=unresolvable)
    if request.items is None:
        result.node_names = [request.names[index] for index in kept]
    else:
        result.nodes = _NodeList([request.items[index] for index in kept])
    return _encoder.encode(result)


def encode_error(message: str) -> bytes:
    """A filter answer that kube-scheduler reads as a failure of ours, not as "no node fits"."""
    return _encoder.encode(_FilterResult(error=message))


def encode_priorities(names: Iterable[str], levels: Iterable[int]) -> bytes:
    return _encoder.encode([_HostPriority(name, level) for name, level in zip(names, levels, strict=True)])


def encode_known_priorities(table: NodeTable, rows: Rows, levels: NDArray[np.int64]) -> bytes:
    """The same of nodes that are all in the table: their entries are copied, and two digits set in each."""
    entries = _entries(table)
    answer = entries.take(rows, axis=0)
    answer[:, _DIGITS] = _LEVELS.take(levels, axis=0)
    return b"[" + answer.tobytes()[:-1] + b"]"


@lru_cache(maxsize=2)
def _entries(table: NodeTable) -> NDArray[np.uint8]:
    """(N, W) the entry of each node and a comma, filled up with spaces to the same width."""
    entries = [b'{"Host":%b' % _encoder.encode(name) for name in table.names]
    width = max(map(len, entries), default=0)
    text = b"".join(entry.ljust(width) + _SCORE for entry in entries)
    return np.frombuffer(text, np.uint8).reshape(len(entries), width + len(_SCORE))
