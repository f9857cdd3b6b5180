"""What the standing plan tells those who score nodes: whom to fill, whom to drain, and what room is worth.

It is small and general, so that it also speaks of pods that nobody has seen before. Only names and plain
numbers are in it: any replica of the same version can read what another has written.
"""

import base64
import sys
import zlib
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum

import msgspec

from tradewind.cluster import lazy_numpy as np
from tradewind.cluster.lazy_numpy import NDArray
from tradewind.cluster.table import NodeTable

VERSION = 1
# The ConfigMap in which it travels, and the key of its data.
CONFIG_MAP = "tradewind-guide"
KEY = "guide"
# Beside it, the newest batches of the planner that wrote it, for people.
JOURNAL_KEY = "batches"
# Compressed; a ConfigMap holds a mebibyte. Beyond it a guide is not read, however small it is packed.
MAX_BYTES = 512 * 1024
_MAX_UNPACKED_BYTES = 32 * 1024 * 1024


class Role(StrEnum):
    FILL = "fill"  # the plan needs it, and pods are on it
    KEEP = "keep"  # the plan needs it, and nothing is on it yet
    DRAIN = "drain"  # the plan can do without it


class GuidedKind(msgspec.Struct, frozen=True, rename="camel"):
    """Nodes that are alike to the plan."""

    bids: dict[str, float]  # resource to what one unit of it is worth, in dollars an hour
    needed: int  # of these nodes
    own_pods: int  # that each of them has anyway, of a DaemonSet or static
    roles: dict[Role, list[str]]  # to the names of nodes
    targets: dict[str, float] = {}  # class of pods to how many of them the plan has here

    @property
    def count(self) -> int:
        return sum(map(len, self.roles.values()))


class Guide(msgspec.Struct, frozen=True, eq=False, rename="camel"):
    version: int
    solved_at: float  # seconds since 1970
    until: float  # when it is too old to be followed
    kinds: list[GuidedKind]

    def kind_of(self, node: str) -> tuple[GuidedKind, Role] | None:
        for kind in self.kinds:
            for role, names in kind.roles.items():
                if node in names:
                    return kind, role
        return None

    def with_role(self, *roles: Role) -> Iterator[str]:
        """The nodes that have one of these."""
        for kind in self.kinds:
            for role in roles:
                yield from kind.roles.get(role, ())

    def needed(self) -> Iterator[str]:
        """The nodes that the plan needs."""
        return self.with_role(Role.FILL, Role.KEEP)

    def counts(self) -> Mapping[Role, int]:
        """How many nodes have each role."""
        return {role: sum(1 for _ in self.with_role(role)) for role in Role}

    def says_the_same_as(self, other: "Guide | None") -> bool:
        """Whatever the time: what it says of nodes, and the bids but for rounding."""
        return other is not None and list(map(_rounded, self.kinds)) == list(map(_rounded, other.kinds))


class GuideError(ValueError):
    """Why a guide cannot be read."""


class GuideVersionError(GuideError):
    """It was written by another version of Tradewind."""


class _Versioned(msgspec.Struct):
    version: int


_decoder = msgspec.json.Decoder(Guide)
_version_decoder = msgspec.json.Decoder(_Versioned)


def encode(guide: Guide) -> str:
    packed = base64.b64encode(zlib.compress(msgspec.json.encode(guide), 6))
    if len(packed) > MAX_BYTES:
        raise GuideError(f"{len(packed)} bytes, more than {MAX_BYTES}")
    return packed.decode()


def decode(text: str) -> Guide:
    """Raise GuideError for anything that this version did not write."""
    try:
        data = _unpacked(text)
        version = _version_decoder.decode(data).version
        guide = _decoder.decode(data) if version == VERSION else None
    except (ValueError, zlib.error) as error:
        raise GuideError(f"no guide: {error}") from error
    if guide is None:
        raise GuideVersionError(f"version {version}, and this is version {VERSION}")
    if not _sane(guide):
        raise GuideError("a bid, a target or a time in it is no finite number of 0 or more")
    for kind in guide.kinds:
        for names in kind.roles.values():
            names[:] = map(sys.intern, names)  # decisions keep many guides, of nearly the same nodes
    return guide


def _unpacked(text: str) -> bytes:
    unpacking = zlib.decompressobj()
    data = unpacking.decompress(base64.b64decode(text, validate=True), _MAX_UNPACKED_BYTES)
    if not unpacking.eof:
        raise GuideError("cut off, or larger than any guide")
    return data


class Columns(msgspec.Struct, frozen=True, eq=False):
    """The guide over all nodes of a table."""

    bids: NDArray["np.float64"]  # (R, N) dollars an hour for a unit; NaN for nodes that it does not know
    drain: NDArray["np.bool_"]  # (N,)
    own_pods: NDArray["np.int64"]  # (N,)


def columns(guide: Guide, table: NodeTable, resources: Sequence[str]) -> Columns:
    found = Columns(
        np.full((len(resources), len(table)), np.nan),
        np.zeros(len(table), np.bool_),
        np.zeros(len(table), np.int64),
    )
    for kind in guide.kinds:
        bids = np.array([kind.bids.get(resource, 0.0) for resource in resources])
        for role, names in kind.roles.items():
            rows = table.rows(names)
            found.bids[:, rows] = bids[:, None]
            found.drain[rows] = role is Role.DRAIN
            found.own_pods[rows] = kind.own_pods
    return found


def _rounded(kind: GuidedKind) -> object:
    bids = {resource: float(f"{bid:.2g}") for resource, bid in kind.bids.items()}
    roles = {role: sorted(names) for role, names in kind.roles.items() if names}
    targets = {name: round(pods) for name, pods in kind.targets.items() if round(pods)}
    return bids, kind.needed, kind.own_pods, roles, targets


def _sane(guide: Guide) -> bool:
    numbers = [guide.solved_at, guide.until]
    for kind in guide.kinds:
        numbers += [*kind.bids.values(), *kind.targets.values(), kind.needed, kind.own_pods]
    return all(np.isfinite(number) and number >= 0 for number in numbers)
