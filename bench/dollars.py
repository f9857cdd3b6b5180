"""`python -m bench.dollars`: what a burst of different pods costs on the real kube-scheduler, nothing held.

By the scores alone and with the guide of the standing plan, in units of the linear programme's bound, below
which no placement can be. The first burst is of pods that nobody has seen before; then all pods end, and the
same come again in another order, once the standing plan has seen them go: it knows their mix.
"""

import argparse
import contextlib
import itertools
import random
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bench import clusters, contenders, planner_cases, service
from bench.bindings import Bindings
from bench.contenders import GUIDED, TRADEWIND, Extender
from bench.errors import MeasurementError
from bench.goals import markdown
from bench.measurement import Cluster, kube_scheduler
from bench.planner_cases import Object
from e2e import manifests
from e2e.api import Api, ApiError
from e2e.plane import ControlPlane
from tradewind.cluster.guide import CONFIG_MAP, KEY, Guide, decode
from tradewind.config import document as config
from tradewind.market.offers import PRICE
from tradewind.planner.batch import make_batch
from tradewind.planner.greedy import greedy
from tradewind.planner.worker import Worker

_ZONE = "topology.kubernetes.io/zone"
_ZONES = ("zone-a", "zone-b", "zone-c")
_BOUND_SECONDS = 120.0
_LONGEST_SECONDS = 120.0
_PODS = "tradewind_cluster_objects"
_ORDER = 100  # between the seeds of two orders
_GUIDE = f"/api/v1/namespaces/{manifests.NAMESPACE}/configmaps/{CONFIG_MAP}"


@dataclass(frozen=True, kw_only=True)
class Way:
    contender: contenders.Contender
    weight: int  # of the extender
    percentage: int  # of nodes to score; 0 is kube-scheduler's own sampling

    @property
    def name(self) -> str:
        sampling = f", {self.percentage} % of nodes" if self.percentage else ""
        return f"{'guide' if self.contender is GUIDED else 'scores'}, weight {self.weight}{sampling}"


@dataclass(frozen=True, kw_only=True)
class Case:
    nodes: Sequence[Object]
    pods: Sequence[Object]
    bound: float  # dollars an hour

    @property
    def prices(self) -> Mapping[str, float]:
        return {
            each["metadata"]["name"]: float(each["metadata"]["annotations"][PRICE]) for each in self.nodes
        }


@dataclass(frozen=True, kw_only=True)
class Outcome:
    dollars: float  # in units of the bound
    kept: float | None  # of the pods that prefer a zone, those that are there
    nodes: int  # in use
    spot: float  # of these


def draw(nodes: int, seed: int, used: float, prefers: float) -> Case:
    """Of the pods, `prefers` would rather be in one of three zones."""
    data = planner_cases.data_directory()
    if data is None:
        raise MeasurementError("the public data of $TRADEWIND_DATA is not there")
    drawn = planner_cases.priced(data, nodes, seed, used)
    chance = random.Random(seed)
    machines = [zoned(each, chance.choice(_ZONES)) for each in drawn if each["kind"] == "Node"]
    pods = [
        preferring(each, chance.choice(_ZONES)) if chance.random() < prefers else each
        for each in drawn
        if each["kind"] == "Pod"
    ]
    return Case(nodes=machines, pods=pods, bound=_bound([*machines, *pods]))


def zoned(node: Object, zone: str) -> Object:
    metadata = node["metadata"]
    return {
        **node,
        "spec": {"taints": []},
        "metadata": {**metadata, "labels": {**metadata["labels"], _ZONE: zone}},
    }


def preferring(pod: Object, zone: str) -> Object:
    term = {"matchExpressions": [{"key": _ZONE, "operator": "In", "values": [zone]}]}
    affinity = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "preference": term}]}
    return {**pod, "spec": {**pod["spec"], "affinity": {"nodeAffinity": affinity}}}


def _bound(objects: Sequence[Object]) -> float:
    cache = planner_cases.filled(objects)
    problem = make_batch(cache.snapshot(), cache.all_pods(), config.DEFAULT.policies().of).problem
    worker = Worker()
    try:
        found = worker.lower_bound(problem, greedy(problem), _BOUND_SECONDS)
    finally:
        worker.close()
    if found is None:
        raise MeasurementError("no bound in time")
    return found


def outcome(case: Case, pods: Sequence[Object]) -> Outcome:
    labels = {each["metadata"]["name"]: each["metadata"]["labels"] for each in case.nodes}
    used = {pod["spec"]["nodeName"] for pod in pods}
    wanted = [(zone, labels[pod["spec"]["nodeName"]][_ZONE]) for pod in pods if (zone := _preferred(pod))]
    return Outcome(
        dollars=sum(case.prices[name] for name in used) / case.bound,
        kept=sum(zone == found for zone, found in wanted) / len(wanted) if wanted else None,
        nodes=len(used),
        spot=sum("karpenter.sh/capacity-type" in labels[name] for name in used) / len(used),
    )


class Bursts:
    """One after the other on a running cluster, which has the nodes of the case."""

    def __init__(self, cluster: Cluster, case: Case) -> None:
        self._cluster = cluster
        self._case = case

    def measure(self, way: Way, seed: int) -> tuple[Outcome, Outcome]:
        """The pods that nobody has seen, and those that come again."""
        self._forget()
        with (
            way.contender.running(self._cluster.plane) as extender,
            _scheduler(self._cluster.plane, way, extender),
        ):
            try:
                first = self._burst(seed, "new")
                if way.contender is GUIDED:
                    self._wait_seen()
                clusters.remove_pods(self._cluster)
                self._wait_gone(extender, time.time())
                return first, self._burst(seed + 1_000, "again")
            finally:
                clusters.remove_pods(self._cluster)

    def _forget(self) -> None:
        """The guide of a planner before."""
        with contextlib.suppress(ApiError):
            self._cluster.api.delete(_GUIDE)

    def _burst(self, seed: int, prefix: str) -> Outcome:
        api, namespace = self._cluster.api, self._cluster.namespace
        pods = [_named(each, namespace, f"{prefix}-{number}") for number, each in enumerate(self._case.pods)]
        random.Random(seed).shuffle(pods)
        bindings = Bindings(api, namespace, len(pods))
        bindings.start()
        api.create_all(map(dict, pods))
        bindings.join(_LONGEST_SECONDS)
        if bindings.is_alive():
            raise MeasurementError(f"not all of {len(pods)} pods were bound in {_LONGEST_SECONDS:.0f} s")
        return outcome(self._case, api.read(f"/api/v1/namespaces/{namespace}/pods")["items"])

    def _wait_gone(self, extender: Extender | None, since: float) -> None:
        """Until the extender's watch has brought it, and the standing plan was solved since."""
        deadline = time.monotonic() + _LONGEST_SECONDS
        while extender is not None and (
            service.gauge(extender.metrics, _PODS, resource="pods")
            or (extender.planner and _guide(self._cluster.api).solved_at < since)
        ):
            if time.monotonic() > deadline:
                raise MeasurementError("the extender or the standing plan did not see the pods go")
            time.sleep(0.1)

    def _wait_seen(self) -> None:
        """Until the guide has all pods in it."""
        deadline = time.monotonic() + _LONGEST_SECONDS
        while _targets(self._cluster.api) < 0.98 * len(self._case.pods):
            if time.monotonic() > deadline:
                raise MeasurementError("the standing plan did not see the pods")
            time.sleep(0.5)


def _named(pod: Object, namespace: str, name: str) -> Object:
    return {**pod, "metadata": {**pod["metadata"], "namespace": namespace, "name": name}}


def _preferred(pod: Object) -> str:
    affinity: Mapping[str, Any] = pod["spec"].get("affinity", {}).get("nodeAffinity", {})
    terms = affinity.get("preferredDuringSchedulingIgnoredDuringExecution", ())
    return terms[0]["preference"]["matchExpressions"][0]["values"][0] if terms else ""


def _targets(api: Api) -> float:
    return sum(sum(kind.targets.values()) for kind in _guide(api).kinds)


def _guide(api: Api) -> Guide:
    return decode(api.read(_GUIDE)["data"][KEY])


@contextlib.contextmanager
def _scheduler(plane: ControlPlane, way: Way, extender: Extender | None) -> Iterator[None]:
    assert extender is not None
    entry = replace(extender, entry={**extender.entry, "weight": way.weight})
    with kube_scheduler(plane, way.percentage, entry):
        yield


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    ways = [
        Way(contender=contender, weight=weight, percentage=percentage)
        for percentage in options.percentages
        for weight in options.weights
        for contender in (TRADEWIND, GUIDED)
        if contender.name in options.contenders
    ]
    rows = []
    for seed in options.seeds:
        case = draw(options.nodes, seed, options.used, options.prefers)
        with clusters.with_nodes(map(dict, case.nodes), print) as cluster:
            bursts = Bursts(cluster, case)
            for way, order in itertools.product(ways, range(options.orders)):
                row = [way.name, str(seed), str(len(case.pods)), str(options.nodes)]
                for found in bursts.measure(way, seed + _ORDER * order):
                    row += [f"{found.dollars:.3f}", "" if found.kept is None else f"{found.kept:.0%}"]
                rows.append(row)
                print("  ".join(row), flush=True)
    head = ["", "seed", "pods", "nodes", "unseen", "zone kept", "seen before", "zone kept"]
    print(markdown([head, *rows], {0}))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.dollars", description=__doc__)
    parser.add_argument("--nodes", type=int, default=100)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--used", type=float, default=0.45, help="of all cores (default: 0.45)")
    parser.add_argument("--prefers", type=float, default=0.0, help="of the pods prefer a zone (default: 0)")
    parser.add_argument("--weights", type=int, nargs="+", default=[10], help="of the extender (default: 10)")
    parser.add_argument("--orders", type=int, default=1, help="in which the pods come (default: 1)")
    names = [TRADEWIND.name, GUIDED.name]
    parser.add_argument("--contenders", nargs="+", choices=names, default=names)
    parser.add_argument(
        "--percentages", type=int, nargs="+", default=[0], help="of nodes to score; 0: kube-scheduler's own"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
