"""The extender protocol, as kube-scheduler 1.36 speaks it.

The outer keys are PascalCase, and nil is null; the pod and the nodes inside are ordinary API objects. With
`nodeCacheCapable: true` a request carries NodeNames, otherwise whole Nodes, and the answer has the same form.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from cluster.errors import RequestError, UnreadableObjectError
from cluster.objects import Pod, read_pod


class _NodeList(msgspec.Struct):
    items: list[msgspec.Raw] | None = None


class _Args(msgspec.Struct, rename="pascal"):
    pod: msgspec.Raw = msgspec.Raw(b"null")
    nodes: _NodeList | None = None
    node_names: list[str] | None = None


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


class _HostPriority(msgspec.Struct, rename="pascal"):
    host: str
    score: int


_args_decoder = msgspec.json.Decoder(_Args)
_identity_decoder = msgspec.json.Decoder(_NodeIdentity)
_encoder = msgspec.json.Encoder()


@dataclass(frozen=True)
class Request:
    """A pod and its candidate nodes; `items` are the nodes' own bytes where whole nodes were sent."""

    pod: Pod
    names: Sequence[str]
    items: Sequence[msgspec.Raw] | None


def decode(body: bytes) -> Request:
    try:
        args = _args_decoder.decode(body)
        if bytes(args.pod) == b"null":
            raise RequestError("the request has no Pod")
        pod = read_pod(args.pod)
        if args.node_names is not None:
            return Request(pod, args.node_names, None)
        if args.nodes is not None:
            items = args.nodes.items or []
            return Request(pod, [_identity_decoder.decode(item).metadata.name for item in items], items)
    except (msgspec.MsgspecError, UnicodeDecodeError, UnreadableObjectError) as error:
        raise RequestError(str(error)) from error
    raise RequestError(f"the request for pod {pod} has neither NodeNames nor Nodes")


def encode_filter(
    request: Request,
    kept: Iterable[int],
    failed: Mapping[str, str],
    unresolvable: Mapping[str, str],
) -> bytes:
    """`kept` are indices into the request's nodes, so that nothing unasked can be answered."""
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
