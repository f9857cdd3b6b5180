"""`tradewind planner`."""

import argparse
from pathlib import Path

from extender import logs, ourselves, source
from extender.planner_service import PlannerOptions, PlannerService

_DEFAULT_PROBE_PORT = 8889


def add(command: argparse.ArgumentParser) -> None:
    argument = command.add_argument
    argument("--config", type=Path, metavar="FILE", help="TradewindConfiguration, followed while it changes")
    argument(
        "--kubeconfig",
        type=Path,
        metavar="FILE",
        help="plan for this cluster (default: $KUBECONFIG, else the cluster it runs in)",
    )
    argument("--probe-host", default="127.0.0.1", help="address of probes and metrics (default: %(default)s)")
    argument(
        "--probe-port",
        type=int,
        default=_DEFAULT_PROBE_PORT,
        help="port of probes and metrics (default: %(default)s)",
    )
    argument(
        "--learn",
        action="store_true",
        default=ourselves.switched_on("TRADEWIND_LEARN"),
        help="use the interruption rates that 'tradewind serve --learn' keeps; or TRADEWIND_LEARN=true",
    )
    argument(
        "--lease-seconds",
        type=float,
        default=15.0,
        metavar="N",
        help="without a sign of the leader, after which another replica leads (default: %(default)g)",
    )
    argument("--log-format", choices=["auto", "json", "text"], default="auto")
    argument("--log-level", choices=["debug", "info", "warning", "error"], default="info")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    logs.configure(options.log_format, options.log_level)
    service = PlannerService(
        PlannerOptions(
            probe_host=options.probe_host,
            probe_port=options.probe_port,
            config=options.config,
            lease_seconds=options.lease_seconds,
            learn=options.learn,
        ),
        source.choose(None, options.kubeconfig),
    )
    service.run()
