"""What each scorer of sites weighs unless a configuration says otherwise.

Names alone, without the scorers: a configuration is checked without anything that they compute with.
"""

from collections.abc import Iterable

from tradewind.errors import TradewindError

DEFAULT_WEIGHTS = {
    "price": 2.0,
    "stability": 1.0,
    "health": 1.0,
    "locality": 1.0,
    "centroid": 0.5,
    "equivalence": 0.5,
    "energy": 0.5,
    "spread": 0.0,
}


def check_names(names: Iterable[str]) -> None:
    unknown = set(names) - DEFAULT_WEIGHTS.keys()
    if unknown:
        known = ", ".join(DEFAULT_WEIGHTS)
        raise TradewindError(f'no scorer of sites is called "{min(unknown)}"; there are: {known}')
