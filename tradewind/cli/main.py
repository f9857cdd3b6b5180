"""The command line: `tradewind serve`, `explain`, `plan`, ...

Only the command that is called is imported: solvers, web server and Kubernetes' client take seconds of
processor time, which a watchdog that runs every minute would pay each time.
"""

import argparse
import gc
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from tradewind.cli.terminal import complain
from tradewind.errors import TradewindError

# The module of each command, and its line in the list of commands.
COMMANDS = {
    "serve": "answer kube-scheduler's extender requests",
    "explain": "say why a pod is where it is, or why it is nowhere",
    "plan": "place all waiting pods of a cluster file together",
    "savings": "say what the nodes cost, and what they would cost with Tradewind",
    "rebalance": "say which running pods to move so that nodes become empty, and what blocks the rest",
    "page": "show a live cluster in a browser, with the decisions of all replicas",
    "what-if": "say what another configuration, price or number of replicas would change",
    "planner": "plan for the waiting pods of a live cluster",
    "fleet": "schedule a fleet of clusters, beside Karmada",
    "fleet-plan": "say where a fleet's waiting workloads would go, from a file",
    "fleet-scores": "write scores of sites for Open Cluster Management, or decisions for multicluster APIs",
    "site": "publish a member cluster to the fleet",
    "release": "remove Tradewind's scheduling gate from all pods",
    "check-config": "say what a configuration means, or what is wrong",
    "prices": "make a price table from other price lists",
    "schema": "print the JSON schema of the configuration",
    "completion": "print a completion script for a shell",
}


def main(arguments: Sequence[str] | None = None) -> None:
    # No matrix is multiplied anywhere; its threads, one for each processor, would be started all the same.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # We have no plugins for pydantic, which would look for some in the files of every installed package.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    options = parser().parse_args(arguments)
    try:
        options.run(options)
        sys.stdout.flush()
    except TradewindError as error:
        complain(error)
        sys.exit(2)
    except BrokenPipeError:
        # The reader, `head` or a pager, has seen enough; Python would complain once more on its way out.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


def parser(*, complete: bool = False) -> argparse.ArgumentParser:
    """A command's own flags are declared when it is called; `complete` declares those of all commands."""
    top = Parser(prog=_prog(), description="Price- and risk-aware placement for Kubernetes.")
    top.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = top.add_subparsers(required=True, metavar="COMMAND", parser_class=_Command)
    for name, line in COMMANDS.items():
        command = commands.add_parser(name, help=line, description=f"{line[0].upper()}{line[1:]}.")
        command.module = f"tradewind.cli.{name.replace('-', '_')}"
        if complete:
            command.declare()
    return top


class Parser(argparse.ArgumentParser):
    """No abbreviated flags: `--prot` must not become `--protect-floor`, which writes to pods."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        complain(message, f"{self.prog}: error:")
        sys.exit(2)

    def __init__(self, **arguments: Any) -> None:
        super().__init__(allow_abbrev=False, **arguments)


class _Command(Parser):
    module = ""
    _declared = False

    def declare(self) -> None:
        if not self._declared and self.module:
            self._declared = True
            # What is imported is never garbage; looking through it is a seventh of a short command's time.
            gc.disable()
            importlib.import_module(self.module).add(self)
            gc.freeze()
            gc.enable()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        self.declare()
        return super().parse_known_args(args, namespace)


class _Version(argparse.Action):
    def __call__(self, command: argparse.ArgumentParser, *_: object) -> None:
        print(importlib.import_module("tradewind.version").VERSION)
        command.exit()


def _prog() -> str:
    """As it was called: kubectl runs a program named kubectl-tradewind for `kubectl tradewind`."""
    called = os.path.basename(sys.argv[0])  # noqa: PTH119  a pathlib import for one name
    return "kubectl tradewind" if called.startswith("kubectl-") else "tradewind"
