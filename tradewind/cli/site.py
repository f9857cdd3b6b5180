"""`tradewind site`."""

import argparse
import contextlib
from pathlib import Path

import uvloop
from fastapi import FastAPI

from tradewind.cli.arguments import followed_file
from tradewind.runtime import identity, logs
from tradewind.runtime.assembly import Assembly
from tradewind.runtime.probes import add_probes
from tradewind.runtime.server import Server, serve
from tradewind.runtime.source import live
from tradewind.version import VERSION

_DEFAULT_PROBE_PORT = 8891


def add(command: argparse.ArgumentParser) -> None:
    argument = command.add_argument
    argument(
        "--config",
        type=followed_file,
        metavar="FILE",
        required=True,
        help="TradewindConfiguration with fleet.site and prices, followed while it changes",
    )
    argument(
        "--kubeconfig",
        type=Path,
        metavar="FILE",
        help="the member (default: $KUBECONFIG, else ~/.kube/config, else the cluster it runs in)",
    )
    argument("--hub-kubeconfig", type=Path, metavar="FILE", required=True, help="Karmada's API server")
    argument(
        "--hub-namespace",
        metavar="NAME",
        default=identity.DEFAULT_NAMESPACE,
        help="of the summaries on the hub (default: %(default)s)",
    )
    argument("--probe-host", default="127.0.0.1", help="address of probes and metrics (default: %(default)s)")
    argument(
        "--probe-port",
        type=int,
        default=_DEFAULT_PROBE_PORT,
        help="port of probes and metrics (default: %(default)s)",
    )
    argument("--log-format", choices=["auto", "json", "text"], default="auto")
    argument("--log-level", choices=["debug", "info", "warning", "error"], default="info")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    logs.configure(options.log_format, options.log_level)
    parts = Assembly(live(options.kubeconfig), options.config)
    publisher = parts.site_publisher(options.hub_kubeconfig, options.hub_namespace)
    app = FastAPI(title="Tradewind site", version=VERSION, docs_url=None, redoc_url=None)
    add_probes(app, parts, parts.registry, parts.feed.observe, lambda: publisher.trouble)
    with contextlib.ExitStack() as cleanup:
        server = Server(app, options.probe_host, options.probe_port)
        cleanup.callback(server.socket.close)
        cleanup.enter_context(parts.started())
        welcome = f"Tradewind publishes {parts.name} as site {parts.settings.fleet.site.name}"

        async def publish() -> None:
            background = [parts.follow_files(), parts.follow_prices(), parts.follow_site(publisher)]
            await serve([server], background, welcome)

        uvloop.run(publish())
