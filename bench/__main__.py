"""`python -m bench`: everything in one run, a table of the goals at its end, and all figures in a file."""

import argparse
import math
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bench import burst, contenders, goals, machine, profile, report, scale, sync, tail, throughput
from bench.contenders import Contender
from bench.document import Document
from bench.runs import Runs
from bench.sizes import FULL, QUICK
from e2e import binaries

_RESULTS = Path(__file__).parent / "results"
_CHARTS = Path(__file__).parents[1] / "docs" / "img"
_QUICK = (
    "The goals are meant for the sizes of the whole benchmark: this one shows only that everything works."
)
_PARTS = ["throughput", "burst", "scale", "tail", "sync", "profile"]


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    if options.write_docs:
        Document.read(options.write_docs).write_docs()
        return 0
    if not machine.supported():
        print("The benchmark reads processor times from /proc: it runs on Linux only.", file=sys.stderr)
        return 2
    facts = machine.facts(binaries.find())
    print(", ".join(f"{key} {value}" for key, value in facts.items()), flush=True)
    measured, failures = _measure(options)
    if measured:
        document = Document(machine=facts, **measured)
        output = options.output or _RESULTS / f"{time.strftime('%Y%m%dT%H%M%S')}.json"
        # The documentation shows whole runs only.
        charts = _CHARTS if not options.quick and list(measured) == _PARTS else output.parent
        document.write(output)
        document.draw(charts)
        print(_summary(document), _QUICK if options.quick else "", sep="\n")
        print(f"All figures: {output}; charts: {charts}")
    for part, error in failures.items():
        print(f"Not measured: {part}: {error}", file=sys.stderr)
    return 1 if failures else 0


def _measure(options: argparse.Namespace) -> tuple[dict[str, Any], dict[str, Exception]]:
    """By part what was measured, and what kept others from it."""
    started = time.monotonic()

    def say(line: str) -> None:
        print(f"{time.monotonic() - started:5.0f} s  {line}", flush=True)

    measures = _measures(options, say)
    measured: dict[str, Any] = {}
    failures: dict[str, Exception] = {}
    for part in options.parts:
        try:
            measured[part] = measures[part]()
        except Exception as error:  # noqa: BLE001  what other parts measured must not be lost with it
            say(f"{part} failed: {type(error).__name__}")
            failures[part] = error
    return measured, failures


def _measures(options: argparse.Namespace, say: Callable[[str], None]) -> dict[str, Callable[[], Any]]:
    sizes = QUICK if options.quick else FULL
    runs = Runs(count=options.runs or sizes.runs, calm=options.calm, say=say)
    plan = throughput.Plan(
        sizes=options.nodes or sizes.throughput_nodes,
        percentages=options.sampling or sizes.percentages,
        pods=options.pods or sizes.throughput_pods,
        contenders=options.contenders,
    )
    return {
        "throughput": lambda: throughput.run(plan, runs),
        "burst": lambda: burst.run(sizes.burst_nodes, sizes.burst_pods, runs),
        "scale": lambda: scale.run(*sizes.scale_nodes, sizes.scale_pairs, runs),
        "tail": lambda: tail.run(sizes.tail_nodes, sizes.tail_pairs, plan.percentages, runs),
        "sync": lambda: sync.run(sizes.sync_nodes, sizes.sync_pods, runs),
        "profile": lambda: profile.run(sizes.profile_nodes, sizes.profile_requests, say),
    }


def _summary(document: Document) -> str:
    rows, outcomes = document.figures(), document.outcomes()
    contest = ["", report.table(rows), report.LEGEND, report.warning(rows)] if rows else []
    burst_table = ["", document.burst.table(), burst.LEGEND] if document.burst else []
    steps = ["", document.profile.table()] if document.profile else []
    met = ["", goals.table(outcomes), goals.conclusion(outcomes)] if outcomes else []
    return "\n".join([*contest, *burst_table, *steps, *met])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    add = parser.add_argument
    names = ",".join(contender.name for contender in contenders.ALL)
    add("--parts", type=_parts, default=_PARTS, metavar="P,P", help=f"default: {','.join(_PARTS)}")
    add(
        "--quick", action="store_true", help="small sizes, one run: two minutes, to see that everything works"
    )
    add("--runs", type=_positive, metavar="N", help="repetitions of each measurement (default: 3)")
    add(
        "--calm",
        type=float,
        default=math.inf,
        metavar="CORES",
        help="wait for other work to take less, and repeat what it disturbed (default: never)",
    )
    add("--output", type=Path, metavar="FILE", help="JSON (default: a new file in bench/results)")
    add(
        "--write-docs",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="measure nothing: write the tables and charts of docs/performance.md from these results",
    )
    only = parser.add_argument_group("throughput")
    only.add_argument("--nodes", type=_sizes, metavar="N,N", help="cluster sizes (default: 1000,5000)")
    only.add_argument(
        "--sampling",
        type=_percentages,
        metavar="S,S",
        help="'default' or a percentage of nodes to score (default: default,100); of tail too",
    )
    only.add_argument(
        "--pods",
        type=_several,
        metavar="N",
        help="in every case (default: fewer where more nodes are seen)",
    )
    only.add_argument(
        "--contenders", type=_contenders, default=contenders.ALL, metavar="C,C", help=f"default: {names}"
    )
    return parser


def _parts(text: str) -> list[str]:
    """In our own order."""
    asked = text.split(",")
    if not set(asked) <= set(_PARTS):
        raise argparse.ArgumentTypeError(f"choose from {', '.join(_PARTS)}")
    return [part for part in _PARTS if part in asked]


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
    known = {contender.name: contender for contender in contenders.CHOICES}
    asked = text.split(",")
    if not known.keys() >= set(asked):
        raise argparse.ArgumentTypeError(f"choose from {', '.join(known)}")
    return [known[name] for name in asked]


if __name__ == "__main__":
    sys.exit(main())
