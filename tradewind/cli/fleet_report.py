"""What the fleet would do, and why, as text and as JSON."""

import json
import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence

from tradewind.explain.tables import Column, fitted, lines
from tradewind.explain.words import counted, decimals_of, dollars
from tradewind.fleet.explanation import RankedSite, SiteExplanation
from tradewind.fleet.plan import Placed

_WIDTH = 100


def _where(division: Mapping[str, int]) -> str:
    most_first = sorted(division.items(), key=lambda each: (-each[1], each[0]))
    return ", ".join(f"{name} {count}" if count else name for name, count in most_first)


def _price(amount: float) -> str:
    return "?" if math.isnan(amount) else f"{amount:.{decimals_of(amount)}f}"


def _known(amount: float) -> float | None:
    return None if math.isnan(amount) else round(amount, 6)


def plan_text(placed: Sequence[Placed], keys: Mapping[str, str], sites: int, width: int | None) -> str:
    decisions = [each.decision for each in placed]
    costs = [_price(each.dollars) if each.decision.placed else "" for each in placed]
    columns = [
        Column(["binding"], [keys[each.request.key] for each in placed]),
        Column(["replicas"], [str(each.request.replicas) for each in placed], right=True),
        Column(["$/h"], costs, right=True),
        Column(["sites"], [each.reason or _where(each.division) for each in decisions]),
    ]
    with_place = [each for each in placed if each.decision.placed]
    known = [each.dollars for each in with_place if not math.isnan(each.dollars)]
    said = f"{counted(len(with_place), 'binding')} of {len(placed)} placed on {counted(sites, 'site')}"
    cost = f", {dollars(sum(known))} in all" if known else ", no price is known"
    unknown = len(with_place) - len(known)
    more = f", beside {unknown} of unknown price" if known and unknown else ""
    return "\n".join([*lines(fitted(columns, width) if width else columns), "", f"{said}{cost}{more}."])


def plan_json(placed: Sequence[Placed], keys: Mapping[str, str]) -> str:
    return json.dumps(
        [
            {
                "binding": keys[each.request.key],
                "replicas": each.request.replicas,
                "clusters": dict(each.decision.division),
                "hourlyCost": _known(each.dollars) if each.decision.placed else None,
                **({} if each.decision.placed else {"reason": each.decision.reason}),
            }
            for each in placed
        ],
        indent=2,
    )


def explanation_text(told: SiteExplanation, named: str, width: int | None) -> str:
    parts = ["\n".join(textwrap.fill(each, width or _WIDTH) for each in _sentences(told, named))]
    if told.ranked:
        parts.append("\n".join(_ranking(told, width)))
    if told.rejected:
        head = f"Rejected: {sum(each.count for each in told.rejected):,} of {told.sites:,}"
        parts.append("\n".join([head, *(_rejected(told, width))]))
    return "\n\n".join(parts)


def _sentences(told: SiteExplanation, named: str) -> Iterator[str]:
    request, decision = told.request, told.decision
    of_class = f" (class {told.workload_class})" if told.workload_class else ""
    asks = f"{named}{of_class} asks for {counted(request.replicas, 'replica')}"
    current = {site: count for site, count in request.current.items() if count or not request.replicas}
    yield f"{asks}; it is on {_where(current)}." if current else f"{asks} and is nowhere."
    if not decision.placed:
        yield f"It has no place: {decision.reason}."
    elif decision.division == current:
        yield "Decided anew, it would stay there."
    else:
        yield f"Decided anew, it would be on {_where(decision.division)}."


def _ranking(told: SiteExplanation, width: int | None) -> Iterator[str]:
    ranked = told.ranked
    telling = [name for name in told.weights if _spread(ranked, name)]
    has, gets = told.request.current, told.decision.division
    columns = [
        Column(["site"], [each.name for each in ranked]),
        Column(["has"], [str(has.get(each.name) or "") for each in ranked], right=True),
        Column(["gets"], [str(gets.get(each.name) or "") for each in ranked], right=True),
        Column(["room"], [f"{each.room:,}" for each in ranked], right=True),
        Column(["$/h"], [_price(each.dollars) for each in ranked], right=True),
        Column(["total"], [f"{each.total:.3f}" for each in ranked], right=True),
        *(_scorer(ranked, name, told.weights[name]) for name in telling),
    ]
    yield f"Ranked: {len(ranked):,} of {told.passed:,}, by the sum of the weighted scores"
    yield from lines(fitted(columns, width) if width else columns)
    same = [name for name in told.weights if name not in telling]
    if same and len(ranked) > 1:
        yield f"The same on all of them: {', '.join(same)}."


def _scorer(ranked: Sequence[RankedSite], name: str, weight: float) -> Column:
    return Column([name, f"x {weight:g}"], [f"{each.terms[name]:.3f}" for each in ranked], right=True)


def _spread(ranked: Sequence[RankedSite], scorer: str) -> float:
    values = [each.terms[scorer] for each in ranked]
    return round(max(values) - min(values), 3)


def _rejected(told: SiteExplanation, width: int | None) -> Iterator[str]:
    for each in told.rejected:
        more = each.count - len(each.examples)
        names = ", ".join(each.examples) + (f" and {more:,} more" if more else "")
        text = f"{each.count:,} {each.reason} ({each.rule}): {names}"
        yield textwrap.fill(text, width or _WIDTH, subsequent_indent="  ")


def explanation_json(told: SiteExplanation, named: str) -> str:
    return json.dumps(
        {
            "binding": named,
            "replicas": told.request.replicas,
            "clusters": dict(told.request.current),
            "decidedAnew": dict(told.decision.division),
            **({"reason": told.decision.reason} if told.decision.reason else {}),
            "sites": told.sites,
            "rejected": [
                {"rule": each.rule, "reason": each.reason, "count": each.count, "examples": each.examples}
                for each in told.rejected
            ],
            "class": told.workload_class,
            "weights": dict(told.weights),
            "ranked": [
                {
                    "site": each.name,
                    "total": round(each.total, 6),
                    "weighted": {name: round(value, 6) for name, value in each.terms.items()},
                    "room": each.room,
                    "hourlyCost": _known(each.dollars),
                }
                for each in told.ranked
            ],
        },
        indent=2,
    )
