"""`tradewind page`: the decisions of several replicas as one list."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import urllib3

from tests.cli.test_serve import _REQUEST, ask, eventually, serving
from tradewind.runtime.source import EXAMPLES

_EXAMPLE = str(EXAMPLES / "cluster.json")


@contextmanager
def page(*servers: str) -> Iterator[int]:
    """Its port."""
    flags = [word for server in servers for word in ("--server", server)]
    command = [sys.executable, "-m", "tradewind", "page", "--cluster", _EXAMPLE, "--port", "0", *flags]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603  our own program
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        yield int(said.split()[0].rpartition(":")[2])
    finally:
        process.terminate()
        process.communicate(timeout=60)


def shown(port: int, path: str) -> str:
    return urllib3.request("GET", f"http://127.0.0.1:{port}{path}").data.decode()


def test_the_decisions_of_all_replicas_are_shown() -> None:
    other = _REQUEST.replace(b"checkout-0", b"checkout-1")
    with serving() as one, serving() as two:
        ask(one.port, "POST", "/filter", _REQUEST)
        ask(two.port, "POST", "/filter", other)
        urls = [f"http://127.0.0.1:{each.explain_port}" for each in (one, two)]
        for each in (one, two):
            each.wait_until_it_listens(each.explain_port)
        with page(*urls) as port:
            eventually(lambda: "2 decisions" in shown(port, "/decisions"))
            found = shown(port, "/decisions")
            assert "shop/checkout-0" in found
            assert "shop/checkout-1" in found
            assert "kube-scheduler asked 1 time" in shown(port, "/pods/shop/checkout-1")


def test_a_replica_that_is_gone_is_named_and_the_rest_shown() -> None:
    with serving() as one:
        one.wait_until_it_listens(one.explain_port)
        ask(one.port, "POST", "/filter", _REQUEST)
        with page(f"http://127.0.0.1:{one.explain_port}", "http://127.0.0.1:9") as port:
            eventually(lambda: "shop/checkout-0" in shown(port, "/decisions"))
            found = shown(port, "/decisions")
            assert "A replica is missing here." in found
            assert "http://127.0.0.1:9: it does not answer" in found
