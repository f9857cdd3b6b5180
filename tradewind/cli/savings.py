"""`tradewind savings`."""

import argparse
import sys
from collections.abc import Sequence
from typing import NamedTuple

from tradewind.cli.arguments import (
    add_kubeconfig,
    add_namespace,
    input_file,
    positive_seconds,
    refuse_stdin_twice,
)
from tradewind.cli.partial import add_partial, refuse_partial
from tradewind.cli.progress import progress
from tradewind.cluster.files import DUMP
from tradewind.errors import TradewindError
from tradewind.explain.words import counted, dollars
from tradewind.kube.client import Client
from tradewind.planner.keepers import CAUTIONS, Keeper
from tradewind.planner.worker import Worker
from tradewind.runtime import identity
from tradewind.runtime.assembly import Assembly
from tradewind.runtime.source import from_file, live
from tradewind.savings import html, report
from tradewind.savings.forecast import Forecast, Question, forecast
from tradewind.savings.question import asked
from tradewind.shadow import words
from tradewind.shadow.memory import ShadowMemory

_SECONDS = 5.0
_SHOWN = {"table": report.text, "json": report.to_json, "md": report.markdown, "html": html.page}
_SHADOW_SHOWN = {"table": words.text, "json": words.to_json}


def add(command: argparse.ArgumentParser) -> None:
    add_question(command, [*_SHOWN], cluster_required=False)
    argument = command.add_argument
    argument("--live", action="store_true", help="what a Tradewind in the shadow has recorded in its cluster")
    add_kubeconfig(command, "of --live")
    add_namespace(command, "of --live, where Tradewind is")
    command.set_defaults(run=run)


def add_question(
    command: argparse.ArgumentParser, outputs: Sequence[str], *, cluster_required: bool = True
) -> None:
    """What every command about a forecast takes."""
    argument = command.add_argument
    argument(
        "--cluster",
        type=input_file,
        metavar="FILE",
        required=cluster_required,
        help=f"the output of '{DUMP}' (or yaml), - for stdin",
    )
    add_partial(command)
    argument("--config", type=input_file, metavar="FILE", help="the TradewindConfiguration to use")
    argument("-o", "--output", choices=outputs, default="table")
    argument(
        "--move",
        action="append",
        default=[],
        choices=[str(keeper) for keeper in CAUTIONS],
        help="move such pods too, which otherwise keep their nodes; may be repeated",
    )
    argument(
        "--seconds",
        type=positive_seconds,
        default=_SECONDS,
        metavar="N",
        help="time limit of each plan for waiting pods (default: %(default)g)",
    )


def run(options: argparse.Namespace) -> None:
    _refuse_conflicts(options)
    if options.live:
        _show_shadow(options)
        return
    print(_SHOWN[options.output](answer(options).told))


class Answer(NamedTuple):
    parts: Assembly
    question: Question
    told: Forecast


def answer(options: argparse.Namespace) -> Answer:
    refuse_stdin_twice(options.cluster, options.config)
    parts = Assembly(from_file(options.cluster), options.config)
    with parts.started():
        refuse_partial(parts.missing, options)
        moved = frozenset(Keeper(name) for name in options.move)
        question = asked(parts, moved)
    what = f"{counted(len(question.pods), 'pod')} on {counted(len(question.snapshot.nodes), 'node')}"
    worker = Worker()
    try:
        with progress(f"Looking at {what}, {_bill(question)}") as stage:
            told = forecast(question, worker, options.seconds, stage)
    except TradewindError as error:
        raise TradewindError(f"{options.cluster}: {error}") from error
    finally:
        worker.close()
    _warn(told)
    return Answer(parts, question, told)


def _refuse_conflicts(options: argparse.Namespace) -> None:
    if bool(options.cluster) == options.live:
        raise TradewindError("--cluster for a cluster from a file, or --live for what the shadow recorded")
    if options.cluster and (options.kubeconfig or options.namespace):
        raise TradewindError("--kubeconfig and --namespace go with --live")
    if options.live and (options.config or options.move):
        raise TradewindError("--config and --move go with --cluster")
    if options.live and options.partial:
        raise TradewindError("--partial goes with --cluster")


def _show_shadow(options: argparse.Namespace) -> None:
    if options.output not in _SHADOW_SHOWN:
        raise TradewindError(f"--live is shown as {' or '.join(_SHADOW_SHOWN)}, not as {options.output}")
    api = Assembly(live(options.kubeconfig), None).api("--live")
    namespace = options.namespace or identity.namespace()
    account = ShadowMemory(Client(api), namespace).read()
    if account is None:
        raise TradewindError(
            f"no Tradewind in namespace {namespace} was in the shadow: 'shadow: true' in its "
            "configuration begins it; --namespace names another"
        )
    print(_SHADOW_SHOWN[options.output](account))


def _bill(question: Question) -> str:
    """What is known at once."""
    hourly = question.bill.total.hourly
    return "without prices" if hourly is None else dollars(hourly, 4)


def _warn(told: Forecast) -> None:
    if told.trouble:
        print(f"tradewind: {told.trouble}; waiting pods are planned without it", file=sys.stderr)
