import msgspec
import pytest

from bench import fleet, fleet_money, fleet_world
from bench.fleet_money import Day
from bench.fleet_world import GIB, Arrival, World
from tradewind.cluster.objects import Pod
from tradewind.fleet.placement import Placement
from tradewind.fleet.request import Request
from tradewind.fleet.sites import Sites


def test_a_small_fleet_is_measured_and_nothing_is_over_capacity() -> None:
    figures = fleet.run(50, 30)
    assert figures["over capacity"] == 0
    assert figures["unplaced"] < 15


def test_a_small_day_is_counted_and_nobody_is_cheaper_than_the_bound() -> None:
    """Half an hour of forty sites, with room for all."""
    drawn = (40, 15, 0.5, 1)
    bound, left_out = fleet_money.lower_bound(World.drawn(*drawn))
    tallies = {each.name: Day(World.drawn(*drawn), each).run() for each in fleet_money.contenders()}
    ours = tallies["Tradewind"]
    assert left_out == pytest.approx(0)
    assert ours.core_hours == pytest.approx(ours.asked)
    assert 0 < bound <= ours.dollars / ours.core_hours + 1e-9
    assert tallies["price alone"].dollars <= ours.dollars
    assert tallies["without locality"].kilometres >= ours.kilometres


def test_replicas_that_find_no_node_wait() -> None:
    """Sums hide that no node fits: Karmada's model sends them there, Tradewind does not."""
    world = World.drawn(1, 0, 1.0, 1)
    (member,) = world.members.values()
    member.free = [[1000, 8 * GIB, 110] for _ in member.free]
    asked = Request(
        key="r",
        pod=Pod("", "", "", {}, {}, {"cpu": 2000, "memory": GIB, "pods": 1}, {}),
        replicas=1,
        placement=msgspec.convert(fleet_world.AGGREGATED, Placement),
        near=(0.0, 0.0),
    )
    world.arrivals = [Arrival(asked, 0.0, 9.0)]
    sites = Sites([member.record(0.0)])
    assert fleet_money.aggregated(asked, sites) == {member.name: 1}
    assert fleet_money.tradewind("", {}).place(asked, sites) is None
    tally = Day(world, fleet_money.Contender("stock", fleet_money.aggregated)).run()
    assert (tally.core_hours, tally.asked) == (0, 2)


def test_the_table_ends_with_the_bound(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["", "--sites", "10", "--requests", "5", "--hours", "0.5"])
    fleet_money.main()
    *_, last = capsys.readouterr().out.splitlines()
    cells = last.split("|")
    assert (cells[1].strip(), len(cells)) == ("lower bound", len(fleet_money.HEAD) + 2)
    assert float(cells[2]) > 0
