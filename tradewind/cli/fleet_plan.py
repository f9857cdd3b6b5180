"""`tradewind fleet-plan`."""

import argparse
import sys
from pathlib import Path

from prometheus_client import CollectorRegistry

from tradewind.cli import fleet_report
from tradewind.cli.arguments import input_file, refuse_stdin_twice
from tradewind.cli.terminal import terminal_width
from tradewind.config.metrics import ConfigMetrics
from tradewind.config.settings import Settings
from tradewind.errors import TradewindError
from tradewind.fleet.plan import plan
from tradewind.fleet.policy import site_policies
from tradewind.fleet.settings import FleetSettings
from tradewind.hub.reading import from_file
from tradewind.runtime.source import EXAMPLES


def add(command: argparse.ArgumentParser) -> None:
    argument = command.add_argument
    argument(
        "--sites",
        type=input_file,
        metavar="FILE",
        default=EXAMPLES / "fleet.json",
        help="the output of 'kubectl get clusters,resourcebindings,configmaps -A -o json' on the hub, - for "
        "standard input (default: an example of twelve sites)",
    )
    argument(
        "--config", type=input_file, metavar="FILE", help="TradewindConfiguration, of which fleet counts"
    )
    argument(
        "--all", action="store_true", help="decide about all bindings anew, not only about those that wait"
    )
    argument("-o", "--output", choices=["table", "json"], default="table")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    refuse_stdin_twice(options.sites, options.config)
    hub = from_file(options.sites)
    bindings = [each for each in hub.state.bindings.all() if options.all or each.unsettled]
    for each in bindings:
        if each.refusal:
            print(f"Skipped {each.key}: {each.refusal}", file=sys.stderr)
    bindings = [each for each in bindings if not each.refusal]
    if not bindings:
        raise TradewindError(f"{options.sites} holds no ResourceBinding that waits; --all takes all of them")
    bindings.sort(key=lambda each: (-each.priority, each.key))
    keys = {each.promise_key: each.key for each in bindings}
    requests = [hub.request(each) for each in bindings]
    policies = site_policies(fleet_settings(options.config))
    placed = list(plan(requests, hub.state.sites, policies.of, hub.now))
    if options.output == "json":
        print(fleet_report.plan_json(placed, keys))
    else:
        print(fleet_report.plan_text(placed, keys, len(hub.state.sites), terminal_width()))


def fleet_settings(config: Path | None) -> FleetSettings:
    return Settings(config, ConfigMetrics(CollectorRegistry())).fleet
