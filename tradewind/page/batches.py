"""The planner's newest batches as the page shows them: what became of each, and its cost over time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from tradewind.explain.words import dollars
from tradewind.page.curves import Series, curves
from tradewind.planner.journal import BatchNote, Emptying, Record, decode


@dataclass(frozen=True, kw_only=True)
class BatchesView:
    trouble: str = ""  # missing, corrupt, old; the last has batches all the same
    help: str = ""
    batches: Sequence[BatchNote] = ()  # the newest first
    emptying: Emptying | None = None
    priced: bool = False
    picture: str = ""

    def cost(self, figure: float) -> str:
        return _unit(priced=self.priced)(figure)


def batches_view(journal: str | None, *, guided: bool) -> BatchesView:
    """`guided`: the planner that wrote it was at work a moment ago."""
    if journal is None:
        return BatchesView(
            trouble="No planner has published its batches.",
            help="It does not run, is of an older version, or has planner.standing.enabled: false.",
        )
    try:
        record = decode(journal)
    except ValueError as error:
        return BatchesView(
            trouble=f"The published batches cannot be read: {error}.",
            help="The leading planner writes them anew within a minute; is it of another version?",
        )
    return BatchesView(
        trouble="" if guided else "The planner has published nothing for a while.",
        help="" if guided else "What follows is what it said last, and pods are placed without it.",
        batches=record.batches[::-1],
        emptying=record.emptying if guided else None,
        priced=record.priced,
        picture=_picture(record),
    )


def _picture(record: Record) -> Markup:
    return curves(
        [
            Series("nodes in use after each batch", [(each.at, each.cost) for each in record.batches]),
            Series("lower bound", [(each.at, each.bound) for each in record.batches]),
        ],
        "Cost of the nodes in use after each batch, and the lower bound; the table has the figures",
        _unit(priced=record.priced),
    )


def _unit(*, priced: bool) -> Callable[[float], str]:
    return dollars if priced else "{:,.0f} nodes".format
