"""`tradewind check-config`."""

import argparse
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import yaml

from scoring.policy import Policy
from scoring.rules import Filter
from tradewind.cli.arguments import STANDARD_INPUT, input_file
from tradewind.config import document as config
from tradewind.config.classes import Match
from tradewind.errors import TradewindError


def add(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", type=input_file, metavar="FILE", help="- for standard input")
    command.add_argument(
        "--cluster",
        type=input_file,
        metavar="FILE",
        help="also say how many nodes have a price, in what 'kubectl get nodes,pods -A -o json' wrote",
    )
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    if options.cluster is not None and options.file == STANDARD_INPUT:
        raise TradewindError("with --cluster the configuration is read twice: give it as a file")
    document = config.read(options.file)
    if document.market.table is not None:
        # Readers of prices, which most documents have no use for.
        from tradewind.market import table  # noqa: PLC0415

        table.read(document.market.table)
    print(f"{options.file} is valid. Workload classes, in the order in which they are tried:")
    print("\n".join(_told(document)))
    if options.cluster is not None:
        print(f"\n{_coverage(options.cluster, options.file)}")


def _told(document: config.Document) -> Iterator[str]:
    """Everything in force, defaults included, as it would be written in a document."""
    policies = document.policies()
    for match, policy in (*policies.classes, (None, policies.default)):
        yield f"\n{policy.workload_class}"
        yield f"  match    {_match(match, policy.workload_class)}"
        yield "  weights  " + ", ".join(f"{name} {weight:g}" for name, weight in _weights(policy))
        for rule in policy.filters:
            yield f"  filter   {rule.name}{_parameters(rule)}"
    for name, section in (("market", document.market), ("planner", document.planner)):
        yield f"\n{name}"
        written = section.model_dump(mode="json", by_alias=True, exclude_none=True)
        yield textwrap.indent(yaml.safe_dump(written, sort_keys=False).rstrip(), "  ")


def _weights(policy: Policy) -> Iterator[tuple[str, float]]:
    yield from ((rule.name, weight) for rule, weight in policy.scorers)
    yield "preferences", policy.preferences


def _match(match: Match | None, workload_class: str) -> str:
    if match is not None:
        found = match.model_dump(by_alias=True, exclude_none=True)
        return ", ".join(f"{key} {_written(value)}" for key, value in found.items())
    return "every other pod" if workload_class == "default" else "pods that name it in an annotation"


def _coverage(cluster: Path, file: Path) -> str:
    # Kubernetes' client comes with it, and takes seconds.
    from tradewind.runtime.assembly import Assembly  # noqa: PLC0415
    from tradewind.runtime.source import from_file  # noqa: PLC0415

    parts = Assembly(from_file(cluster), file)
    with parts.started():
        return str(parts.market.price_coverage())


def _parameters(rule: Filter) -> str:
    shown = [f"{field.name} {_written(getattr(rule, field.name))}" for field in fields(rule)]  # type: ignore[arg-type]
    return f" ({', '.join(shown)})" if shown else ""


def _written(value: Any) -> str:
    """As in YAML."""
    if value is None or isinstance(value, bool):
        return {None: "none", True: "true", False: "false"}[value]
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_written(each)}" for key, each in value.items()) + "}"
    if isinstance(value, set | frozenset):
        value = sorted(value, key=str)
    if isinstance(value, list | tuple):
        return f"[{', '.join(_written(each) for each in value)}]"
    return f"{value:g}" if isinstance(value, float) else str(value)
