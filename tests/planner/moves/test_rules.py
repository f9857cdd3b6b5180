"""Which pods may be moved, and what pays."""

import math
from datetime import UTC, datetime

import pytest

from tests.builders import PodBuilder, namespace, offer_of, pod
from tradewind.cluster.cache import Cache
from tradewind.planner.drains import DrainSet, Move
from tradewind.planner.keepers import Keeper
from tradewind.planner.moves.ledger import Eviction, Ledger
from tradewind.planner.moves.rules import Rules, Stakes, closed, pays_not, stakes
from tradewind.planner.settings import MoveSettings, MoveWindow

NOW = datetime(2026, 3, 4, 12, tzinfo=UTC).timestamp()  # a Wednesday
HELD = {"shop": namespace("shop").label("tradewind.dev/hold", "enabled").build()}


def web(name: str, created: str = "2026-03-01T00:00:00Z") -> PodBuilder:
    old = pod(name).namespace("shop").field("metadata", "creationTimestamp", value=created)
    return old.owner("ReplicaSet", "web", "web-uid").on("n")


def rules(ledger: Ledger | None = None, **settings: object) -> Rules:
    return Rules(MoveSettings.model_validate(settings), HELD, ledger or Ledger(), NOW)


def evicted(seconds_ago: float, owner: str = "shop/web-uid") -> Ledger:
    return Ledger(evictions=(Eviction(NOW - seconds_ago, NOW - seconds_ago, "old", "shop", "web", owner),))


@pytest.mark.parametrize(
    ("each", "ledger", "keeper"),
    [
        pytest.param(web("a"), Ledger(), None, id="old enough, held"),
        pytest.param(web("a").namespace("other"), Ledger(), Keeper.NOT_HELD, id="another namespace"),
        pytest.param(
            web("a").annotation("tradewind.dev/hold", "false"), Ledger(), Keeper.NOT_HELD, id="opted out"
        ),
        pytest.param(web("a").priority(1000), Ledger(), Keeper.CRITICAL, id="critical"),
        pytest.param(web("a", "2026-03-04T11:50:01Z"), Ledger(), Keeper.YOUNG, id="9 min 59 s"),
        pytest.param(web("a", "2026-03-04T11:50:00Z"), Ledger(), None, id="10 min"),
        pytest.param(web("a", "whenever"), Ledger(), Keeper.YOUNG, id="no time"),
        pytest.param(
            web("a", "2026-03-04T11:30:00Z"), evicted(1800), Keeper.COOLING, id="came with the eviction"
        ),
        pytest.param(web("a", "2026-03-04T11:29:54Z"), evicted(1800), None, id="was there before"),
        pytest.param(web("a", "2026-03-04T11:00:00Z"), evicted(3600), None, id="cooled down"),
        pytest.param(web("a", "2026-03-04T11:45:00Z"), evicted(1800, "x"), None, id="of another controller"),
        pytest.param(
            web("a", "2026-03-04T11:45:00Z"), evicted(1800, "evil/web-uid"), None, id="of another namespace"
        ),
    ],
)
def test_which_pods(each: PodBuilder, ledger: Ledger, keeper: Keeper | None) -> None:
    assert rules(ledger).keeper(each.build()) is keeper


def test_terminating_pods_are_not_at_stake() -> None:
    pods = [web("a"), web("b").deleting(), web("agent").owner("DaemonSet", "agent", "agent")]
    assert stakes(Cache(offer_of).snapshot(), [each.build() for each in pods]).pods == 1


def drain(price: float, *pods: PodBuilder) -> DrainSet:
    return DrainSet("n", price, tuple(Move(each.build(), "m") for each in pods))


@pytest.mark.parametrize(
    ("price", "pods", "balance", "why"),
    [
        # (1/10) / (2/20) = 1
        pytest.param(1.0, 2, 1.0, "", id="as much as it disturbs"),
        pytest.param(1.0, 2, 1.01, "its share of the bill is 1.00", id="below the balance"),
        # (0.5/10) / (4/20) = 0.25
        pytest.param(0.5, 4, 0.5, "its share of the bill is 0.25", id="many pods for little"),
        pytest.param(0.009, 1, 0.0, r"\$0.009 in 1 h is less than \$0.01", id="too little"),
        pytest.param(math.nan, 1, 0.0, "its price is not known", id="no price"),
    ],
)
def test_what_pays(price: float, pods: int, balance: float, why: str) -> None:
    each = drain(price, *(web(f"p{number}") for number in range(pods)))
    said = pays_not(each, Stakes(10.0, 20), MoveSettings(min_balance=balance))
    assert said.startswith(why.replace("\\", "")) if why else not said


def test_prices_of_nothing_pay_nothing() -> None:
    assert pays_not(drain(1.0, web("a")), Stakes(0.0, 1), MoveSettings())


NIGHT = MoveWindow(days=("tue",), start="22:00", end="06:00")
DAY = MoveWindow(start="09:00", end="17:30")


@pytest.mark.parametrize(
    ("day", "clock", "window", "opened"),
    [
        (3, "21:59", NIGHT, False),
        (3, "22:00", NIGHT, True),
        (4, "05:59", NIGHT, True),  # Wednesday, of the night that began on Tuesday
        (4, "06:00", NIGHT, False),
        (3, "05:59", NIGHT, False),  # of Monday's night
        (4, "22:00", NIGHT, False),
        (4, "09:00", DAY, True),
        (4, "17:29", DAY, True),
        (4, "17:30", DAY, False),
    ],
)
def test_windows(day: int, clock: str, window: MoveWindow, opened: bool) -> None:
    now = datetime.fromisoformat(f"2026-03-{day:02}T{clock}:00+00:00").timestamp()
    assert (closed([window], now) == "") == opened
    assert closed([], now) == ""


@pytest.mark.parametrize(
    ("budget", "why"),
    [
        ({}, ""),
        ({"evictions": 1}, "more than 1 evictions an hour"),
        ({"perWorkload": 1}, "more than 1 evictions an hour of ReplicaSet shop/web"),
        ({"perNamespace": 1}, "more than 1 evictions an hour in namespace shop"),
    ],
)
def test_budgets(budget: dict[str, int], why: str) -> None:
    spent = Ledger(evictions=(Eviction(NOW - 3599, NOW - 3599, "old", "shop", "ReplicaSet shop/web", "x"),))
    asked = drain(1.0, web("a"))
    told = rules(spent, budget=budget)
    assert told.trouble(asked, Stakes(10.0, 20)) == why
    free = Ledger(evictions=(Eviction(NOW - 3600, NOW - 3600, "old", "shop", "ReplicaSet shop/web", "x"),))
    assert rules(free, budget=budget).trouble(asked, Stakes(10.0, 20)) == ""
