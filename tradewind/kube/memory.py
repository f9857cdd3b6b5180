"""What is kept in a ConfigMap, so that it survives a restart and every replica can read it.

Only the leader writes.
"""

import logging
from collections.abc import Callable
from enum import StrEnum
from typing import Generic, TypeVar

from tradewind.errors import ApiError, ConflictError
from tradewind.kube.client import Client
from tradewind.kube.config_map import ConfigMap

# A ConfigMap may hold a mebibyte in all, and etcd's default request limit is not much above that.
_MAX_BYTES = 512 * 1024

_log = logging.getLogger(__name__)

Kept = TypeVar("Kept")


class WriteOutcome(StrEnum):
    WRITTEN = "written"
    CONFLICT = "conflict"
    FAILED = "failed"


class ConfigMapMemory(Generic[Kept]):
    def __init__(
        self,
        client: Client,
        namespace: str,
        name: str,
        key: str,
        *,
        decode: Callable[[str], Kept],
        encode: Callable[[Kept, int], str],
    ) -> None:
        """`decode` raises ValueError for what makes no sense; `encode` is told how large it may be."""
        self._config_map = ConfigMap(client, namespace, name)
        self._key = key
        self._decode = decode
        self._encode = encode

    def read(self) -> Kept | None:
        """None where there is none, or none that can be read; raise ApiError where the API fails."""
        data = self._config_map.read()
        if data is None:
            return None
        try:
            return self._decode(data.get(self._key, ""))
        except ValueError as error:
            _log.error("%s cannot be decoded and will be overwritten: %s", self._config_map, error)
            return None

    def write(self, kept: Kept) -> WriteOutcome:
        try:
            self._config_map.write({self._key: self._encode(kept, _MAX_BYTES)})
        except ConflictError:
            return WriteOutcome.CONFLICT
        except ApiError as error:
            _log.warning("writing %s: %s", self._config_map, error)
            return WriteOutcome.FAILED
        return WriteOutcome.WRITTEN
