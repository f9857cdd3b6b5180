"""A planner that never rests: `python -m bench.solving NODES PODS` plans the same batch again and again.

It prints a line for each plan, so that whoever started it knows that it is at work.
"""

import sys
from collections.abc import Sequence

import msgspec

from bench import listing
from tradewind.cluster.cache import Cache
from tradewind.cluster.objects import read_node, read_pod
from tradewind.config import document as config
from tradewind.market.market import Market
from tradewind.planner.planner import plan
from tradewind.planner.settings import PlannerSettings
from tradewind.planner.worker import Worker


def main(arguments: Sequence[str]) -> None:
    nodes, pods = (int(word) for word in arguments)
    cache = Cache(Market().offer_of)
    with cache.batch():
        for node in listing.nodes(nodes):
            cache.apply_node(read_node(msgspec.json.encode(node)))
        for pod in listing.waiting_pods(pods):
            cache.apply_pod(read_pod(msgspec.json.encode(pod)))
    snapshot, waiting, policies = cache.snapshot(), cache.all_pods(), config.DEFAULT.policies()
    worker = Worker()
    while True:
        planned = plan(snapshot, waiting, policies.of, worker, PlannerSettings().solve_seconds)
        print(f"{len(planned.plan.placements)} of {pods} pods placed by {planned.plan.engine}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
