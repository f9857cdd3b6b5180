import msgspec
import pytest

from tradewind.shadow.account import MAX_HOURS, Period, ShadowAccount, Sum, decode, encode
from tradewind.shadow.cluster import Compared, Side
from tradewind.shadow.words import as_data, sentences

_REAL = Side(nodes=4, dollars=2.0, unpriced=1, pods=10, interruptions=7.3)
_SHADOW = Side(nodes=2, dollars=0.5, pods=10, interruptions=73.0)
_NOON = 1_000_000 * 3600.0


def _watched(account: ShadowAccount, start: float, seconds: float, *, live: bool = False) -> None:
    account.at = start
    now = start
    while now < start + seconds:
        now += 30.0
        account.pass_time(now, _REAL, Side() if live else _SHADOW, live=live)


def test_an_hour_of_both() -> None:
    account = ShadowAccount()
    _watched(account, _NOON, 3600)
    period = account.shadow
    assert period.hours == pytest.approx(1)
    assert period.began == _NOON
    # 4 nodes, $2 an hour, 10 pods; 7.3 interruptions a month are a hundredth an hour
    assert msgspec.structs.astuple(period.real) == pytest.approx((2.0, 4.0, 1.0, 10.0, 0.01))
    assert msgspec.structs.astuple(period.shadow) == pytest.approx((0.5, 2.0, 0.0, 10.0, 0.1))
    assert period.saved == pytest.approx(1.5)


def test_time_that_nobody_watched_does_not_count() -> None:
    account = ShadowAccount()
    account.pass_time(_NOON, _REAL, _SHADOW, live=False)  # since 1970
    account.pass_time(_NOON + 61, _REAL, _SHADOW, live=False)
    account.pass_time(_NOON, _REAL, _SHADOW, live=False)  # a clock that was put back
    assert account.shadow == Period()
    account.pass_time(_NOON + 36, _REAL, _SHADOW, live=False)
    assert account.shadow.hours == pytest.approx(0.01)


def test_the_hours_are_bounded_and_add_up() -> None:
    account = ShadowAccount()
    _watched(account, _NOON, 3 * 3600)
    assert [each.hours for each in account.hours[:3]] == pytest.approx([1 - 1 / 120, 1, 1])
    assert sum(each.real.dollars for each in account.hours) == pytest.approx(account.shadow.real.dollars)
    for hour in range(2 * MAX_HOURS):
        _watched(account, _NOON + 3600 * hour, 30)
    assert len(account.hours) == MAX_HOURS


def test_going_live_begins_another_sum() -> None:
    account = ShadowAccount()
    _watched(account, _NOON, 1800)
    _watched(account, _NOON + 1800, 1800, live=True)
    assert account.shadow.hours == account.live.hours == pytest.approx(0.5)
    assert account.live.shadow == Sum()
    assert [each.live for each in account.hours[:2]] == [False, True]


def test_what_is_kept_comes_back() -> None:
    account = ShadowAccount()
    _watched(account, _NOON, 3600)
    account.count(Compared(1, 2, 3))
    account.remember({"u1": "a", "u2": "a", "u3": "b"})
    again = decode(encode(account, 100_000))
    assert again == account
    assert again.remembered() == {"u1": "a", "u2": "a", "u3": "b"}


def test_what_is_kept_is_bounded() -> None:
    account = ShadowAccount()
    for hour in range(MAX_HOURS):
        _watched(account, _NOON + 3600 * hour, 3600)
    account.remember(
        {f"{number:036}": f"node-{number % 5000}.eu-central-1.internal" for number in range(50_000)}
    )
    text = encode(account, 512 * 1024)
    assert len(text) <= 512 * 1024
    kept = decode(text)
    assert kept.shadow == account.shadow
    assert 0 < len(kept.remembered()) < 50_000


@pytest.mark.parametrize(
    "text",
    ["", "{", '{"version": 2}', '{"shadow": [-1, 0]}', '{"shadow": [0, 1, [1e999]]}', '{"nodes": 3}'],
)
def test_what_cannot_be_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  whatever the decoder says
        decode(text)


def test_sentences() -> None:
    account = ShadowAccount(coverage="3 of 4 nodes have a price.")
    assert "not been in the shadow" in next(sentences(account))
    _watched(account, _NOON, 3600)
    account.count(Compared(7, 2, 1))
    told = "\n".join(sentences(account))
    assert "nodes in use cost $2.00/h, with Tradewind $0.500/h: $1.50/h less (75 %), $1.50 so far" in told
    assert "25 % of the hours of nodes in use in reality have no price" in told
    assert "bound 10 pods: 7 where Tradewind would have, 2 elsewhere; 1 would have had to wait" in told
    assert "7.3 pods a month, with Tradewind 73.0" in told
    assert "watched for 1 h only" in told
    assert "3 of 4 nodes have a price" in told
    assert as_data(account)["pods"] == {"same": 7, "other": 2, "none": 1}


def test_a_shadow_that_costs_more_says_so() -> None:
    account = ShadowAccount(shadow=Period(_NOON, 10.0, Sum(1.0, 10.0), Sum(2.0, 20.0)))
    assert "more (100 %)" in next(sentences(account))


def test_without_prices_nodes_are_counted() -> None:
    account = ShadowAccount(shadow=Period(_NOON, 10.0, Sum(0.0, 40.0, 40.0), Sum(0.0, 30.0, 30.0)))
    told = next(sentences(account))
    assert "4.0 nodes in use, 3.0 nodes with Tradewind: 25 % less" in told
    assert "$" not in told
