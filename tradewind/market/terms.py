"""On what terms nodes are had: for each value the first source that knows it, and which one that was.

The order of trust: what the node says of itself, the price table, Prometheus, what was learned of its pool
(with the table's or Prometheus' rate, else the usual one, as the prior), and last an estimate.
"""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tradewind.cluster.snapshot import Floats, Offer
from tradewind.market.estimates import Estimates
from tradewind.market.facts import Facts, Listing
from tradewind.market.kinds import Kinds
from tradewind.market.learned import Evidence
from tradewind.market.plausibility import Implausible, Norms, Screen
from tradewind.market.pools import LINUX, Pool
from tradewind.market.quotes import MIN_DOLLARS_AN_HOUR, Origin, Quote
from tradewind.market.settings import MarketSettings
from tradewind.market.table import PriceTable

ORIGINS = tuple(Origin)
CODES = {origin: code for code, origin in enumerate(ORIGINS)}
_TOLD = tuple(CODES[origin] for origin in (Origin.NODE, Origin.TABLE, Origin.PROMETHEUS))
UNKNOWN, _ESTIMATED = CODES[Origin.UNKNOWN], CODES[Origin.ESTIMATED]

# From this share of an interruption on, a pool's rate is more than what the table said.
_SEEN_ONE = 0.5
_NO_EVIDENCE = Evidence()

Codes = NDArray[np.intp]


class Told(NamedTuple):
    values: Floats  # (3, N) in the order of a Quote's fields, NaN where no source knows
    origins: Codes  # (3, N)
    implausible: Mapping[int, Implausible]  # by row: prices that were not taken


class Terms(NamedTuple):
    offers: Floats  # (5, N) in the order of an Offer's fields
    origins: Codes  # (3, N) of price, median price and interruption rate
    implausible: Mapping[int, Implausible]

    def first(self) -> "Settled":
        price, median_price, rate, durable, leaving = self.offers[:, 0].tolist()
        offer = Offer(price, median_price, rate, bool(durable), bool(leaving))
        return Settled(offer, self.origins[:, 0])


class Settled(NamedTuple):
    """The terms of one node."""

    offer: Offer
    origins: Codes


@dataclass(frozen=True, slots=True)
class Sources:
    """All that offers are made from, at one moment. Never changes, so any thread may read it."""

    version: int = 0
    settings: MarketSettings = field(default_factory=MarketSettings)
    listing: Listing = field(default_factory=lambda: Listing(PriceTable()))
    quotes: Mapping[str, Mapping[str, float]] = field(default_factory=dict)  # of Prometheus: field, node
    offerings: Mapping[Pool, float] = field(default_factory=dict)  # of Prometheus: prices of pools
    evidence: Mapping[Pool, Evidence] = field(default_factory=dict)
    medians: Mapping[Pool, float] = field(default_factory=dict)  # of prices as seen over time
    norms: Norms = field(default_factory=Norms)
    estimates: Estimates = field(default_factory=Estimates)

    def memo_key(self, facts: Facts) -> Hashable:
        """Nodes with the same key have the same offer. No NaN in it: one NaN does not equal another."""
        name = facts.node.name
        asked = tuple([quotes.get(name) for quotes in self.quotes.values()])
        offered = self._offered(facts) if self.listing.overlays else math.nan  # by labels that others lack
        said = *facts.own, *facts.listed, offered
        return _hashable(said), facts.pool, facts.kind, facts.notice, asked

    def surveyed(self, facts: Sequence[Facts]) -> tuple["Sources", Told]:
        """With norms and estimates from all nodes there are."""
        kinds = Kinds([each.kind for each in facts])
        said = self._said(facts)
        norms = Norms(kinds.groups(self._first_said(*said).values[0]))
        sources = replace(self, norms=norms)
        told = sources._screened(kinds, said)  # noqa: SLF001  another of our own
        if (told.origins[0] == UNKNOWN).any():
            sources = replace(sources, estimates=sources.estimated_from(facts, kinds, told))
        return sources, told

    def told(self, facts: Sequence[Facts]) -> Told:
        """For each value what the first source says that says something plausible."""
        return self._screened(Kinds([each.kind for each in facts]), self._said(facts))

    def _screened(self, kinds: Kinds, said: tuple[Floats, Floats, Floats]) -> Told:
        if self.settings.plausible_factor is None:
            return self._first_said(*said)
        screen = Screen(kinds, self.norms, self.settings.plausible_factor)
        screen.apply(*said)
        return self._first_said(*said)._replace(implausible=screen.found)

    def _said(self, facts: Sequence[Facts]) -> tuple[Floats, Floats, Floats]:
        """(3, N) of each source, in the order of trust."""
        names = [each.node.name for each in facts]
        own = _columns(each.own for each in facts)
        listed = _columns(each.listed for each in facts)
        asked = np.full_like(own, math.nan)
        for column, name in zip(asked, Quote._fields, strict=True):
            quotes = self.quotes.get(name)
            if quotes:
                column[:] = [quotes.get(node, math.nan) for node in names]
        if self.offerings:
            offered = np.array([self._offered(each) for each in facts])
            asked[0] = np.where(np.isnan(asked[0]), offered, asked[0])
        for prices in (listed[:2], asked[:2]):
            _drop_tiny(prices)
        return own, listed, asked

    def _offered(self, facts: Facts) -> float:
        """What Karpenter would pay; its prices are those of Linux, before its overlays."""
        price = self.offerings.get(facts.pool, math.nan) if facts.kind.os == LINUX else math.nan
        return self.listing.overlaid(facts.node, price)

    def _first_said(self, *sources: Floats) -> Told:
        values = np.full_like(sources[0], math.nan)
        codes = np.full(values.shape, UNKNOWN, np.intp)
        for code, said in zip(_TOLD, sources, strict=True):
            news = np.isnan(values) & ~np.isnan(said)
            values[news], codes[news] = said[news], code
        return Told(values, codes, {})

    def estimated_from(self, facts: Sequence[Facts], kinds: Kinds, told: Told) -> Estimates:
        """From nodes of known price, and from what the table says of the others' types on other terms."""
        unpriced = [facts[row] for row in np.flatnonzero(told.origins[0] == UNKNOWN).tolist()]
        others = Kinds([each.kind for each in unpriced])
        listed = np.fromiter((each.other_terms for each in unpriced), np.float64, len(unpriced))
        _drop_tiny(listed)
        of_others = ((kind.other_terms, prices) for kind, prices in others.groups(listed))
        return Estimates(chain(kinds.groups(told.values[0]), of_others), self.settings.spot_price_ratio)

    def settle(self, facts: Sequence[Facts], told: Told) -> Terms:
        """Fill what no source told, and add what was learned and what is about to happen."""
        price, median_price, rate = told.values
        price_from, median_from, rate_from = told.origins
        spot = np.array([each.pool.spot for each in facts], np.bool_)
        leaving = np.array([each.notice is not None for each in facts], np.bool_)
        self._estimate_prices(facts, price, price_from)
        self._fill_rates(spot, rate, rate_from)
        self._apply_evidence(facts, rate, rate_from)
        self._recall_medians(facts, told)
        # A price ratio of 1 makes the stability of a leaving node exactly zero.
        as_price = (median_from == UNKNOWN) | leaving
        median_price[as_price], median_from[as_price] = price[as_price], price_from[as_price]
        rate[leaving], rate_from[leaving] = 1.0, CODES[Origin.NOTICE]
        offers = np.vstack([told.values, ~spot & ~leaving, leaving])
        return Terms(offers, told.origins, told.implausible)

    def _estimate_prices(self, facts: Sequence[Facts], price: Floats, codes: Codes) -> None:
        for row in np.flatnonzero(codes == UNKNOWN).tolist():
            price[row] = self.estimates.price(facts[row].kind)
            if not math.isnan(price[row]):
                codes[row] = _ESTIMATED

    def _fill_rates(self, spot: NDArray[np.bool_], rate: Floats, codes: Codes) -> None:
        priors = self.settings.priors
        unknown = codes == UNKNOWN
        rate[unknown] = np.where(spot, priors.spot, priors.on_demand)[unknown]
        codes[unknown] = _ESTIMATED

    def _recall_medians(self, facts: Sequence[Facts], told: Told) -> None:
        """Where a source tells the price of now and none the median."""
        if not self.medians:
            return
        for row in np.flatnonzero((told.origins[1] == UNKNOWN) & (told.origins[0] < _ESTIMATED)).tolist():
            median = self.medians.get(facts[row].pool)
            if median is not None and median >= MIN_DOLLARS_AN_HOUR:
                told.values[1, row], told.origins[1, row] = median, CODES[Origin.LEARNED]

    def _apply_evidence(self, facts: Sequence[Facts], rate: Floats, codes: Codes) -> None:
        if not self.evidence:
            return
        seen = np.array([self.evidence.get(each.pool, _NO_EVIDENCE) for each in facts]).reshape(-1, 2)
        evidence = Evidence(*seen.T)
        worth = self.settings.learned.prior_node_hours
        open_rows = (codes != CODES[Origin.NODE]) & (seen > 0).any(axis=1)
        rate[open_rows] = np.asarray(evidence.posterior(rate, worth).rate)[open_rows]
        outweighs = (seen[:, 0] >= _SEEN_ONE) | (seen[:, 1] >= worth)
        codes[open_rows & outweighs] = CODES[Origin.LEARNED]


def _hashable(values: Sequence[float]) -> Hashable:
    return tuple([None if math.isnan(value) else value for value in values])


def _drop_tiny(prices: Floats) -> None:
    """Discounts, overlays and memories may bring prices that no source may state."""
    prices[(prices > 0) & (prices < MIN_DOLLARS_AN_HOUR)] = math.nan


def _columns(quotes: Iterable[Quote]) -> Floats:
    """(3, N): a column for each node."""
    flat = np.fromiter(chain.from_iterable(quotes), np.float64)
    return flat.reshape(-1, len(Quote._fields)).T.copy()
