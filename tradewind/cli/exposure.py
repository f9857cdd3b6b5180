"""Flags of `serve` that say where people may ask."""

import argparse
import os
from pathlib import Path

from extender.service import Exposure
from extender.tls import Certificates
from tradewind.cli.server import DEFAULT_PORT
from tradewind.errors import TradewindError


def add(command: argparse.ArgumentParser) -> None:
    """With defaults from the environment: overlays replace the arguments, but leave that alone."""
    argument = command.add_argument
    argument(
        "--explain-port",
        type=int,
        default=DEFAULT_PORT,
        help="port of explain on 127.0.0.1, which 'kubectl port-forward' reaches (default: %(default)s)",
    )
    argument(
        "--expose-port",
        type=int,
        default=os.environ.get("TRADEWIND_EXPOSE_PORT") or None,
        help="serve explain to the network too, on this port, with TLS, to those whose bearer token may get "
        "/explain; or TRADEWIND_EXPOSE_PORT",
    )
    argument("--expose-host", help="address of that port (default: 0.0.0.0)")
    argument(
        "--expose-cert-file",
        type=Path,
        metavar="FILE",
        default=os.environ.get("TRADEWIND_EXPOSE_CERT_FILE") or None,
        help="certificate chain of that port; or TRADEWIND_EXPOSE_CERT_FILE",
    )
    argument(
        "--expose-private-key-file",
        type=Path,
        metavar="FILE",
        default=os.environ.get("TRADEWIND_EXPOSE_PRIVATE_KEY_FILE") or None,
        help="key of that certificate; or TRADEWIND_EXPOSE_PRIVATE_KEY_FILE",
    )


def exposure(options: argparse.Namespace) -> Exposure | None:
    """Raise TradewindError for half of it: a token must never travel where others can read it."""
    files = (options.expose_cert_file, options.expose_private_key_file)
    if options.expose_port is None:
        if any(files) or options.expose_host:
            raise TradewindError(
                "--expose-host, --expose-cert-file and --expose-private-key-file go with --expose-port"
            )
        return None
    if not all(files):
        raise TradewindError(
            "--expose-port needs --expose-cert-file and --expose-private-key-file: callers send their tokens"
        )
    if options.cluster:
        raise TradewindError(
            "--expose-port needs a live cluster, which says who may ask: leave --cluster out"
        )
    host = options.expose_host or "0.0.0.0"  # noqa: S104  guarded by tokens
    return Exposure(host, options.expose_port, Certificates(*files))
