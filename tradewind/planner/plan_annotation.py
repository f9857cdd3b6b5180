"""The plan for one pod, in an annotation that the planner writes and every replica reads."""

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Annotated, NamedTuple, Protocol

import msgspec

from tradewind.cluster import hints
from tradewind.cluster.names import PLAN
from tradewind.cluster.objects import Pod

ANNOTATION = PLAN
# The same on a running pod: where its replacement is to go, and until when there is room for it.
MOVE = hints.MOVE

# Of a plan: the most that `planSeconds` may be, and a second for rounding.
MAX_SECONDS = 301.0

# What decoding anything else raises; a RecursionError comes from brackets nested too deep.
_UNREADABLE = (msgspec.MsgspecError, ValueError, OverflowError, RecursionError)


class PlanAnnotation(NamedTuple):
    node: str
    until: float  # seconds since 1970
    strict: bool = False  # no other node will do before then
    uid: str = ""  # of the pod that it was written on; without it, a template may have brought it
    nominated: bool = False  # the pod was nominated for the node when this was written

    def text(self) -> str:
        """Compact JSON, the time as RFC 3339 in UTC."""
        until = datetime.fromtimestamp(self.until, UTC)
        return _encoder.encode(_Written(self.node, until, self.strict, self.uid, self.nominated)).decode()

    def fresh(self, now: float, limit: float = MAX_SECONDS) -> bool:
        """No plan counts for longer than `limit`, however far the clocks of writer and reader are apart."""
        return now < self.until <= now + limit

    def says_the_same(self, other: "PlanAnnotation") -> bool:
        """Whether or not the pod could be nominated."""
        return self._replace(nominated=False) == other._replace(nominated=False)


class _Written(msgspec.Struct, omit_defaults=True):
    node: Annotated[str, msgspec.Meta(min_length=1)]
    until: Annotated[datetime, msgspec.Meta(tz=True)]
    strict: bool = False
    uid: str = ""
    nominated: bool = False


class HasAnnotations(Protocol):
    @property
    def annotations(self) -> Mapping[str, str]: ...


_decoder = msgspec.json.Decoder(_Written)
_encoder = msgspec.json.Encoder()
# Pods on their way to a node: every plan and every request reads their annotations again.
_MAX_MEMOISED = 10_000


def read(pod: HasAnnotations, key: str = ANNOTATION) -> PlanAnnotation | None:
    """None where there is none, or none that makes sense: anybody may annotate a pod."""
    written = pod.annotations.get(key)
    return None if written is None else _read(written)


def read_reservation(pod: Pod) -> PlanAnnotation | None:
    """Takes room from other pods, so the author of a pod, who cannot know its UID, can make none."""
    found = read(pod, MOVE)
    return found if found is not None and found.uid == pod.uid else None


@lru_cache(_MAX_MEMOISED)
def _read(written: str) -> PlanAnnotation | None:
    try:
        found = _decoder.decode(written)
        until = found.until.astimezone(UTC).timestamp()
        return PlanAnnotation(found.node, until, found.strict, found.uid, found.nominated)
    except _UNREADABLE:
        return None
