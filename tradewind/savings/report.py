"""A forecast as text, Markdown and JSON."""

import json
from collections.abc import Callable, Iterable
from typing import Any

from tradewind.explain.tables import Column, lines
from tradewind.planner.drains import DrainSet
from tradewind.savings.bill import Money
from tradewind.savings.forecast import Forecast
from tradewind.savings.words import Words, some
from tradewind.savings.workloads import Division, Part, division

MAX_SETS = 20  # drain sets that a table names
_TOP = 5  # workloads


def text(told: Forecast) -> str:
    words = Words(told)
    paragraphs: list[list[str]] = [[words.headline(), *(f"  {part}" for part in words.parts())]]
    if told.sets:
        shown = told.sets[:MAX_SETS]
        columns = [Column(["EMPTIED"], [each.node for each in shown])]
        if told.now.hourly is not None:
            columns.append(Column(["PRICE"], [price(words, each) for each in shown], right=True))
        columns.append(Column(["ITS PODS GO TO"], [_targets(each) for each in shown]))
        paragraphs.append([*lines(columns), *more(told)])
    bounds = words.bounds()
    if bounds:
        paragraphs.append([bounds])
    if told.remains:
        paragraphs.append(["WHAT KEEPS THE REST", *(words.remains(each) for each in told.remains)])
    paragraphs.append(
        ["WHAT OTHERS WOULD LEAVE (simulated)", *(words.peer(each) for each in told.peers)]
        if told.now.nodes
        else []
    )
    workloads = division(told, _TOP)
    if workloads is not None and told.now.nodes:
        paragraphs.append([*lines([*_columns(words, workloads)])])
    paragraphs.append([*filter(None, [words.waiting(), words.risk()]), *words.sources()])
    return "\n\n".join("\n".join(each) for each in paragraphs if each)


def markdown(told: Forecast) -> str:
    words = Words(told)
    rows = [("now", told.now), ("with Tradewind", told.after), ("saved by moving pods", told.saved)]
    rows += [("empty or cordoned already", told.idle)] if told.idle.nodes else []
    heads = "| | nodes |" + (" dollars an hour | of it estimated |" if told.now.hourly is not None else "")
    rule = "|---|--:|" + ("--:|--:|" if told.now.hourly is not None else "")
    table = [heads, rule, *(f"| {name} | {_row(words, money)} |" for name, money in rows)]
    parts = [f"- {part}" for part in words.parts()]
    blocks = [
        [f"**{_escape(words.headline())}**"],
        table,
        parts,
        [_escape(words.bounds())],
        ["What keeps the rest:", "", *(f"- {_escape(words.remains(each))}" for each in told.remains)]
        if told.remains
        else [],
        [
            "What others would leave (simulated):",
            "",
            *(f"- {_escape(words.peer(each))}" for each in told.peers),
        ],
        _workload_table(words),
        [*filter(None, [words.waiting(), words.risk()]), *map(_escape, words.sources())],
    ]
    return "\n\n".join("\n".join(block) for block in blocks if any(block))


def to_json(told: Forecast) -> str:
    return json.dumps(as_data(told), indent=2)


def as_data(told: Forecast) -> dict[str, Any]:
    words = Words(told)
    coverage = told.coverage
    return {
        "now": _data(told.now),
        "after": _data(told.after),
        "saved": _data(told.saved),
        "savedByAnyAutoscaler": _data(told.idle),
        "emptied": [_emptied(told, each) for each in told.sets],
        "emptyOrCordoned": list(told.idle_nodes),
        "emptiedCordoned": [_emptied(told, each) for each in told.cordoned],
        "emptiedForWaitingPods": [_emptied(told, each) for each in told.cleared],
        "stay": [
            {
                "by": str(each.by),
                "nodes": list(each.nodes),
                **{key: value for key, value in _data(each.money).items() if key != "nodes"},
                "pods": list(each.pods),
                "moreIfMoved": None if each.lifted is None else _data(each.lifted),
                "text": words.remains(each),
            }
            for each in told.remains
        ],
        "lowerBound": {
            "withinLimits": _rounded(told.bounds.within_limits),
            "everyPodMoved": _rounded(told.bounds.all_moved),
            "unit": "nodes" if told.now.hourly is None else "dollars an hour",
        },
        "others": [
            {"name": each.name, **_data(each.after), "replaced": each.replaced} for each in told.peers
        ],
        "workloads": _workload_data(told),
        "placements": dict(told.placed),
        "unplaced": dict(told.unplaced),
        "pools": dict(told.growth.pods),
        "newNodes": dict(told.growth.nodes),
        "newNodesCost": _rounded(told.growth.hourly),
        "interruptionsAMonth": {
            "now": _rounded(told.interruptions.now),
            "after": _rounded(told.interruptions.after),
            "pods": told.interruptions.pods,
            "spotNodes": told.rates.spot,
            "spotNodesWithAssumedRate": told.rates.assumed,
            "assumedRate": told.rates.rate,
        },
        "prices": {
            "nodes": coverage.nodes,
            "known": coverage.priced,
            "estimated": coverage.estimated,
            "unknown": coverage.unknown,
            "sources": {str(origin): count for origin, count in coverage.by_source.items() if count},
        },
        "disruptionBudgets": told.budgets,
        "missing": list(told.missing),
    }


def _emptied(told: Forecast, each: DrainSet) -> dict[str, Any]:
    return {
        "node": each.node,
        "hourlyCost": _rounded(told.bill.of([each.node]).hourly),
        "priceFrom": str(told.bill.prices[each.node].origin),
        "moves": {str(move.pod): move.target for move in each.moves},
    }


def _data(money: Money) -> dict[str, Any]:
    return {
        "nodes": money.nodes,
        "hourlyCost": _rounded(money.hourly),
        "hourlyCostEstimated": _rounded(None if money.hourly is None else money.estimated),
        "nodesWithoutPrice": money.nodes if money.hourly is None else money.unpriced,
    }


def _rounded(amount: float | None) -> float | None:
    return None if amount is None else round(amount, 6)


def _columns(words: Words, found: Division) -> Iterable[Column]:
    """A row a workload, the dearest first, and what nobody requests: together they are the bill."""

    def amounts(head: str, of: Callable[[Part], float]) -> Column:
        return Column([head], [words.amount(of(each)) for each in found.parts], right=True)

    yield Column(["WHAT COSTS MOST"], [each.name for each in found.parts])
    yield Column(["PODS"], [f"{each.pods:,}" if each.pods else "" for each in found.parts], right=True)
    yield amounts("COST", lambda each: each.hourly)
    if words.told.now.estimated:
        yield amounts("ESTIMATED", lambda each: each.estimated)
    yield amounts("ON NODES THAT CAN GO", lambda each: each.leaving)


def _workload_table(words: Words) -> list[str]:
    found = division(words.told, _TOP)
    if found is None or not words.told.now.nodes:
        return []
    columns = [*_columns(words, found)]
    heads = [head.lower() for each in columns for head in each.heading]
    rule = "|".join("--:" if each.right else "---" for each in columns)
    rows = zip(*(map(_escape, each.cells) for each in columns), strict=True)
    return [f"| {' | '.join(heads)} |", f"|{rule}|", *(f"| {' | '.join(row)} |" for row in rows)]


def _workload_data(told: Forecast) -> list[dict[str, Any]] | None:
    """All of them; what nobody requests comes last."""
    found = division(told)
    if found is None:
        return None
    return [
        {
            "name": each.name,
            "pods": each.pods,
            "hourlyCost": _rounded(each.hourly),
            "hourlyCostEstimated": _rounded(each.estimated),
            "hourlyCostOnNodesThatGo": _rounded(each.leaving),
        }
        for each in found.parts
    ]


def price(words: Words, each: DrainSet) -> str:
    price = words.told.bill.of([each.node])
    if price.unpriced or price.hourly is None:
        return "unknown"
    return words.amount(price.hourly) + (" estimated" if price.estimated else "")


def _targets(each: DrainSet) -> str:
    if not each.moves:
        return "(only waiting pods were planned there)"
    return some([f"{move.pod} to {move.target}" for move in each.moves])


def more(told: Forecast) -> Iterable[str]:
    left = len(told.sets) - MAX_SETS
    return [f"... and {left:,} more; -o json has them all"] if left > 0 else []


def _row(words: Words, money: Money) -> str:
    if money.hourly is None:
        return f"{money.nodes:,}"
    return f"{money.nodes:,} | {words.amount(money.hourly)} | {words.amount(money.estimated)}"


def _escape(line: str) -> str:
    """Names of pods and nodes are no markup."""
    return "".join(f"\\{letter}" if letter in "\\`*_[]<>|" else letter for letter in line)
