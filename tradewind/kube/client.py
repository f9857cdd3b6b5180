"""Single requests to the API server, from any thread: bytes, or an ApiError.

The official client gives configuration, authentication, TLS and connections; its models are not used. No
request is repeated behind the caller's back.
"""

from typing import Any

import msgspec
import urllib3

from tradewind.kube.access import credentials
from tradewind.kube.clock import ServerClock
from tradewind.kube.failures import api_errors, refusal
from tradewind.kube.official import ApiClient

MERGE_PATCH = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
# Also the name of the manager of the fields that we write.
USER_AGENT = "tradewind"

_SECONDS = 10.0


class Client:
    """Paths are those of the API, such as /api/v1/namespaces/NAMESPACE/pods/NAME."""

    def __init__(self, api: ApiClient) -> None:
        self.clock = ServerClock()
        self._api = api
        self._encoder = msgspec.json.Encoder()

    def get(self, path: str, seconds: float = _SECONDS) -> bytes:
        return self._request("GET", path, None, "", seconds)

    def create(self, path: str, body: Any, seconds: float = _SECONDS) -> bytes:
        return self._request("POST", path, body, "application/json", seconds)

    def replace(self, path: str, body: Any, seconds: float = _SECONDS) -> bytes:
        return self._request("PUT", path, body, "application/json", seconds)

    def patch(self, path: str, patch: Any, seconds: float = _SECONDS) -> bytes:
        """A merge patch."""
        return self._request("PATCH", path, patch, MERGE_PATCH, seconds)

    def close(self) -> None:
        self._api.close()

    def _request(self, method: str, path: str, body: Any, content_type: str, seconds: float) -> bytes:
        headers = {"User-Agent": USER_AGENT, "Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = content_type
        with api_errors():
            configuration = self._api.configuration
            headers |= credentials(configuration)
            response = self._api.rest_client.pool_manager.request(
                method,
                configuration.host + path,
                body=None if body is None else self._encoder.encode(body),
                headers=headers,
                timeout=urllib3.Timeout(total=seconds),
                retries=False,
            )
            data: bytes = response.data
        self.clock.note(response.headers.get("Date"))
        if not 200 <= response.status < 300:  # noqa: PLR2004  as HTTP counts
            raise refusal(response.status, response.reason, data)
        return data
