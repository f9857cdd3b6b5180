"""The shadow's account in sentences: the same ones in a terminal and on the page."""

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from tradewind.explain.words import clock, counted, dollars
from tradewind.shadow.account import HOURS_A_MONTH, Period, ShadowAccount

# Figures of less time are more noise than money.
LITTLE_HOURS = 24.0


def sentences(account: ShadowAccount) -> Iterator[str]:
    """The most important first."""
    period = account.shadow
    if not period.hours:
        yield "Tradewind has not been in the shadow yet, or not for long enough to say anything."
    else:
        yield headline(period)
        yield from _money_apart(period)
        yield _compared(account)
        yield _risk(period)
        if period.hours < LITTLE_HOURS:
            yield f"It was watched for {duration(period.hours)} only: wait for a day, better a week, of pods."
    if account.live.hours:
        yield _live(account.live)
    if account.coverage:
        yield f"Prices by now: {account.coverage}"


def headline(period: Period) -> str:
    since = f"In the shadow since {clock(period.began)}, watched for {duration(period.hours)}:"
    if not _priced(period):
        real, shadow = (each.node_hours / period.hours for each in (period.real, period.shadow))
        told = f"{since} {real:,.1f} nodes in use, {shadow:,.1f} nodes with Tradewind"
        return f"{told}: {_percent(real - shadow, real)} {'less' if shadow <= real else 'more'}."
    real, shadow = (each.dollars / period.hours for each in (period.real, period.shadow))
    return (
        f"{since} nodes in use cost {dollars(real)}, with Tradewind {dollars(shadow)}: "
        f"{dollars(abs(real - shadow))} {'less' if shadow <= real else 'more'} "
        f"({_percent(period.saved, period.real.dollars)}), ${abs(period.saved):,.2f} so far."
    )


def duration(hours: float) -> str:
    if round(60 * hours) < 60:  # noqa: PLR2004  minutes
        return f"{round(60 * hours)} min"
    return f"{hours:,.0f} h" if hours < 48 else f"{hours / 24:,.1f} days"  # noqa: PLR2004  two days


def to_json(account: ShadowAccount) -> str:
    return json.dumps(as_data(account), indent=2)


def text(account: ShadowAccount) -> str:
    return "\n".join(sentences(account))


def as_data(account: ShadowAccount) -> dict[str, Any]:
    return {
        "shadow": _data(account.shadow),
        "live": _data(account.live),
        "hours": [_data(period) for period in account.hours],
        "pods": {"same": account.same, "other": account.other, "none": account.nowhere},
        "prices": account.coverage,
    }


def _data(period: Period) -> dict[str, Any]:
    sums = {"real": msgspec.structs.asdict(period.real)}
    if not period.live:
        sums["shadow"] = msgspec.structs.asdict(period.shadow)
    return {"began": period.began, "hours": period.hours, "live": period.live, **sums}


def _priced(period: Period) -> bool:
    return period.real.node_hours > period.real.unpriced_node_hours


def _percent(part: float, whole: float) -> str:
    return f"{100 * abs(part) / whole if whole else 0:.0f} %"


def _money_apart(period: Period) -> Iterator[str]:
    """What is not in the money."""
    for cluster, each in (("in reality", period.real), ("in the shadow", period.shadow)):
        if each.unpriced_node_hours and _priced(period):
            share = _percent(each.unpriced_node_hours, each.node_hours)
            yield f"{share} of the hours of nodes in use {cluster} have no price and are not in it."


def _compared(account: ShadowAccount) -> str:
    total = account.same + account.other + account.nowhere
    told = (
        f"kube-scheduler bound {counted(total, 'pod')}: {account.same:,} where Tradewind would have, "
        f"{account.other:,} elsewhere"
    )
    if account.nowhere:
        told += f"; {account.nowhere:,} would have had to wait, and count as if they were where they are"
    return f"{told}."


def _risk(period: Period) -> str:
    real, shadow = (
        HOURS_A_MONTH * each.interruptions / period.hours for each in (period.real, period.shadow)
    )
    return f"Interruptions to expect: {real:.1f} pods a month, with Tradewind {shadow:.1f}."


def _live(period: Period) -> str:
    hourly = period.real.dollars / period.hours
    a_pod = period.real.dollars / period.real.pod_hours if period.real.pod_hours else 0.0
    return (
        f"Live since {clock(period.began)}, watched for {duration(period.hours)}: nodes in use cost "
        f"{dollars(hourly)}, {dollars(a_pod)} a pod."
    )
