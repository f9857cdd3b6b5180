"""Stores learned rates in a ConfigMap, so that they survive a restart and all replicas agree.

Only the leader writes. A write carries the resourceVersion that was read, so that a former leader that does
not know yet gets a conflict.
"""

import logging

import msgspec

from tradewind.errors import ApiError, ConflictError, NotFoundError
from tradewind.kube.client import Client
from tradewind.kube.failures import decoded
from tradewind.market.learned import Memory, decode, encode
from tradewind.market.metrics import MarketMetrics

NAME = "tradewind-learned-rates"

_KEY = "rates.json"
# A ConfigMap may hold a mebibyte in all, and etcd's default request limit is not much above that.
_MAX_BYTES = 512 * 1024

_log = logging.getLogger(__name__)


class _Metadata(msgspec.Struct, rename="camel"):
    resource_version: str


class _ConfigMap(msgspec.Struct):
    metadata: _Metadata
    data: dict[str, str] | None = None


_decoder = msgspec.json.Decoder(_ConfigMap)


class MarketMemory:
    def __init__(self, client: Client, namespace: str, metrics: MarketMetrics) -> None:
        self._client = client
        self._name = f"ConfigMap {namespace}/{NAME}"
        self._config_maps = f"/api/v1/namespaces/{namespace}/configmaps"
        self._metrics = metrics
        self._version: str | None = None  # None: there is no such ConfigMap

    def read(self) -> Memory | None:
        """None where the ConfigMap is missing or unreadable; raise ApiError where the API fails."""
        try:
            found = decoded(_decoder, self._client.get(f"{self._config_maps}/{NAME}"))
        except NotFoundError:
            self._version = None
            return None
        except ApiError as error:
            raise ApiError(f"reading {self._name}: {error}", error.status) from error
        self._version = found.metadata.resource_version
        try:
            return decode((found.data or {}).get(_KEY, ""))
        except ValueError as error:
            _log.error("%s cannot be decoded and will be overwritten: %s", self._name, error)
            return None

    def write(self, memory: Memory) -> bool:
        """False on a conflict, and where the API fails."""
        body = {
            "metadata": {"name": NAME, "resourceVersion": self._version},
            "data": {_KEY: encode(memory, _MAX_BYTES).decode()},
        }
        try:
            if self._version is None:
                written = self._client.create(self._config_maps, body)
            else:
                written = self._client.replace(f"{self._config_maps}/{NAME}", body)
            self._version = decoded(_decoder, written).metadata.resource_version
        except ConflictError:
            self._metrics.memory_writes.labels("conflict").inc()
            return False
        except ApiError as error:
            self._metrics.memory_writes.labels("failed").inc()
            _log.warning("writing %s: %s", self._name, error)
            return False
        self._metrics.memory_writes.labels("written").inc()
        return True
