"""All sources together: for each value of a node, the first source that knows it, and which one that was.

The order of trust: what the node says of itself, the price table, Prometheus, what was learned of its pool
(with the table's or Prometheus' rate, else the usual one, as the prior), and last an estimate.
"""

import math
import time
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tradewind.cluster.objects import Node
from tradewind.cluster.selectors import Selector, matches, parse_selector
from tradewind.cluster.snapshot import Floats, Offer
from tradewind.market.estimates import Estimates, Kind
from tradewind.market.learned import Evidence, Sighting, State
from tradewind.market.notices import Notice, leaves_by_choice, notice_of
from tradewind.market.offers import own_quote
from tradewind.market.pools import Pool, pool_of, region_of, shape_of
from tradewind.market.quotes import LARGEST, NOTHING, Origin, Origins, Quote, Refusals
from tradewind.market.settings import MarketSettings
from tradewind.market.table import PriceTable

_ORIGINS = tuple(Origin)
_CODES = {origin: code for code, origin in enumerate(_ORIGINS)}
_TOLD = tuple(_CODES[origin] for origin in (Origin.NODE, Origin.TABLE, Origin.PROMETHEUS))
_UNKNOWN, _ESTIMATED = _CODES[Origin.UNKNOWN], _CODES[Origin.ESTIMATED]

# From this share of an interruption on, a pool's rate is more than what the table said.
_SEEN_ONE = 0.5
_NO_EVIDENCE = Evidence()

Codes = NDArray[np.intp]


class Told(NamedTuple):
    values: Floats  # (3, N) in the order of a Quote's fields, NaN where no source knows
    origins: Codes  # (3, N)


class Terms(NamedTuple):
    offers: Floats  # (5, N) in the order of an Offer's fields
    origins: Codes  # (3, N) of price, median price and interruption rate


@dataclass(slots=True)
class _Facts:
    """What does not change until the node does, and what the table says until that does."""

    node: Node
    own: Quote
    pool: Pool
    kind: Kind
    region: str
    notice: Notice | None
    listed: Quote = NOTHING
    edition: int = -1  # of the table and the discounts


class Market:
    """May be asked from any thread. Nothing here is locked: sources are replaced whole, never changed."""

    def __init__(self, settings: MarketSettings | None = None, table: PriceTable | None = None) -> None:
        self.refusals = Refusals()
        self.version = 0  # counts the news that may change any node's offer
        self.changed_at: dict[str, float] = {}  # source to seconds since 1970 of its last word
        self._facts: dict[str, _Facts] = {}
        self._origins: dict[str, Codes] = {}
        self._quotes: Mapping[
            str, Mapping[str, float]
        ] = {}  # of Prometheus: field of a quote to node to value
        self._evidence: Mapping[Pool, Evidence] = {}
        self._estimates = Estimates()
        # For which version and estimates, and what came out then for nodes of which this and that is known.
        self._settled: tuple[object, dict[Hashable, tuple[Offer, Codes]]] = None, {}
        self._edition = 0
        self._table = PriceTable()
        self.configure(settings or MarketSettings(), table or PriceTable())

    def configure(self, settings: MarketSettings, table: PriceTable) -> None:
        self.settings = settings
        if settings.table is None:
            self.changed_at.pop(Origin.TABLE, None)
        elif table is not self._table:
            self.changed_at[Origin.TABLE] = time.time()
        self._table = table
        self._discounts: list[tuple[Selector, float]] = [
            (parse_selector(each.selector), each.factor) for each in settings.discounts
        ]
        self._edition += 1
        self.version += 1

    def quote(self, samples: Mapping[str, Mapping[str, float]]) -> None:
        """Take Prometheus' word: value to node to number. What it does not mention keeps its last number."""
        taken = {}
        for field in Quote._fields:
            before = self._quotes.get(field, {})
            kept = {name: value for name, value in before.items() if name in self._facts}
            taken[field] = kept | dict(self._sensible(field, samples.get(field, {})))
        self._quotes = taken
        self.version += 1
        self.changed_at[Origin.PROMETHEUS] = time.time()

    def forget_quotes(self) -> None:
        """Prometheus is no longer a source."""
        self._quotes = {}
        self.version += 1
        self.changed_at.pop(Origin.PROMETHEUS, None)

    def learn(self, evidence: Mapping[Pool, Evidence]) -> None:
        self._evidence = dict(evidence)
        self.version += 1
        self.changed_at[Origin.LEARNED] = time.time()

    def offer_of(self, node: Node) -> Offer:
        """On one node that came or changed; estimates are those of the last look at all nodes."""
        offer, self._origins[node.name] = self._alike(self._facts_of(node))
        return offer

    def offers(self, nodes: Sequence[Node]) -> Floats:
        """(5, N) on all nodes there are, in the order of an Offer's fields; forgets other nodes."""
        facts = [self._facts_of(node) for node in nodes]
        names = [node.name for node in nodes]
        self._forget_others(set(names))
        told = self._told(facts)
        unknown = told.origins[0] == _UNKNOWN
        if unknown.any():
            prices = zip(facts, told.values[0].tolist(), unknown.tolist(), strict=True)
            self._estimates = Estimates((each.kind, price) for each, price, missing in prices if not missing)
        terms = self._settle(facts, told)
        self._origins.update(zip(names, terms.origins.T, strict=True))
        return terms.offers

    def origins(self, name: str) -> Origins:
        codes = self._origins.get(name)
        return Origins() if codes is None else Origins(*(_ORIGINS[code] for code in codes.tolist()))

    def coverage(self) -> Mapping[str, Mapping[str, float]]:
        """Value to source to the share of nodes for which it comes from there."""
        codes = np.array(list(self._origins.values()), np.intp).reshape(-1, len(Origins._fields))
        return {
            field: dict(
                zip(_ORIGINS, np.bincount(column, minlength=len(_ORIGINS)) / max(1, len(codes)), strict=True)
            )
            for field, column in zip(Origins._fields, codes.T, strict=True)
        }

    def ages(self, now: float) -> Mapping[str, float]:
        """Source to seconds since its last word."""
        return {source: max(0.0, now - at) for source, at in list(self.changed_at.items())}

    def sightings(self, nodes: Iterable[Node]) -> Mapping[str, Sighting]:
        return {node.name: _sighting(self._facts_of(node)) for node in nodes}

    def _facts_of(self, node: Node) -> _Facts:
        known = self._facts.get(node.name)
        if known is None or known.node is not node:
            pool = pool_of(node)
            known = _Facts(
                node=node,
                own=own_quote(node, known.own if known else NOTHING, self.refusals),
                pool=pool,
                kind=Kind(pool.instance_type, pool.capacity_type, shape_of(node)),
                region=region_of(node),
                notice=notice_of(node),
            )
            self._facts[node.name] = known
        if known.edition != self._edition:
            known.edition = self._edition
            known.listed = self._listed(known)
        return known

    def _alike(self, facts: _Facts) -> tuple[Offer, Codes]:
        """Settled once for all nodes of which the same is known: columns of one node take long."""
        state, settled = (self.version, self._estimates), self._settled
        if settled[0] != state:
            settled = self._settled = state, {}
        asked = tuple([quotes.get(facts.node.name) for quotes in self._quotes.values()])
        key = facts.own, facts.listed, facts.pool, facts.kind, facts.notice, asked
        known = settled[1]
        if key not in known:
            terms = self._settle([facts], self._told([facts]))
            price, median_price, rate, durable, leaving = terms.offers[:, 0].tolist()
            offer = Offer(price, median_price, rate, bool(durable), bool(leaving))
            known[key] = offer, terms.origins[:, 0]
        return known[key]

    def _listed(self, facts: _Facts) -> Quote:
        quote = self._table.quote(facts.node, facts.pool, facts.region)
        factor = math.prod(
            factor for selector, factor in self._discounts if matches(selector, facts.node.labels)
        )
        if factor == 1:
            return quote
        return quote._replace(price=quote.price * factor, median_price=quote.median_price * factor)

    def _settle(self, facts: Sequence[_Facts], told: Told) -> Terms:
        """What no source told is estimated, what was learned and what is about to happen is added."""
        values, codes = told
        price, median_price, rate = values
        for row in np.flatnonzero(codes[0] == _UNKNOWN).tolist():
            price[row] = self._estimates.price(facts[row].kind)
            codes[0, row] = _UNKNOWN if math.isnan(price[row]) else _ESTIMATED
        unknown = codes[1] == _UNKNOWN
        median_price[unknown], codes[1, unknown] = price[unknown], codes[0, unknown]
        spot = np.array([each.pool.spot for each in facts], np.bool_)
        priors = self.settings.priors
        unknown = codes[2] == _UNKNOWN
        rate[unknown] = np.where(spot, priors.spot, priors.on_demand)[unknown]
        codes[2, unknown] = _ESTIMATED
        self._apply_evidence(facts, rate, codes[2])
        durable = ~spot
        going = np.array([each.notice is not None for each in facts], np.bool_)
        # As dear as ever, so that the stability is exactly zero; and nothing that a floor could stand on.
        rate[going], durable[going], codes[2, going] = 1.0, False, _CODES[Origin.NOTICE]
        median_price[going], codes[1, going] = price[going], codes[0, going]
        return Terms(np.vstack([values, durable, going]), codes)

    def _told(self, facts: Sequence[_Facts]) -> Told:
        """For each value what the first source says that says something."""
        names = [each.node.name for each in facts]
        own = _columns(each.own for each in facts)
        listed = _columns(each.listed for each in facts)
        asked = np.full_like(own, math.nan)
        for column, field in zip(asked, Quote._fields, strict=True):
            quotes = self._quotes.get(field)
            if quotes:
                column[:] = [quotes.get(name, math.nan) for name in names]
        values = np.full_like(own, math.nan)
        codes = np.full(values.shape, _UNKNOWN, np.intp)
        for code, said in zip(_TOLD, (own, listed, asked), strict=True):
            news = np.isnan(values) & ~np.isnan(said)
            values[news], codes[news] = said[news], code
        return Told(values, codes)

    def _apply_evidence(self, facts: Sequence[_Facts], rate: Floats, codes: Codes) -> None:
        if not self._evidence:
            return
        seen = np.array([self._evidence.get(each.pool, _NO_EVIDENCE) for each in facts]).reshape(-1, 2)
        evidence = Evidence(*seen.T)
        worth = self.settings.learned.prior_node_hours
        open_rows = (codes != _CODES[Origin.NODE]) & (seen > 0).any(axis=1)
        rate[open_rows] = np.asarray(evidence.posterior(rate, worth).rate)[open_rows]
        outweighs = (seen[:, 0] >= _SEEN_ONE) | (seen[:, 1] >= worth)
        codes[open_rows & outweighs] = _CODES[Origin.LEARNED]

    def _sensible(self, field: str, samples: Mapping[str, float]) -> Mapping[str, float]:
        values = np.fromiter(samples.values(), np.float64, len(samples))
        # A price of nothing is how a cost model says that it does not know.
        above = values >= 0 if field == "interruption_rate" else values > 0
        bad = ~(above & (values <= getattr(LARGEST, field)))
        if not bad.any():
            return samples
        for name, absurd in zip(samples, bad.tolist(), strict=True):
            if absurd:
                self.refusals.refuse(Origin.PROMETHEUS, name, field, f"{samples[name]:g}")
        return {
            name: value
            for (name, value), absurd in zip(samples.items(), bad.tolist(), strict=True)
            if not absurd
        }

    def _forget_others(self, names: set[str]) -> None:
        for name in [name for name in list(self._facts) if name not in names]:
            self._facts.pop(name, None)
            self._origins.pop(name, None)


def _columns(quotes: Iterable[Quote]) -> Floats:
    """(3, N): a column for each field."""
    flat = np.fromiter(chain.from_iterable(quotes), np.float64)
    return flat.reshape(-1, len(Quote._fields)).T


def _sighting(facts: _Facts) -> Sighting:
    if facts.notice is not None:
        return Sighting(facts.pool, State.WARNED if facts.notice.interruption else State.LEAVING)
    return Sighting(facts.pool, State.LEAVING if leaves_by_choice(facts.node) else State.STAYING)
