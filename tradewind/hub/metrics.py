"""What Prometheus sees of the fleet's scheduler."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram


class FleetMetrics:
    def __init__(self, registry: CollectorRegistry) -> None:
        self.decisions = Counter(
            "tradewind_fleet_decisions",
            "Decisions about bindings, by outcome: placed, unplaced, refused, forwarded, conflict or failed.",
            ["outcome"],
            registry=registry,
        )
        self.decision_seconds = Histogram(
            "tradewind_fleet_decision_seconds",
            "Time of one decision over all sites.",
            buckets=(0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5),
            registry=registry,
        )
        self.schedule_seconds = Histogram(
            "tradewind_fleet_schedule_seconds",
            "Time from a binding's turn to its decision written.",
            buckets=(0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5),
            registry=registry,
        )
        self.conflicts = Counter(
            "tradewind_fleet_conflicts",
            "Writes of a ledger that another scheduler came before.",
            registry=registry,
        )
        self.moves = Counter(
            "tradewind_fleet_moves",
            "Replicas that left a site because another was better, or because a new decision was asked for.",
            registry=registry,
        )
        self.waiting = Gauge(
            "tradewind_fleet_waiting", "Bindings that wait for a decision.", registry=registry
        )
        self.schedulers = Gauge(
            "tradewind_fleet_schedulers",
            "Schedulers of the fleet that are alive, this one too.",
            registry=registry,
        )
        self.moved_partitions = Gauge(
            "tradewind_fleet_moved_partitions",
            "Partitions of requests that another scheduler has than their name says, because of its load.",
            registry=registry,
        )
        self.sites = Gauge(
            "tradewind_fleet_sites",
            "Sites, by state: usable, not ready, or without a summary that can be used.",
            ["state"],
            registry=registry,
        )
