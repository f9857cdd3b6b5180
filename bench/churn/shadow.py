"""`python -m bench.churn.shadow`: what the shadow says, beside what going live gives, in the simulation."""

import argparse
import sys
from collections.abc import Sequence
from typing import NamedTuple

from bench import planner_cases
from bench.churn import scenario
from bench.churn.scenario import Scenario
from bench.churn.simulation import simulate
from bench.churn.ways import PRESETS, Way
from bench.goals import markdown
from tradewind.cluster.cache import Cache
from tradewind.config import document
from tradewind.market.market import Market
from tradewind.shadow.account import ShadowAccount
from tradewind.shadow.cluster import ShadowCluster, ShadowPolicies

_WEIGHTS = (10, 200)  # of the extender: that of the docs, and one that decides alone


class Rehearsal(NamedTuple):
    """Dollars an hour of nodes in use, in the mean."""

    alone: float  # kube-scheduler
    shadow: float  # what the shadow beside it said
    live: float  # with Tradewind

    @property
    def off(self) -> float:
        """What the shadow said of the cost, against what it then was."""
        return self.shadow / self.live - 1

    @property
    def saving_off(self) -> float:
        return (self.alone - self.shadow) / (self.alone - self.live) - 1


def rehearse(drawn: Scenario, preset: str, weight: int, seconds: float) -> Rehearsal:
    way = Way(name="live", settings={"preset": preset}, weight=weight)
    head = {"apiVersion": document.DEFAULT.api_version, "kind": document.DEFAULT.kind}
    policies = document.Document.model_validate({**head, "preset": preset}).policies()
    account = ShadowAccount()
    shadow = ShadowCluster(ShadowPolicies(policies.of, lambda: ("default-scheduler",), lambda: weight))
    shadow.follow(*Cache(Market().offer_of).state())  # it begins before all pods

    def watch(cache: Cache, now: float) -> None:
        account.pass_time(now, *shadow.sides(), live=False)
        shadow.follow(*cache.state())

    simulate(drawn, Way(name="kube-scheduler"), seconds, watch)
    period, hours = account.shadow, seconds / 3600
    live = simulate(drawn, way, seconds)
    return Rehearsal(period.real.dollars / hours, period.shadow.dollars / hours, live.dollars)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.churn.shadow", description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--seconds", type=float, default=scenario.SECONDS)
    options = parser.parse_args(arguments)
    data = planner_cases.data_directory()
    if data is None:
        print("The simulation draws from the public data of $TRADEWIND_DATA, which is not there.")
        return 1
    rows = [["preset", "weight", "seed", "kube-scheduler", "the shadow said", "live", "off", "saving off"]]
    for preset in PRESETS:
        for weight in _WEIGHTS:
            for seed in options.seeds:
                drawn = scenario.draw(data, seed, options.seconds)
                found = rehearse(drawn, preset, weight, options.seconds)
                dollars = [f"${each:.3f}/h" for each in found]
                shares = [f"{found.off:+.1%}", f"{found.saving_off:+.1%}"]
                rows.append([preset, str(weight), str(seed), *dollars, *shares])
                print("  ".join(rows[-1]), flush=True)
    print(markdown(rows, {0}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
