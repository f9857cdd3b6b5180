"""`tradewind release`."""

import argparse
import re
import sys

from tradewind.cli.arguments import add_kubeconfig, add_namespace
from tradewind.cli.terminal import complain
from tradewind.controller.held_pods import UngateReport
from tradewind.controller.release import LEASE, release, sign_of_life
from tradewind.errors import ApiError, TradewindError
from tradewind.kube.access import connect
from tradewind.planner.gate import GATE
from tradewind.runtime import identity

_DURATION = re.compile(r"(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,6})s)?")


def add(command: argparse.ArgumentParser) -> None:
    command.description = (
        f"Removes the scheduling gate {GATE} from all pods, so that they are placed without a plan. "
        "Other gates stay. Exit code 0: no pod is held any more, or not for long; 1: some pods could "
        "not be ungated, or the API server does not answer; 2: bad usage."
    )
    argument = command.add_argument
    argument(
        "--if-stale",
        type=seconds,
        metavar="DURATION",
        help=f"only pods that were held for so long, or all if no planner has renewed the Lease {LEASE} "
        "for so long: 90s, 2m, 1h",
    )
    add_namespace(command, "of that Lease")
    add_kubeconfig(command, "of the cluster", inside=True)
    command.set_defaults(run=run)


def seconds(text: str) -> int:
    found = _DURATION.fullmatch(text)
    hours, minutes, rest = (int(part or 0) for part in found.groups()) if found else (0, 0, 0)
    total = 3600 * hours + 60 * minutes + rest
    if not total:
        raise argparse.ArgumentTypeError(f'"{text}" is not a duration like 90s, 2m or 1h')
    return total


def run(options: argparse.Namespace) -> None:
    if options.namespace and not options.if_stale:
        raise TradewindError(
            "--namespace is that of the Lease, for --if-stale; pods of all namespaces are released"
        )
    namespace = options.namespace or identity.namespace()
    connected = connect(options.kubeconfig)
    if connected is None:
        raise TradewindError(
            "no cluster to release pods in: --kubeconfig or KUBECONFIG names one; there is no ~/.kube/config"
        )
    _, api = connected
    try:
        # First, and whatever the Lease says: a planner that renews it may hold pods all the same.
        report = release(api, options.if_stale or 0.0)
        alive = sign_of_life(api, namespace, options.if_stale) if options.if_stale else ""
        if options.if_stale and not alive:
            late, report = report, release(api)
            report.ungated += late.ungated
    except ApiError as error:
        complain(error)
        sys.exit(1)
    print(f"Nothing to do: {alive}." if alive and report == UngateReport() else report)
    if report.failed:
        sys.exit(1)
