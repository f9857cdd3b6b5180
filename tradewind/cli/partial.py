"""Files that seem to hold only a part of their cluster."""

import argparse
from collections.abc import Sequence

from tradewind.cluster.files import DUMP
from tradewind.errors import TradewindError


def add_partial(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--partial", action="store_true", help="use a file that seems to lack pods: nodes look too empty then"
    )


def refuse_partial(missing: Sequence[str], options: argparse.Namespace) -> None:
    """Raise TradewindError for a file that lacks pods, unless that is wanted."""
    if missing and not options.partial:
        raise TradewindError(
            f"{options.cluster} seems to hold only a part of the cluster: {'; '.join(missing)}. Nodes would "
            f"look empty that are not. Dump all of it ({DUMP}), or use it as it is: --partial"
        )
