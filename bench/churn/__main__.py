"""`python -m bench.churn`: the table of promises."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from bench import planner_cases
from bench.churn import fluid, scenario
from bench.churn.ledger import Account
from bench.churn.replay import Way, measure
from bench.goals import markdown
from e2e import binaries

_PRESETS = ("balanced", "cost", "availability")
WAYS = (
    Way(name="kube-scheduler"),
    *(Way(name=f"scores, {preset}", settings={"preset": preset}) for preset in _PRESETS),
    *(Way(name=f"planned, {preset}", settings={"preset": preset}, planned=True) for preset in _PRESETS),
)
_HEAD = [
    "",
    "dollars / bound",
    "critical interrupted",
    "others interrupted",
    "critical on spot",
    "wait p50, p99",
    "zone kept",
    "unplaced",
    "evictions",
]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.churn", description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--seconds", type=float, default=scenario.SECONDS)
    parser.add_argument("--ways", nargs="+", choices=[way.name for way in WAYS], metavar="WAY")
    parser.add_argument("--output", type=Path, metavar="FILE", help="all figures, as JSON")
    options = parser.parse_args(arguments)
    data = planner_cases.data_directory()
    if data is None:
        print("The replay draws from the public data of $TRADEWIND_DATA, which is not there.")
        return 1
    binaries.find()
    drawn = [scenario.draw(data, seed, options.seconds) for seed in options.seeds]
    bounds = [fluid.bound(each, options.seconds) for each in drawn]
    for each, dollars in zip(drawn, bounds, strict=True):
        print(
            f"seed {each.seed}: {len(each.arrivals)} pods, {len(each.vanishings)} nodes vanish,"
            f" fluid bound ${dollars:.3f} an hour",
            flush=True,
        )
    rows = []
    found: dict[str, list[Account]] = {}
    for way in WAYS:
        if options.ways and way.name not in options.ways:
            continue
        accounts = [measure(each, way, options.seconds) for each in drawn]
        found[way.name] = accounts
        rows.append(_row(way.name, accounts, bounds))
        print("  ".join(rows[-1]), flush=True)
    print(markdown([_HEAD, *rows], {0}))
    if options.output:
        options.output.write_bytes(
            msgspec.json.format(msgspec.json.encode({"bounds": bounds, "ways": found}))
        )
    return 0


def _row(name: str, accounts: Sequence[Account], bounds: Sequence[float]) -> list[str]:
    """Each figure by seed."""
    ratios = [each.dollars / bound for each, bound in zip(accounts, bounds, strict=True)]
    return [
        name,
        ", ".join(f"{ratio:.2f}" for ratio in ratios),
        ", ".join(str(each.interrupted.get("critical", 0)) for each in accounts),
        ", ".join(
            str(sum(each.interrupted.values()) - each.interrupted.get("critical", 0)) for each in accounts
        ),
        ", ".join(str(each.critical_on_spot) for each in accounts),
        ", ".join(f"{each.wait(50):.2f} {each.wait(99):.2f}" for each in accounts) + " s",
        ", ".join(f"{each.zone_kept:.0%}" for each in accounts),
        ", ".join(str(each.unplaced) for each in accounts),
        ", ".join(str(each.evictions) for each in accounts),
    ]


if __name__ == "__main__":
    sys.exit(main())
