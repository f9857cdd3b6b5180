"""An API of one ConfigMap, with its versions and conflicts."""

import json
from typing import Any, cast

from tradewind.errors import ApiError, ConflictError, NotFoundError
from tradewind.kube.client import Client


class ConfigMaps:
    """As the API server answers: a version with each write, a conflict for one that is old."""

    def __init__(self) -> None:
        self.data: dict[str, str] | None = None
        self.version = 0
        self.fails = 0  # status of every answer, unless 0

    def client(self) -> Client:
        return cast("Client", self)

    def get(self, *_: object) -> bytes:
        self._fail()
        if self.data is None:
            raise NotFoundError("the API server answers 404: no such ConfigMap", 404)
        return self._object()

    def create(self, _path: str, body: Any) -> bytes:
        self._fail()
        if self.data is not None:
            raise ConflictError("the API server answers 409: it exists", 409)
        return self._store(body)

    def replace(self, _path: str, body: Any) -> bytes:
        self._fail()
        if body["metadata"]["resourceVersion"] != str(self.version):
            raise ConflictError("the API server answers 409: it has changed", 409)
        return self._store(body)

    def _store(self, body: Any) -> bytes:
        self.data = body["data"]
        self.version += 1
        return self._object()

    def _object(self) -> bytes:
        return json.dumps({"metadata": {"resourceVersion": str(self.version)}, "data": self.data}).encode()

    def _fail(self) -> None:
        if self.fails:
            raise ApiError(f"the API server answers {self.fails}", self.fails)
