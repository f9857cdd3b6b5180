"""`tradewind prices import`."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from tradewind.cli.arguments import add_kubeconfig, add_namespace, refuse_together
from tradewind.cli.download import download
from tradewind.errors import PriceTableError, TradewindError
from tradewind.market.imports import read, to_csv
from tradewind.market.pools import ON_DEMAND
from tradewind.market.rows import UNSAID, Row
from tradewind.runtime import identity


def add(command: argparse.ArgumentParser) -> None:
    actions = command.add_subparsers(required=True, metavar="ACTION")
    action = actions.add_parser(
        "import",
        help="turn a price list into a price table",
        description="Reads price lists as clouds and tools have them: AWS (Price List, Spot Advisor, spot "
        "price history), Azure (Retail Prices), Google (Billing Catalog), Karpenter's metric of offerings, "
        "FOCUS exports, OpenCost's custom pricing, and plain CSV. If anything is wrong, nothing is written.",
    )
    action.add_argument("file", metavar="FILE", help="or an address that starts with http:// or https://")
    action.add_argument("--output", type=Path, metavar="FILE", help="the table (default: standard output)")
    action.add_argument(
        "--on-demand",
        type=Path,
        metavar="FILE",
        help="with a Spot Advisor JSON, which lists savings only: any list with the on-demand prices",
    )
    action.add_argument("--region", help="this region only (default: all in the list)")
    action.add_argument(
        "--system",
        help="this operating system only, such as RHEL (default: Linux and Windows, as a list has them)",
    )
    action.add_argument(
        "--configmap",
        metavar="NAME",
        help="write the table into this ConfigMap, as prices.csv, not into a file",
    )
    add_namespace(action, "of the ConfigMap")
    add_kubeconfig(action, "of the cluster", inside=True)
    action.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    refuse_together(options, ["--output", "--configmap"], "the table goes to one place")
    if not options.configmap and (options.namespace or options.kubeconfig):
        raise TradewindError("--namespace and --kubeconfig go with --configmap")
    text = to_csv(_rows(options))
    if options.configmap:
        # Kubernetes' client comes with it, and a table for a file does not need it.
        from tradewind.cli.price_config_map import publish  # noqa: PLC0415

        publish(text, options.configmap, options.namespace or identity.namespace(), options.kubeconfig)
        print(f"ConfigMap {options.configmap}: {text.count(chr(10)) - 1} rows")
        return
    if options.output is None:
        sys.stdout.write(text)
        return
    _write(options.output, text)
    print(f"{options.output}: {text.count(chr(10)) - 1} rows")


def _rows(options: argparse.Namespace) -> Sequence[Row]:
    text = _read(options.file)
    on_demand = _on_demand(options.on_demand, options.system) if options.on_demand else ()
    try:
        return read(text, options.system, on_demand, options.region)
    except PriceTableError as error:
        raise PriceTableError(f"{options.file}: {error}") from error


def _on_demand(path: Path, system: str | None) -> Sequence[Row]:
    try:
        rows = read(_read(path), system)
    except PriceTableError as error:
        raise PriceTableError(f"{path}: {error}") from error
    return [row for row in rows if row.key.capacity_type in {ON_DEMAND, "*", UNSAID}]


def _read(path: Path | str) -> str:
    if str(path).startswith(("http://", "https://")):
        return download(str(path))
    try:
        return Path(path).read_text(encoding="utf-8-sig")
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
