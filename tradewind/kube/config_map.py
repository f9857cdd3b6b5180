"""A ConfigMap of our own: the leader of a few processes writes it, the others read it.

A write carries the resourceVersion that was read, so that a former leader that does not know yet gets a
conflict.
"""

from collections.abc import Mapping

import msgspec

from tradewind.errors import ApiError, NotFoundError
from tradewind.kube.client import Client
from tradewind.kube.failures import decoded


class _Metadata(msgspec.Struct, rename="camel"):
    resource_version: str


class _ConfigMap(msgspec.Struct):
    metadata: _Metadata
    data: dict[str, str] | None = None


_decoder = msgspec.json.Decoder(_ConfigMap)


class ConfigMap:
    def __init__(self, client: Client, namespace: str, name: str) -> None:
        self._client = client
        self._name = name
        self._path = f"/api/v1/namespaces/{namespace}/configmaps"
        self._version: str | None = None  # None: there is none, for all that is known

    def __str__(self) -> str:
        return f"ConfigMap {self._path.split('/')[4]}/{self._name}"

    def read(self) -> Mapping[str, str] | None:
        """None where it is missing; raise ApiError where the API fails."""
        try:
            found = decoded(_decoder, self._client.get(f"{self._path}/{self._name}"))
        except NotFoundError:
            self._version = None
            return None
        except ApiError as error:
            raise ApiError(f"reading {self}: {error}", error.status) from error
        self._version = found.metadata.resource_version
        return found.data or {}

    def write(self, data: Mapping[str, str]) -> None:
        """Raise ConflictError if it is not as it was last read or written, ApiError for other failures."""
        body = {"metadata": {"name": self._name, "resourceVersion": self._version}, "data": data}
        if self._version is None:
            written = self._client.create(self._path, body)
        else:
            written = self._client.replace(f"{self._path}/{self._name}", body)
        self._version = decoded(_decoder, written).metadata.resource_version
