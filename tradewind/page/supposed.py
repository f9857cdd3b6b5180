"""What-if as a form: what was written into it, and what came of it."""

from collections.abc import Mapping
from dataclasses import dataclass

from tradewind.errors import TradewindError
from tradewind.page.calculations import BusyError, Calculations
from tradewind.page.pending import MOST_SHOWN
from tradewind.runtime.assembly import Assembly
from tradewind.savings import configuration
from tradewind.savings.difference_report import Summary
from tradewind.savings.what_if import KINDS, read_changes

FIELDS = (*KINDS, *configuration.KINDS)
_MAX_LETTERS = 4000


@dataclass(frozen=True, kw_only=True)
class Supposed:
    """What came of a question."""

    made: float = 0.0  # seconds since 1970; 0: nothing was asked
    refused: str = ""
    busy: bool = False
    found: Summary | None = None


class WhatIf:
    def __init__(self, parts: Assembly, calculations: Calculations) -> None:
        self._parts = parts
        self._calculations = calculations

    async def ask(self, written: Mapping[str, str]) -> Supposed:
        """Several changes of a kind are separated by semicolons."""
        fields = {kind: written.get(kind, "").strip() for kind in FIELDS}
        if not any(fields.values()):
            return Supposed()
        if sum(map(len, fields.values())) > _MAX_LETTERS:
            return Supposed(refused=f"that is longer than {_MAX_LETTERS:,} letters")
        try:
            return await self._ask(fields)
        except TradewindError as error:
            return Supposed(refused=str(error).removeprefix("--"), busy=isinstance(error, BusyError))

    async def _ask(self, fields: Mapping[str, str]) -> Supposed:
        parts = self._parts
        changes = read_changes({kind: _several(fields[kind]) for kind in KINDS})
        document = configuration.read_configuration(parts.settings.document, fields)
        made, found = await self._calculations.ask(
            tuple(fields.values()), lambda worker: worker.what_if(parts, changes, document, MOST_SHOWN)
        )
        return Supposed(made=made, found=found)


def _several(text: str) -> list[str]:
    return [part.strip() for part in text.split(";") if part.strip()]
