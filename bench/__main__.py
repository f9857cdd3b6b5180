"""`python -m bench`: the whole comparison in one run, with a table at the end and all figures in a file."""

import argparse
import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from bench import contenders, machine, report, throughput
from bench.contenders import Contender
from bench.errors import MeasurementError
from bench.throughput import Plan
from e2e import binaries
from e2e.processes import NotStartedError

_RESULTS = Path(__file__).parent / "results"


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    if not machine.supported():
        print("The benchmark reads processor times from /proc: it runs on Linux only.", file=sys.stderr)
        return 2
    facts = machine.facts(binaries.find())
    print(", ".join(f"{key} {value}" for key, value in facts.items()), flush=True)
    started = time.monotonic()

    def say(line: str) -> None:
        print(f"{time.monotonic() - started:5.0f} s  {line}", flush=True)

    try:
        results = throughput.run(_plan(options), say)
    except (MeasurementError, NotStartedError) as error:
        print(f"Nothing was measured: {error}", file=sys.stderr)
        return 1
    rows = [row for result in results for row in report.figures(result)]
    output = options.output or _RESULTS / f"throughput-{time.strftime('%Y%m%dT%H%M%S')}.json"
    report.write(output, facts, results, rows)
    lines = [report.table(rows), report.LEGEND, report.warning(rows), report.conclusion(rows)]
    print("", *filter(None, lines), f"All figures: {output}", sep="\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    add = parser.add_argument
    names = ",".join(contender.name for contender in contenders.ALL)
    add("--nodes", type=_sizes, metavar="N,N", help="cluster sizes (default: 1000,5000)")
    add(
        "--sampling",
        type=_percentages,
        default=[0, 100],
        metavar="S,S",
        help="'default' or a percentage of nodes to score (default: default,100)",
    )
    add("--pods", type=_several, metavar="N", help="in every case (default: fewer where more nodes are seen)")
    add("--runs", type=_positive, metavar="N", help="repetitions of each measurement (default: 3)")
    add(
        "--calm",
        type=float,
        default=math.inf,
        metavar="CORES",
        help="wait for other work to take less, and repeat what it disturbed (default: never)",
    )
    add("--contenders", type=_contenders, default=contenders.ALL, metavar="C,C", help=f"default: {names}")
    add("--quick", action="store_true", help="200 nodes, one run: a minute, to see that everything works")
    add("--output", type=Path, metavar="FILE", help="JSON (default: a new file in bench/results)")
    return parser


def _plan(options: argparse.Namespace) -> Plan:
    quick: bool = options.quick
    return Plan(
        sizes=options.nodes or ([200] if quick else [1_000, 5_000]),
        percentages=options.sampling,
        pods=options.pods or (500 if quick else None),
        runs=options.runs or (1 if quick else 3),
        calm=options.calm,
        contenders=options.contenders,
    )


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return number


def _several(text: str) -> int:
    # prioritize is not asked about a single node, and a single binding has no rate.
    number = int(text)
    if number < 2:
        raise argparse.ArgumentTypeError("must be 2 or more")
    return number


def _sizes(text: str) -> list[int]:
    return [_several(part) for part in text.split(",")]


def _percentages(text: str) -> list[int]:
    percentages = [0 if part == "default" else int(part) for part in text.split(",")]
    if not all(0 <= percentage <= 100 for percentage in percentages):
        raise argparse.ArgumentTypeError("a percentage is between 1 and 100")
    return percentages


def _contenders(text: str) -> list[Contender]:
    known = {contender.name: contender for contender in contenders.ALL}
    asked = text.split(",")
    if not known.keys() >= set(asked):
        raise argparse.ArgumentTypeError(f"choose from {', '.join(known)}")
    return [known[name] for name in asked]


if __name__ == "__main__":
    sys.exit(main())
