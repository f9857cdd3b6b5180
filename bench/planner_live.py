"""`python -m bench.planner_live`: what the nodes in use cost when the running planner placed every pod.

The priced clusters of `bench.planner`, on a real control plane: every pod is held, planned, nominated and
bound by kube-scheduler. Prices are ratios to the bound of the linear programme, below which nothing can be.
"""

import argparse
import contextlib
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench import planner_cases
from bench.churn.ways import PRESETS
from bench.planner_cases import Object
from e2e import fake, manifests, objects, outcomes, scheduler
from e2e.api import Api
from e2e.plane import ControlPlane
from e2e.tradewind import Planner, Tradewind
from tradewind.config import document as config
from tradewind.market.offers import PRICE
from tradewind.planner.planner import plan
from tradewind.planner.worker import Worker

_NAMESPACE = "bench"
_BOUND_SECONDS = 120.0
_SECONDS = 600.0
_LEASE_SECONDS = 15.0  # as shipped; the tests' is so short that a busy machine loses it
_HEAD = "seed  nodes  pods  bound  price/bound  seconds from the first pod to the last binding"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.planner_live", description=__doc__)
    parser.add_argument("--nodes", type=int, nargs="+", default=[100, 200])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--preset", choices=PRESETS, default="cost", help="(default: %(default)s)")
    parser.add_argument("--plain", action="store_true", help="kube-scheduler alone, for comparison")
    options = parser.parse_args(arguments)
    data = planner_cases.data_directory()
    if data is None:
        print("the priced clusters need the data of $TRADEWIND_DATA")
        return 1
    print(_HEAD)
    for nodes in options.nodes:
        for seed in options.seeds:
            wanted = planner_cases.priced(data, nodes, seed)
            ratio, seconds, count = _measure(wanted, options.preset, plain=options.plain)
            pods = len(wanted) - nodes
            print(f"{seed:4} {nodes:6} {pods:5} {count:6} {ratio:12.3f} {seconds:8.1f}", flush=True)
    return 0


def _measure(wanted: Sequence[Object], preset: str, *, plain: bool) -> tuple[float, float, int]:
    nodes = [each for each in wanted if each["kind"] == "Node"]
    pods = [each for each in wanted if each["kind"] == "Pod"]
    with ControlPlane() as plane, contextlib.closing(Api(plane.kubeconfig)) as api:
        fake.add_nodes(api, [created(each) for each in nodes])
        fake.create_namespace(api, _NAMESPACE, {} if plain else fake.HELD)
        with _plain(plane) if plain else placing(plane, api, {"preset": preset}):
            started = time.monotonic()
            api.create_all([created(each) for each in pods])
            bound = outcomes.bound_nodes(api, _NAMESPACE, len(pods), seconds=_SECONDS)
            seconds = time.monotonic() - started
    price = {each["metadata"]["name"]: float(each["metadata"]["annotations"][PRICE]) for each in nodes}
    return sum(price[name] for name in set(bound.values())) / _lower_bound(wanted), seconds, len(bound)


@contextlib.contextmanager
def _plain(plane: ControlPlane) -> Iterator[None]:
    plane.start_scheduler(scheduler.configuration(), "kube-scheduler")
    yield


@contextlib.contextmanager
def placing(plane: ControlPlane, api: Api, settings: Mapping[str, Any]) -> Iterator[Planner]:
    """With an extender and a planner that run with these settings, and kube-scheduler."""
    service = Tradewind(plane.workspace, plane.kubeconfig, settings=settings)
    entry = scheduler.extender(service.url, weight=10)
    plane.start_scheduler(scheduler.configuration(extenders=[entry]), "kube-scheduler")
    fake.create_namespace(api, manifests.NAMESPACE)
    for obj in manifests.hold(plane):
        api.create(obj)
    planner = Planner(plane.workspace, plane.kubeconfig, settings=settings, lease_seconds=_LEASE_SECONDS)
    planner.wait_leading()
    manifests.wait_holding(api)
    yield planner


def created(obj: Object) -> objects.Object:
    """As the API server takes it: what the planner's cases leave out, and without a status for pods."""
    if obj["kind"] == "Pod":
        container = {**obj["spec"]["containers"][0], "image": "tradewind.dev/none"}
        return {**obj, "spec": {**obj["spec"], "containers": [container]}, "status": {}}
    status = {"capacity": obj["status"]["allocatable"], **obj["status"]}
    ready = {"type": "Ready", "status": "True", "reason": "FakeNode", "message": "no kubelet"}
    return {**obj, "spec": {"taints": []}, "status": {**status, "conditions": [ready]}}


def _lower_bound(wanted: Sequence[Object]) -> float:
    cache = planner_cases.filled(wanted)
    worker = Worker()
    try:
        planned = plan(cache.snapshot(), cache.all_pods(), config.DEFAULT.policies().of, worker, 1.0)
        bound = worker.lower_bound(planned.batch.problem, planned.assignment, _BOUND_SECONDS)
    finally:
        worker.close()
    if bound is None:
        raise TimeoutError("the bound was not found in time")
    return bound


if __name__ == "__main__":
    sys.exit(main())
