"""An explanation as text for a terminal."""

import textwrap
from collections.abc import Iterator, Sequence

from tradewind.explain.explanation import Candidates, Explanation, Ranked, RejectedBy, RejectedNode
from tradewind.explain.tables import GAP, Column, fitted, lines, total_width
from tradewind.explain.words import decimals_of, dollars

_NARROWEST, _WIDEST = 40, 120
_SHORT_NAME = 16
_LONGEST_BAR = 20  # columns, and a quarter of a narrow terminal
_EXAMPLES = 5


def text(explanation: Explanation, columns: int) -> str:
    width = min(max(columns, _NARROWEST), _WIDEST)
    parts = ["\n".join(textwrap.fill(sentence, width) for sentence in explanation.sentences)]
    if explanation.ranked:
        parts.append("\n".join(_ranking(explanation, width)))
    if explanation.candidates and explanation.candidates.rejected:
        parts.append("\n".join(_rejections(explanation.candidates, width)))
    if told := _circumstances(explanation):
        parts.append(textwrap.fill(told, width))
    return "\n\n".join(parts)


def _ranking(explanation: Explanation, width: int) -> Iterator[str]:
    """The scorers side by side, those that tell the nodes apart most first, as many as there is room for."""
    ranked = explanation.ranked
    telling = sorted(
        (scorer for scorer in ranked[0].terms if _spread(ranked, scorer)),
        key=lambda scorer: -_spread(ranked, scorer),
    )
    fixed = [_rank(ranked, explanation.placed_on), *_numbers(ranked)]
    scorers = [_scorer(ranked, scorer, explanation.weights[scorer]) for scorer in telling]
    name_width = min(_SHORT_NAME, max(len(each.node) for each in ranked))
    while scorers and width < total_width([*fixed, *scorers]) + len(GAP) + name_width:
        scorers.pop()
    names = _names(ranked, max(name_width, width - len(GAP) - total_width([*fixed, *scorers])))
    shown = f"{len(ranked):,} of {explanation.ranked_count:,}"
    yield textwrap.fill(f"Ranked: {shown}, by the sum of the weighted scores", width)
    yield from lines(fitted([fixed[0], names, *fixed[1:], *scorers], width))
    if telling[len(scorers) :]:
        yield textwrap.fill(f"Left out for lack of room: {', '.join(telling[len(scorers) :])}.", width)
    same = [scorer for scorer in ranked[0].terms if scorer not in telling]
    if same and len(ranked) > 1:
        yield textwrap.fill(f"The same on all of them: {', '.join(same)}.", width)
    if any(each.node == explanation.placed_on for each in ranked):
        yield "* marks the node that the pod is on."


def _spread(ranked: Sequence[Ranked], scorer: str) -> float:
    weighted = [each.terms[scorer].weighted for each in ranked]
    return max(weighted) - min(weighted)


def _rank(ranked: Sequence[Ranked], placed_on: str | None) -> Column:
    return Column(
        ["#"], [f"{'*' if each.node == placed_on else ''}{each.rank:,}" for each in ranked], right=True
    )


def _names(ranked: Sequence[Ranked], room: int) -> Column:
    return Column(["node"], [_shortened(each.node, room) for each in ranked])


def _numbers(ranked: Sequence[Ranked]) -> list[Column]:
    costs = [each.dollars_an_hour for each in ranked]
    decimals = max((decimals_of(cost) for cost in costs if cost is not None), default=0)
    return [
        Column(["$/h"], ["?" if cost is None else f"{cost:.{decimals}f}" for cost in costs], right=True),
        Column(["level"], [str(each.level) for each in ranked], right=True),
        Column(["total"], [f"{each.total:.3f}" for each in ranked], right=True),
    ]


def _scorer(ranked: Sequence[Ranked], scorer: str, weight: float) -> Column:
    cells = [f"{each.terms[scorer].weighted:.3f}" for each in ranked]
    return Column([*scorer.split("_"), f"x {weight:g}"], cells, right=True)


def _shortened(name: str, room: int) -> str:
    """The ends of a name tell nodes apart, the middle is the same on all of a pool."""
    if len(name) <= room:
        return name
    end = (room - 2) // 2
    return f"{name[: room - 2 - end]}..{name[-end:]}"


def _rejections(candidates: Candidates, width: int) -> Iterator[str]:
    """A histogram by reason; a full bar is all candidates."""
    yield f"Rejected: {candidates.count - candidates.passed:,} of {candidates.count:,}"
    digits = len(f"{max(each.count for each in candidates.rejected):,}")
    longest = min(_LONGEST_BAR, width // 4)
    for each in sorted(candidates.rejected, key=lambda one: -one.count):
        bar = "#" * max(1, round(longest * each.count / candidates.count))
        head = f"{each.count:>{digits},}{GAP}{bar:<{longest}}{GAP}"
        indent = " " * len(head)
        yield textwrap.fill(f"{head}{each.reason}{_detail(each)}", width, subsequent_indent=indent)
        yield textwrap.fill(_examples(each), width, initial_indent=indent, subsequent_indent=indent)


def _detail(rejected: RejectedBy) -> str:
    short = ", ".join(f"{resource} on {count:,}" for resource, count in rejected.short_of.items())
    return (
        f" ({': '.join(part for part in (rejected.rule, short, rejected.detail) if part)})"
        if rejected.rule
        else ""
    )


def _examples(rejected: RejectedBy) -> str:
    named = [_priced(each) for each in rejected.examples[:_EXAMPLES]]
    more = rejected.count - len(named)
    return ", ".join(named) + (f" and {more:,} more" if more else "")


def _priced(node: RejectedNode) -> str:
    return node.node if node.dollars_an_hour is None else f"{node.node} ({dollars(node.dollars_an_hour)})"


def _circumstances(explanation: Explanation) -> str:
    parts = []
    if explanation.origin == "decision":
        times = "once" if explanation.attempts == 1 else f"{explanation.attempts:,} times"
        parts.append(f"Decided {explanation.decided_at:%Y-%m-%d %H:%M:%S} UTC; kube-scheduler asked {times}.")
    if explanation.workload_class is not None:
        parts.append(f"Workload class: {explanation.workload_class}.")
    return " ".join(parts)
