"""`tradewind page`."""

import argparse
import asyncio
import contextlib
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping

from fastapi import FastAPI

from tradewind.cli.arguments import add_kubeconfig, add_namespace, followed_file, input_file, refuse_together
from tradewind.cli.replicas import Kubectl
from tradewind.errors import TradewindError
from tradewind.kube.client import Client
from tradewind.page.app import add_page
from tradewind.page.replicas import ReplicaDecisions
from tradewind.runtime import identity, logs
from tradewind.runtime.assembly import Assembly
from tradewind.runtime.guard import LoopbackGuard
from tradewind.runtime.probes import add_health
from tradewind.runtime.server import Server, attempt, serve
from tradewind.runtime.source import from_file, live
from tradewind.shadow.cluster import ShadowPolicies
from tradewind.shadow.keeper import ShadowKeeper
from tradewind.shadow.memory import ShadowMemory
from tradewind.shadow.metrics import ShadowMetrics
from tradewind.version import VERSION

_LOOPBACK = "127.0.0.1"
_DEFAULT_PORT = 8891  # beside a Tradewind on the same machine
_SHADOW_SECONDS = 1.0
_ROUND_SECONDS = 120.0  # of following it; requests to the API server have deadlines of their own


def add(command: argparse.ArgumentParser) -> None:
    argument = command.add_argument
    add_kubeconfig(command, "of the cluster, which is only read")
    add_namespace(command, "where Tradewind is", identity.namespace())
    argument("--cluster", type=input_file, metavar="FILE", help="a cluster from a file, with --server")
    argument(
        "--server",
        action="append",
        default=[],
        metavar="URL",
        help="a replica's port of explain, may be repeated (default: those that kubectl finds and forwards)",
    )
    argument(
        "--config",
        type=followed_file,
        metavar="FILE",
        help="TradewindConfiguration, for pods that nobody was asked about",
    )
    argument("--port", type=int, default=_DEFAULT_PORT, help="on 127.0.0.1 (default: %(default)s)")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    refuse_together(options, ["--cluster", "--kubeconfig"], "a cluster from a file, or a live one")
    if options.cluster and not options.server:
        raise TradewindError("--cluster needs --server: nobody decides about a file")
    for url in options.server:
        if not url.startswith(("http://", "https://")):
            raise TradewindError(f'--server "{url}" is not an address that starts with http:// or https://')
    logs.configure("auto", "warning")
    source = from_file(options.cluster) if options.cluster else live(options.kubeconfig)
    parts = Assembly(source, options.config, options.namespace)
    with contextlib.ExitStack() as cleanup:
        replicas = _replicas(options, cleanup)
        decided = ReplicaDecisions(replicas)
        cleanup.callback(decided.close)
        shadow = _shadow(parts)
        app = FastAPI(title="Tradewind", version=VERSION, docs_url=None, redoc_url=None)
        add_page(app, parts, decided, shadow)
        add_health(app, parts.heartbeats.missed)
        server = Server(LoopbackGuard(app), _LOOPBACK, options.port)
        cleanup.callback(server.socket.close)
        cleanup.enter_context(parts.started())
        welcome = f"{server.url} shows {parts.name}, with the decisions of {', '.join(replicas)}"
        asyncio.run(serve([server], _background(parts, shadow), welcome))


def _replicas(options: argparse.Namespace, cleanup: contextlib.ExitStack) -> Mapping[str, str]:
    """Their addresses by name."""
    if options.server:
        return {url: url.rstrip("/") for url in options.server}
    kubectl = Kubectl(options.kubeconfig, options.namespace)
    found: dict[str, str] = {}
    for replica in kubectl.ready_replicas():
        try:
            found[replica] = cleanup.enter_context(kubectl.forwarded(replica))
        except TradewindError as error:
            print(f"tradewind: {error}", file=sys.stderr)
    if not found:
        raise TradewindError(
            f"no replica of Tradewind in namespace {kubectl.namespace} is ready and can be reached; "
            "--server names one"
        )
    return found


def _shadow(parts: Assembly) -> ShadowKeeper | None:
    """Reads what the leader has written, and never leads."""
    if parts.from_file:
        return None
    settings = parts.settings
    return ShadowKeeper(
        parts.cache,
        ShadowPolicies(settings.policy_of, lambda: settings.planner.schedulers),
        ShadowMemory(Client(parts.api("page")), parts.namespace),
        ShadowMetrics(),
        shadowing=lambda: settings.shadow,
        leading=lambda: False,
        coverage=str,
    )


def _background(parts: Assembly, shadow: ShadowKeeper | None) -> Iterator[Coroutine[None, None, None]]:
    yield parts.follow_files()
    yield parts.follow_prices()
    if not parts.from_file:
        yield parts.follow_guide()
    if shadow is not None:
        yield _follow_shadow(parts, shadow.run)


async def _follow_shadow(parts: Assembly, follow: Callable[[], None]) -> None:
    while True:
        parts.heartbeats.beat("shadow", _ROUND_SECONDS)
        await attempt(follow)
        await asyncio.sleep(_SHADOW_SECONDS)
