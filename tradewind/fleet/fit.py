"""How one replica fits at each site, kept for the shapes of requests that came last.

Many requests ask for the same, and a decision changes a site or two. So what was found out for a shape is
found out again only for the sites that have changed since.
"""

from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from scoring.filters.node_affinity import accepted
from scoring.filters.taints import tolerable
from tradewind.cluster.objects import Pod
from tradewind.fleet.sites import Codes, Floats, Mask, Sites

KEPT = 32  # shapes; each takes 24 bytes a site

Number = TypeVar("Number", np.float64, np.intp)
Rows = slice | Codes  # of sites
Needs = tuple[tuple[int, int], ...]


class Columns(NamedTuple):
    """(S,) of each site, over its node rows."""

    room: Floats  # replicas that fit
    cost: Floats  # of the next replica: that of the cheapest row with room; NaN where no price is known
    rate: Floats  # mean interruption rate of the places

    def take(self, rows: Codes) -> "Columns":
        return Columns(*(column.take(rows) for column in self))


class Fit:
    """Of one shape: what a replica asks for, and which nodes it accepts."""

    def __init__(self, pod: Pod, sites: Sites, needs: Needs | None) -> None:
        self.needs = needs
        self._pod = pod
        self._sites = sites
        self._known = Columns(*np.empty((3, 0)))
        self._seen = -1  # the last change of the sites that is in `_known`
        self._judge()

    def columns(self) -> Columns:
        """Of all rows of the sites. They are changed in place by the next call: take from them."""
        sites = self._sites
        if self._kinds is not sites.kinds:
            self._judge()
        size = len(sites.records)
        if self._known.room.size != size:
            self._known = Columns(*np.empty((3, size)))
            self._seen = -1
        stale = np.flatnonzero(sites.changed[:size] > self._seen)
        if 2 * stale.size > size:
            self._set(slice(size))
        elif stale.size:
            self._set(stale)
        self._seen = sites.changes
        return self._known

    def _set(self, rows: Rows) -> None:
        for column, values in zip(self._known, self._found(rows), strict=True):
            column[rows] = values

    def _found(self, rows: Rows) -> Columns:
        """A site that is full costs what it would with room."""
        row_room = self.row_room(rows)
        room: Floats = row_room.sum(axis=0)
        expected = np.einsum("ks,ks->s", _of(self._sites.rate, rows), row_room)
        rate = np.divide(expected, room, out=np.zeros(room.size), where=room > 0)
        open_rows = row_room > 0
        full = np.flatnonzero(room == 0)
        if full.size:
            open_rows[:, full] = self._suited(rows)[:, full]
        return Columns(room, self._cheapest(rows, open_rows), rate)

    def cost_with_room(self, rows: Codes) -> Floats:
        """What the sites would cost if all their nodes that suit had room."""
        return self._cheapest(rows, self._suited(rows))

    def _cheapest(self, rows: Rows, open_rows: Mask) -> Floats:
        cost = np.fmin.reduce(np.where(open_rows, self.row_cost(rows), np.inf), axis=0)
        return np.where(np.isinf(cost), np.nan, cost)

    def row_room(self, rows: Rows) -> Floats:
        """(K, n) replicas that fit on the nodes of each row.

        Quotients of whole numbers below 2**53 are exact enough for floor: the nearest one below a whole
        number differs from it by more than the rounding.
        """
        count = _of(self._sites.count, rows)
        if self.needs is None:
            return np.zeros(count.shape)
        room: Floats | None = None
        for resource, amount in self.needs:
            fits = _of(self._sites.free[resource], rows) / amount
            room = fits if room is None else np.minimum(room, fits, out=room)
        room = np.ones(count.shape) if room is None else np.floor(room, out=room)
        room *= count
        if not self._verdicts.all():
            room *= self._suited(rows)
        return room

    def row_cost(self, rows: Rows) -> Floats:
        """(K, n) dollars an hour for one replica: the node's price times the largest share it takes."""
        price = _of(self._sites.price, rows)
        share: Floats = np.zeros(price.shape)
        for resource, amount in self.needs or ():
            np.maximum(share, _of(self._sites.per_unit[resource], rows) * amount, out=share)
        np.minimum(share, 1, out=share)
        share *= price
        return share

    def _judge(self) -> None:
        """Which of all kinds of nodes the pod's selector, affinity and tolerations accept."""
        pod, kinds = self._pod, self._sites.kinds
        self._kinds = kinds
        self._verdicts: Mask = accepted(pod, kinds) & tolerable(pod, kinds, comparisons=False)

    def _suited(self, rows: Rows) -> Mask:
        """(K, n) rows of such nodes."""
        return np.append(self._verdicts, False).take(
            _of(self._sites.kind, rows)
        )  # -1, an empty row: the last


def fit_of(pod: Pod, sites: Sites) -> Fit:
    needs = _needs(pod, sites)
    selector = tuple(sorted(pod.node_selector.items()))
    shape = (needs, selector, pod.node_terms, pod.tolerations)
    kept = sites.fits
    fit = kept.pop(shape, None) or Fit(pod, sites, needs)
    kept[shape] = fit  # the last that was asked for is the last to go
    if len(kept) > KEPT:
        del kept[next(iter(kept))]
    return fit


def _needs(pod: Pod, sites: Sites) -> Needs | None:
    """Row of each resource that one replica takes, and how much; None if no site has one of them."""
    resources = sites.resources
    asked = [(name, amount) for name, amount in pod.requests.items() if amount > 0]
    if any(name not in resources for name, _ in asked):
        return None
    return tuple((resources[name], amount) for name, amount in asked)


def steps(room: Floats, cost: Floats, replicas: int) -> tuple[Floats, Floats]:
    """Of (n, K) node rows the cheapest first, NaN, an unknown cost, last; no room beyond `replicas`."""
    order = np.argsort(np.where(room > 0, cost, np.nan), axis=1, kind="stable")
    cost, room = np.take_along_axis(cost, order, 1), np.take_along_axis(room, order, 1)
    before = np.cumsum(room, axis=1) - room
    room = np.where(before < replicas, room, 0)
    used = int(np.flatnonzero(room.any(axis=0)).max(initial=-1)) + 1
    return cost[:, :used], room[:, :used]


def _of(values: NDArray[Number], rows: Rows) -> NDArray[Number]:
    return values[:, rows] if isinstance(rows, slice) else values.take(rows, axis=1)
