"""`tradewind planner`."""

import argparse
import os
from pathlib import Path

from tradewind.cli.arguments import (
    add_hub_namespace,
    add_kubeconfig,
    add_logs,
    add_namespace,
    add_probe_address,
    followed_file,
    positive,
)
from tradewind.controller.service import PlannerOptions, PlannerService
from tradewind.runtime import identity, logs
from tradewind.runtime.assembly import Assembly
from tradewind.runtime.identity import switched_on
from tradewind.runtime.source import live

_DEFAULT_PROBE_PORT = 8889


def add(command: argparse.ArgumentParser) -> None:
    argument = command.add_argument
    argument(
        "--config",
        type=followed_file,
        metavar="FILE",
        help="TradewindConfiguration, followed while it changes",
    )
    add_kubeconfig(command, "plan for this cluster", inside=True)
    add_namespace(
        command, "of the Lease that its replicas share, and of the learned rates", identity.namespace()
    )
    argument(
        "--hub-kubeconfig",
        type=Path,
        metavar="FILE",
        default=os.environ.get("TRADEWIND_HUB_KUBECONFIG") or None,
        help="publish this cluster to the fleet of that Karmada; fleet.site says as what; or "
        "TRADEWIND_HUB_KUBECONFIG",
    )
    add_hub_namespace(command)
    add_probe_address(command, _DEFAULT_PROBE_PORT)
    argument(
        "--protect-floor",
        action="store_true",
        default=switched_on("TRADEWIND_PROTECT_FLOOR"),
        help="annotate replicas that a durable floor needs, so that scaling down spares them; or "
        "TRADEWIND_PROTECT_FLOOR=true",
    )
    argument(
        "--evict",
        action="store_true",
        default=switched_on("TRADEWIND_EVICT"),
        help="evict pods that others replace, and what is left of gangs where the configuration says so; or "
        "TRADEWIND_EVICT=true",
    )
    argument(
        "--learn",
        action="store_true",
        default=switched_on("TRADEWIND_LEARN"),
        help="use the interruption rates that 'tradewind serve --learn' keeps; or TRADEWIND_LEARN=true",
    )
    argument(
        "--lease-seconds",
        type=positive(float),
        default=15.0,
        metavar="N",
        help="without a sign of the leader, after which another replica leads (default: %(default)g)",
    )
    add_logs(command)
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    logs.configure(options.log_format, options.log_level)
    service = PlannerService(
        PlannerOptions(
            probe_host=options.probe_host,
            probe_port=options.probe_port,
            lease_seconds=options.lease_seconds,
            learn=options.learn,
            protect_floor=options.protect_floor,
            evict=options.evict,
            hub_kubeconfig=options.hub_kubeconfig,
            hub_namespace=options.hub_namespace,
        ),
        Assembly(live(options.kubeconfig), options.config, options.namespace),
    )
    service.run()
