"""What is asked of a forecast, from the parts that every command is made of."""

from tradewind.cluster.snapshot import Snapshot
from tradewind.market.quotes import Origin
from tradewind.planner.keepers import Keeper, Limits
from tradewind.runtime.assembly import Assembly
from tradewind.savings.bill import Bill
from tradewind.savings.forecast import Question, Rates


def asked(parts: Assembly, moved: frozenset[Keeper] = frozenset()) -> Question:
    """About the cluster as it is now; `moved` are kinds of pods that no caution keeps where they are."""
    snapshot, pods = parts.cache.state()
    return Question(
        snapshot=snapshot,
        pods=pods,
        budgets=parts.cache.budgets(),
        policy_of=parts.settings.policy_of,
        bill=Bill(snapshot, parts.market.origins),
        coverage=parts.market.price_coverage(),
        limits=Limits(moved, frozenset(parts.settings.planner.schedulers)),
        rates=rates_of(snapshot, parts),
        missing=parts.missing,
        pools=parts.pools(),
    )


def rates_of(snapshot: Snapshot, parts: Assembly) -> Rates:
    nodes, origins = snapshot.nodes, parts.market.origins
    spot = [name for name, durable in zip(nodes.names, nodes.durable.tolist(), strict=True) if not durable]
    assumed = [name for name in spot if origins(name).interruption_rate is Origin.ESTIMATED]
    return Rates(len(spot), len(assumed), parts.market.sources.settings.priors.spot)
