"""The price table: what nodes of a type cost and how often they are interrupted.

For each value the most exact row counts that gives it. The price of accelerators that are attached to a
machine is added to that of the machine. A table is taken whole or refused whole.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from tradewind.cluster.objects import Node
from tradewind.errors import PriceTableError
from tradewind.market.pools import ON_DEMAND, Attached, Pool, attached_to, os_of
from tradewind.market.quotes import NOTHING, Quote
from tradewind.market.rows import OF_NODES, UNSAID, Key, Row, Size, csv_rows, of_pools, yaml_rows

_INDEXED = (*OF_NODES, "instance_type")

# A field and its value to the rows that have it; None for rows that have patterns only.
_Index = dict[tuple[str | None, str], list[Row]]
# A field to what rows may call a node there; none of them where nothing is asked about.
_Names = Mapping[str, Sequence[str]]


class PriceTable:
    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self._pool_rows: _Index = {}
        self._node_rows: _Index = {}
        self._gpu_rows: list[Row] = []
        self._found: dict[tuple[Pool, str, str], Sequence[Row]] = {}  # rows for a pool, a region and a system
        self.regions: set[str] = set()  # that rows name
        self.sizes: dict[str, Size] = {}  # by type
        self.zones: set[str] = set()  # that rows name
        for row in rows:
            self._add(row)

    def _add(self, row: Row) -> None:
        if not _is_pattern(row.key.region):
            self.regions.add(row.key.region)
        if not _is_pattern(row.key.zone):
            self.zones.add(row.key.zone)
        if row.size.cpu and row.size.memory and not _is_pattern(row.key.instance_type):
            self.sizes[row.key.instance_type] = row.size
        if row.key.gpu != "*":
            self._gpu_rows.append(row)
            return
        index = self._pool_rows if of_pools(row.key) else self._node_rows
        index.setdefault(_place(row.key), []).append(row)

    def __bool__(self) -> bool:
        return bool(self._pool_rows or self._node_rows)

    def quote(self, node: Node, pool: Pool, region: str) -> Quote:
        """What the table says of this node; a row that picks nodes is more exact than any that does not."""
        of_kind, of_node = self.quotes(node, pool, region)
        return of_kind.overridden(of_node)

    def quotes(self, node: Node, pool: Pool, region: str) -> tuple[Quote, Quote]:
        """What the table says of all nodes of the kind, and of this one."""
        names = _pool_names(pool, region, os_of(node))
        place = pool, region, os_of(node)
        rows = self._found.get(place)
        if rows is None:
            rows = self._found[place] = _matching(self._pool_rows, names)
        of_kind = self._with_accelerators(_said(rows), attached_to(node), names)
        if not self._node_rows:
            return of_kind, NOTHING
        return of_kind, _said(_matching(self._node_rows, names | _node_names(node)))

    def _with_accelerators(self, machine: Quote, attached: Attached | None, names: _Names) -> Quote:
        """The machine's price alone would be far too low: no price where one of its parts is unknown."""
        if attached is None or not self._gpu_rows:
            return machine
        names = {**names, **dict.fromkeys(OF_NODES, ()), "gpu": (attached.model,)}
        rows = sorted((row for row in self._gpu_rows if _matches(row.key, names)), key=_row_exactness)
        one, count = _said(rows), attached.number or math.nan
        median = one.price if math.isnan(one.median_price) else one.median_price
        return machine._replace(
            price=machine.price + count * one.price, median_price=machine.median_price + count * median
        )


def _said(rows: Iterable[Row]) -> Quote:
    """By the last of the rows for each value."""
    quote = NOTHING
    for row in rows:
        quote = quote.overridden(row.quote)
    return quote


def _pool_names(pool: Pool, region: str, system: str) -> dict[str, Sequence[str]]:
    return {
        "instance_type": (pool.instance_type,),
        "zone": (pool.zone,),
        "region": (region,),
        "os": (system,),
        "capacity_type": (pool.capacity_type,),
    }


def _node_names(node: Node) -> dict[str, Sequence[str]]:
    return {
        "node": (node.name,),
        "provider_id": _provider_ids(node.provider_id),
        "label": [f"{key}={value}" for key, value in node.labels.items()],
    }


def _provider_ids(provider_id: str) -> Sequence[str]:
    """Whole, and as OpenCost's lists have it: on AWS the instance alone, on Azure the path alone."""
    whole = provider_id.lower()
    provider, _, rest = whole.partition("://")
    return whole, rest.rpartition("/")[2] if provider == "aws" else rest


def _place(key: Key) -> tuple[str | None, str]:
    """Under the first field that tells much and is no pattern, so that few rows are looked at for a node."""
    named = ((field, getattr(key, field)) for field in _INDEXED)
    return next(((field, text) for field, text in named if not _is_pattern(text)), (None, ""))


def _matching(index: _Index, names: _Names) -> list[Row]:
    """Least exact first."""
    places = [(None, ""), *((field, name) for field in _INDEXED for name in names.get(field, ()))]
    rows = [row for place in places for row in index.get(place, ()) if _matches(row.key, names)]
    return sorted(rows, key=_row_exactness)


def read(path: Path) -> PriceTable:
    try:
        text = path.read_text(encoding="utf-8-sig")
        rows = yaml_rows(text) if path.suffix in {".yaml", ".yml"} else csv_rows(text)
    except (OSError, UnicodeDecodeError, PriceTableError) as error:
        raise PriceTableError(f"{path}: {error}") from error
    return PriceTable(rows)


def _is_pattern(text: str) -> bool:
    return any(character in text for character in "*?[")


def _matches(key: Key, names: _Names) -> bool:
    if key.capacity_type == UNSAID:
        key = key._replace(capacity_type=ON_DEMAND)
    return all(
        pattern == "*" or any(fnmatchcase(name, pattern) for name in names[field])
        for field, pattern in zip(Key._fields, key, strict=True)
    )


def _row_exactness(row: Row) -> tuple[int, ...]:
    """Field by field: named, a pattern (the longer the better), anything."""
    return tuple(0 if text in {"*", UNSAID} else len(text) if _is_pattern(text) else 1000 for text in row.key)
