"""Keeps learned rates, and counts how that went."""

from tradewind.kube.client import Client
from tradewind.kube.memory import ConfigMapMemory, WriteOutcome
from tradewind.market.learned import Memory, decode, encode
from tradewind.market.metrics import MarketMetrics

NAME = "tradewind-learned-rates"
_KEY = "rates.json"


class MarketMemory(ConfigMapMemory[Memory]):
    def __init__(self, client: Client, namespace: str, metrics: MarketMetrics) -> None:
        super().__init__(client, namespace, NAME, _KEY, decode=decode, encode=encode)
        self._metrics = metrics

    def write(self, kept: Memory) -> WriteOutcome:
        outcome = super().write(kept)
        self._metrics.memory_writes.labels(outcome).inc()
        return outcome
