"""The shadow's account on the page, from nothing to two weeks of it."""

import re

import pytest

from tests.page.test_app import HOSTILE, Page
from tradewind.page.curves import Series, curves, nice_top
from tradewind.page.rendering import STATIC
from tradewind.page.shadowed import shadow_view
from tradewind.shadow.account import ShadowAccount
from tradewind.shadow.cluster import Side

_NOON = 1_000_000 * 3600.0


def _watched(account: ShadowAccount, hours: float, *, live: bool = False, start: float = _NOON) -> None:
    account.at = start
    for minute in range(int(60 * hours)):
        real, shadow = Side(4, 2.0, pods=9, interruptions=1.0), Side(2, 0.5, pods=9)
        account.pass_time(start + 60 * (minute + 1), real, shadow, live=live)


def test_who_never_was_in_the_shadow_sees_nothing_of_it() -> None:
    assert shadow_view(None) is None


def test_at_the_beginning_there_is_a_sentence_and_no_picture() -> None:
    view = shadow_view(ShadowAccount())
    assert view is not None
    assert "not been in the shadow yet" in view.sentences[0]
    assert (view.picture, view.days, view.live) == ("", [], False)


def test_days_add_up_and_the_line_breaks_where_nobody_watched() -> None:
    account = ShadowAccount()
    _watched(account, 3)
    _watched(account, 3, start=_NOON + 10 * 3600)
    _watched(account, 2, live=True, start=_NOON + 30 * 3600)
    view = shadow_view(account)
    assert view is not None
    assert view.live
    assert sum(day.period.hours for day in view.days) == pytest.approx(8, abs=0.01)
    assert sum(day.period.saved for day in view.days if not day.period.live) == pytest.approx(9, abs=0.02)
    assert view.picture.count("<polyline") == 3 + 2, "three stretches in reality, two in the shadow"
    Page(str(view.picture))


def test_the_style_knows_every_class_of_a_picture() -> None:
    series = [Series(name, [(0.0, 1.0), (9.0, 2.0)]) for name in ("one", "two")]
    drawn = str(curves(series, "two lines", "{:g}".format))
    style = STATIC["page.css"][1]
    for name in {name for found in re.findall('class="([^"]+)"', drawn) for name in found.split()} - {"l0"}:
        assert re.search(rf"\.{name}\b", style), name


def test_without_prices_nodes_are_drawn() -> None:
    account = ShadowAccount()
    account.at = _NOON
    for minute in range(180):
        account.pass_time(_NOON + 60 * (minute + 1), Side(4, 0, 4), Side(2, 0, 2), live=False)
    view = shadow_view(account)
    assert view is not None
    assert "$" not in view.picture
    assert "4 nodes" in view.picture


def test_names_in_a_picture_run_nothing() -> None:
    drawn = str(curves([Series(HOSTILE, [(0.0, 1.0), (9.0, 2.0)])], HOSTILE, "{:g}".format))
    assert Page(drawn).running == []
    assert "<script" not in drawn


@pytest.mark.parametrize(
    ("largest", "top"), [(0, 1), (0.03, 0.05), (1, 1), (1.01, 2), (2.4, 2.5), (7, 10), (99, 100)]
)
def test_the_scale_ends_at_a_round_figure(largest: float, top: float) -> None:
    assert nice_top(largest) == pytest.approx(top)
