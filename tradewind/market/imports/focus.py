"""FOCUS exports: what each machine really cost, discounts and reservations included."""

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime

from tradewind.errors import PriceTableError
from tradewind.market.imports.lines import Line, Lines
from tradewind.market.quotes import MAX_DOLLARS_AN_HOUR, Quote
from tradewind.market.rows import Key, Row, raise_errors

_NEEDED = ("ResourceId", "EffectiveCost", "ChargePeriodStart", "ChargePeriodEnd")
_OPTIONAL = ("ChargeCategory", "BillingCurrency", "ConsumedUnit", "ConsumedQuantity")
_HOURS = {"", "hours", "hour", "hrs", "hr", "h"}
_HOUR_SECONDS = 3600
_GOOGLE = "//compute.googleapis.com/projects/"


def is_focus(lines: Lines) -> bool:
    return lines.column("ResourceId") is not None and lines.column("EffectiveCost") is not None


def from_focus(lines: Lines) -> list[Row]:
    """Cost by the hours in use, over all lines of usage of a machine."""
    columns = {name: column for name in (*_NEEDED, *_OPTIONAL) if (column := lines.column(name))}
    missing = [name for name in _NEEDED if name not in columns]
    if missing:
        raise PriceTableError(f"line 1: no column {', '.join(missing)}; FOCUS has {', '.join(_NEEDED)}")
    usage = _Usage(columns)
    errors: list[str] = []
    for line in lines.lines:
        try:
            usage.add(line)
        except PriceTableError as error:
            errors.append(str(error))
    raise_errors(errors)
    rows = usage.rows()
    if not rows:
        raise PriceTableError("no line of usage of a machine, with a cost and hours")
    return rows


class _Usage:
    def __init__(self, columns: Mapping[str, str]) -> None:
        self._columns = columns
        self._costs: defaultdict[str, float] = defaultdict(float)
        self._hours: defaultdict[str, dict[str, float]] = defaultdict(dict)  # machine, start of the period

    def add(self, line: Line) -> None:
        machine = _provider_id(self._cell(line, "ResourceId"))
        if not machine or self._cell(line, "ChargeCategory") not in {"", "Usage"}:
            return
        currency = self._cell(line, "BillingCurrency")
        if currency not in {"", "USD"}:
            raise line.error(self._columns["BillingCurrency"], f'"{currency}" is not USD')
        self._costs[machine] += line.value(self._columns["EffectiveCost"], MAX_DOLLARS_AN_HOUR)
        # Traffic of the machine has lines too, in other units: it costs, and is no hours of it.
        if self._cell(line, "ConsumedUnit").lower() in _HOURS:
            start = self._cell(line, "ChargePeriodStart")
            known = self._hours[machine].get(start, 0.0)
            self._hours[machine][start] = max(known, self._hours_of(line))

    def rows(self) -> list[Row]:
        totals = {machine: sum(periods.values()) for machine, periods in self._hours.items()}
        return [
            Row(Key(provider_id=machine, os="*"), Quote(self._costs[machine] / total))
            for machine, total in totals.items()
            if total > 0 and self._costs[machine] > 0
        ]

    def _cell(self, line: Line, name: str) -> str:
        column = self._columns.get(name)
        return line.cells[column].strip() if column else ""

    def _hours_of(self, line: Line) -> float:
        if self._cell(line, "ConsumedQuantity"):
            return line.value(self._columns["ConsumedQuantity"], MAX_DOLLARS_AN_HOUR)
        lasted = self._time(line, "ChargePeriodEnd") - self._time(line, "ChargePeriodStart")
        return lasted.total_seconds() / _HOUR_SECONDS

    def _time(self, line: Line, name: str) -> datetime:
        text = self._cell(line, name)
        try:
            return datetime.fromisoformat(text)
        except ValueError:
            reason = f'"{text}" is not a time such as 2026-01-01T00:00:00Z'
            raise line.error(self._columns[name], reason) from None


def _provider_id(resource: str) -> str:
    """As it is found in spec.providerID; "" for what is no machine."""
    lower = resource.lower()
    if lower.startswith(_GOOGLE):
        parts = lower.removeprefix(_GOOGLE).split("/")
        return f"gce://{parts[0]}/{parts[2]}/{parts[4]}" if parts[1::2] == ["zones", "instances"] else ""
    if lower.startswith("arn:"):
        return lower.rpartition("/")[2] if ":instance/" in lower else ""
    return lower if lower.startswith("i-") or "/virtualmachine" in lower else ""
