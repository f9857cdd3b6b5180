"""`tradewind check-config`."""

import argparse
from dataclasses import fields
from pathlib import Path

from scoring.rules import Filter
from tradewind.cli.arguments import STANDARD_INPUT, input_file
from tradewind.config import document as config
from tradewind.errors import TradewindError
from tradewind.market import table


def add(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", type=input_file, metavar="FILE", help="- for standard input")
    command.add_argument(
        "--cluster",
        type=input_file,
        metavar="FILE",
        help="also say how many nodes have a price, in the output of 'kubectl get nodes,pods -A -o json'",
    )
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    if options.cluster is not None and options.file == STANDARD_INPUT:
        raise TradewindError("with --cluster the configuration is read twice: give it as a file")
    document = config.read(options.file)
    if document.market.table is not None:
        table.read(document.market.table)
    policies = document.policies()
    print(f"{options.file} is valid. Workload classes, in the order in which they are tried:")
    for policy in (*policies.all()[1:], policies.default):
        print(f"\n{policy.workload_class}")
        print("  weights  " + ", ".join(f"{rule.name} {weight:g}" for rule, weight in policy.scorers))
        for rule in policy.filters:
            print(f"  filter   {rule.name}{_parameters(rule)}")
    if options.cluster is not None:
        print(f"\n{_coverage(options.cluster, options.file)}")


def _coverage(cluster: Path, file: Path) -> str:
    # Kubernetes' client comes with it, and takes seconds.
    from tradewind.runtime.assembly import Assembly  # noqa: PLC0415
    from tradewind.runtime.source import from_file  # noqa: PLC0415

    parts = Assembly(from_file(cluster), file)
    with parts.started():
        return str(parts.market.price_coverage())


def _parameters(rule: Filter) -> str:
    shown = [f"{field.name}={getattr(rule, field.name)!r}" for field in fields(rule)]  # type: ignore[arg-type]
    return f" ({', '.join(shown)})" if shown else ""
