"""The command line: `tradewind serve`, `explain`, `plan`, `release`, `check-config`, `prices`."""

import argparse
import os
import sys
from collections.abc import Sequence

from tradewind.cli import check_config, explain, plan, planner, prices, release, serve
from tradewind.errors import TradewindError
from tradewind.version import VERSION


def main(arguments: Sequence[str] | None = None) -> None:
    options = parser().parse_args(arguments)
    try:
        options.run(options)
        sys.stdout.flush()
    except TradewindError as error:
        print(f"tradewind: {error}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:
        # The reader, `head` or a pager, has seen enough; Python would complain once more on its way out.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="tradewind", description="Price- and risk-aware placement for Kubernetes."
    )
    top.add_argument("--version", action="version", version=VERSION)
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    serve.add(commands.add_parser("serve", help="answer kube-scheduler's extender requests"))
    explain.add(commands.add_parser("explain", help="say why a pod is where it is, or why it is nowhere"))
    plan.add(commands.add_parser("plan", help="place all waiting pods of a cluster file together"))
    planner.add(commands.add_parser("planner", help="plan for the waiting pods of a live cluster"))
    release.add(commands.add_parser("release", help="let go of all pods that Tradewind holds"))
    check_config.add(
        commands.add_parser("check-config", help="say what a configuration means, or what is wrong")
    )
    prices.add(commands.add_parser("prices", help="make a price table from other price lists"))
    return top
