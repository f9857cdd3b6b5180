"""The sites as one request sees them: how many replicas fit, and what they cost there."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from scoring.filters.node_affinity import accepted
from scoring.filters.taints import tolerable
from tradewind.fleet.request import Request
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
        rows = np.fromiter(sites.row_of.values(), np.intp, len(sites))
        return cls(request, sites, now, rows)

    def __len__(self) -> int:
        return self.rows.size

    def take(self, mask: Mask) -> "Candidates":
        return self if mask.all() else Candidates(self.request, self.sites, self.now, self.rows[mask])

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
    def needs(self) -> list[tuple[int, int]] | None:
        """Row of each resource that one replica takes, and how much; None if no site has one of them."""
        resources = self.sites.resources
        asked = [(name, amount) for name, amount in self.request.requests.items() if amount > 0]
        if any(name not in resources for name, _ in asked):
            return None
        return [(resources[name], amount) for name, amount in asked]

    @cached_property
    def row_room(self) -> Floats:
        """(S, K) replicas that fit on the nodes of each row.

        Quotients of whole numbers below 2**53 are exact enough for floor: the nearest one below a whole
        number differs from it by more than the rounding.
        """
        if self.needs is None:
            return np.zeros((len(self), self.sites.count.shape[1]))
        room: Floats | None = None
        for resource, amount in self.needs:
            fits = self._blocks(self.sites.free[resource]) / amount
            room = fits if room is None else np.minimum(room, fits, out=room)
        room = np.ones((len(self), self.sites.count.shape[1])) if room is None else np.floor(room, out=room)
        room *= self._blocks(self.sites.count)
        if not self._all_suit:
            room *= self._suited
        return room

    @cached_property
    def _verdicts(self) -> Mask:
        """Of all kinds of nodes, those that the request's selector, affinity and tolerations accept."""
        pod, kinds = self.request.pod, self.sites.kinds
        return accepted(pod, kinds) & tolerable(pod, kinds, comparisons=False)

    @cached_property
    def _all_suit(self) -> bool:
        return bool(self._verdicts.all())

    @cached_property
    def _suited(self) -> Mask:
        """(S, K) rows of such nodes."""
        codes = self.sites.kind.take(self.rows, axis=0)
        return np.append(self._verdicts, False).take(codes)  # -1, an empty row, finds the last

    @cached_property
    def room(self) -> Floats:
        """(S,) replicas that fit."""
        room: Floats = self.row_room.sum(axis=1)
        return room

    @cached_property
    def row_cost(self) -> Floats:
        """(S, K) dollars an hour for one replica: the node's price times the largest share it takes."""
        share: Floats = np.zeros(self.row_room.shape)
        for resource, amount in self.needs or ():
            total = self._blocks(self.sites.allocatable[resource])
            with np.errstate(divide="ignore"):
                np.maximum(share, amount / total, out=share)
        with np.errstate(invalid="ignore"):
            cost: Floats = self._blocks(self.sites.price) * np.minimum(share, 1)
        return cost

    @cached_property
    def cost(self) -> Floats:
        """(S,) of the next replica: that of the cheapest row with room; NaN where no price is known.

        A full site, which is here because it has replicas, costs what it would with room.
        """
        open_rows = self.row_room > 0
        full = self.room == 0
        if full.any():
            open_rows |= self._suited & full[:, np.newaxis]
        cheapest = np.where(open_rows & ~np.isnan(self.row_cost), self.row_cost, np.inf).min(axis=1)
        return np.where(np.isinf(cheapest), np.nan, cheapest)

    def curve(self, index: int) -> list[tuple[float, int]]:
        """One site's rows with room, as (cost of a replica, how many), the cheapest first; NaN comes last."""
        room, cost = self.row_room[index], self.row_cost[index]
        rows = np.flatnonzero(room > 0)
        order = rows[np.argsort(cost[rows], kind="stable")]
        return [(float(cost[row]), int(room[row])) for row in order]

    @cached_property
    def _everything(self) -> bool:
        """All rows in their order: then a column need not be copied."""
        return bool((self.rows == np.arange(len(self))).all())

    def _blocks(self, values: Floats) -> Floats:
        return values[: len(self)] if self._everything else values.take(self.rows, axis=0)
