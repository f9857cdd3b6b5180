"""The shadow's account as the page shows it: sentences, a curve, and a row a day."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec
from markupsafe import Markup

from tradewind.explain.words import dollars
from tradewind.page.curves import Series, curves
from tradewind.shadow.account import HOUR_SECONDS, Period, ShadowAccount, Sum
from tradewind.shadow.words import sentences


@dataclass(frozen=True, kw_only=True)
class Day:
    name: str
    period: Period


@dataclass(frozen=True, kw_only=True)
class ShadowView:
    live: bool
    sentences: Sequence[str]
    picture: Markup
    days: Sequence[Day]  # the newest first


def shadow_view(account: ShadowAccount | None) -> ShadowView | None:
    """None where Tradewind was never in the shadow."""
    if account is None:
        return None
    hours = [period for period in account.hours if period.hours]
    return ShadowView(
        live=bool(hours and hours[-1].live),
        sentences=list(sentences(account)),
        picture=_picture(hours),
        days=_days(hours),
    )


def _picture(hours: Sequence[Period]) -> Markup:
    priced = any(each.real.dollars for each in hours)

    def figure(total: Sum, period: Period) -> float:
        return (total.dollars if priced else total.node_hours) / period.hours

    real, shadow = [], []
    before = hours[0].began if hours else 0.0
    for each in hours:
        if each.began - before > HOUR_SECONDS:  # nobody watched
            real.append((before + HOUR_SECONDS, math.nan))
            shadow.append((before + HOUR_SECONDS, math.nan))
        before = each.began
        real.append((each.began, figure(each.real, each)))
        shadow.append((each.began, math.nan if each.live else figure(each.shadow, each)))
    unit = dollars if priced else "{:,.0f} nodes".format
    return curves(
        [Series("nodes in use", real), Series("in the shadow, with Tradewind", shadow)],
        "Nodes in use over time, in reality and in the shadow; the table by day has the figures",
        unit,
    )


def _days(hours: Sequence[Period]) -> list[Day]:
    found: dict[tuple[str, bool], Period] = {}
    for each in hours:
        name = f"{datetime.fromtimestamp(each.began, UTC):%Y-%m-%d}"
        day = found.setdefault((name, each.live), Period(began=each.began, live=each.live))
        day.hours += each.hours
        day.real, day.shadow = _sum(day.real, each.real), _sum(day.shadow, each.shadow)
    return [Day(name=name, period=period) for (name, _), period in reversed(found.items())]


def _sum(one: Sum, other: Sum) -> Sum:
    return Sum(*(a + b for a, b in zip(*map(msgspec.structs.astuple, (one, other)), strict=True)))
