"""The matrix of sites: one block of node rows for each, changed in place when a site changes.

Columns are (K, S): S sites, K rows for the site that has most; the rest is empty. So a change of one site
touches one column, and a request is one pass over everything, sites side by side.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from tradewind.cluster.objects import Node
from tradewind.cluster.table import NodeTable
from tradewind.cluster.wire import Taint
from tradewind.fleet.ledger import EMPTY, Ledger, left
from tradewind.fleet.summary import Summary

if TYPE_CHECKING:
    from tradewind.fleet.fit import Fit

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Codes = NDArray[np.intp]

Place = tuple[tuple[str, tuple[str, ...]], ...]
Value = TypeVar("Value", bound=Hashable)

_MAX_RESOURCES = 64  # of all sites together
_MANY_KINDS = 1024  # of nodes: beyond that, those that no site has any longer are forgotten
_FIRST_SITES = 16
_FIRST_ROWS = 8


@dataclass(frozen=True, kw_only=True)
class Site:
    """A member as the hub knows it."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    region: str = ""
    provider: str = ""
    zones: tuple[str, ...] = ()
    ready: bool = True
    apis: frozenset[str] = frozenset()  # apps/v1/Deployment; empty where it does not say
    summary: Summary | None = None
    trouble: str = "it has published no summary"  # while there is none
    ledger: Ledger = EMPTY

    def groups(self, by: str) -> tuple[str, ...]:
        match by:
            case "cluster":
                return (self.name,)
            case "region":
                return (self.region,) if self.region else ()
            case "provider":
                return (self.provider,) if self.provider else ()
            case _:
                return self.zones

    @property
    def place(self) -> Place:
        return tuple((by, self.groups(by)) for by in ("provider", "region", "zone"))


class Interned(Generic[Value]):
    """A column of few distinct values: what depends on one is found out once. Row 0, and all new ones, have
    the first value.
    """

    def __init__(self, first: Value) -> None:
        self.values = [first]
        self.codes: Codes = np.zeros(_FIRST_SITES, np.intp)
        self._code_of = {first: 0}

    def set(self, row: int, value: Value) -> None:
        if row >= self.codes.size:
            self.codes = np.resize(self.codes, 2 * max(row, self.codes.size))
        if value not in self._code_of:
            self._code_of[value] = len(self.values)
            self.values.append(value)
        self.codes[row] = self._code_of[value]


class Sites:
    """One thread changes and reads it."""

    def __init__(self, sites: Sequence[Site] = ()) -> None:
        self.row_of: dict[str, int] = {}
        self._resource_of: dict[str, int] = {}
        self._kind_of: dict[object, int] = {}
        self._kinds: list[Node] = []
        self._vacant: list[int] = []
        self._records: list[Site | None] = []
        self.places: Interned[Place] = Interned(())
        self.apis: Interned[frozenset[str]] = Interned(frozenset())
        self.changes = 0  # so far; `changed` says which was a row's last
        self.fits: dict[Hashable, Fit] = {}  # kept by `fit_of`
        self._live_kinds = 0  # when they were last counted
        self._shape(_FIRST_SITES, _FIRST_ROWS, 4)
        for site in sites:
            self.apply(site)

    def __len__(self) -> int:
        return len(self.row_of)

    @property
    def records(self) -> Sequence[Site | None]:
        """By row; None where a row is empty."""
        return self._records

    def site(self, name: str) -> Site | None:
        row = self.row_of.get(name)
        return None if row is None else self._records[row]

    @property
    def resources(self) -> Mapping[str, int]:
        return self._resource_of

    @cached_property
    def rows(self) -> Codes:
        """(S,) of the sites that there are."""
        return np.fromiter(self.row_of.values(), np.intp, len(self))

    @cached_property
    def table(self) -> NodeTable:
        """The sites as if they were nodes, for selectors and tolerations; empty rows too."""
        return NodeTable([_as_node(site) for site in self._records])

    @cached_property
    def kinds(self) -> NodeTable:
        """All kinds of nodes of all sites."""
        return NodeTable(self._kinds)

    def apply(self, site: Site) -> None:
        row = self.row_of.get(site.name)
        if row is None:
            row = self._new_row()
            self.row_of[site.name] = row
            self.__dict__.pop("rows", None)
        before, self._records[row] = self._records[row], site
        if before is None or (before.labels, before.taints) != (site.labels, site.taints):
            self.__dict__.pop("table", None)
        self.places.set(row, site.place)
        self.apis.set(row, site.apis)
        self._fill(row, site)

    def remove(self, name: str) -> None:
        row = self.row_of.pop(name, None)
        if row is not None:
            self._records[row] = None
            self._vacant.append(row)
            self._clear(row)
            self.__dict__.pop("table", None)
            self.__dict__.pop("rows", None)

    def _new_row(self) -> int:
        if self._vacant:
            return self._vacant.pop()
        row = len(self._records)
        self._records.append(None)
        rows, sites = self.count.shape
        if row >= sites:
            self._shape(2 * sites, rows, self.free.shape[0])
        self.__dict__.pop("table", None)
        return row

    def _shape(self, sites: int, rows: int, resources: int) -> None:
        """Larger arrays, with what was there."""
        old = dict(self.__dict__)
        self.changed: Codes = np.zeros(sites, np.intp)
        self.usable: Mask = np.zeros(sites, np.bool_)
        self.ready: Mask = np.zeros(sites, np.bool_)
        self.time: Floats = np.zeros(sites)
        self.error_rate: Floats = np.zeros(sites)
        self.latitude: Floats = np.full(sites, np.nan)
        self.longitude: Floats = np.full(sites, np.nan)
        self.grams: Floats = np.full(sites, np.nan)  # of CO2 for a core hour
        self.nodes: Floats = np.zeros(sites)
        self.total_free: Floats = np.zeros((resources, sites))
        self.total: Floats = np.zeros((resources, sites))
        self.kind: Codes = np.full((rows, sites), -1, np.intp)
        self.count: Floats = np.zeros((rows, sites))
        self.price: Floats = np.full((rows, sites), np.nan)
        self.rate: Floats = np.zeros((rows, sites))
        self.free: Floats = np.zeros((resources, rows, sites))
        self.per_unit: Floats = np.full((resources, rows, sites), np.inf)  # 1 / allocatable
        for name, array in list(self.__dict__.items()):
            if isinstance(array, np.ndarray) and name in old:
                before = old[name]
                array[tuple(slice(size) for size in before.shape)] = before

    def _clear(self, row: int) -> None:
        self.changes += 1
        self.changed[row] = self.changes
        self.usable[row] = self.ready[row] = False
        self.count[:, row] = 0
        self.kind[:, row] = -1
        self.free[:, :, row] = 0
        self.per_unit[:, :, row] = np.inf
        self.total_free[:, row] = self.total[:, row] = 0
        self.latitude[row] = self.longitude[row] = self.grams[row] = np.nan

    def _fill(self, row: int, site: Site) -> None:
        self._clear(row)
        self.ready[row] = site.ready
        summary = site.summary
        if summary is None:
            return
        self._forget_unused()
        resources, positions = self._resource_rows(summary)
        rooms = left(summary, site.ledger)
        self._make_room(len(rooms))
        self.usable[row] = True
        self.time[row], self.error_rate[row] = summary.time, summary.error_rate
        self.nodes[row] = summary.nodes
        place = summary.place
        if place.latitude is not None and place.longitude is not None:
            self.latitude[row], self.longitude[row] = place.latitude, place.longitude
        if place.watts_per_core is not None and place.carbon is not None:
            self.grams[row] = place.watts_per_core * place.carbon / 1000
        self.total[resources, row] = np.array(summary.allocatable, np.float64)[positions]
        self.total_free[resources, row] = np.array(summary.free, np.float64)[positions]
        for promise in site.ledger.promises:
            taken = [promise.replicas * promise.requests.get(name, 0) for name in summary.resources]
            self.total_free[resources, row] -= np.array(taken, np.float64)[positions]
        np.maximum(self.total_free[:, row], 0, out=self.total_free[:, row])
        if not rooms:
            return
        span = slice(len(rooms))
        kinds = [summary.kinds[room.kind] for room in rooms]
        codes = self._codes(summary)
        self.kind[span, row] = [codes[room.kind] for room in rooms]
        self.count[span, row] = [room.count for room in rooms]
        self.price[span, row] = [np.nan if kind.price is None else kind.price for kind in kinds]
        self.rate[span, row] = [kind.interruption_rate for kind in kinds]
        self.free[resources, span, row] = np.array([room.free for room in rooms], np.float64).T[positions]
        allocatable = np.array([kind.allocatable for kind in kinds], np.float64).T[positions]
        with np.errstate(divide="ignore"):
            self.per_unit[resources, span, row] = 1 / allocatable

    def _forget_unused(self) -> None:
        """What a site said once and no site says now: else one that says new things would fill the memory."""
        if len(self._kinds) <= max(_MANY_KINDS, 2 * self._live_kinds):
            return
        live = np.unique(self.kind[self.kind >= 0])
        codes: Codes = np.full(len(self._kinds), -1, np.intp)
        codes[live] = np.arange(live.size)
        self.kind = np.where(self.kind >= 0, codes[self.kind], -1)
        self._kinds = [self._kinds[code] for code in live.tolist()]
        self._kind_of = {key: int(codes[code]) for key, code in self._kind_of.items() if codes[code] >= 0}
        self._live_kinds = live.size
        self.__dict__.pop("kinds", None)

    def _resource_rows(self, summary: Summary) -> tuple[list[int], list[int]]:
        """The rows of the resources that are kept, and their positions in the summary.

        Beyond the limit a new name takes the row of one that no site has any longer, or is left out.
        """
        for name in summary.resources:
            if name not in self._resource_of:
                row = self._next_resource()
                if row is not None:
                    self._resource_of[name] = row
                    self.fits.clear()
        if len(self._resource_of) > self.free.shape[0]:
            rows, sites = self.count.shape
            self._shape(sites, rows, 2 * len(self._resource_of))
        kept = [position for position, name in enumerate(summary.resources) if name in self._resource_of]
        return [self._resource_of[summary.resources[position]] for position in kept], kept

    def _next_resource(self) -> int | None:
        if len(self._resource_of) < _MAX_RESOURCES:
            return len(self._resource_of)
        for name, row in self._resource_of.items():
            if not self.total[row].any():
                del self._resource_of[name]
                return row
        return None

    def _make_room(self, rows: int) -> None:
        width, sites = self.count.shape
        if rows > width:
            self._shape(sites, max(rows, width + width // 2), self.free.shape[0])

    def _codes(self, summary: Summary) -> list[int]:
        codes = []
        for kind in summary.kinds:
            key = (tuple(sorted(kind.labels.items())), kind.taints)
            code = self._kind_of.get(key)
            if code is None:
                code = self._kind_of[key] = len(self._kinds)
                self._kinds.append(Node(str(code), kind.labels, {}, {}, kind.taints))
                self.__dict__.pop("kinds", None)
            codes.append(code)
        return codes


def _as_node(site: Site | None) -> Node:
    return Node("", {}, {}, {}) if site is None else Node(site.name, site.labels, {}, {}, site.taints)
