"""`tradewind fleet-scores`."""

import argparse
import logging
import time

from tradewind.cli.arguments import add_hub_namespace, add_kubeconfig, add_logs, input_file, positive_seconds
from tradewind.cli.fleet_plan import fleet_settings
from tradewind.errors import ApiError, TradewindError
from tradewind.hub.placement_scores import PlacementScores
from tradewind.kube.access import connect
from tradewind.kube.client import Client
from tradewind.runtime import logs

_log = logging.getLogger(__name__)


def add(command: argparse.ArgumentParser) -> None:
    argument = command.add_argument
    argument(
        "--config",
        type=input_file,
        metavar="FILE",
        required=True,
        help="TradewindConfiguration with fleet.classes",
    )
    add_kubeconfig(command, "the hub", inside=True)
    add_hub_namespace(command)
    argument(
        "--write",
        choices=["ocm", "decisions"],
        action="append",
        required=True,
        help="AddOnPlacementScores of Open Cluster Management, PlacementDecisions of multicluster.x-k8s.io",
    )
    argument(
        "--every",
        type=positive_seconds,
        metavar="SECONDS",
        help="go on writing (default: write once, as a CronJob would)",
    )
    add_logs(command)
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    logs.configure(options.log_format, options.log_level)
    settings = fleet_settings(options.config)
    if not settings.classes:
        raise TradewindError("fleet.classes: the configuration names no class of requests to score sites for")
    connected = connect(options.kubeconfig)
    if connected is None:
        raise TradewindError("no hub: --kubeconfig or KUBECONFIG names it")
    publisher = PlacementScores(Client(connected[1]), options.hub_namespace)
    while True:
        try:
            _publish(publisher, options)
        except ApiError as error:
            if not options.every:
                raise
            _log.warning("the summaries could not be read: %s", error)
        if not options.every:
            return
        time.sleep(options.every)


def _publish(publisher: PlacementScores, options: argparse.Namespace) -> None:
    """Scores that nobody renews are void after three rounds, or three times the summaries' age."""
    settings, now = fleet_settings(options.config), time.time()
    scores = publisher.scores(settings, now)
    if "ocm" in options.write:
        publisher.publish_ocm(scores, now + 3 * (options.every or settings.summary_seconds))
    if "decisions" in options.write:
        publisher.publish_decisions(scores)
