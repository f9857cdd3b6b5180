"""`tradewind check-config`."""

import argparse
from dataclasses import fields

from scoring.rules import Filter
from tradewind.cli.arguments import input_file
from tradewind.config import document as config
from tradewind.market import table


def add(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", type=input_file, metavar="FILE", help="- for standard input")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
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


def _parameters(rule: Filter) -> str:
    shown = [f"{field.name}={getattr(rule, field.name)!r}" for field in fields(rule)]  # type: ignore[arg-type]
    return f" ({', '.join(shown)})" if shown else ""
