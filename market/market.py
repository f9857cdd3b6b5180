"""All sources together: for each value of a node, the first source that knows it, and which one that was.

The order of trust: what the node says of itself, the price table, Prometheus, what was learned of its pool
(with the table's or Prometheus' rate, else the usual one, as the prior), and last an estimate.
"""

import math
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from cluster.objects import Node
from cluster.selectors import Selector, matches, parse_selector
from cluster.snapshot import Offer
from market.estimates import Estimates
from market.learned import Evidence, Sighting, State
from market.notices import Notice, leaves_by_choice, notice_of
from market.offers import own_quote
from market.pools import Pool, Shape, pool_of, region_of, shape_of
from market.quotes import LARGEST, NOTHING, Origin, Origins, Quote, Refusals
from market.settings import MarketSettings
from market.table import PriceTable

# From this share of an interruption on, a pool's rate is more than what the table said.
_SEEN_ONE = 0.5


class Terms(NamedTuple):
    """An offer and where its values come from."""

    offer: Offer
    origins: Origins


@dataclass(slots=True)
class _Facts:
    """What does not change until the node does, and what the table says until that does."""

    node: Node
    own: Quote
    pool: Pool
    region: str
    shape: Shape
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
        self._origins: dict[str, Origins] = {}
        self._quotes: Mapping[str, Quote] = {}  # of Prometheus, by node
        self._evidence: Mapping[Pool, Evidence] = {}
        self._estimates = Estimates()
        self._edition = 0
        self.configure(settings or MarketSettings(), table or PriceTable())

    def configure(self, settings: MarketSettings, table: PriceTable) -> None:
        self.settings = settings
        self._table = table
        self._discounts: list[tuple[Selector, float]] = [
            (parse_selector(each.selector), each.factor) for each in settings.discounts
        ]
        self._edition += 1
        self.version += 1
        if settings.table is not None:
            self.changed_at[Origin.TABLE] = time.time()

    def quote(self, samples: Mapping[str, Mapping[str, float]]) -> None:
        """Take Prometheus' word: value to node to number. What it does not mention keeps its last number."""
        mentioned = {name for by_node in samples.values() for name in by_node}
        taken = {name: quote for name, quote in self._quotes.items() if name in self._facts}
        for name in mentioned:
            said = {field: by_node[name] for field, by_node in samples.items() if name in by_node}
            taken[name] = self._sensible(name, said, self._quotes.get(name, NOTHING))
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
        offer, origins = self._terms(self._facts_of(node))
        self._origins[node.name] = origins
        return offer

    def offers(self, nodes: Sequence[Node]) -> list[tuple[Node, Offer]]:
        """On all nodes there are; forgets the others."""
        facts = [self._facts_of(node) for node in nodes]
        self._forget_others({node.name for node in nodes})
        terms = [self._terms(each) for each in facts]
        if any(each.origins.price not in _KNOWN for each in terms):
            self._estimates = Estimates(
                (each.pool, each.shape, found.offer.price)
                for each, found in zip(facts, terms, strict=True)
                if found.origins.price in _KNOWN
            )
            terms = [self._terms(each) for each in facts]
        self._origins |= {each.node.name: found.origins for each, found in zip(facts, terms, strict=True)}
        return [(each.node, found.offer) for each, found in zip(facts, terms, strict=True)]

    def origins(self, name: str) -> Origins:
        return self._origins.get(name, Origins())

    def coverage(self) -> Mapping[str, Mapping[str, float]]:
        """Value to source to the share of nodes for which it comes from there."""
        origins = list(self._origins.values())
        shares: dict[str, dict[str, float]] = {}
        for field, column in zip(Origins._fields, zip(*origins, strict=True), strict=False):
            counts = Counter(column)
            shares[field] = {origin: counts[origin] / len(origins) for origin in Origin}
        return shares

    def ages(self, now: float) -> Mapping[str, float]:
        """Source to seconds since its last word."""
        return {source: max(0.0, now - at) for source, at in self.changed_at.items()}

    def sightings(self, nodes: Iterable[Node]) -> Mapping[str, Sighting]:
        return {node.name: _sighting(self._facts_of(node)) for node in nodes}

    def _facts_of(self, node: Node) -> _Facts:
        known = self._facts.get(node.name)
        if known is None or known.node is not node:
            known = _Facts(
                node=node,
                own=own_quote(node, known.own if known else NOTHING, self.refusals),
                pool=pool_of(node),
                region=region_of(node),
                shape=shape_of(node),
                notice=notice_of(node),
            )
            self._facts[node.name] = known
        if known.edition != self._edition:
            known.edition = self._edition
            known.listed = self._listed(known)
        return known

    def _listed(self, facts: _Facts) -> Quote:
        quote = self._table.quote(facts.node.name, facts.pool, facts.region)
        factor = math.prod(
            factor for selector, factor in self._discounts if matches(selector, facts.node.labels)
        )
        return quote._replace(price=quote.price * factor, median_price=quote.median_price * factor)

    def _terms(self, facts: _Facts) -> Terms:
        own, listed = facts.own, facts.listed
        asked = self._quotes.get(facts.node.name, NOTHING)
        price, price_origin = _first(own.price, listed.price, asked.price)
        if price_origin is Origin.UNKNOWN:
            price = self._estimates.price(facts.pool, facts.shape)
            price_origin = Origin.UNKNOWN if math.isnan(price) else Origin.ESTIMATED
        median, median_origin = _first(own.median_price, listed.median_price, asked.median_price)
        if median_origin is Origin.UNKNOWN:
            median, median_origin = price, price_origin
        durable = not facts.pool.spot
        if facts.notice is not None:
            # As dear as ever, so that the stability is exactly zero; and nothing that a floor could stand on.
            origins = Origins(price_origin, price_origin, Origin.NOTICE)
            return Terms(Offer(price, price, 1.0, durable=False), origins)
        told = _first(own.interruption_rate, listed.interruption_rate, asked.interruption_rate)
        rate, rate_origin = self._rate(facts, told)
        return Terms(Offer(price, median, rate, durable), Origins(price_origin, median_origin, rate_origin))

    def _rate(self, facts: _Facts, told: tuple[float, Origin]) -> tuple[float, Origin]:
        rate, origin = told
        if origin is Origin.NODE:
            return told
        if origin is Origin.UNKNOWN:
            priors = self.settings.priors
            rate, origin = priors.spot if facts.pool.spot else priors.on_demand, Origin.ESTIMATED
        evidence = self._evidence.get(facts.pool)
        if evidence is None:
            return rate, origin
        worth = self.settings.learned.prior_node_hours
        outweighs = evidence.interruptions >= _SEEN_ONE or evidence.node_hours >= worth
        return evidence.posterior(rate, worth).rate, Origin.LEARNED if outweighs else origin

    def _sensible(self, name: str, said: Mapping[str, float], before: Quote) -> Quote:
        taken = {}
        for field, value in said.items():
            # A price of nothing is how a cost model says that it does not know.
            if (value >= 0 if field == "interruption_rate" else value > 0) and value <= getattr(
                LARGEST, field
            ):
                taken[field] = value
            else:
                self.refusals.refuse(Origin.PROMETHEUS, name, field, f"{value:g}")
        return before._replace(**taken)

    def _forget_others(self, names: set[str]) -> None:
        for name in [name for name in list(self._facts) if name not in names]:
            self._facts.pop(name, None)
            self._origins.pop(name, None)


_KNOWN = frozenset({Origin.NODE, Origin.TABLE, Origin.PROMETHEUS})


def _first(own: float, listed: float, asked: float) -> tuple[float, Origin]:
    """The first value that is a number; comparing with itself is the quickest test for that."""
    if own == own:  # noqa: PLR0124  not NaN
        return own, Origin.NODE
    if listed == listed:  # noqa: PLR0124
        return listed, Origin.TABLE
    if asked == asked:  # noqa: PLR0124
        return asked, Origin.PROMETHEUS
    return math.nan, Origin.UNKNOWN


def _sighting(facts: _Facts) -> Sighting:
    if facts.notice is not None:
        return Sighting(facts.pool, State.WARNED if facts.notice.interruption else State.LEAVING)
    return Sighting(facts.pool, State.LEAVING if leaves_by_choice(facts.node) else State.STAYING)
