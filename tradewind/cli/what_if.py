"""`tradewind what-if`."""

import argparse
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tradewind.cli.arguments import (
    add_kubeconfig,
    input_file,
    positive_seconds,
    refuse_stdin_twice,
    refuse_together,
)
from tradewind.cli.partial import add_partial, refuse_partial
from tradewind.cli.progress import progress
from tradewind.cluster.files import DUMP
from tradewind.errors import TradewindError
from tradewind.explain.words import counted
from tradewind.planner.worker import Worker
from tradewind.runtime.assembly import Assembly
from tradewind.runtime.source import Source, from_file, live
from tradewind.savings import difference_report
from tradewind.savings.difference import difference
from tradewind.savings.what_if import KINDS, as_it_is, as_it_would_be, read_changes

_SECONDS = 5.0
_SYNC_SECONDS = 60.0
_SYNC_STEP_SECONDS = 0.05
_SHOWN = {"table": difference_report.text, "json": difference_report.to_json}


def add(command: argparse.ArgumentParser) -> None:
    argument = command.add_argument
    argument(
        "--cluster",
        type=input_file,
        metavar="FILE",
        help=f"the output of '{DUMP}' (or yaml), - for stdin",
    )
    add_partial(command)
    add_kubeconfig(command, "a live cluster, which is only read")
    argument("--config-now", type=input_file, metavar="FILE", help="the TradewindConfiguration in force now")
    argument(
        "--config",
        type=input_file,
        metavar="FILE",
        help="another configuration: places all pods anew, now and then, to show what it does",
    )
    for flag, metavar, text in (
        ("--without", "NODE", "a node or a pool is gone"),
        ("--lost-zone", "ZONE", "all nodes of a zone are gone"),
        ("--price", "CHANGE", "'m5.large spot x2': a type or node, its terms, a factor or dollars an hour"),
        ("--rate", "CHANGE", "the same for how likely a node is to be interrupted in a month"),
        ("--scale", "WORKLOAD=N", "shop/web=30: so many replicas"),
    ):
        argument(flag, action="append", default=[], metavar=metavar, help=f"{text}; may be repeated")
    argument("-o", "--output", choices=[*_SHOWN], default="table")
    argument(
        "--seconds",
        type=positive_seconds,
        default=_SECONDS,
        metavar="N",
        help="time limit of each of the two plans (default: %(default)g)",
    )
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    refuse_together(options, ["--cluster", "--kubeconfig"], "a cluster from a file, or a live one")
    refuse_stdin_twice(*filter(None, (options.cluster, options.config, options.config_now)))
    changes = read_changes({kind: getattr(options, kind.replace("-", "_")) for kind in KINDS})
    if changes == read_changes({kind: [] for kind in KINDS}) and not options.config:
        raise TradewindError(
            "nothing is to change: --config, --without, --lost-zone, --price, --rate or --scale"
        )
    source = from_file(options.cluster) if options.cluster else live(options.kubeconfig)
    with _read(source, options.config_now) as parts:
        refuse_partial(parts.missing, options)
        now = as_it_is(parts)
        then = as_it_would_be(parts, changes, options.config)
    worker = Worker()
    what = f"{counted(len(then.pods), 'pod')} on {counted(len(then.snapshot.nodes), 'node')}"
    try:
        with progress(f"Planning {what}, as it is and changed, up to {2 * options.seconds:g} s"):
            told = difference(now, then, worker, options.seconds, anew=bool(options.config))
    finally:
        worker.close()
    print(_SHOWN[options.output](told))


@contextmanager
def _read(source: Source, config: Path | None) -> Iterator[Assembly]:
    parts = Assembly(source, config)
    with parts.started():
        deadline = time.monotonic() + _SYNC_SECONDS
        while not parts.synced:
            if time.monotonic() > deadline:
                raise TradewindError(f"{source.name} was not read within {_SYNC_SECONDS:g} s")
            time.sleep(_SYNC_STEP_SECONDS)
        parts.feed.poll()
        parts.feed.offer()
        yield parts
