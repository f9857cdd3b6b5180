"""The plan for one pod, in an annotation that the planner writes and every replica reads."""

from datetime import UTC, datetime
from functools import lru_cache
from typing import Annotated, NamedTuple

import msgspec

from tradewind.cluster import hints
from tradewind.cluster.objects import Pod

ANNOTATION = hints.PLAN
# The same on a running pod: where its replacement is to go, and until when there is room for it.
MOVE = hints.MOVE

# What decoding anything else raises; a RecursionError comes from brackets nested too deep.
_UNREADABLE = (msgspec.MsgspecError, ValueError, OverflowError, RecursionError)


class PlanAnnotation(NamedTuple):
    node: str
    until: float  # seconds since 1970
    strict: bool = False  # no other node will do before then
    uid: str = ""  # of the pod that it was written on; without it, a template may have brought it

    def text(self) -> str:
        """Compact JSON, the time as RFC 3339 in UTC."""
        until = datetime.fromtimestamp(self.until, UTC)
        return _encoder.encode(_Written(self.node, until, self.strict, self.uid)).decode()

    def fresh(self, now: float) -> bool:
        return now < self.until


class _Written(msgspec.Struct, omit_defaults=True):
    node: Annotated[str, msgspec.Meta(min_length=1)]
    until: Annotated[datetime, msgspec.Meta(tz=True)]
    strict: bool = False
    uid: str = ""


_decoder = msgspec.json.Decoder(_Written)
_encoder = msgspec.json.Encoder()
# Pods on their way to a node: every plan and every request reads their annotations again.
_MAX_MEMOISED = 10_000


def read(pod: Pod, key: str = ANNOTATION) -> PlanAnnotation | None:
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
        return PlanAnnotation(found.node, found.until.astimezone(UTC).timestamp(), found.strict, found.uid)
    except _UNREADABLE:
        return None
