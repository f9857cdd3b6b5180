"""Arguments that several commands share."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from tradewind.errors import TradewindError
from tradewind.runtime import identity

STANDARD_INPUT = Path("/dev/stdin")

Number = TypeVar("Number", int, float)


def input_file(text: str) -> Path:
    """A file that is read once; `-` is standard input."""
    return STANDARD_INPUT if text == "-" else Path(text)


def followed_file(text: str) -> Path:
    if text == "-":
        raise argparse.ArgumentTypeError(
            "a file that is followed while it changes; standard input is not one"
        )
    return Path(text)


def positive_seconds(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < 86400:  # noqa: PLR2004  a day
        raise argparse.ArgumentTypeError(f'"{text}" is not a number of seconds above 0')
    return number


def positive(number: type[Number]) -> Callable[[str], Number]:
    def positive(text: str) -> Number:
        try:
            value = number(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f'"{text}" is not a number above 0') from None
        if not 0 < value < float("inf"):
            raise argparse.ArgumentTypeError(f'"{text}" is not a number above 0')
        return value

    return positive


def add_probe_address(command: argparse.ArgumentParser, port: int) -> None:
    argument = command.add_argument
    argument("--probe-host", default="127.0.0.1", help="address of probes and metrics (default: %(default)s)")
    argument("--probe-port", type=int, default=port, help="port of probes and metrics (default: %(default)s)")


def add_logs(command: argparse.ArgumentParser) -> None:
    command.add_argument("--log-format", choices=["auto", "json", "text"], default="auto")
    command.add_argument("--log-level", choices=["debug", "info", "warning", "error"], default="info")


def add_kubeconfig(command: argparse.ArgumentParser, whose: str, *, inside: bool = False) -> None:
    """With `inside`, a command that may run in the cluster that it is about."""
    otherwise = ", else the cluster it runs in" if inside else ""
    command.add_argument(
        "--kubeconfig",
        type=Path,
        metavar="FILE",
        help=f"{whose} (default: $KUBECONFIG, else ~/.kube/config{otherwise})",
    )


def add_namespace(command: argparse.ArgumentParser, whose: str, default: str | None = None) -> None:
    """Without `default` it is None where it was not given, and for the command to say."""
    command.add_argument(
        "--namespace",
        metavar="NAME",
        default=default,
        help=f"{whose} (default: $POD_NAMESPACE, else {identity.DEFAULT_NAMESPACE})",
    )


def add_hub_namespace(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--hub-namespace",
        metavar="NAME",
        default=identity.SITES_NAMESPACE,
        help="of the summaries on the hub (default: %(default)s)",
    )


def refuse_together(options: argparse.Namespace, flags: Sequence[str], why: str) -> None:
    """Raise if more than one of these was given."""
    given = [flag for flag in flags if getattr(options, flag.strip("-").replace("-", "_"))]
    if len(given) > 1:
        raise TradewindError(f"{' and '.join(given)} do not go together: {why}")


def refuse_stdin_twice(*paths: Path | None) -> None:
    if paths.count(STANDARD_INPUT) > 1:
        raise TradewindError("standard input can be read once only: give one of the two as a file")
