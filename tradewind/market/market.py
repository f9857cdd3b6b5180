"""All sources of prices and rates together, and what they make of each node."""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from tradewind.cluster.karpenter import NodeOverlay
from tradewind.cluster.objects import Node
from tradewind.cluster.snapshot import Floats, Nodes, Offer
from tradewind.market.coverage import Coverage, missing_hint, region_hint
from tradewind.market.facts import Facts, Listing, facts_of
from tradewind.market.learned import Evidence, NodeState, Sighting
from tradewind.market.notices import Cause, leaves_by_choice
from tradewind.market.plausibility import Implausible
from tradewind.market.pools import Pool
from tradewind.market.quotes import GUESSED, LARGEST, SMALLEST, Origin, Origins, Quote, Refusals
from tradewind.market.settings import MarketSettings
from tradewind.market.table import PriceTable
from tradewind.market.terms import ORIGINS, Codes, Settled, Sources

_MAX_LOGGED = 10  # nodes with an implausible price, at a time
_MAX_MEMO = 10_000  # entries; one more starts anew
# How long a value stays that Prometheus no longer reports: an exporter may be restarting.
_EXPIRY_SECONDS = 3600.0

_Key = TypeVar("_Key", bound=Hashable)

_log = logging.getLogger(__name__)


class Market:
    """May be asked from any thread: each question is answered from one immutable `Sources`.

    Whoever brings news replaces it whole, under a lock against others with news; readers never wait.
    """

    def __init__(
        self,
        settings: MarketSettings | None = None,
        table: PriceTable | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._missing: dict[str, dict[Any, float]] = {}  # since when Prometheus lacks a node or a pool
        self.refusals = Refusals()
        self.changed_at: dict[str, float] = {}  # source to seconds since 1970 of its last word
        self._facts: dict[str, Facts] = {}
        self._origins: dict[str, Codes] = {}
        self._implausible: Mapping[str, Implausible] = {}  # prices that are not used, by node
        self._sources = Sources()
        self._replacing = threading.Lock()
        # What came out for nodes of which the same is known, and from which sources.
        self._memo: tuple[Sources, dict[Hashable, Settled]] = self._sources, {}
        self.configure(settings or MarketSettings(), table or PriceTable())

    @property
    def version(self) -> int:
        """Grows with all news that may change any node's offer."""
        return self._sources.version

    @property
    def settings(self) -> MarketSettings:
        return self._sources.settings

    @property
    def sources(self) -> Sources:
        """All that offers are made from by now."""
        return self._sources

    def adopt(self, sources: Sources) -> None:
        """Know what another market knows."""
        with self._replacing:
            self._sources = sources

    def configure(self, settings: MarketSettings, table: PriceTable) -> None:
        if settings.table is None:
            self.changed_at.pop(Origin.TABLE, None)
        elif table is not self._sources.listing.table:
            self.changed_at[Origin.TABLE] = time.time()
        overlays = self._sources.listing.overlays
        self._replace(settings=settings, listing=Listing(table, settings.discounts, overlays))

    def overlay(self, overlays: Sequence[NodeOverlay]) -> None:
        """Take Karpenter's NodeOverlays, the one that counts most first."""
        listing = self._sources.listing
        if tuple(overlays) != tuple(listing.overlays):
            changed = Listing(listing.table, self.settings.discounts, tuple(overlays))
            self._replace(listing=changed)

    @property
    def table(self) -> PriceTable:
        return self._sources.listing.table

    def offer_of_new(self, node: Node) -> Offer:
        """On a node that does not exist."""
        sources = self._sources
        facts = facts_of(node, sources.listing, None, self.refusals)
        return sources.settle([facts], sources.told([facts])).first().offer

    def quote(
        self, samples: Mapping[str, Mapping[str, float]], offerings: Mapping[Pool, float] | None = None
    ) -> None:
        """Take Prometheus' word: value to node to number, and prices of pools.

        What an answer lacks keeps its last number for an hour, after a failed query for as long as it fails.
        """
        taken = {}
        for field in Quote._fields:
            before = self._sources.quotes.get(field, {})
            known = {name: value for name, value in before.items() if name in self._facts}
            if field in samples:
                known = self._updated(field, known, self._sensible(field, samples[field]))
            taken[field] = known
        pools = self._sources.offerings
        if offerings is not None:
            offered = {
                pool: price for pool, price in offerings.items() if SMALLEST.price <= price <= LARGEST.price
            }
            pools = self._updated("offerings", pools, offered)
        self._replace(quotes=taken, offerings=pools)
        self.changed_at[Origin.PROMETHEUS] = time.time()

    def _updated(
        self, what: str, known: Mapping[_Key, float], news: Mapping[_Key, float]
    ) -> dict[_Key, float]:
        now, before = self._clock(), self._missing.get(what, {})
        since = {key: before.get(key, now) for key in known if key not in news}
        kept = {key: at for key, at in since.items() if now - at < _EXPIRY_SECONDS}
        self._missing[what] = kept
        return {key: known[key] for key in kept} | dict(news)

    def forget_quotes(self) -> None:
        """Prometheus is no longer a source."""
        self._replace(quotes={}, offerings={})
        self.changed_at.pop(Origin.PROMETHEUS, None)

    def learn(self, evidence: Mapping[Pool, Evidence], medians: Mapping[Pool, float] | None = None) -> None:
        self._replace(evidence=dict(evidence), medians=dict(medians or {}))
        self.changed_at[Origin.LEARNED] = time.time()

    def offer_of(self, node: Node) -> Offer:
        """On one node that came or changed; estimates are those of the last look at all nodes."""
        sources = self._sources
        facts = self._facts_of(node, sources)
        memo = self._memo
        if memo[0] is not sources or len(memo[1]) >= _MAX_MEMO:
            memo = self._memo = sources, {}
        key = sources.memo_key(facts)
        settled = memo[1].get(key)
        if settled is None:
            settled = memo[1][key] = sources.settle([facts], sources.told([facts])).first()
        self._origins[node.name] = settled.origins
        return settled.offer

    def offers(self, nodes: Sequence[Node]) -> Floats:
        """(5, N) on all nodes there are, in the order of an Offer's fields; forgets other nodes."""
        sources = self._sources
        facts = [self._facts_of(node, sources) for node in nodes]
        names = [node.name for node in nodes]
        self._forget_others(set(names))
        surveyed, told = sources.surveyed(facts)
        self._replace(news=False, norms=surveyed.norms, estimates=surveyed.estimates)
        terms = surveyed.settle(facts, told)
        self._origins.update(zip(names, terms.origins.T, strict=True))
        self._flag({names[row]: found for row, found in terms.implausible.items()})
        return terms.offers

    def origins(self, name: str) -> Origins:
        codes = self._origins.get(name)
        if codes is None:
            return Origins()
        found = self._implausible.get(name)
        price, median_price, rate = (ORIGINS[code] for code in codes.tolist())
        return Origins(price, median_price, rate, str(found or ""))

    def coverage(self) -> Mapping[str, Mapping[str, float]]:
        """Value to source to the share of nodes for which it comes from there."""
        codes = np.array(list(self._origins.values()), np.intp).reshape(-1, len(Quote._fields))
        return {
            field: dict(
                zip(ORIGINS, np.bincount(column, minlength=len(ORIGINS)) / max(1, len(codes)), strict=True)
            )
            for field, column in zip(Quote._fields, codes.T, strict=True)
        }

    def price_coverage(self) -> Coverage:
        """Of the nodes of the last look at all of them."""
        prices = {name: ORIGINS[codes[0]] for name, codes in list(self._origins.items())}
        table = self._sources.listing.table
        facts = [each for each in list(self._facts.values()) if each.node.name in prices]
        hints = region_hint(table.regions, {each.region for each in facts if each.region})
        if table and not hints:
            missing = [each.kind for each in facts if prices[each.node.name] in GUESSED]
            hints = missing_hint(
                {(kind.instance_type or "unnamed", kind.capacity_type, kind.os) for kind in missing}
            )
        return Coverage(len(prices), Counter(prices.values()), hints)

    def implausible(self) -> Mapping[Origin, int]:
        """Source to nodes for which its price is not used."""
        return Counter(found.source for found in list(self._implausible.values()))

    def ages(self, now: float) -> Mapping[str, float]:
        """Source to seconds since its last word."""
        return {source: max(0.0, now - at) for source, at in list(self.changed_at.items())}

    def known_prices(self, nodes: Nodes) -> Iterator[tuple[Pool, float]]:
        """Of the nodes whose price a source has told."""
        for node, price in zip(nodes.cluster.table.nodes, nodes.price.tolist(), strict=True):
            facts, codes = self._facts.get(node.name), self._origins.get(node.name)
            if facts is not None and codes is not None and ORIGINS[codes[0]] not in GUESSED and price > 0:
                yield facts.pool, price

    def sightings(self, nodes: Iterable[Node]) -> Mapping[str, Sighting]:
        sources = self._sources
        return {node.name: _sighting(self._facts_of(node, sources)) for node in nodes}

    def _facts_of(self, node: Node, sources: Sources) -> Facts:
        before = self._facts.get(node.name)
        facts = facts_of(node, sources.listing, before, self.refusals)
        if facts is not before:
            self._facts[node.name] = facts
        return facts

    def _flag(self, found: Mapping[str, Implausible]) -> None:
        """Log each node once while its price stays implausible, and not thousands of them."""
        new = [name for name in found if name not in self._implausible]
        self._implausible = found
        for name in new[:_MAX_LOGGED]:
            _log.warning("node %s: %s", name, found[name])
        if len(new) > _MAX_LOGGED:
            _log.warning("%d more nodes have an implausible price", len(new) - _MAX_LOGGED)

    def _replace(self, *, news: bool = True, **changes: Any) -> None:
        with self._replacing:
            self._sources = replace(self._sources, version=self._sources.version + news, **changes)

    def _sensible(self, field: str, samples: Mapping[str, float]) -> Mapping[str, float]:
        values = np.fromiter(samples.values(), np.float64, len(samples))
        # A price of nothing is how a cost model says that it does not know.
        bad = ~((values >= getattr(SMALLEST, field)) & (values <= getattr(LARGEST, field)))
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


def _sighting(facts: Facts) -> Sighting:
    cause = facts.notice.cause if facts.notice else None
    by_choice = leaves_by_choice(facts.node)
    if cause is Cause.INTERRUPTION:
        return Sighting(facts.pool, NodeState.WARNED)
    if cause is Cause.KARPENTER:
        return Sighting(facts.pool, NodeState.DISRUPTED)
    if cause is Cause.SHUTDOWN and facts.pool.spot and not by_choice:
        return Sighting(facts.pool, NodeState.WARNED)
    return Sighting(facts.pool, NodeState.LEAVING if cause or by_choice else NodeState.STAYING)
