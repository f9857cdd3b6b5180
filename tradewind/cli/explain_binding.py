"""`tradewind explain --binding`: why a workload of the fleet is on its clusters, or on none."""

import argparse

from tradewind.cli import fleet_report
from tradewind.cli.fleet_plan import fleet_settings
from tradewind.cli.terminal import terminal_width
from tradewind.errors import TradewindError
from tradewind.fleet.explanation import explain
from tradewind.fleet.policy import site_policies
from tradewind.hub.reading import from_file, from_hub
from tradewind.runtime import identity

_OF_PODS = ("pod", "server", "ca_file", "token_file", "cluster", "node")


def run(options: argparse.Namespace) -> None:
    given = [name.replace("_", "-") for name in _OF_PODS if getattr(options, name)]
    if given:
        raise TradewindError(f"--binding asks the hub, or --sites FILE: leave {', '.join(given)} out")
    if options.sites and options.kubeconfig:
        raise TradewindError("--sites asks no hub: leave --kubeconfig out")
    file = options.sites
    hub = (
        from_file(file)
        if file
        else from_hub(options.kubeconfig, identity.namespace(), identity.SITES_NAMESPACE)
    )
    binding = hub.binding(options.binding)
    request = hub.request(binding)
    policy = site_policies(fleet_settings(options.config)).of(request)
    told = explain(request, hub.state.sites, policy, hub.now)
    if options.json:
        print(fleet_report.explanation_json(told, binding.key))
    else:
        print(fleet_report.explanation_text(told, binding.key, terminal_width()))
