"""The sites as one request sees them: how many replicas fit, and what they cost there."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tradewind.fleet.fit import Columns, Fit, Needs, fit_of, steps
from tradewind.fleet.request import Request
from tradewind.fleet.scorers.median import median_of
from tradewind.fleet.sites import Codes, Floats, Mask, Site, Sites


@dataclass(frozen=True, eq=False)
class Candidates:
    """S of the sites; columns are made when a rule asks, and shared by all rules."""

    request: Request
    sites: Sites
    now: float  # seconds since the epoch
    rows: Codes  # (S,) of `sites`

    @classmethod
    def all_of(cls, request: Request, sites: Sites, now: float) -> "Candidates":
        return cls(request, sites, now, sites.rows)

    def __len__(self) -> int:
        return self.rows.size

    def take(self, mask: Mask) -> "Candidates":
        """What was found out about those that are left is not found out again."""
        if mask.all():
            return self
        taken = Candidates(self.request, self.sites, self.now, self.rows[mask])
        known = self.__dict__
        if "fit" in known:
            taken.__dict__["fit"] = self.fit
        if "columns" in known:
            taken.__dict__["columns"] = Columns(*(column[mask] for column in self.columns))
        return taken

    def record(self, index: int) -> Site:
        record = self.sites.records[int(self.rows[index])]
        assert record is not None  # noqa: S101  candidates are rows of sites, and nobody changes them meanwhile
        return record

    @property
    def names(self) -> list[str]:
        """Thousands of names take longer than all rules: only for few."""
        return [self.record(index).name for index in range(len(self))]

    def column(self, values: Floats) -> Floats:
        return values.take(self.rows, axis=-1)

    @cached_property
    def having(self) -> Mask:
        """(S,) with replicas of the request: the room that these take is theirs."""
        return self.named(self.request.places)

    def named(self, names: Iterable[str]) -> Mask:
        """(S,) of those with such a name."""
        row_of = self.sites.row_of
        rows = [row_of[name] for name in names if name in row_of]
        return np.isin(self.rows, rows) if rows else np.zeros(len(self), np.bool_)

    @cached_property
    def fit(self) -> Fit:
        return fit_of(self.request.pod, self.sites)

    @property
    def needs(self) -> Needs | None:
        return self.fit.needs

    @property
    def room(self) -> Floats:
        return self.columns.room

    @property
    def cost(self) -> Floats:
        """A site that has replicas of the request, or is full, costs what it would with room."""
        return self.columns.cost

    @cached_property
    def median_cost(self) -> float:
        return median_of(self.cost)

    @cached_property
    def columns(self) -> Columns:
        columns = self.fit.columns().take(self.rows)
        if self.having.any():
            columns.cost[self.having] = self.fit.cost_with_room(self.rows[self.having])
        return columns

    def steps(self, indices: Sequence[int]) -> tuple[Floats, Floats]:
        """(n, K) of each of these sites the cost of the next replicas, and how many have it."""
        rows = self.rows[list(indices)]
        return steps(self.fit.row_room(rows).T, self.fit.row_cost(rows).T, self.request.replicas)
