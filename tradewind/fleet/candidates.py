"""The sites as one request sees them: how many replicas fit, and what they cost there."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from scoring.filters.node_affinity import accepted
from scoring.filters.taints import tolerable
from tradewind.fleet.request import Request
from tradewind.fleet.sites import Codes, Floats, Mask, Site, Sites

_OF_REQUEST = ("needs", "_verdicts", "_all_suit")  # the same whichever sites are left

Number = TypeVar("Number", np.float64, np.intp)
Step = tuple[float, int]  # cost of a replica, and how many have it


class Columns(NamedTuple):
    """(S,) of each site, over its node rows."""

    room: Floats  # replicas that fit
    cost: Floats  # of the next replica: that of the cheapest row with room; NaN where no price is known
    rate: Floats  # mean interruption rate of the places


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
        taken.__dict__.update({name: known[name] for name in _OF_REQUEST if name in known})
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
        row_of = self.sites.row_of
        have = [row_of[name] for name, count in self.request.current.items() if count > 0 and name in row_of]
        return np.isin(self.rows, have) if have else np.zeros(len(self), np.bool_)

    @cached_property
    def needs(self) -> list[tuple[int, int]] | None:
        """Row of each resource that one replica takes, and how much; None if no site has one of them."""
        resources = self.sites.resources
        asked = [(name, amount) for name, amount in self.request.requests.items() if amount > 0]
        if any(name not in resources for name, _ in asked):
            return None
        return [(resources[name], amount) for name, amount in asked]

    @property
    def room(self) -> Floats:
        return self.columns.room

    @property
    def cost(self) -> Floats:
        """A site that has replicas of the request, or is full, costs what it would with room."""
        return self.columns.cost

    @cached_property
    def columns(self) -> Columns:
        rows = slice(len(self)) if self._everything else self.rows
        row_room = self._row_room(rows)
        room: Floats = row_room.sum(axis=0)
        expected = np.einsum("ks,ks->s", _of(self.sites.rate, rows), row_room)
        rate = np.divide(expected, room, out=np.zeros(room.size), where=room > 0)
        open_rows = row_room > 0
        as_if_open = np.flatnonzero(self.having | (room == 0))
        if as_if_open.size:
            open_rows[:, as_if_open] = self._suited(self.rows[as_if_open])
        cost = np.fmin.reduce(np.where(open_rows, self._row_cost(rows), np.inf), axis=0)
        return Columns(room, np.where(np.isinf(cost), np.nan, cost), rate)

    def _row_room(self, rows: slice | Codes) -> Floats:
        """(K, n) replicas that fit on the nodes of each row.

        Quotients of whole numbers below 2**53 are exact enough for floor: the nearest one below a whole
        number differs from it by more than the rounding.
        """
        count = _of(self.sites.count, rows)
        if self.needs is None:
            return np.zeros(count.shape)
        room: Floats | None = None
        for resource, amount in self.needs:
            fits = _of(self.sites.free[resource], rows) / amount
            room = fits if room is None else np.minimum(room, fits, out=room)
        room = np.ones(count.shape) if room is None else np.floor(room, out=room)
        room *= count
        if not self._all_suit:
            room *= self._suited(rows)
        return room

    def _row_cost(self, rows: slice | Codes) -> Floats:
        """(K, n) dollars an hour for one replica: the node's price times the largest share it takes."""
        price = _of(self.sites.price, rows)
        share: Floats = np.zeros(price.shape)
        for resource, amount in self.needs or ():
            np.maximum(share, _of(self.sites.per_unit[resource], rows) * amount, out=share)
        np.minimum(share, 1, out=share)
        share *= price
        return share

    @cached_property
    def _verdicts(self) -> Mask:
        """Of all kinds of nodes, those that the request's selector, affinity and tolerations accept."""
        pod, kinds = self.request.pod, self.sites.kinds
        return accepted(pod, kinds) & tolerable(pod, kinds, comparisons=False)

    @cached_property
    def _all_suit(self) -> bool:
        return bool(self._verdicts.all())

    def _suited(self, rows: slice | Codes) -> Mask:
        """(K, n) rows of such nodes."""
        return np.append(self._verdicts, False).take(_of(self.sites.kind, rows))  # -1, an empty row: the last

    def curves(self, indices: Sequence[int]) -> list[list[Step]]:
        """Of each of these sites the rows with room, the cheapest first; NaN, an unknown cost, comes last."""
        rows = self.rows[list(indices)]
        room, cost = self._row_room(rows).T, self._row_cost(rows).T
        order = np.argsort(np.where(room > 0, cost, np.nan), axis=1, kind="stable")
        cost, room = np.take_along_axis(cost, order, 1), np.take_along_axis(room, order, 1)
        return [
            [(each, int(count)) for each, count in zip(*both, strict=True) if count > 0]
            for both in zip(cost.tolist(), room.tolist(), strict=True)
        ]

    @cached_property
    def _everything(self) -> bool:
        """All rows in their order: then a column need not be copied."""
        return bool((self.rows == np.arange(len(self))).all())


def _of(values: NDArray[Number], rows: slice | Codes) -> NDArray[Number]:
    return values[:, rows] if isinstance(rows, slice) else values.take(rows, axis=1)
