"""What the configuration tells Prometheus."""

from prometheus_client import CollectorRegistry, Counter, Gauge


class ConfigMetrics:
    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self.registry = registry or CollectorRegistry()
        self.reloads = Counter(
            "tradewind_config_reloads",
            "Configuration reloads, by result.",
            ["result"],
            registry=self.registry,
        )
        self.ok = Gauge(
            "tradewind_config_ok",
            "1 while the newest configuration document is in force.",
            registry=self.registry,
        )
        self.ok.set(1)
