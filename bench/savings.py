"""The rows of the table in docs/savings.md: `python -m bench.savings`."""

import contextlib
import io
import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench import planner_cases, savings_cases
from tradewind.cli.main import main
from tradewind.runtime.source import EXAMPLES

_CONFIG = "apiVersion: tradewind.dev/v1alpha1\nkind: TradewindConfiguration\nmarket: {table: prices.csv}\n"


def told(arguments: Sequence[str | Path], command: str = "savings") -> Mapping[str, Any]:
    """What the command says as JSON."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        main([command, *map(str, arguments), "-o", "json"])
    found: Mapping[str, Any] = json.loads(output.getvalue())
    return found


def configured(directory: Path, table: str) -> list[str | Path]:
    (directory / "prices.csv").write_text(table)
    (directory / "tradewind.yaml").write_text(_CONFIG)
    return ["--config", directory / "tradewind.yaml"]


def figures(found: Mapping[str, Any], decimals: int) -> list[str]:
    """The cells of a row."""

    def cell(part: str) -> str:
        nodes, dollars = found[part]["nodes"], found[part]["hourlyCost"]
        return f"{nodes:,} nodes" if dollars is None else f"{nodes:,} nodes, ${dollars:,.{decimals}f}/h"

    bound = found["lowerBound"]
    lowest = bound["everyPodMoved"]
    shown = f"{-int(-lowest // 1)} nodes" if bound["unit"] == "nodes" else f"${lowest:,.{decimals}f}/h"
    moves = sum(len(each["moves"]) for each in found["emptied"])
    return [cell("now"), cell("after"), cell("saved"), f"{moves:,}", shown]


def what_if_figures(found: Mapping[str, Any], decimals: int) -> list[str]:
    """The cells of a row of what-if."""

    def cell(side: str) -> str:
        nodes, dollars = found[side]["nodes"], found[side]["hourlyCost"]
        return f"{nodes:,} nodes" if dollars is None else f"{nodes:,} nodes, ${dollars:,.{decimals}f}/h"

    without = len(found["then"]["unplaced"].keys() - found["now"]["unplaced"].keys())
    return [cell("now"), cell("then"), f"{len(found['elsewhere']):,}", f"{without:,}"]


def _print(name: str, found: Mapping[str, Any], decimals: int) -> None:
    print(f"| {' | '.join([name, *figures(found, decimals)])} |")


def run() -> None:
    _print("the example", told(["--cluster", EXAMPLES / "cluster.json"]), 3)
    with tempfile.TemporaryDirectory() as made:
        directory = Path(made)
        file = savings_cases.write(savings_cases.eks(), directory / "cluster.json")
        config = configured(directory, savings_cases.PRICE_TABLE)
        _print("EKS", told(["--cluster", file, *config, "--seconds", "60"]), 2)
        data = planner_cases.data_directory()
        if data is None:
            print("openb needs the public data of $TRADEWIND_DATA")
            return
        file = savings_cases.write(savings_cases.openb(data), directory / "cluster.json")
        _print("openb", told(["--cluster", file, "--partial", "--seconds", "60"]), 0)


if __name__ == "__main__":
    run()
