"""A cluster as it is and as it would be: what a difference is made from, by the parts of every command."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from tradewind.cluster.objects import Node
from tradewind.cluster.snapshot import Floats
from tradewind.config.document import Document
from tradewind.planner.worker import Worker
from tradewind.runtime.assembly import Assembly
from tradewind.runtime.source import CopiedSource
from tradewind.savings.bill import Bill
from tradewind.savings.changes import Changes, read_scale, read_tariff
from tradewind.savings.difference import Difference, Side, difference

KINDS = ("without", "lost-zone", "price", "rate", "scale")


def read_changes(written: Mapping[str, Sequence[str]]) -> Changes:
    """From what people write, by kind; raise ChangeError for what cannot be read."""
    return Changes(
        without=written.get("without", []),
        lost_zones=written.get("lost-zone", []),
        scales=[read_scale(text) for text in written.get("scale", [])],
        tariffs=[
            *map(read_tariff("price"), written.get("price", [])),
            *map(read_tariff("rate"), written.get("rate", [])),
        ],
    )


def as_it_is(parts: Assembly) -> Side:
    return _side(parts, parts)


def as_it_would_be(parts: Assembly, changes: Changes, config: Path | Document | None = None) -> Side:
    """With a configuration from a file prices are read anew, for it may have others; else they are of now."""
    name = f"{parts.name}, changed"
    source = CopiedSource(name, changes.applied(parts.copied()))
    changed = Assembly(source, config or parts.settings.document)
    repriced = isinstance(config, Path)
    if not repriced:
        changed.market.adopt(parts.market.sources)  # nodes that a pool would add are priced as now
    with changed.started():
        if repriced:
            changed.feed.poll()
            changed.feed.offer()
        else:
            changed.cache.update_offers(*_offers_of_now(parts, changed))
        snapshot = changed.cache.snapshot()
        if changes.tariffs:
            changed.cache.update_offers(snapshot.nodes.cluster.table.nodes, changes.retold(snapshot))
        return _side(changed, changed if repriced else parts)


def what_if(
    parts: Assembly, changes: Changes, worker: Worker, seconds: float, document: Document | None = None
) -> Difference:
    """`seconds` for each of the two plans."""
    then = as_it_would_be(parts, changes, document)
    return difference(as_it_is(parts), then, worker, seconds, anew=document is not None)


def _offers_of_now(parts: Assembly, changed: Assembly) -> tuple[Sequence[Node], Floats]:
    """What Prometheus said and what was learned is known to the parts of now alone."""
    now = parts.cache.snapshot()
    nodes = [node for node in changed.cache.snapshot().nodes.cluster.table.nodes if node.name in now.row_of]
    rows = [now.row_of[node.name] for node in nodes]
    return nodes, now.nodes.columns.supply.offers[:, rows]


def _side(parts: Assembly, priced_by: Assembly) -> Side:
    snapshot, pods = parts.cache.state()
    origins = priced_by.market.origins
    coverage = priced_by.market.price_coverage()
    if priced_by is not parts:
        found = Counter(origins(name).price for name in snapshot.nodes.names)
        coverage = coverage._replace(nodes=len(snapshot.nodes), by_source=found)
    return Side(
        snapshot=snapshot,
        pods=pods,
        policy_of=parts.settings.policy_of,
        bill=Bill(snapshot, origins),
        coverage=coverage,
        pools=parts.pools(),
    )
