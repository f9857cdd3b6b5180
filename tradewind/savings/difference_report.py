"""A difference as text and as JSON."""

import itertools
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tradewind.explain.tables import Column, lines
from tradewind.explain.words import counted, decimals_of, dollars
from tradewind.savings.bill import Money
from tradewind.savings.difference import Difference, Elsewhere, State

_MAX_SHOWN = 30


class Figure(NamedTuple):
    name: str
    now: str
    then: str
    difference: str


def figures(told: Difference) -> list[Figure]:
    now, then = told.now, told.then
    decimals = min(decimals_of(max(now.nodes.hourly or 0.0, then.nodes.hourly or 0.0), 4), 6)
    return [
        _row("nodes", now.nodes.nodes, then.nodes.nodes),
        _row("nodes in use", now.used.nodes, then.used.nodes),
        *_money("dollars an hour", now.nodes, then.nodes, decimals),
        *_money("of nodes in use", now.used, then.used, decimals),
        _row("interruptions a month", now.interruptions, then.interruptions, "{:,.2f}"),
        _row("pods with a place", now.pods, then.pods),
        _row("pods without a place", _without_place(now), _without_place(then)),
    ]


def _without_place(state: State) -> int:
    return len(state.unplaced.keys() - state.pools.keys())


class Summary(NamedTuple):
    """What a page shows of a difference."""

    figures: Sequence[Figure]
    moved: Sequence[Elsewhere]  # the first of them, in words
    elsewhere: int  # how many there are
    unplaced: Mapping[str, str]  # the first of them, with why
    without: int  # how many there are
    notes: Sequence[str]


def summary(told: Difference, most: int) -> Summary:
    unplaced = newly_unplaced(told)
    return Summary(
        figures=figures(told),
        moved=[
            Elsewhere(each.pod, each.now or "-", each.then or _without(each.pod, told.then))
            for each in told.elsewhere[:most]
        ],
        elsewhere=len(told.elsewhere),
        unplaced=dict(itertools.islice(unplaced.items(), most)),
        without=len(unplaced),
        notes=notes(told),
    )


def newly_unplaced(told: Difference) -> dict[str, str]:
    """Pods without a place, not even on a new node, and why."""
    now, then = told.now, told.then
    return {
        pod: reason
        for pod, reason in sorted(then.unplaced.items())
        if pod not in now.unplaced and pod not in then.pools
    }


def text(told: Difference) -> str:
    then = told.then
    names, before, after, change = zip(*figures(told), strict=True)
    paragraphs = [
        [
            *lines(
                [
                    Column([""], names),
                    Column(["NOW"], before, right=True),
                    Column(["THEN"], after, right=True),
                    Column(["DIFFERENCE"], change, right=True),
                ]
            )
        ]
    ]
    if told.elsewhere:
        shown = told.elsewhere[:_MAX_SHOWN]
        columns = [
            Column(["POD"], [each.pod for each in shown]),
            Column(["NOW"], [each.now or "-" for each in shown]),
            Column(["THEN"], [each.then or _without(each.pod, then) for each in shown]),
        ]
        paragraphs.append([*lines(columns), *_more(len(told.elsewhere))])
    else:
        paragraphs.append(["Every pod is where it was."])
    new = newly_unplaced(told)
    if new:
        reasons = [f"{pod}: {reason}" for pod, reason in list(new.items())[:_MAX_SHOWN]]
        paragraphs.append(["WITHOUT A PLACE", *reasons, *_more(len(new))])
    paragraphs.append(notes(told))
    return "\n\n".join("\n".join(each) for each in paragraphs)


def to_json(told: Difference) -> str:
    def state(each: State) -> dict[str, Any]:
        return {
            "nodes": each.nodes.nodes,
            "hourlyCost": _rounded(each.nodes.hourly),
            "hourlyCostEstimated": _rounded(None if each.nodes.hourly is None else each.nodes.estimated),
            "nodesInUse": each.used.nodes,
            "hourlyCostInUse": _rounded(each.used.hourly),
            "interruptionsAMonth": _rounded(each.interruptions),
            "placements": dict(each.placed),
            "unplaced": dict(each.unplaced),
            "pools": dict(each.pools),
            "newNodes": dict(each.new_nodes),
            "newNodesCost": _rounded(each.new_nodes_cost),
            "prices": {
                "nodes": each.coverage.nodes,
                "known": each.coverage.priced,
                "estimated": each.coverage.estimated,
                "unknown": each.coverage.unknown,
            },
        }

    elsewhere = {each.pod: {"now": each.now or None, "then": each.then or None} for each in told.elsewhere}
    document = {
        "now": state(told.now),
        "then": state(told.then),
        "placedAnew": told.anew,
        "elsewhere": elsewhere,
    }
    return json.dumps(document, indent=2)


def _row(name: str, now: float, then: float, form: str = "{:,}") -> Figure:
    change = form.format(abs(then - now))
    sign = "" if change == form.format(0 if isinstance(now, int) else 0.0) else "+" if then > now else "-"
    return Figure(name, form.format(now), form.format(then), f"{sign}{change}")


def _money(name: str, now: Money, then: Money, decimals: int) -> list[Figure]:
    """No row where either side has no price: a difference to nothing is none."""
    if now.hourly is None or then.hourly is None:
        return []
    return [_row(name, now.hourly, then.hourly, f"${{:,.{decimals}f}}")]


def _without(pod: str, then: State) -> str:
    if pod in then.pools:
        return f"a new node of pool {then.pools[pod]}"
    return "no place" if pod in then.unplaced else "-"


def notes(told: Difference) -> list[str]:
    then = told.then
    found = []
    if told.anew:
        found.append("All pods whose place is the scheduler's choice alone were placed anew on both sides.")
    for pool, count in then.new_nodes.items():
        found.append(f"Pool {pool} would grow by {counted(count, 'node')}.")
    if then.new_nodes:
        cost = then.new_nodes_cost
        found.append(
            "The price of the new nodes is not known: it is not in the sums above."
            if cost is None
            else f"New nodes cost {dollars(cost)}, which is in the sums above."
        )
    before, after = str(told.now.coverage), str(then.coverage)
    return [*found, *([after] if before == after else [f"Now: {before}", f"Then: {after}"])]


def _more(total: int) -> list[str]:
    left = total - _MAX_SHOWN
    return [f"... and {left:,} more; -o json has them all"] if left > 0 else []


def _rounded(amount: float | None) -> float | None:
    return None if amount is None else round(amount, 6)
