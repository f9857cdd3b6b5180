"""Why one node ranks above another, in the words of each scorer's own subject."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from scoring.rules import Scorer
from tradewind.explain.decisions import Ranking
from tradewind.explain.words import dollars

# Shares of the strongest reason: what is a reason of its own beside it, what is worth a mention against it.
_AS_GOOD = 0.5
_MENTIONED = 0.05


class Advantage(NamedTuple):
    """What speaks for a node against another."""

    scorer: str
    difference: float  # weighted
    words: str  # goes on after "it offers"


class _Side(NamedTuple):
    """One node in the eyes of one scorer."""

    score: float
    cost: float
    price_ratio: float  # price now to the median over time
    interruption_rate: float
    durable: bool


def advantages(ranking: Ranking, one: int, other: int) -> list[Advantage]:
    """What speaks for the first against the second, the weightiest first."""
    found = []
    for index, (scorer, weight) in enumerate(ranking.scorers):
        better, worse = (_side(ranking, index, row) for row in (one, other))
        difference = weight * (better.score - worse.score)
        if difference > 0:
            words = _WORDS.get(scorer.name, _by_score)(scorer, better, worse)
            found.append(Advantage(scorer.name, difference, words))
    return sorted(found, key=lambda each: -each.difference)


def decisive(found: Sequence[Advantage]) -> list[Advantage]:
    """The strongest, and those that are nearly as strong."""
    return [each for each in found if each.difference >= _AS_GOOD * found[0].difference]


def outweighed(found: Sequence[Advantage], by: Advantage) -> list[Advantage]:
    """What is worth a mention although it was of no use."""
    return [each for each in found if each.difference >= _MENTIONED * by.difference]


def _side(ranking: Ranking, index: int, row: int) -> _Side:
    price, median = float(ranking.prices[row]), float(ranking.median_prices[row])
    return _Side(
        score=float(ranking.scores[index, row]),
        cost=float(ranking.costs[row]),
        price_ratio=price / median if price > 0 and median > 0 else 1.0,
        interruption_rate=float(ranking.interruption_rates[row]),
        durable=bool(ranking.durable[row]),
    )


def _by_score(scorer: Scorer, better: _Side, worse: _Side) -> str:
    name = scorer.name.replace("_", " ")
    return f"a higher score for {name} ({better.score:.3g} instead of {worse.score:.3g})"


def _price(scorer: Scorer, better: _Side, worse: _Side) -> str:
    if _literal(scorer):
        return f"a price further above its median ({_instead(better.price_ratio, worse.price_ratio)} of it)"
    if math.isnan(better.cost):
        return f"an unknown price, which counts as the median, instead of {dollars(worse.cost)}"
    if math.isnan(worse.cost):
        return f"a lower price ({dollars(better.cost)} instead of an unknown one, which counts as the median)"
    if better.cost > worse.cost:  # now, but not by its history
        usual = better.cost / better.price_ratio, worse.cost / worse.price_ratio
        return f"a lower price over time (a median of {dollars(usual[0])} instead of {dollars(usual[1])})"
    digits = next((digits for digits in range(3, 9) if _differ(better.cost, worse.cost, digits)), 9)
    return f"a lower price ({dollars(better.cost, digits)} instead of {dollars(worse.cost, digits)})"


def _differ(one: float, other: float, digits: int) -> bool:
    return dollars(one, digits) != dollars(other, digits)


def _stability(_scorer: Scorer, better: _Side, worse: _Side) -> str:
    if better.interruption_rate < worse.interruption_rate:
        rates = _instead(better.interruption_rate, worse.interruption_rate)
        return f"a lower risk of interruption ({rates})"
    return f"a price less above its median ({_instead(better.price_ratio, worse.price_ratio)} of it)"


def _resource_fit(scorer: Scorer, better: _Side, worse: _Side) -> str:
    if _literal(scorer):
        return f"more room ({_instead(better.score, worse.score)} of the node stays free)"
    return f"a tighter fit ({_instead(1 - better.score, 1 - worse.score)} of the node stays free)"


def _workload_priority(_scorer: Scorer, better: _Side, _worse: _Side) -> str:
    if better.durable:
        return "a durable node for a pod of high priority"
    return "a spot node for a batch pod"


def _equivalence(_scorer: Scorer, _better: _Side, _worse: _Side) -> str:
    return "a better balance of free resources"


def _guide(_scorer: Scorer, _better: _Side, _worse: _Side) -> str:
    return "room that the standing plan would rather fill"


def _history(_scorer: Scorer, _better: _Side, _worse: _Side) -> str:
    return "fewer pods that failed to start or were slow to"


def _wished(what: str) -> Callable[[Scorer, _Side, _Side], str]:
    return lambda _scorer, _better, _worse: f"the {what} that the pod asks for"


def _literal(scorer: Scorer) -> bool:
    return getattr(scorer, "formula", "") == "literal"


def _instead(one: float, other: float) -> str:
    return f"{100 * one:.3g}% instead of {100 * other:.3g}%"


# A scorer that is not listed here is compared by its scores.
_WORDS: Mapping[str, Callable[[Scorer, _Side, _Side], str]] = {
    "price": _price,
    "stability": _stability,
    "resource_fit": _resource_fit,
    "disk_type": _wished("disk type"),
    "network_type": _wished("network type"),
    "workload_priority": _workload_priority,
    "equivalence": _equivalence,
    "guide": _guide,
    "history": _history,
}
