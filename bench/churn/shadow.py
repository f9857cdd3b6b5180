"""`python -m bench.churn.shadow`: what the shadow says and what going live gives, simulated or replayed."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bench import planner_cases
from bench.churn import scenario
from bench.churn.ledger import Account
from bench.churn.replay import measure
from bench.churn.scenario import Scenario
from bench.churn.simulation import simulate
from bench.churn.ways import PRESETS, Way
from bench.goals import markdown
from e2e import binaries, manifests
from e2e.api import Api
from e2e.tradewind import Tradewind
from tradewind.cluster.cache import Cache
from tradewind.config import document
from tradewind.market.market import Market
from tradewind.shadow.account import HOUR_SECONDS, HOURS_A_MONTH, ShadowAccount, Sum, decode
from tradewind.shadow.cluster import ShadowCluster, ShadowPolicies
from tradewind.shadow.memory import KEY, NAME

_WEIGHTS = (10, 200)  # of the extender: that of the docs, and one that decides alone
_RECORD = f"/api/v1/namespaces/{manifests.NAMESPACE}/configmaps/{NAME}"


class Figures(NamedTuple):
    """In the mean over the time."""

    dollars: float  # an hour, of nodes in use
    interruptions: float  # of pods a month, as the nodes' rates let expect


class Rehearsal(NamedTuple):
    alone: Figures  # kube-scheduler, as the shadow saw it
    shadow: Figures  # what the shadow beside it said
    live: Figures  # with Tradewind
    interrupted: tuple[int, int]  # pods, in the time: alone and live

    @property
    def off(self) -> float:
        """What the shadow said of the cost, against what it then was."""
        return self.shadow.dollars / self.live.dollars - 1

    @property
    def saving_off(self) -> float:
        return (self.alone.dollars - self.shadow.dollars) / (self.alone.dollars - self.live.dollars) - 1

    @property
    def risk_off(self) -> float:
        return self.shadow.interruptions / self.live.interruptions - 1


def rehearse(drawn: Scenario, preset: str, weight: int, seconds: float) -> Rehearsal:
    """In the simulation."""
    head = {"apiVersion": document.DEFAULT.api_version, "kind": document.DEFAULT.kind}
    policies = document.Document.model_validate({**head, "preset": preset}).policies()
    account = ShadowAccount()
    shadow = ShadowCluster(ShadowPolicies(policies.of, lambda: ("default-scheduler",), lambda: weight))
    shadow.follow(*Cache(Market().offer_of).state())  # it begins before all pods

    def watch(cache: Cache, now: float) -> None:
        account.pass_time(now, *shadow.sides(), live=False)
        shadow.follow(*cache.state())

    alone = simulate(drawn, Way(name="kube-scheduler"), seconds, watch)
    live = simulate(drawn, Way(name="live", settings={"preset": preset}, weight=weight), seconds)
    return _rehearsal(account, alone, live, seconds)


def replay(drawn: Scenario, preset: str, weight: int, seconds: float) -> Rehearsal:
    """On the real kube-scheduler: first in the shadow, then live."""
    settings = {"preset": preset, "extenderWeight": weight}
    kept: list[ShadowAccount] = []

    def read(api: Api, service: Tradewind) -> None:
        service.stop()  # which writes what it knows
        kept.append(decode(api.read(_RECORD)["data"][KEY]))

    shadowed = Way(name="shadow", settings={**settings, "shadow": True}, weight=weight)
    alone = measure(drawn, shadowed, seconds, ended=read)
    live = measure(drawn, Way(name="live", settings=settings, weight=weight), seconds)
    return _rehearsal(kept[0], alone, live, seconds)


def _rehearsal(account: ShadowAccount, alone: Account, live: Account, seconds: float) -> Rehearsal:
    period = account.shadow
    return Rehearsal(
        alone=_mean(period.real, seconds),
        shadow=_mean(period.shadow, seconds),
        live=Figures(live.dollars, live.interruptions),
        interrupted=(sum(alone.interrupted.values()), sum(live.interrupted.values())),
    )


def _mean(total: Sum, seconds: float) -> Figures:
    hours = seconds / HOUR_SECONDS
    return Figures(total.dollars / hours, total.interruptions * HOURS_A_MONTH / hours)


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    data = planner_cases.data_directory()
    if data is None:
        print("The scenarios are drawn from the public data of $TRADEWIND_DATA, which is not there.")
        return 1
    if options.real:
        binaries.find()
    head = ["preset", "weight", "seed", "kube-scheduler", "the shadow said", "live", "off", "saving off"]
    rows = [[*head, "interruptions", "the shadow said", "live", "off", "counted"]]
    for preset in options.presets:
        for weight in options.weights:
            for seed in options.seeds:
                drawn = scenario.draw(data, seed, options.seconds)
                found = (replay if options.real else rehearse)(drawn, preset, weight, options.seconds)
                rows.append([preset, str(weight), str(seed), *_cells(found)])
                print("  ".join(rows[-1]), flush=True)
    print(markdown(rows, {0}))
    return 0


def _cells(found: Rehearsal) -> Iterator[str]:
    sides = found.alone, found.shadow, found.live
    yield from (f"${each.dollars:.3f}/h" for each in sides)
    yield from (f"{found.off:+.1%}", f"{found.saving_off:+.1%}")
    yield from (f"{each.interruptions:.2f}" for each in sides)
    yield f"{found.risk_off:+.1%}"
    yield "{} -> {}".format(*found.interrupted)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.churn.shadow", description=__doc__)
    parser.add_argument(
        "--real", action="store_true", help="on the real kube-scheduler, 200 s for each figure"
    )
    parser.add_argument("--presets", nargs="+", choices=PRESETS, default=PRESETS, metavar="PRESET")
    parser.add_argument("--weights", type=int, nargs="+", default=_WEIGHTS)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--seconds", type=float, default=scenario.SECONDS)
    return parser


if __name__ == "__main__":
    sys.exit(main())
