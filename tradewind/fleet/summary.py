"""What a site says of itself: a few kilobytes, with the version of its schema.

Nodes are rows of (kind, count, free): the potentially feasible nodes one by one, the rest in groups with what
each node of the group has at the least. So a row never promises more than is there.
"""

import math
from collections.abc import Iterable, Iterator

import msgspec

from tradewind.cluster.wire import Taint
from tradewind.errors import TradewindError

VERSION = 1
# What a site may say. A member that says more is wrong or hostile, and costs all requests time and memory.
MAX_BYTES = 256 * 1024
MAX_ROWS = MAX_KINDS = 256
MAX_RESOURCES = 16
MAX_LABELS = 32  # of a kind of nodes
MAX_TAINTS = 16
MAX_WAITING = 50  # workloads
MAX_NODES = 100_000
DEFAULT_BEST = 10  # nodes that are listed for each resource
_MAX_AMOUNT = 2**53  # as everywhere: exact as a float64


class SummaryError(TradewindError):
    """A summary that cannot be used; the message says what is wrong with it."""


class NodeKind(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """Nodes that are alike to a request: by labels, taints, size and terms."""

    labels: dict[str, str] = {}
    taints: tuple[Taint, ...] = ()
    allocatable: tuple[int, ...] = ()  # in the order of the summary's resources
    price: float | None = None  # dollars an hour for a whole node
    interruption_rate: float = 0.0
    durable: bool = True


class NodeRow(msgspec.Struct, frozen=True, gc=False, array_like=True):
    kind: int  # index into `kinds`
    count: int
    free: tuple[int, ...]  # of each of the nodes, at the least


class Place(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """What nobody can read from the nodes: somebody has to say it."""

    region: str = ""
    provider: str = ""
    latitude: float | None = None
    longitude: float | None = None
    watts_per_core: float | None = None
    carbon: float | None = None  # grams of CO2 a kilowatt hour


class Summary(msgspec.Struct, frozen=True, gc=False, rename="camel", kw_only=True):
    site: str
    generation: int  # of the site's own snapshot
    time: float  # seconds since the epoch
    resources: tuple[str, ...]  # cpu in millicores, all others in whole units
    nodes: int  # that take pods
    free: tuple[int, ...]  # of all of them
    allocatable: tuple[int, ...]
    kinds: tuple[NodeKind, ...]
    rows: tuple[NodeRow, ...]
    place: Place = Place()
    error_rate: float = 0.0  # of bindings, 0..1
    waiting: dict[
        str, int
    ] = {}  # pods that have no node, by their workload, as `tradewind.cluster.workloads` says it
    dropped: dict[str, int] = {}  # resources, rows or labels beyond these limits, which are left out
    version: int = VERSION


class _Versioned(msgspec.Struct):
    version: int


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Summary)
_version_decoder = msgspec.json.Decoder(_Versioned)


def encode(summary: Summary) -> str:
    return _encoder.encode(summary).decode()


def read_summary(text: str | bytes, site: str) -> Summary:
    """The summary of that site; raise SummaryError for one that is broken or of another version."""
    if len(text) > MAX_BYTES:
        raise SummaryError(f"it has {len(text):,} bytes, more than {MAX_BYTES:,}")
    try:
        version = _version_decoder.decode(text).version
        if version != VERSION:
            raise SummaryError(f"it is of version {version}, and this Tradewind reads version {VERSION}")
        summary = _decoder.decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise SummaryError(f"it cannot be read: {error}") from error
    wrong = next(_mistakes(summary, site), None)
    if wrong:
        raise SummaryError(wrong)
    return summary


def _mistakes(summary: Summary, site: str) -> Iterator[str]:
    width = len(summary.resources)
    if summary.site != site:
        yield f'it is of site "{summary.site[:60]}"'
    if len(set(summary.resources)) != width:
        yield "it names a resource twice"
    yield from _over_limits(summary)
    in_range = 0 <= summary.error_rate <= 1 and 0 <= summary.nodes <= MAX_NODES
    if not (math.isfinite(summary.time) and in_range):
        yield "its time, node count or error rate is out of range"
    yield from _wrong_amounts("free", [summary.free, *(row.free for row in summary.rows)], width)
    yield from _wrong_amounts(
        "allocatable", [summary.allocatable, *(kind.allocatable for kind in summary.kinds)], width
    )
    yield from _wrong_rows(summary)
    place = summary.place
    if not (_within(place.latitude, -90, 90) and _within(place.longitude, -180, 180)):
        yield "its coordinates are out of range"
    if not (_within(place.watts_per_core, 0, math.inf) and _within(place.carbon, 0, math.inf)):
        yield "its energy is out of range"


def _over_limits(summary: Summary) -> Iterator[str]:
    kinds = summary.kinds
    for what, count, most in (
        ("rows", len(summary.rows), MAX_ROWS),
        ("kinds of nodes", len(kinds), MAX_KINDS),
        ("resources", len(summary.resources), MAX_RESOURCES),
        ("labels of a kind", max((len(kind.labels) for kind in kinds), default=0), MAX_LABELS),
        ("taints of a kind", max((len(kind.taints) for kind in kinds), default=0), MAX_TAINTS),
        ("workloads that wait", len(summary.waiting), MAX_WAITING),
    ):
        if count > most:
            yield f"it has {count:,} {what}, more than {most}"


def _wrong_rows(summary: Summary) -> Iterator[str]:
    for row in summary.rows:
        if not (0 <= row.kind < len(summary.kinds) and 1 <= row.count <= max(1, summary.nodes)):
            yield f"a row of kind {row.kind} and {row.count} nodes, which it does not have"
    for kind in summary.kinds:
        if not (_within(kind.price, 0, math.inf) and _within(kind.interruption_rate, 0, 1)):
            yield "a price or an interruption rate is out of range"


def _wrong_amounts(what: str, vectors: Iterable[tuple[int, ...]], width: int) -> Iterator[str]:
    for vector in vectors:
        if len(vector) != width or not all(0 <= amount <= _MAX_AMOUNT for amount in vector):
            yield f"its {what} amounts are not one for each resource, or out of range"


def _within(value: float | None, low: float, high: float) -> bool:
    return value is None or (low <= value <= high and math.isfinite(value))
