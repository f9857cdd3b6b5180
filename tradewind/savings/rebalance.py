"""A forecast as moves: in which order, for how much, and which of them the planner would make by itself."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from tradewind.explain.tables import Column, lines
from tradewind.explain.words import counted
from tradewind.planner.drains import DrainSet
from tradewind.planner.keepers import SENTENCES, Keepers
from tradewind.planner.moves.causes import Cause, because
from tradewind.planner.moves.rescues import Rescue, Terms, rescues
from tradewind.planner.moves.rules import GOING_ANYWAY, Rules, Stakes, balance_of
from tradewind.savings import report
from tradewind.savings.forecast import Forecast, Question
from tradewind.savings.words import Words


def safer(question: Question) -> list[Rescue]:
    """Moves for safety that would be accepted, whatever the planner's own rules say of them."""
    snapshot, pods, limits = question.snapshot, question.pods, question.limits
    noticed = replace(limits, overruled=limits.overruled | GOING_ANYWAY)
    keepers = {
        cause: Keepers(snapshot, pods, question.budgets, noticed if cause is Cause.NOTICE else limits)
        for cause in Cause
    }
    terms = Terms(frozenset(Cause), lambda cause, pod: keepers[cause].of_pod(pod) is None, lambda _: True)
    return rescues(snapshot, pods, question.policy_of, terms)


def text(told: Forecast, rules: Rules, at_stake: Stakes, rescued: Sequence[Rescue] = ()) -> str:
    words = Words(told)
    paragraphs = [[words.headline(), *(f"  {part}" for part in words.parts())]]
    if told.sets:
        paragraphs.append(list(_table(words, rules, at_stake)))
    if rescued:
        paragraphs.append(list(_safety(rescued, rules, at_stake)))
    if told.remains:
        paragraphs.append(["WHAT KEEPS THE REST", *(words.remains(each) for each in told.remains)])
    paragraphs.append([_mode(rules), *words.sources()])
    return "\n\n".join("\n".join(each) for each in paragraphs)


def to_json(told: Forecast, rules: Rules, at_stake: Stakes, rescued: Sequence[Rescue] = ()) -> str:
    return json.dumps(as_data(told, rules, at_stake, rescued), indent=2)


def as_data(told: Forecast, rules: Rules, at_stake: Stakes, rescued: Sequence[Rescue] = ()) -> dict[str, Any]:
    """What `savings` says, with the planner's own view of each set, and what would be safer."""
    data = report.as_data(told)
    for row, each in zip(data["emptied"], told.sets, strict=True):
        why = blocked(each, rules, at_stake)
        balance = balance_of(each, at_stake)
        row["balance"] = round(balance, 3) if 0 <= balance < float("inf") else None
        row["act"], row["reason"] = not why, why
    data["safety"] = [
        {
            "node": chosen.node,
            "cause": cause.value,
            "moves": [{"pod": str(move.pod), "target": move.target} for move in chosen.moves],
            "act": not (why := blocked(chosen, rules, at_stake, cause)),
            "reason": why,
        }
        for cause, chosen in rescued
    ]
    data["mode"] = rules.settings.mode
    return data


def blocked(each: DrainSet, rules: Rules, at_stake: Stakes, cause: Cause = Cause.MONEY) -> str:
    """Why the planner would not make these moves, even if it were to act; empty where it would."""
    if cause not in rules.settings.causes:
        return f"planner.moves.causes has no {cause}"
    for move in each.moves:
        keeper = rules.keeper(move.pod, cause)
        if keeper is not None:
            return f"{SENTENCES[keeper]} ({move.pod})"
    return rules.trouble(each, at_stake, cause)


def _table(words: Words, rules: Rules, at_stake: Stakes) -> Iterator[str]:
    nodes, prices, pods, targets, verdicts = [], [], [], [], []
    for each in words.told.sets[: report.MAX_SETS]:
        blank = [""] * max(len(each.moves) - 1, 0)
        nodes += [each.node, *blank]
        prices += [report.price(words, each), *blank]
        pods += [str(move.pod) for move in each.moves] or ["(only waiting pods were planned there)"]
        targets += [move.target for move in each.moves] or [""]
        why = blocked(each, rules, at_stake)
        verdicts += [f"no: {why}" if why else "yes", *blank]
    columns = [Column(["EMPTY"], nodes)]
    if words.told.now.hourly is not None:
        columns.append(Column(["SAVES"], prices, right=True))
    columns += [Column(["MOVE"], pods), Column(["TO"], targets), Column(["BY THE PLANNER"], verdicts)]
    yield from lines(columns)
    yield from report.more(words.told)


def _safety(rescued: Sequence[Rescue], rules: Rules, at_stake: Stakes) -> Iterator[str]:
    causes, pods, targets, verdicts = [], [], [], []
    for cause, each in rescued[: report.MAX_SETS]:
        blank = [""] * (len(each.moves) - 1)
        causes += [because(cause, move.pod.node_name) for move in each.moves]
        pods += [str(move.pod) for move in each.moves]
        targets += [move.target for move in each.moves]
        why = blocked(each, rules, at_stake, cause)
        verdicts += [f"no: {why}" if why else "yes", *blank]
    yield from lines(
        [
            Column(["SAFER"], pods),
            Column(["ON"], targets),
            Column(["BECAUSE"], causes),
            Column(["BY THE PLANNER"], verdicts),
        ]
    )
    if len(rescued) > report.MAX_SETS:
        yield f"... and {len(rescued) - report.MAX_SETS:,} more; -o json has them all"


def _mode(rules: Rules) -> str:
    settings = rules.settings
    if settings.mode == "off":
        return "planner.moves.mode is off: the planner moves nothing by itself."
    budget = f"at most {counted(settings.budget.evictions, 'eviction')} an hour"
    return {
        "advise": "planner.moves.mode is advise: the planner says so, and moves nothing.",
        "act": f"planner.moves.mode is act: the planner moves them by itself, {budget}.",
    }[settings.mode]
