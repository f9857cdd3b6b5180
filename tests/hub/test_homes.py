"""Of several schedulers each has its requests, hands some on, and the mapper evens what they have to do."""

import asyncio
import time
from collections import Counter
from typing import Any

import msgspec

from tests.fleet.cases import nodes, summary_of
from tests.hub.fake_hub import NAMESPACE, FakeHub, FakeScheduler
from tests.hub.test_records import binding
from tradewind.errors import ConflictError, NotFoundError
from tradewind.fleet.partitions import home_of
from tradewind.fleet.settings import FleetSettings
from tradewind.hub.homes import HomeView, PartitionMapper


class _Two:
    """Two schedulers over one hub; `alive` is what both believe."""

    def __init__(self, **settings: Any) -> None:
        self.hub = FakeHub()
        self.alive = frozenset({"one", "two"})
        self.views = {name: HomeView(name, lambda: self.alive) for name in sorted(self.alive)}
        self.schedulers = {
            name: FakeScheduler(self.hub, FleetSettings(**settings), view)
            for name, view in self.views.items()
        }

    def add_site(self, name: str, price: float) -> None:
        for scheduler in self.schedulers.values():
            scheduler.add_site(summary_of(name, nodes(4, price), time=time.time()))

    def round(self) -> None:
        for scheduler in self.schedulers.values():
            scheduler.look()
            asyncio.run(scheduler.settle())

    def placed_by(self) -> Counter[str]:
        return Counter(
            {
                name: int(each.metrics.decisions.labels("placed")._value.get())
                for name, each in self.schedulers.items()
            }
        )


def _region_of(scheduler: str) -> str:
    """The fake hub calls the region of a site as the site."""
    alive = frozenset({"one", "two"})
    return next(name for name in map(str, range(100)) if home_of(f"region {name}", alive) == scheduler)


def test_a_request_is_forwarded_to_the_home_of_the_better_site_and_placed_there() -> None:
    two = _Two(forward_gap=0.05)
    two.add_site(_region_of("one"), 0.9)
    two.add_site(_region_of("two"), 0.1)
    for number in range(12):
        two.hub.add_binding(f"w{number}", 1)
    for _ in range(3):
        two.round()
    assert all(two.hub.clusters(f"w{number}") == {_region_of("two"): 1} for number in range(12))
    placed = two.placed_by()
    assert placed["one"] == 0
    forwarded = two.schedulers["one"].metrics.decisions.labels("forwarded")._value.get()
    assert 0 < forwarded < 12
    assert two.hub.refused == 0


def test_a_request_that_was_forwarded_to_one_that_dies_is_placed_all_the_same() -> None:
    two = _Two(forward_gap=0.05)
    two.add_site(_region_of("one"), 0.9)
    two.add_site(_region_of("two"), 0.1)
    for number in range(12):
        two.hub.add_binding(f"w{number}", 1)
    one = two.schedulers["one"]
    one.look()
    asyncio.run(one.settle())
    assert not any(two.hub.clusters(f"w{number}") for number in range(12))
    two.alive = frozenset({"one"})
    one.look()
    one.scheduler.reconsider()
    asyncio.run(one.settle())
    assert all(two.hub.clusters(f"w{number}") for number in range(12))


def test_what_was_forwarded_is_not_sent_on() -> None:
    two = _Two(forward_gap=0.0)
    two.add_site(_region_of("one"), 0.1)
    two.add_site(_region_of("two"), 0.9)
    two.hub.add_binding("web", 1)
    two.hub.binding("web")["metadata"]["annotations"] = {"tradewind.dev/forwarded-to": "two@1"}
    two.round()
    assert two.hub.clusters("web") == {_region_of("one"): 1}
    assert two.placed_by() == {"one": 0, "two": 1}


def test_without_a_gap_each_chooses_from_all() -> None:
    two = _Two(forward_gap=None)
    two.add_site(_region_of("one"), 0.9)
    two.add_site(_region_of("two"), 0.1)
    for number in range(12):
        two.hub.add_binding(f"w{number}", 1)
    for _ in range(3):
        two.round()
    placed = two.placed_by()
    assert placed["one"] > 0
    assert placed["two"] > 0


def test_forwarding_counts_for_the_generation_that_was_asked() -> None:
    def forwarded(text: str, generation: int) -> str:
        found = binding({}, annotations={"tradewind.dev/forwarded-to": text})
        found.object.metadata.generation = generation
        return found.forwarded_to

    assert forwarded("fleet-1@3", 3) == "fleet-1"
    assert forwarded("fleet-1@3", 4) == "fleet-1"  # the answer itself
    assert forwarded("fleet-1@3", 5) == ""
    assert forwarded("fleet-1", 1) == ""
    assert forwarded("@", 1) == ""


class _FakeMap:
    """The one ConfigMap, as a `Client` reads and writes it."""

    def __init__(self) -> None:
        self.data: dict[str, str] | None = None
        self._version = 0

    def get(self, path: str) -> bytes:
        if self.data is None:
            raise NotFoundError(path, 404)
        return self._answer()

    def create(self, path: str, body: dict[str, Any]) -> bytes:
        if self.data is not None:
            raise ConflictError(path, 409)
        return self._put(body)

    def replace(self, path: str, body: dict[str, Any]) -> bytes:
        if body["metadata"]["resourceVersion"] != str(self._version):
            raise ConflictError(path, 409)
        return self._put(body)

    def _put(self, body: dict[str, Any]) -> bytes:
        self._version += 1
        self.data = body["data"]
        return self._answer()

    def _answer(self) -> bytes:
        return msgspec.json.encode({"metadata": {"resourceVersion": str(self._version)}, "data": self.data})


def _mappers(two: _Two, found: _FakeMap) -> dict[str, PartitionMapper]:
    client: Any = found
    return {name: PartitionMapper(view, client, NAMESPACE, "tradewind") for name, view in two.views.items()}


def _of_one(two: _Two) -> list[str]:
    """Eight partitions that only the first scheduler has, with much to do in each."""
    mine = [name for name in map(str, range(100)) if home_of(name, two.alive) == "one"][:8]
    for view in two.views.values():
        for partition in mine * 10:
            view.loads.add(partition, time.time())
    return mine


def test_the_mapper_moves_partitions_of_the_busier_and_both_agree() -> None:
    two, found = _Two(), _FakeMap()
    mine, mappers = _of_one(two), _mappers(two, found)
    assert not asyncio.run(mappers["two"].run())  # it is not the one that keeps the map
    assert found.data is None
    assert asyncio.run(mappers["one"].run())
    assert asyncio.run(mappers["two"].run())
    homes = {name: Counter(view.home(each) for each in mine) for name, view in two.views.items()}
    assert homes["one"] == homes["two"] == {"one": 4, "two": 4}
    assert not asyncio.run(mappers["one"].run())  # even: nothing moves again
    two.alive = frozenset({"two"})
    assert {two.views["two"].home(each) for each in mine} == {"two"}


def test_a_map_that_cannot_be_read_changes_nothing() -> None:
    two, found = _Two(), _FakeMap()
    found.data = {"homes": "[1"}
    assert not asyncio.run(_mappers(two, found)["two"].run())
    assert two.views["two"].home("region eu") == home_of("region eu", two.alive)


def test_another_mapper_in_between_is_not_overwritten() -> None:
    two, found = _Two(), _FakeMap()
    _of_one(two)
    mapper = _mappers(two, found)["one"]
    theirs = {"homes": '{"region eu": "two"}'}
    found.data = theirs
    assert asyncio.run(mapper._even({})) == {}
    assert found.data == theirs


def test_an_answer_that_is_waited_for_counts_once() -> None:
    view = HomeView("me", lambda: frozenset({"me"}))
    waiting = binding({})
    for _ in range(3):
        view.count(waiting, 0.0)
    assert view.loads.of(0.0) == {waiting.partition: 1.0}
