"""Prices and rates of nodes from a Prometheus server, by queries of the user's choice."""

import math
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

import msgspec
import urllib3

from tradewind.errors import PriceSourceError
from tradewind.market.pools import Pool
from tradewind.market.quotes import MAX_DOLLARS_AN_HOUR, Quote
from tradewind.market.settings import PrometheusSettings

_MAX_BYTES = 64 * 2**20
_CHUNK_BYTES = 2**16
_MAX_SHOWN = 200  # characters of what a server says about a failure
_OK = 200
_ACCOUNTS = Path("/var/run/secrets/kubernetes.io")  # the token of the pod's service account
_MOUNTED = Path("/etc/tradewind-prometheus")  # by the component `market`


class _Series(msgspec.Struct):
    metric: dict[str, str]
    value: tuple[float, str]


class _Vector(msgspec.Struct, rename="camel"):
    result_type: str
    result: list[msgspec.Raw]


class _Answer(msgspec.Struct):
    status: str
    data: _Vector | None = None
    error: str = ""


class Answers(NamedTuple):
    samples: Mapping[str, Mapping[str, float]]  # field of a quote to node to number, NaN for nonsense
    # What a node of a pool costs, where it does not depend on the node. None: no answer
    offerings: Mapping[Pool, float] | None
    errors: tuple[str, ...]


_answer_decoder = msgspec.json.Decoder(_Answer)
_series_decoder = msgspec.json.Decoder(_Series)


class Prometheus:
    def __init__(self, settings: PrometheusSettings) -> None:
        """Raise PriceSourceError for certificates that cannot be read."""
        self._settings = settings
        self._queries = {
            field: query for field in Quote._fields if (query := getattr(settings, field)) is not None
        }
        try:
            self._pool = urllib3.PoolManager(retries=False, maxsize=1, **_tls(settings))
        except OSError as error:
            raise PriceSourceError(f"certificates for {settings.url}: {error}") from error

    def ask(self) -> Answers:
        """Every query once; one that fails does not spoil the others."""
        samples: dict[str, Mapping[str, float]] = {}
        errors: list[str] = []
        for field, query in self._queries.items():
            try:
                samples[field] = self._samples(query)
            except PriceSourceError as error:
                errors.append(f"{field}: {error}")
        return Answers(samples, self._offerings(errors), tuple(errors))

    def close(self) -> None:
        self._pool.clear()

    def _offerings(self, errors: list[str]) -> Mapping[Pool, float] | None:
        found: dict[Pool, float] = {}
        if self._settings.offering_price is None:
            return found
        try:
            for metric, value in self._series(self._ask(self._settings.offering_price)):
                pool = Pool(*(metric.get(name, "") for name in Pool._fields))
                if all(pool):
                    found[pool] = max(value, found.get(pool, value), key=_rank)
        except PriceSourceError as error:
            errors.append(f"offering_price: {error}")
            return None
        return found

    def _samples(self, query: str) -> Mapping[str, float]:
        return self._by_node(self._ask(query))

    def _ask(self, query: str) -> _Vector:
        try:
            status, body = self._fetch(query)
            answer = _answer_decoder.decode(body)
        except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
            raise PriceSourceError(f"asking {self._settings.url}: {error}") from error
        if status != _OK or answer.status != "success" or answer.data is None:
            raise PriceSourceError(f"{self._settings.url} says {status} {answer.error[:_MAX_SHOWN]}")
        if answer.data.result_type != "vector":
            raise PriceSourceError(f"the query {query} gives a {answer.data.result_type}, not a vector")
        return answer.data

    def _fetch(self, query: str) -> tuple[int, bytes]:
        """The server gives up a little earlier than we do, so that it can say so."""
        seconds = self._settings.timeout_seconds
        end = time.monotonic() + seconds
        response = self._pool.request(
            "POST",
            f"{self._settings.url}/api/v1/query",
            body=urlencode({"query": query, "timeout": f"{max(1, int(seconds * 900))}ms"}),
            headers={"Content-Type": "application/x-www-form-urlencoded", **self._authorization()},
            timeout=urllib3.Timeout(total=seconds),
            preload_content=False,
            redirect=False,
        )
        try:
            body = bytearray()
            while chunk := response.read1(_CHUNK_BYTES):  # whatever is there, so that the clock is looked at
                body += chunk
                if len(body) > _MAX_BYTES or time.monotonic() > end:
                    raise PriceSourceError(f"{self._settings.url}: an answer too long, or too slow")
        finally:
            response.close()  # not drained: whatever is left must not be waited for
        return response.status, bytes(body)

    def _authorization(self) -> dict[str, str]:
        """Read each time: tokens of service accounts are replaced while we run."""
        if self._settings.bearer_token_file is None:
            return {}
        token = _checked(self._settings.bearer_token_file).read_text(encoding="ascii").strip()
        return {"Authorization": f"Bearer {token}"}

    def _by_node(self, vector: _Vector) -> Mapping[str, float]:
        found: dict[str, float] = {}
        for metric, value in self._series(vector):
            name = next((metric[key] for key in self._settings.node_labels if key in metric), "")
            if name:
                # Two series of one node, one of an exporter that is gone: never too cheap, never too safe.
                found[name] = max(value, found.get(name, value), key=_rank)
        return found

    def _series(self, vector: _Vector) -> Iterator[tuple[Mapping[str, str], float]]:
        for raw in vector.result:
            try:
                series = _series_decoder.decode(raw)
            except msgspec.MsgspecError as error:
                raise PriceSourceError(f"{self._settings.url}: {error}") from error
            yield series.metric, _number(series.value[1])


def _rank(value: float) -> float:
    """The larger number counts, but never NaN, infinity or the like where there is a price or a rate."""
    return value if 0 <= value <= MAX_DOLLARS_AN_HOUR else -math.inf


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _checked(token: Path) -> Path:
    """Raise PriceSourceError for a file that may not be sent.

    The configuration names both the file and the server: its editors could have any file of the pod sent.
    """
    path = token.resolve()
    if path.is_relative_to(_ACCOUNTS.resolve()):
        raise PriceSourceError(f"bearerTokenFile: {token} is of Tradewind's own service account; not sent")
    if "KUBERNETES_SERVICE_HOST" in os.environ and not path.is_relative_to(_MOUNTED.resolve()):
        raise PriceSourceError(f"bearerTokenFile: {token} is not in {_MOUNTED}; not sent")
    return path


def _tls(settings: PrometheusSettings) -> dict[str, Any]:
    """Checked here, because urllib3 would complain only when it connects."""
    files = {
        "ca_certs": settings.ca_file,
        "cert_file": settings.cert_file,
        "key_file": settings.key_file,
    }
    for path in files.values():
        if path is not None:
            path.read_bytes()
    return {key: str(path) for key, path in files.items() if path is not None}
