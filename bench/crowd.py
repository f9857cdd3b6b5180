"""`python -m bench.crowd`: 30,000 pods at once on 1,000 nodes: kube-scheduler alone, with scores, planned.

51 pods a second were published for kube-scheduler alone long ago, on other machines. Here all ways run one
after the other on one control plane with fake nodes.
"""

import argparse
import sys
from collections.abc import Sequence

from bench import burst, clusters
from bench.burst import PLAIN, PLANNED, SCORES
from bench.goals import markdown

_WAYS = {way.name: way for way in (PLAIN, SCORES, PLANNED)}
# So that 30 pods a node fit.
SHRINK = 4


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.crowd", description=__doc__)
    parser.add_argument("--nodes", type=int, default=1_000)
    parser.add_argument("--pods", type=int, default=30_000)
    parser.add_argument("--ways", nargs="+", choices=_WAYS, default=list(_WAYS))
    options = parser.parse_args(arguments)
    rows = [["", "pods/s", "all bound after", "where planned"]]
    with clusters.running(options.nodes, print) as cluster:
        for name in options.ways:
            done = burst.measure(cluster, options.pods, _WAYS[name], 0, lambda: None, shrink=SHRINK)
            print(f"{done.line}  while other work took {done.others_cores:.1f} cores", flush=True)
            planned = f"{done.as_planned / done.pods:.1%}" if done.as_planned else ""
            rows.append([name, f"{done.pods_a_second:.0f}", f"{done.seconds:.0f} s", planned])
    print(markdown(rows, {0}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
