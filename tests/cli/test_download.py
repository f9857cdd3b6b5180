import contextlib
import http.server
import threading
from collections.abc import Iterator

import pytest

from tradewind.cli.download import download
from tradewind.errors import PriceTableError


class Lists(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        target = {"/elsewhere": "http://localhost:9/list", "/here": "/list"}.get(self.path)
        self.send_response(302 if target else 200)
        if target:
            self.send_header("Location", target)
        self.end_headers()  # without a length: ends with the connection
        with contextlib.suppress(OSError):
            self.wfile.write(b"price\n")
            while self.path == "/endless":
                self.wfile.write(b"0" * 2**16)

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def address() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Lists) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_a_list_is_read(address: str) -> None:
    assert download(address + "/list") == "price\n"


def test_a_list_without_an_end_is_given_up(address: str) -> None:
    with pytest.raises(PriceTableError, match="more than 100,000 bytes"):
        download(address + "/endless", 100_000)


@pytest.mark.parametrize("path", ["/elsewhere", "/here"])
def test_redirects_are_not_followed(address: str, path: str) -> None:
    with pytest.raises(PriceTableError, match="redirects are not followed; this one is to "):
        download(address + path)


@pytest.mark.parametrize(
    ("url", "refused"),
    [
        ("http://prices.invalid/list", True),
        ("http://127.0.0.1@prices.invalid/list", True),
        ("http://prices.svc.invalid/list", True),
        ("https://prices.invalid/list", False),
        ("http://karpenter.no-such-namespace.svc:8080/metrics", False),
        ("http://karpenter.no-such-namespace.svc.cluster.local:8080/metrics", False),
    ],
)
def test_lists_from_elsewhere_come_over_https(url: str, *, refused: bool) -> None:
    """No such name exists: what is not refused fails later."""
    with pytest.raises(PriceTableError) as raised:
        download(url)
    assert ("use https://" in str(raised.value)) is refused
