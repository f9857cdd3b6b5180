"""What was promised of a site and is not yet seen in its summary.

A ledger is small and belongs to one site. Room is taken by writing the ledger with the version that was read,
so of two schedulers that take the same room one is refused. The promises are packed onto the rows of the
summary in their order: whoever reads the same summary and the same ledger sees the same room.
"""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b

import msgspec

from scoring.filters.node_affinity import accepted
from scoring.filters.taints import tolerable
from tradewind.cluster.objects import Node, Pod
from tradewind.cluster.table import NodeTable
from tradewind.fleet.summary import NodeKind, Summary


class Promise(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    key: str  # of the request
    replicas: int
    requests: dict[str, int]  # of one replica
    kinds: tuple[str, ...] = ()  # digests of the kinds of nodes that suit it; none: all do
    time: float = 0.0


class Ledger(msgspec.Struct, frozen=True, gc=False):
    promises: tuple[Promise, ...] = ()

    def with_promise(self, promise: Promise) -> "Ledger":
        return Ledger((*self.promises, promise))

    def without(self, key: str) -> "Ledger":
        return Ledger(tuple(each for each in self.promises if each.key != key))

    def between(self, since: float, until: float) -> "Ledger":
        """Without promises that are older, and so in the summary or void, or from the future."""
        return Ledger(tuple(each for each in self.promises if since <= each.time <= until))


class Room(msgspec.Struct, frozen=True, gc=False):
    """A row of the summary, or a part of it, after the promises."""

    kind: int
    count: int
    free: tuple[int, ...]


EMPTY = Ledger()

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Ledger)


def encode(ledger: Ledger) -> str:
    return _encoder.encode(ledger).decode()


def read_ledger(text: str | bytes) -> Ledger:
    """Raise msgspec.MsgspecError for what is none."""
    return _decoder.decode(text)


def digest(kind: NodeKind) -> str:
    """The same for a kind in every summary of its site, whatever its place in the list."""
    return blake2b(
        msgspec.json.encode((kind.labels, kind.taints, kind.allocatable)), digest_size=6
    ).hexdigest()


def suited(pod: Pod, kinds: Sequence[NodeKind]) -> list[bool]:
    """Which kinds of nodes the pod's selector, affinity and tolerations accept."""
    table = NodeTable([Node(str(i), kind.labels, {}, {}, kind.taints) for i, kind in enumerate(kinds)])
    return list((accepted(pod, table) & tolerable(pod, table, comparisons=False)).tolist())


def left(summary: Summary, ledger: Ledger) -> list[Room]:
    """The rows of the summary without what was promised."""
    rows = [Room(row.kind, row.count, row.free) for row in summary.rows]
    for promise in ledger.promises:
        rows, _ = _packed(
            rows, _eligible(summary, promise), demand(summary, promise.requests), promise.replicas
        )
    return rows


def overcommitted(summary: Summary, ledger: Ledger) -> int:
    """Replicas that were promised and fit on no row: 0, always, while the summary stays the same."""
    rows = [Room(row.kind, row.count, row.free) for row in summary.rows]
    over = 0
    for promise in ledger.promises:
        needs = demand(summary, promise.requests)
        rows, unplaced = _packed(rows, _eligible(summary, promise), needs, promise.replicas)
        over += unplaced
    return over


def room(summary: Summary, ledger: Ledger, pod: Pod) -> int:
    """How many such pods the site can still take."""
    return _room(summary, ledger, pod, suited(pod, summary.kinds))


def _room(summary: Summary, ledger: Ledger, pod: Pod, suits: Sequence[bool]) -> int:
    needs = demand(summary, pod.requests)
    if needs is None:
        return 0
    return sum(each.count * _capacity(each.free, needs) for each in left(summary, ledger) if suits[each.kind])


def promise_of(
    summary: Summary, ledger: Ledger, pod: Pod, *, key: str, replicas: int, time: float
) -> Promise | None:
    """The promise to write, or None where the site no longer has the room."""
    suits = suited(pod, summary.kinds)
    if replicas > _room(summary, ledger, pod, suits):
        return None
    some = (
        () if all(suits) else tuple(digest(k) for k, fits in zip(summary.kinds, suits, strict=True) if fits)
    )
    return Promise(key, replicas, dict(pod.requests), some, time)


def demand(summary: Summary, requests: Mapping[str, int]) -> tuple[int, ...] | None:
    """In the order of the summary's resources; None for a resource that the site does not have."""
    if any(amount > 0 and name not in summary.resources for name, amount in requests.items()):
        return None
    return tuple(requests.get(name, 0) for name in summary.resources)


def _eligible(summary: Summary, promise: Promise) -> list[bool]:
    wanted = set(promise.kinds)
    found = [not wanted or digest(kind) in wanted for kind in summary.kinds]
    return found if any(found) else [True] * len(found)  # its nodes are gone: it has to be somewhere


def _packed(
    rows: Iterable[Room], eligible: Sequence[bool], needs: tuple[int, ...] | None, replicas: int
) -> tuple[list[Room], int]:
    """First fit; a row of several nodes is split where only some of them are used."""
    packed: list[Room] = []
    for row in rows:
        each = _capacity(row.free, needs) if needs is not None and replicas and eligible[row.kind] else 0
        taken = min(replicas, each * row.count)
        if not taken or needs is None:
            packed.append(row)
            continue
        replicas -= taken
        full, part = divmod(taken, each)
        untouched = row.count - full - bool(part)
        if full:
            packed.append(Room(row.kind, full, _minus(row.free, needs, each)))
        if part:
            packed.append(Room(row.kind, 1, _minus(row.free, needs, part)))
        if untouched:
            packed.append(Room(row.kind, untouched, row.free))
    return packed, replicas


def _capacity(free: tuple[int, ...], needs: tuple[int, ...]) -> int:
    """Pods of one node; a pod that asks for nothing at all counts as one of its places."""
    return min([have // need for have, need in zip(free, needs, strict=True) if need > 0], default=0)


def _minus(free: tuple[int, ...], needs: tuple[int, ...], times: int) -> tuple[int, ...]:
    return tuple(have - times * need for have, need in zip(free, needs, strict=True))
