"""A price list from an address."""

from http import HTTPStatus

import urllib3

from tradewind.errors import PriceTableError

_SECONDS = 120.0  # for each piece of it: the lists of clouds have hundreds of megabytes


def download(url: str) -> str:
    try:
        with urllib3.PoolManager() as pool:
            answer = pool.request("GET", url, timeout=_SECONDS)
        text = answer.data.decode("utf-8-sig")
    except (urllib3.exceptions.HTTPError, OSError, UnicodeDecodeError) as error:
        raise PriceTableError(f"reading {url}: {error}") from error
    if answer.status != HTTPStatus.OK:
        raise PriceTableError(f"reading {url}: the server answers {answer.status}")
    return text
