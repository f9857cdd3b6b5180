"""Keeps what was learned of interruptions in a ConfigMap, so that a restart remembers and replicas agree.

The leader writes. A write names the version that was read, so that one who led before, and does not know yet
that another leads, is refused.
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
        """None where there is none, or none that makes sense; raise ApiError where nobody can tell."""
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
            _log.error("%s makes no sense and will be replaced: %s", self._name, error)
            return None

    def write(self, memory: Memory) -> bool:
        """Whether it was written; not if another wrote since we have read, or if the API fails."""
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
