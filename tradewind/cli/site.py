"""`tradewind site`."""

import argparse
import contextlib
from pathlib import Path

import uvloop
from fastapi import FastAPI

from tradewind.cli.arguments import (
    add_hub_namespace,
    add_kubeconfig,
    add_logs,
    add_probe_address,
    followed_file,
)
from tradewind.runtime import logs
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
    add_kubeconfig(command, "the member", inside=True)
    argument("--hub-kubeconfig", type=Path, metavar="FILE", required=True, help="Karmada's API server")
    add_hub_namespace(command)
    add_probe_address(command, _DEFAULT_PROBE_PORT)
    add_logs(command)
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    logs.configure(options.log_format, options.log_level)
    parts = Assembly(live(options.kubeconfig), options.config)
    publisher = parts.site_publisher(options.hub_kubeconfig, options.hub_namespace)
    app = FastAPI(title="Tradewind site", version=VERSION, docs_url=None, redoc_url=None)
    add_probes(
        app,
        parts,
        parts.registry,
        parts.feed.observe,
        trouble=lambda: publisher.trouble,
        missed=parts.heartbeats.missed,
    )
    with contextlib.ExitStack() as cleanup:
        server = Server(app, options.probe_host, options.probe_port)
        cleanup.callback(server.socket.close)
        cleanup.enter_context(parts.started())
        welcome = f"Tradewind publishes {parts.name} as site {parts.settings.fleet.site.name}"

        async def publish() -> None:
            background = [parts.follow_files(), parts.follow_prices(), parts.follow_site(publisher)]
            await serve([server], background, welcome)

        uvloop.run(publish())
