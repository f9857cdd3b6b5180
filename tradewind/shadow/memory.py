"""Keeps the shadow's account in a ConfigMap, so that it survives a restart and every replica can show it."""

import logging
from enum import StrEnum

from tradewind.errors import ApiError, ConflictError
from tradewind.kube.client import Client
from tradewind.kube.config_map import ConfigMap
from tradewind.shadow.account import ShadowAccount, decode, encode

NAME = "tradewind-shadow"

KEY = "account.json"
# A ConfigMap may hold a mebibyte in all.
_MAX_BYTES = 512 * 1024

_log = logging.getLogger(__name__)


class KeepOutcome(StrEnum):
    WRITTEN = "written"
    CONFLICT = "conflict"
    FAILED = "failed"


class ShadowMemory:
    def __init__(self, client: Client, namespace: str) -> None:
        self._config_map = ConfigMap(client, namespace, NAME)

    def read(self) -> ShadowAccount | None:
        """None where there is none, or none that can be read; raise ApiError where the API fails."""
        data = self._config_map.read()
        if data is None:
            return None
        try:
            return decode(data.get(KEY, ""))
        except ValueError as error:
            _log.error("%s cannot be decoded and will be overwritten: %s", self._config_map, error)
            return None

    def write(self, account: ShadowAccount) -> KeepOutcome:
        try:
            self._config_map.write({KEY: encode(account, _MAX_BYTES)})
        except ConflictError:
            return KeepOutcome.CONFLICT
        except ApiError as error:
            _log.warning("writing %s: %s", self._config_map, error)
            return KeepOutcome.FAILED
        return KeepOutcome.WRITTEN
