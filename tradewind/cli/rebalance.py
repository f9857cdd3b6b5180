"""`tradewind rebalance`."""

import argparse
import time

from tradewind.cli import savings
from tradewind.planner.moves.ledger import Ledger
from tradewind.planner.moves.rules import Rules, stakes
from tradewind.savings import rebalance

_SHOWN = {"table": rebalance.text, "json": rebalance.to_json}


def add(command: argparse.ArgumentParser) -> None:
    savings.add_question(command, [*_SHOWN])
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    parts, question, told = savings.answer(options)
    namespaces = question.snapshot.nodes.cluster.namespaces
    rules = Rules(parts.settings.planner.moves, namespaces, Ledger(), time.time())
    at_stake = stakes(question.snapshot, question.pods)
    print(_SHOWN[options.output](told, rules, at_stake, rebalance.safer(question)))
