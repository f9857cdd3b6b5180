"""`tradewind page`: the decisions of several replicas as one list."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import urllib3

from tests.cli.test_serve import _REQUEST, ask, eventually, serving
from tradewind.cli.page import _follow_shadow
from tradewind.runtime.assembly import Assembly
from tradewind.runtime.heartbeats import Heartbeats
from tradewind.runtime.source import EXAMPLES, from_file

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


def test_its_health_is_told() -> None:
    with page("http://127.0.0.1:9") as port:
        assert json.loads(shown(port, "/healthz")) == {"status": "ok"}


def test_a_loop_that_hangs_is_told() -> None:
    """An hour after its newest beat."""
    parts, now = Assembly(from_file(Path(_EXAMPLE)), None), [0.0]
    parts.heartbeats = Heartbeats(lambda: now[0])

    async def go() -> str:
        running, begun = asyncio.get_running_loop(), asyncio.Event()

        def follow() -> None:
            running.call_soon_threadsafe(begun.set)

        loop = asyncio.create_task(_follow_shadow(parts, follow))
        async with asyncio.timeout(60):
            await begun.wait()
        assert parts.heartbeats.missed() == ""
        now[0] = 3600.0
        missed = parts.heartbeats.missed()
        loop.cancel()
        return missed

    assert "loop shadow: heartbeat overdue" in asyncio.run(go())


def test_a_replica_that_is_gone_is_named_and_the_rest_shown() -> None:
    with serving() as one:
        one.wait_until_it_listens(one.explain_port)
        ask(one.port, "POST", "/filter", _REQUEST)
        with page(f"http://127.0.0.1:{one.explain_port}", "http://127.0.0.1:9") as port:
            eventually(lambda: "shop/checkout-0" in shown(port, "/decisions"))
            found = shown(port, "/decisions")
            assert "A replica is missing here." in found
            assert "http://127.0.0.1:9: it does not answer" in found
