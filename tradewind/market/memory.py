"""Stores learned rates in a ConfigMap, so that they survive a restart and all replicas agree.

Only the leader writes.
"""

import logging

from tradewind.errors import ApiError, ConflictError
from tradewind.kube.client import Client
from tradewind.kube.config_map import ConfigMap
from tradewind.market.learned import Memory, decode, encode
from tradewind.market.metrics import MarketMetrics

NAME = "tradewind-learned-rates"

_KEY = "rates.json"
# A ConfigMap may hold a mebibyte in all, and etcd's default request limit is not much above that.
_MAX_BYTES = 512 * 1024

_log = logging.getLogger(__name__)


class MarketMemory:
    def __init__(self, client: Client, namespace: str, metrics: MarketMetrics) -> None:
        self._config_map = ConfigMap(client, namespace, NAME)
        self._metrics = metrics

    def read(self) -> Memory | None:
        """None where the ConfigMap is missing or unreadable; raise ApiError where the API fails."""
        data = self._config_map.read()
        if data is None:
            return None
        try:
            return decode(data.get(_KEY, ""))
        except ValueError as error:
            _log.error("%s cannot be decoded and will be overwritten: %s", self._config_map, error)
            return None

    def write(self, memory: Memory) -> bool:
        """False on a conflict, and where the API fails."""
        try:
            self._config_map.write({_KEY: encode(memory, _MAX_BYTES).decode()})
        except ConflictError:
            self._metrics.memory_writes.labels("conflict").inc()
            return False
        except ApiError as error:
            self._metrics.memory_writes.labels("failed").inc()
            _log.warning("writing %s: %s", self._config_map, error)
            return False
        self._metrics.memory_writes.labels("written").inc()
        return True
