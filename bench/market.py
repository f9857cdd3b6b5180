"""How long new prices of all nodes take from a poll's answer to the snapshot: `python -m bench.market`."""

import argparse
import random
import statistics
import sys
import time

from tests.builders import node
from tradewind.cluster.cache import Cache
from tradewind.cluster.objects import Node, read_node
from tradewind.market.market import Market
from tradewind.market.rows import csv_rows
from tradewind.market.table import PriceTable

_TYPES = [f"m{generation}.{size}" for generation in range(4, 8) for size in ("large", "xlarge", "2xlarge")]
_TABLE = "instance_type,capacity_type,interruption_rate\n" + "".join(f"{name},spot,0.1\n" for name in _TYPES)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--max-ms", type=float, default=50.0, help="fail above this median of processor time")
    options = parser.parse_args()
    rounds = measure(options.nodes, options.rounds)
    elapsed, processor = ([1000 * each[index] for each in rounds] for index in (0, 1))
    print(f"{options.nodes} nodes' prices changed, {options.rounds} times: in the snapshot after")
    for name, times in (("by the clock", elapsed), ("processor time", processor)):
        shown = (statistics.median(times), min(times), max(times))
        print("  {:15} {:.1f} ms (median), {:.1f} (best), {:.1f} (worst)".format(name, *shown))
    # Others on a shared machine lengthen the one, not the other.
    return 0 if statistics.median(processor) < options.max_ms else 1


def measure(count: int, rounds: int) -> list[tuple[float, float]]:
    """Seconds and processor seconds of each round: all prices are new, and one node in ten has none."""
    market = Market(table=PriceTable(csv_rows(_TABLE)))
    cache = Cache(market.offer_of)
    with cache.batch():
        for number in range(count):
            cache.apply_node(_node(number))
    cache.snapshot()
    taken = []
    for _ in range(rounds):
        prices = {f"n-{number}": random.uniform(1, 2) for number in range(count) if number % 10}
        start, start_processor = time.perf_counter(), time.thread_time()
        market.quote({"price": prices, "median_price": prices})
        nodes = cache.snapshot().nodes.cluster.table.nodes
        changed = cache.update_offers(nodes, market.offers(nodes))
        price = cache.snapshot().nodes.price
        taken.append((time.perf_counter() - start, time.thread_time() - start_processor))
        assert changed > count * 0.8
        assert price[1] == prices[nodes[1].name]
    return taken


def _node(number: int) -> Node:
    built = node(f"n-{number}").label("topology.kubernetes.io/zone", f"z-{number % 3}")
    built = built.label("node.kubernetes.io/instance-type", _TYPES[number % len(_TYPES)])
    return read_node(built.label("karpenter.sh/capacity-type", "spot" if number % 3 else "on-demand").json())


if __name__ == "__main__":
    sys.exit(main())
