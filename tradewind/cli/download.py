"""A price list from an address."""

from http import HTTPStatus
from urllib.parse import urlsplit

import urllib3

from tradewind.errors import PriceTableError
from tradewind.market.settings import LOOPBACK

_SECONDS = 120.0  # for each piece of it
_MAX_BYTES = 2**30  # the lists of clouds have hundreds of megabytes
_CHUNK_BYTES = 2**20
_IN_CLUSTER = (".svc", ".svc.cluster.local")  # Karpenter shows its prices there, without TLS


def download(url: str, max_bytes: int = _MAX_BYTES) -> str:
    """From this address alone: redirects are not followed."""
    address = urlsplit(url)
    host = address.hostname or ""
    if address.scheme != "https" and host not in LOOPBACK and not host.endswith(_IN_CLUSTER):
        raise PriceTableError(f"reading {url}: http:// is for addresses in the cluster; use https://")
    try:
        with urllib3.PoolManager(retries=False) as pool:
            answer = pool.request("GET", url, timeout=_SECONDS, redirect=False, preload_content=False)
            try:
                return _read(url, answer, max_bytes).decode("utf-8-sig")
            finally:
                answer.close()  # not drained: the rest may be endless
    except (urllib3.exceptions.HTTPError, OSError, UnicodeDecodeError) as error:
        raise PriceTableError(f"reading {url}: {error}") from error


def _read(url: str, answer: urllib3.BaseHTTPResponse, max_bytes: int) -> bytes:
    if location := answer.get_redirect_location():
        raise PriceTableError(f"reading {url}: redirects are not followed; this one is to {location}")
    if answer.status != HTTPStatus.OK:
        raise PriceTableError(f"reading {url}: the server answers {answer.status}")
    found = bytearray()
    for chunk in answer.stream(_CHUNK_BYTES):
        found += chunk
        if len(found) > max_bytes:
            raise PriceTableError(f"reading {url}: more than {max_bytes:,} bytes")
    return bytes(found)
