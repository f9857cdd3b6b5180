"""`tradewind fleet`."""

import argparse

from tradewind.cli.arguments import (
    add_hub_namespace,
    add_kubeconfig,
    add_logs,
    add_namespace,
    add_probe_address,
    followed_file,
    positive,
)
from tradewind.hub.scheduler import DEFAULT_NAME
from tradewind.hub.service import FleetOptions, FleetService
from tradewind.runtime import identity, logs

_DEFAULT_PROBE_PORT = 8890


def add(command: argparse.ArgumentParser) -> None:
    argument = command.add_argument
    argument(
        "--config",
        type=followed_file,
        metavar="FILE",
        help="TradewindConfiguration, of which the key fleet counts, followed while it changes",
    )
    add_kubeconfig(command, "Karmada's API server")
    add_namespace(command, "of the ledgers on the hub", identity.namespace())
    add_hub_namespace(command)
    argument(
        "--scheduler-name",
        metavar="NAME",
        default=DEFAULT_NAME,
        help="schedule the bindings of policies that name it (default: %(default)s)",
    )
    argument(
        "--lease-seconds",
        type=positive(float),
        default=15.0,
        metavar="N",
        help="without a sign of a scheduler, after which others take its bindings (default: %(default)g)",
    )
    add_probe_address(command, _DEFAULT_PROBE_PORT)
    add_logs(command)
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    logs.configure(options.log_format, options.log_level)
    FleetService(
        FleetOptions(
            kubeconfig=options.kubeconfig,
            config=options.config,
            namespace=options.namespace,
            sites_namespace=options.hub_namespace,
            probe_host=options.probe_host,
            probe_port=options.probe_port,
            scheduler_name=options.scheduler_name,
            lease_seconds=options.lease_seconds,
        )
    ).run()
