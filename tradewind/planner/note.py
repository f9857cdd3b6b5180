"""The plan for one pod, as the planner writes it on the pod and every replica reads it there."""

from datetime import UTC, datetime
from functools import lru_cache
from typing import Annotated, NamedTuple

import msgspec

from tradewind.cluster.objects import ANNOTATION_PREFIX, Pod

ANNOTATION = ANNOTATION_PREFIX + "plan"
GATE = ANNOTATION  # the name of the scheduling gate that holds a pod until it is planned

# What text that is no note ends in; a RecursionError comes from brackets nested too deep.
_UNREADABLE = (msgspec.MsgspecError, ValueError, OverflowError, RecursionError)


class Note(NamedTuple):
    node: str
    generation: int  # of the snapshot that the plan was made of
    until: float  # seconds since 1970
    strict: bool = False  # no other node will do before then


class _Written(msgspec.Struct, omit_defaults=True):
    node: Annotated[str, msgspec.Meta(min_length=1)]
    generation: Annotated[int, msgspec.Meta(ge=0)]
    until: Annotated[datetime, msgspec.Meta(tz=True)]
    strict: bool = False


_decoder = msgspec.json.Decoder(_Written)
_encoder = msgspec.json.Encoder()
# Pods on their way to a node: every plan and every request reads their notes again.
_MOST_READ = 10_000


def read(pod: Pod) -> Note | None:
    """None where there is none, or none that makes sense: anybody may write on a pod."""
    written = pod.annotations.get(ANNOTATION)
    return None if written is None else _read(written)


@lru_cache(_MOST_READ)
def _read(written: str) -> Note | None:
    try:
        found = _decoder.decode(written)
        return Note(found.node, found.generation, found.until.astimezone(UTC).timestamp(), found.strict)
    except _UNREADABLE:
        return None


def text(note: Note) -> str:
    """The annotation: compact JSON, the time as RFC 3339 in UTC."""
    until = datetime.fromtimestamp(note.until, UTC)
    return _encoder.encode(_Written(note.node, note.generation, until, note.strict)).decode()


def fresh(note: Note, now: float) -> bool:
    return now < note.until
