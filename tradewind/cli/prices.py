"""`tradewind prices import`."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from tradewind.errors import PriceTableError
from tradewind.market.imports import from_csv, from_spot_advisor, to_csv
from tradewind.market.pools import ON_DEMAND
from tradewind.market.table import UNSAID, Row


def add(command: argparse.ArgumentParser) -> None:
    actions = command.add_subparsers(required=True, metavar="ACTION")
    action = actions.add_parser(
        "import",
        help="turn a price list into a price table",
        description="Reads a plain CSV of types and prices, a custom-pricing CSV of OpenCost, or a JSON of "
        "AWS' Spot Advisor. If anything is wrong with it, nothing is written.",
    )
    action.add_argument("file", type=Path, metavar="FILE")
    action.add_argument("--output", type=Path, metavar="FILE", help="the table (default: standard output)")
    action.add_argument(
        "--on-demand",
        type=Path,
        metavar="FILE",
        help="for a Spot Advisor JSON, which lists savings only: a CSV with the on-demand prices",
    )
    action.add_argument("--region", help="of a Spot Advisor JSON: this region only (default: all)")
    action.add_argument("--system", default="Linux", help="of a Spot Advisor JSON (default: %(default)s)")
    action.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    text = to_csv(_rows(options))
    if options.output is None:
        sys.stdout.write(text)
        return
    _write(options.output, text)
    print(f"{options.output}: {text.count(chr(10)) - 1} rows")


def _rows(options: argparse.Namespace) -> Sequence[Row]:
    text = _read(options.file)
    try:
        if not text.lstrip().startswith("{"):
            return from_csv(text)
    except PriceTableError as error:
        raise PriceTableError(f"{options.file}: {error}") from error
    on_demand = _on_demand(options.on_demand) if options.on_demand else ()
    try:
        return from_spot_advisor(text, options.system, on_demand, options.region)
    except PriceTableError as error:
        raise PriceTableError(f"{options.file}: {error}") from error


def _on_demand(path: Path) -> Sequence[Row]:
    try:
        rows = from_csv(_read(path))
    except PriceTableError as error:
        raise PriceTableError(f"{path}: {error}") from error
    return [row for row in rows if row.key.capacity_type in {ON_DEMAND, "*", UNSAID}]


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise PriceTableError(f"reading {path}: {error}") from error


def _write(path: Path, text: str) -> None:
    """Whole or not at all: a running Tradewind may be following the file."""
    partial = path.with_name(f".{path.name}.partial")
    try:
        partial.write_text(text, encoding="utf-8")
        os.replace(partial, path)  # noqa: PTH105  atomic
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise PriceTableError(f"writing {path}: {error}") from error
