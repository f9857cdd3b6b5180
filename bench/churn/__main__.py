"""`python -m bench.churn`: the table of promises, simulated or on the real kube-scheduler."""

import argparse
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from pathlib import Path

import msgspec

from bench import planner_cases
from bench.churn import fluid, scenario
from bench.churn.ledger import Account
from bench.churn.replay import measure
from bench.churn.simulation import simulate, simulate_exactly
from bench.churn.ways import WAYS
from bench.goals import markdown
from e2e import binaries

_KINDS = ("critical", "batch", "plain")
_HEAD = [
    "",
    "dollars / bound",
    *(f"{kind} interrupted" for kind in _KINDS),
    "expected",
    "critical on spot",
    "wait p50, p99",
    "zone kept",
    "unplaced",
    "evictions",
]


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    data = planner_cases.data_directory()
    if data is None:
        print("The replay draws from the public data of $TRADEWIND_DATA, which is not there.")
        return 1
    if options.real:
        binaries.find()
    drawn = [scenario.draw(data, seed, options.seconds) for seed in options.seeds]
    with ProcessPoolExecutor(options.jobs or (1 if options.real else 2)) as pool:
        bounds = list(pool.map(fluid.bound, drawn, repeat(options.seconds)))
        for each, dollars in zip(drawn, bounds, strict=True):
            print(
                f"seed {each.seed}: {len(each.arrivals)} pods, {len(each.vanishings)} nodes vanish,"
                f" fluid bound ${dollars:.3f} an hour",
                flush=True,
            )
        found: dict[str, list[Account]] = {}
        for way in WAYS:
            if options.ways and way.name not in options.ways:
                continue
            ways, seconds = repeat(way), repeat(options.seconds)
            play = (
                pool.map(measure, drawn, ways, seconds, repeat(options.slowest))
                if options.real
                else pool.map(simulate_exactly if options.exact else simulate, drawn, ways, seconds)
            )
            found[way.name] = list(play)
            print("  ".join(_row(way.name, found[way.name], bounds)), flush=True)
    print(markdown([_HEAD, *(_row(name, each, bounds) for name, each in found.items())], {0}))
    if options.output:
        options.output.write_bytes(
            msgspec.json.format(msgspec.json.encode({"bounds": bounds, "ways": found}))
        )
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.churn", description=__doc__)
    parser.add_argument(
        "--real", action="store_true", help="on the real kube-scheduler, 100 s for each figure"
    )
    parser.add_argument(
        "--exact",
        action="store_true",
        help="simulated with the solvers, and with batches as live, not greedily",
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--seconds", type=float, default=scenario.SECONDS)
    parser.add_argument("--ways", nargs="+", choices=[way.name for way in WAYS], metavar="WAY")
    parser.add_argument(
        "--jobs", type=int, help="seeds at a time (2; with --real 1: others would disturb the waits)"
    )
    parser.add_argument(
        "--slowest", type=int, default=0, metavar="N", help="with --real: where the time of N pods went"
    )
    parser.add_argument("--output", type=Path, metavar="FILE", help="all figures, as JSON")
    return parser


def _row(name: str, accounts: Sequence[Account], bounds: Sequence[float]) -> list[str]:
    """Each figure by seed, but expected interruptions: by kind, of all seeds."""
    ratios = [each.dollars / bound for each, bound in zip(accounts, bounds, strict=True)]
    return [
        name,
        ", ".join(f"{ratio:.2f}" for ratio in ratios),
        *(", ".join(str(each.interrupted.get(kind, 0)) for each in accounts) for kind in _KINDS),
        ", ".join(f"{sum(each.expected.get(kind, 0.0) for each in accounts):.0f}" for kind in _KINDS),
        ", ".join(str(each.critical_on_spot) for each in accounts),
        ", ".join(f"{each.wait(50):.2f} {each.wait(99):.2f}" for each in accounts) + " s",
        ", ".join(f"{each.zone_kept:.0%}" for each in accounts),
        ", ".join(str(each.unplaced) for each in accounts),
        ", ".join(str(each.evictions) for each in accounts),
    ]


if __name__ == "__main__":
    sys.exit(main())
