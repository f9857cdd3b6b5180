"""Every order in which an API server may see the reads and writes of schedulers that take one site's room.

The real store of ledgers runs; each of its calls waits until it is let through, and all orders are tried.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from typing import Any

import pytest

from tests.builders import pod
from tests.fleet.cases import nodes, summary_of
from tests.hub.fake_hub import FakeHub, FakeScheduler
from tradewind.fleet.ledger import overcommitted
from tradewind.hub.ledger_store import LedgerStore

_NOW = 1_000_000.0
_SUMMARY = summary_of("s", nodes(1))  # 4 places
_POD = pod("p").requests(cpu="1").build()

Choice = tuple[int, int]  # which call went, of how many


class _Turns:
    """One call at a time, as `prefix` says; then the first of those that wait. `choices` is what was done."""

    def __init__(self, prefix: Sequence[int]) -> None:
        self._prefix = prefix
        self._waiting: dict[str, asyncio.Future[None]] = {}
        self.choices: list[Choice] = []

    async def turn(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._waiting[task.get_name()] = asyncio.get_running_loop().create_future()
        await self._waiting[task.get_name()]

    async def drive(self, works: Sequence[Coroutine[Any, Any, Any]]) -> None:
        tasks = [asyncio.create_task(work, name=str(number)) for number, work in enumerate(works)]
        while not all(task.done() for task in tasks):
            await asyncio.sleep(0)
            if len(self._waiting) == sum(not task.done() for task in tasks) > 0:
                self._let_one_through()
        await asyncio.gather(*tasks)

    def _let_one_through(self) -> None:
        step = len(self.choices)
        chosen = self._prefix[step] if step < len(self._prefix) else 0
        self.choices.append((chosen, len(self._waiting)))
        name = sorted(self._waiting)[chosen]
        self._waiting.pop(name).set_result(None)


class _SteppedHub(FakeHub):
    def __init__(self, turns: _Turns) -> None:
        super().__init__()
        self._turns = turns

    async def patch(self, path: str, patch: dict[str, Any], content_type: str = "") -> bytes:
        await self._turns.turn()
        return await super().patch(path, patch, content_type)

    async def create(self, path: str, body: dict[str, Any]) -> bytes:
        await self._turns.turn()
        return await super().create(path, body)


def _orders(run: Callable[[_Turns], None]) -> Iterator[None]:
    """Depth first through all choices."""
    prefix: list[int] = []
    while True:
        turns = _Turns(prefix)
        run(turns)
        yield
        choices = turns.choices
        while choices and choices[-1][0] + 1 == choices[-1][1]:
            choices.pop()
        if not choices:
            return
        prefix = [*(chosen for chosen, _ in choices[:-1]), choices[-1][0] + 1]


@pytest.fixture
def stepped_reads(monkeypatch: pytest.MonkeyPatch) -> Callable[[_Turns], None]:
    """A read is a call as well, and needs no thread here."""

    def use(turns: _Turns) -> None:
        async def to_thread(work: Callable[..., Any], *arguments: Any) -> Any:
            await turns.turn()
            return work(*arguments)

        monkeypatch.setattr(asyncio, "to_thread", to_thread)

    return use


def _stores(hub: FakeHub, count: int) -> list[LedgerStore]:
    return [FakeScheduler(hub).ledgers for _ in range(count)]


async def _take(store: LedgerStore, key: str, replicas: int) -> bool:
    return await store.take("s", _SUMMARY, _POD, key=key, replicas=replicas, now=_NOW)


def _promised(hub: FakeHub) -> dict[str, int]:
    ledger = hub.ledger("s")
    assert overcommitted(_SUMMARY, ledger) == 0
    return {each.key: each.replicas for each in ledger.promises}


@pytest.mark.parametrize(
    ("asked", "orders", "expected"),
    [
        ({"a": 2, "b": 2, "c": 3}, 26, {"ab", "c"}),
        ({"a": 1, "b": 1, "c": 2}, 60, {"abc"}),
        ({"a": 3, "b": 1, "c": 2}, 40, {"ab", "bc"}),
    ],
)
def test_those_that_take_get_what_there_is_and_no_more(
    stepped_reads: Callable[[_Turns], None], asked: dict[str, int], orders: int, expected: set[str]
) -> None:
    """4 places; whoever is refused would not fit at the end either."""
    outcomes: set[frozenset[str]] = set()

    def run(turns: _Turns) -> None:
        stepped_reads(turns)
        hub = _SteppedHub(turns)
        granted = set()

        async def take(store: LedgerStore, key: str) -> None:
            if await _take(store, key, asked[key]):
                granted.add(key)

        asyncio.run(turns.drive([take(*each) for each in zip(_stores(hub, 3), asked, strict=True)]))
        promised = _promised(hub)
        assert promised == {key: asked[key] for key in granted}
        assert all(asked[key] > 4 - sum(promised.values()) for key in asked.keys() - granted)
        outcomes.add(frozenset(granted))

    assert sum(1 for _ in _orders(run)) == orders
    assert outcomes == {frozenset(keys) for keys in expected}


def test_giving_back_loses_no_promise_of_another(stepped_reads: Callable[[_Turns], None]) -> None:
    """One takes 3 and gives them back, another takes 1, a third 2, whenever they come."""
    left: set[frozenset[str]] = set()

    def run(turns: _Turns) -> None:
        stepped_reads(turns)
        hub = _SteppedHub(turns)
        first, second, third = _stores(hub, 3)

        async def there_and_back() -> None:
            await _take(first, "a", 3)
            await first.give_back("s", "a", _NOW)

        asyncio.run(turns.drive([there_and_back(), _take(second, "b", 1), _take(third, "c", 2)]))
        left.add(frozenset(_promised(hub)))

    count = sum(1 for _ in _orders(run))
    assert count > 100
    assert left == {frozenset("b"), frozenset("bc")}
