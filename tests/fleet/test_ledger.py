"""No site promises more than it has, whichever way several schedulers come upon it."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import node, pod
from tests.fleet.cases import NOW, nodes, request, site, summary_of
from tradewind.fleet.candidates import Candidates
from tradewind.fleet.ledger import EMPTY, Ledger, encode, left, overcommitted, promise_of, read_ledger, room
from tradewind.fleet.sites import Site, Sites
from tradewind.fleet.summary import Summary

_SMALL = pod("small").requests(cpu="1").build()
_LARGE = pod("large").requests(cpu="3").build()


def _with(summary: Summary, ledger: Ledger, key: str, replicas: int) -> Ledger:
    promise = promise_of(summary, ledger, _SMALL, key=key, replicas=replicas, time=NOW)
    assert promise is not None
    return ledger.with_promise(promise)


def test_a_promise_takes_room_and_no_more_than_there_is() -> None:
    summary = summary_of("s", nodes(2))  # two nodes of 4 cores
    assert (room(summary, EMPTY, _SMALL), room(summary, EMPTY, _LARGE)) == (8, 2)
    ledger = _with(summary, EMPTY, "a", 5)  # one node full, one core of the other
    assert (room(summary, ledger, _SMALL), room(summary, ledger, _LARGE)) == (3, 1)
    assert promise_of(summary, ledger, _SMALL, key="b", replicas=4, time=NOW) is None
    assert room(summary, _with(summary, ledger, "b", 3), _SMALL) == 0


def test_a_promise_takes_from_the_nodes_that_suit_it() -> None:
    gpu = node("g").label("nvidia.com/gpu.product", "A100").taint("gpu")
    summary = summary_of("s", [gpu, node("plain")])
    wants = pod("w").requests(cpu="1").node_selector("nvidia.com/gpu.product", "A100")
    tolerant = wants.toleration(key="gpu", operator="Exists").build()
    promise = promise_of(summary, EMPTY, tolerant, key="a", replicas=4, time=NOW)
    assert promise is not None
    ledger = EMPTY.with_promise(promise)
    assert (room(summary, ledger, tolerant), room(summary, ledger, _SMALL)) == (0, 4)


def test_what_is_old_or_given_back_takes_nothing() -> None:
    summary = summary_of("s", nodes(1))
    ledger = _with(summary, _with(summary, EMPTY, "a", 1), "b", 2)
    assert room(summary, ledger.without("b"), _SMALL) == 3
    assert room(summary, ledger.between(NOW + 1, NOW + 2), _SMALL) == 4
    assert room(summary, ledger.between(NOW - 2, NOW - 1), _SMALL) == 4  # they are of the future


def test_is_read_as_it_was_written() -> None:
    ledger = _with(summary_of("s", nodes(1)), EMPTY, "a", 1)
    assert read_ledger(encode(ledger)) == ledger
    with pytest.raises(msgspec.MsgspecError):
        read_ledger('{"promises": 1}')


_SIZES = st.tuples(st.integers(1, 4000), st.integers(1, 16))


@given(st.lists(_SIZES, min_size=1, max_size=6), st.lists(st.tuples(_SIZES, st.integers(1, 9)), max_size=8))
def test_whatever_is_promised_can_be_kept(
    sizes: list[tuple[int, int]], asked: list[tuple[tuple[int, int], int]]
) -> None:
    """And the matrix sees the same room as the ledger."""
    summary = summary_of("s", [node(f"n{i}").cpu(f"{c}m").memory(f"{m}Gi") for i, (c, m) in enumerate(sizes)])
    ledger = EMPTY
    for number, ((cpu, memory), replicas) in enumerate(asked):
        template = pod("p").requests(cpu=f"{cpu}m", memory=f"{memory}Gi")
        sites = Sites([Site(name="s", summary=summary, ledger=ledger)])
        seen = Candidates.all_of(request(1, template), sites, NOW).room
        assert int(seen[0]) == room(summary, ledger, template.build())
        promise = promise_of(summary, ledger, template.build(), key=str(number), replicas=replicas, time=NOW)
        if promise is not None:
            ledger = ledger.with_promise(promise)
        assert overcommitted(summary, ledger) == 0
    assert sum(each.count * each.free[0] for each in left(summary, ledger)) >= 0


@dataclass
class _Store:
    """An API server: a write with a version that is not the latest is refused."""

    ledger: Ledger = EMPTY
    version: int = 0

    def write(self, ledger: Ledger, version: int) -> bool:
        if version != self.version:
            return False
        self.ledger, self.version = ledger, version + 1
        return True


@dataclass
class _Scheduler:
    """Reads, decides, writes; each `yield` is where any other scheduler may come in between."""

    key: str
    replicas: int
    granted: bool = field(default=False)

    def run(self, store: _Store, summary: Summary) -> Iterator[None]:
        while True:
            ledger, version = store.ledger, store.version
            yield
            promise = promise_of(summary, ledger, _SMALL, key=self.key, replicas=self.replicas, time=NOW)
            if promise is None:
                return  # requeued without this site
            yield
            if store.write(ledger.with_promise(promise), version):
                self.granted = True
                return


def test_no_interleaving_of_three_schedulers_overcommits() -> None:
    """All 1,680 orders of the first three steps of each; then they finish in turn."""
    summary = summary_of("s", nodes(1))  # 4 places; asked for are 2, 2 and 3
    seen: set[tuple[bool, ...]] = set()
    for order in set(itertools.permutations("aaabbbccc")):
        store = _Store()
        schedulers = {"a": _Scheduler("a", 2), "b": _Scheduler("b", 2), "c": _Scheduler("c", 3)}
        runs = {key: each.run(store, summary) for key, each in schedulers.items()}
        for key in (*order, *("abc" * 6)):
            next(runs[key], None)
        granted = tuple(each.granted for each in schedulers.values())
        assert overcommitted(summary, store.ledger) == 0
        assert sum(each.replicas for each in store.ledger.promises) <= 4
        assert {each.key for each in store.ledger.promises} == {k for k, s in schedulers.items() if s.granted}
        seen.add(granted)
    assert seen == {(True, True, False), (False, False, True)}


def test_the_site_in_the_matrix_is_what_the_ledger_leaves() -> None:
    whole = site("s", *nodes(1))
    assert whole.summary is not None
    taken = Site(name="s", summary=whole.summary, ledger=_with(whole.summary, EMPTY, "a", 3))
    candidates = Candidates.all_of(request(), Sites([taken]), NOW)
    assert candidates.room.tolist() == [1]
    assert candidates.column(candidates.sites.total_free[candidates.sites.resources["cpu"]]).tolist() == [
        1000
    ]
