"""Says in an explanation where prices and rates come from, so that nobody takes an estimate for a price."""

from collections.abc import Callable

from tradewind.explain.explanation import Explanation
from tradewind.market.coverage import NOT_USED
from tradewind.market.quotes import Origin, Origins

_MOST_NAMED = 3


def with_origins(explanation: Explanation, origins_of: Callable[[str], Origins]) -> Explanation:
    """The origins are those of now; the decision may be older."""
    ranked = []
    implausible: list[str] = []
    for each in explanation.ranked:
        origins = origins_of(each.node)
        if origins.implausible:
            implausible.append(f"{each.node}: {origins.implausible}.")
        told = {"price_from": str(origins.price), "interruption_rate_from": str(origins.interruption_rate)}
        ranked.append(each.model_copy(update=told))
    guessed = [each.node for each in ranked if each.price_from == Origin.ESTIMATED]
    unknown = [each.node for each in ranked if each.price_from == Origin.UNKNOWN]
    sentences = [
        *explanation.sentences,
        *([_estimated(guessed)] if guessed else []),
        *([_unknown(unknown)] if unknown else []),
        *implausible[:_MOST_NAMED],
    ]
    return explanation.model_copy(update={"ranked": ranked, "sentences": sentences})


def _unknown(nodes: list[str]) -> str:
    return (
        f"No source knows the price of {_some(nodes)}, and nothing is known to estimate it from: {NOT_USED}."
    )


def _estimated(nodes: list[str]) -> str:
    return f"No source knows the price of {_some(nodes)}; it is estimated from similar nodes."


def _some(nodes: list[str]) -> str:
    named = ", ".join(nodes[:_MOST_NAMED])
    more = f" and {len(nodes) - _MOST_NAMED} more" if len(nodes) > _MOST_NAMED else ""
    return f"{named}{more}"
