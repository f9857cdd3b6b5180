"""A line taken in one pass does what it does when it is looked at piece by piece."""

import threading
from operator import attrgetter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kubernetes.client import ApiClient, Configuration

from tests.builders import PodBuilder, offer_of, pod
from tests.cluster.scripted import bookmark, error_event
from tests.scoring.drawn import UNHURRIED
from tests.strategies import pods
from tradewind.cluster.cache import Cache
from tradewind.cluster.objects import pod_of, read_pod
from tradewind.cluster.wire import PodObject
from tradewind.errors import ApiError
from tradewind.kube.streams import Streams
from tradewind.kube.watch import Pace, Resource, Watch

_TYPES = ("ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR", "NEWS")


class _PieceByPiece(Watch):
    def _take_readable(self, _: bytes) -> bool:
        return False


class _Taken:
    """A watch that reads no stream, and what it did."""

    def __init__(self, *, in_one_pass: bool) -> None:
        self.done: list[tuple[str, Any]] = []
        resource = Resource(
            name="pods",
            key=attrgetter("uid"),
            read=read_pod,
            kind=PodObject,
            make=pod_of,
            apply=lambda changed: self.done.append(("apply", changed)),
            remove=lambda uid: self.done.append(("remove", uid)),
            retain=lambda _: None,
            batch=Cache(offer_of).batch,
        )
        streams = Streams(ApiClient(Configuration(host="http://127.0.0.1:9")))
        kind = Watch if in_one_pass else _PieceByPiece
        self.watch = kind(resource, streams, Pace(), threading.Event())
        self.watch._version = "1"

    def take(self, line: bytes) -> tuple[Any, ...]:
        error = ""
        try:
            self.watch._take(line)
        except ApiError as raised:
            error = repr(raised)
        watch = self.watch
        return error, watch._version, watch.events, watch.unreadable, self.done


def _line(kind: str, drawn: PodBuilder, version: int) -> bytes:
    return b'{"type":"%s","object":%s}' % (kind.encode(), drawn.version(version).json())


_readable = st.builds(_line, st.sampled_from(_TYPES), pods(), st.integers(2, 9))
_cut = st.builds(lambda line, share: line[: int(len(line) * share)], _readable, st.floats(0, 1))
_odd = st.sampled_from(
    [
        bookmark(8).rstrip(),
        error_event(410).rstrip(),
        _line("ADDED", pod("x").requests(cpu="4Gb"), 7),
        _line("DELETED", pod("x").requests(cpu="4Gb"), 7),
        _line("MODIFIED", pod("x").field("metadata", "labels", value=7), 7),
        b'{"type":"ADDED","object":{"metadata":{"resourceVersion":"8"}}}',
        b'{"type":"ADDED","object":{"metadata":{"name":"x","resourceVersion":"8"}}}',
        b'{"type":"ADDED","object":{"metadata":{"uid":"x","resourceVersion":"8"}}}',
        b'{"type":"DELETED","object":{"metadata":{"uid":"x"}}}',
        b'{"type":"DELETED","object":{"metadata":{"uid":"x","resourceVersion":8}}}',
        b'{"type":"ADDED","object":7}',
        b'{"type":"ADDED","object":null}',
        b'{"type":"ADDED"}',
        b'{"type":null,"object":{}}',
        b"\xff",
        b"",
    ]
)


@given(st.lists(_readable | _cut | _odd, max_size=4))
@settings(UNHURRIED)
def test_in_one_pass_as_piece_by_piece(lines: list[bytes]) -> None:
    fast, slow = _Taken(in_one_pass=True), _Taken(in_one_pass=False)
    for line in lines:
        assert fast.take(line) == slow.take(line)


@pytest.mark.parametrize("kind", ["ADDED", "MODIFIED", "DELETED"])
def test_what_can_be_read_is_looked_at_once(kind: str) -> None:
    taken = _Taken(in_one_pass=True)
    assert taken.watch._take_readable(_line(kind, pod("x"), 5))
    assert taken.watch._version == "5"
