"""How many nodes have a price, and from where: said before anything is decided by it."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tradewind.market.pools import LINUX
from tradewind.market.quotes import Origin

_NAMES = {
    Origin.NODE: "from node annotations",
    Origin.TABLE: "from the price table",
    Origin.PROMETHEUS: "from Prometheus",
}
NOT_USED = "price is not used, and stability does not prefer on-demand nodes to spot nodes"
_MAX_NAMED = 3


class Coverage(NamedTuple):
    nodes: int
    by_source: Mapping[Origin, int]  # of the price
    hints: Sequence[str] = ()  # what may be wrong

    @property
    def priced(self) -> int:
        return sum(self.by_source.get(origin, 0) for origin in _NAMES)

    @property
    def estimated(self) -> int:
        return self.by_source.get(Origin.ESTIMATED, 0)

    @property
    def unknown(self) -> int:
        return self.nodes - self.priced - self.estimated

    def __str__(self) -> str:
        head = f"{self.priced} of {_count(self.nodes, 'node')} {'has' if self.nodes == 1 else 'have'} a price"
        return " ".join([f"{head}{self._rest()}.", *self.hints])

    def _rest(self) -> str:
        if not self.priced:
            return f": {NOT_USED}"
        sources = [
            f"{count} {name}" for origin, name in _NAMES.items() if (count := self.by_source.get(origin))
        ]
        rest = f": {', '.join(sources)}"
        if self.estimated:
            rest += f"; {self.estimated} estimated from similar nodes"
        return rest + (f"; {self.unknown} unknown" if self.unknown else "")


def region_hint(listed: set[str], of_nodes: set[str]) -> Sequence[str]:
    """Where a table has regions and none is that of a node."""
    if not listed or not of_nodes or listed & of_nodes:
        return ()
    return (f"The price table is for {some(listed)}; the nodes are in {some(of_nodes)}.",)


def missing_hint(missing: set[tuple[str, str, str]]) -> Sequence[str]:
    """Of types, capacity types and systems that a table does not have."""
    names = {f"{name} ({terms}{'' if os == LINUX else f', {os}'})" for name, terms, os in missing}
    return (f"The price table has no price for {some(names)}.",) if names else ()


def some(names: set[str]) -> str:
    named, more = sorted(names)[:_MAX_NAMED], len(names) - _MAX_NAMED
    return ", ".join(named) + (f" and {more} more" if more > 0 else "")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
