"""How long a decision over thousands of sites takes: the matrix part alone, without an API server.

    python -m bench.fleet --sites 10000 --requests 300

Sites have 20 to 60 nodes of 3 kinds, half full, and publish the 10 best for each resource. Requests are a
mix of sizes, some with a node selector, some with a region; room that is given is promised in a ledger, so
later requests see it gone. No site may promise more than it has: a run in which one did fails.
"""

import argparse
import random
import time
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from tradewind.cluster.objects import Pod
from tradewind.fleet.decision import decide
from tradewind.fleet.ledger import overcommitted
from tradewind.fleet.placement import Placement
from tradewind.fleet.plan import promise
from tradewind.fleet.policy import SitePolicy
from tradewind.fleet.request import Request
from tradewind.fleet.sites import Site, Sites
from tradewind.fleet.summary import NodeKind, NodeRow, Place, Summary, encode

NOW = 1_000_000.0
RESOURCES = ("cpu", "memory", "pods")
_SIZES = ((2_000, 8), (4_000, 16), (16_000, 64))
REGIONS = ("eu", "us", "ap", "sa", "af")
_GIB = 2**30


def site(number: int, random_: random.Random) -> Site:
    region = random_.choice(REGIONS)
    kinds, rows = [], []
    free, total, nodes = [0, 0, 0], [0, 0, 0], 0
    for code, (cpu, memory) in enumerate(_SIZES):
        spot = code == 0
        allocatable = (cpu, memory * _GIB, 110)
        price = round(cpu / 1000 * random_.uniform(0.01, 0.05), 4)
        labels = {"kubernetes.io/arch": random_.choice(("amd64", "arm64"))}
        kinds.append(NodeKind(labels, (), allocatable, price, 0.1 if spot else 0.0, not spot))
        count = random_.randint(6, 20)
        nodes += count
        listed = min(count, 10)
        for index in range(listed):
            left = (random_.randrange(cpu + 1), random_.randrange(memory + 1) * _GIB, 80)
            number_of = 1 if index else count - listed + 1
            rows.append(NodeRow(code, number_of, left))
            for resource in range(3):
                free[resource] += number_of * left[resource]
                total[resource] += number_of * allocatable[resource]
    place = Place(
        region=region,
        latitude=random_.uniform(-60, 60),
        longitude=random_.uniform(-180, 180),
        watts_per_core=random_.uniform(2, 8),
        carbon=random_.uniform(20, 800),
    )
    name = f"site-{number:05d}"
    summary = Summary(
        site=name,
        generation=1,
        time=NOW,
        resources=RESOURCES,
        nodes=nodes,
        free=tuple(free),
        allocatable=tuple(total),
        kinds=tuple(kinds),
        rows=tuple(rows),
        place=place,
        error_rate=random_.choice((0.0, 0.0, 0.0, 0.1)),
    )
    return Site(name=name, region=region, summary=summary)


def requests(count: int, random_: random.Random) -> Iterator[Request]:
    for number in range(count):
        amounts = {
            "cpu": random_.choice((250, 500, 1000, 2000, 3000)),
            "memory": random_.choice((1, 2, 4)) * _GIB,
        }
        selector = {"kubernetes.io/arch": "arm64"} if random_.random() < 0.2 else {}
        placement: dict[str, object] = {"replicaScheduling": {"replicaSchedulingType": "Divided"}}
        if random_.random() < 0.3:
            within = {"key": "region", "operator": "In", "values": [random_.choice(REGIONS)]}
            placement["clusterAffinity"] = {"fieldSelector": {"matchExpressions": [within]}}
        yield Request(
            key=f"bench/{number}",
            pod=Pod("bench", str(number), "", {}, {}, {**amounts, "pods": 1}, {}, node_selector=selector),
            replicas=random_.choice((1, 3, 10, 40)),
            placement=msgspec.convert(placement, Placement),
            near=(random_.uniform(-60, 60), random_.uniform(-180, 180)),
        )


def measure(sites: Sites, asked: Sequence[Request], policy: SitePolicy) -> tuple[list[float], int]:
    """Seconds of each decision, and how many had no place."""
    seconds, unplaced = [], 0
    for request in asked:
        started = time.perf_counter()
        decision = decide(request, sites, policy, NOW)
        seconds.append(time.perf_counter() - started)
        unplaced += not decision.placed
        promise(request, sites, decision.division, NOW)
    return seconds, unplaced


def run(site_count: int, request_count: int, seed: int = 1) -> dict[str, float]:
    random_ = random.Random(seed)
    records = [site(number, random_) for number in range(site_count)]
    started = time.perf_counter()
    sites = Sites(records)
    built = time.perf_counter() - started
    asked = list(requests(request_count, random_))
    seconds, unplaced = measure(sites, asked, SitePolicy())
    over = sum(overcommitted(each.summary, each.ledger) for each in sites.records if each and each.summary)
    assert over == 0, f"{over} replicas were promised and have no room"
    p50, p99 = np.percentile(seconds, [50, 99])
    return {
        "sites": site_count,
        "requests": request_count,
        "unplaced": unplaced,
        "decision p50 ms": round(p50 * 1000, 2),
        "decision p99 ms": round(p99 * 1000, 2),
        "matrix built s": round(built, 2),
        "summary bytes": len(encode(records[0].summary)) if records[0].summary else 0,
        "over capacity": over,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.fleet", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--sites", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--requests", type=int, default=300)
    options = parser.parse_args()
    for count in options.sites:
        for name, value in run(count, options.requests).items():
            print(f"{name:16} {value:g}")
        print()


if __name__ == "__main__":
    main()
