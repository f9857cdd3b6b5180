"""`tradewind schema`."""

import argparse
import json

from tradewind.config.schema import schema


def add(command: argparse.ArgumentParser) -> None:
    command.description = (
        "Prints the JSON schema of a TradewindConfiguration, for editors: a first line "
        "'# yaml-language-server: $schema=FILE' checks and completes the document while it is written."
    )
    command.set_defaults(run=run)


def run(_options: argparse.Namespace) -> None:
    print(json.dumps(schema(), indent=2))
