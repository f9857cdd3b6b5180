"""Keeps what was learned of interruptions in a ConfigMap, so that a restart remembers and replicas agree.

The leader writes. A write names the version that was read, so that one who led before, and does not know yet
that another leads, is refused.
"""

import logging

from kubernetes.client import ApiClient, CoreV1Api
from kubernetes.client.exceptions import ApiException
from urllib3.exceptions import HTTPError

from tradewind.errors import ApiError
from tradewind.market.learned import Memory, decode, encode
from tradewind.market.metrics import MarketMetrics

NAME = "tradewind-learned-rates"

_KEY = "rates.json"
# A ConfigMap may hold a mebibyte in all, and etcd's default request limit is not much above that.
_MOST_BYTES = 512 * 1024
_API_SECONDS = 10.0
_NOT_FOUND, _CONFLICT = 404, 409

_log = logging.getLogger(__name__)


class MarketMemory:
    def __init__(self, api: ApiClient, namespace: str, metrics: MarketMetrics) -> None:
        self._api = CoreV1Api(api)
        self._namespace = namespace
        self._metrics = metrics
        self._version: str | None = None  # None: there is no such ConfigMap

    def read(self) -> Memory | None:
        """None where there is none, or none that makes sense; raise ApiError where nobody can tell."""
        try:
            found = self._api.read_namespaced_config_map(NAME, self._namespace, _request_timeout=_API_SECONDS)
        except ApiException as error:
            if error.status == _NOT_FOUND:
                self._version = None
                return None
            raise ApiError(f"reading ConfigMap {self._namespace}/{NAME}: {_said(error)}") from error
        except HTTPError as error:
            raise ApiError(f"reading ConfigMap {self._namespace}/{NAME}: {error}") from error
        self._version = found.metadata.resource_version
        try:
            return decode((found.data or {}).get(_KEY, ""))
        except ValueError as error:
            _log.error(
                "ConfigMap %s/%s makes no sense and will be replaced: %s", self._namespace, NAME, error
            )
            return None

    def write(self, memory: Memory) -> bool:
        """Whether it was written; not if another wrote since we have read, or if the API fails."""
        body = {
            "metadata": {"name": NAME, "resourceVersion": self._version},
            "data": {_KEY: encode(memory, _MOST_BYTES).decode()},
        }
        try:
            if self._version is None:
                written = self._api.create_namespaced_config_map(
                    self._namespace, body, _request_timeout=_API_SECONDS
                )
            else:
                written = self._api.replace_namespaced_config_map(
                    NAME, self._namespace, body, _request_timeout=_API_SECONDS
                )
        except (ApiException, HTTPError) as error:
            conflict = isinstance(error, ApiException) and error.status == _CONFLICT
            self._metrics.memory_writes.labels("conflict" if conflict else "failed").inc()
            if not conflict:
                _log.warning("writing ConfigMap %s/%s: %s", self._namespace, NAME, _said(error))
            return False
        self._version = written.metadata.resource_version
        self._metrics.memory_writes.labels("written").inc()
        return True


def _said(error: Exception) -> str:
    return f"{error.status} {error.reason}" if isinstance(error, ApiException) else str(error)
