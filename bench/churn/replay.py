"""Plays a scenario on a control plane: pods are created and deleted on time, spot nodes vanish and come back.

A pod whose node vanishes, or that is evicted, is created anew at once, as its controller would, until its
time is over.
"""

import heapq
import itertools
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from bench.churn.ledger import Account, Stay, account
from bench.churn.moving import controlled, sped_up
from bench.churn.scenario import CRITICAL_PRIORITY, Arrival, PricedNode, Scenario
from bench.churn.timeline import Timeline
from bench.churn.ways import MOVES, Way
from e2e import fake, manifests, objects, outcomes, scheduler
from e2e.api import Api, ApiError
from e2e.plane import ControlPlane
from e2e.tradewind import Planner, Tradewind
from tradewind.market.offers import INTERRUPTION_RATE, PRICE

NAMESPACE = "churn"
_ZONE = "topology.kubernetes.io/zone"
_PRIORITIES = {"critical": CRITICAL_PRIORITY, "batch": -10}
_NOT_FOUND = 404
_OWNER = "ConfigMap"
# For pods of the last moment to be bound: that the replay is over is nobody's fault.
_AFTER_SECONDS = 3.0


Ended = Callable[[Api, Tradewind], None]
"""Is shown the Tradewind of a replay when its time is over."""


def measure(
    scenario: Scenario,
    way: Way,
    seconds: float,
    slowest: int = 0,
    ended: Ended = lambda _api, _service: None,
) -> Account:
    """Says where the time of so many pods went."""
    with ControlPlane() as plane:
        api = Api(plane.kubeconfig)
        try:
            fake.add_nodes(api, [node_object(each, each.name) for each in scenario.nodes])
            for name, value in _PRIORITIES.items():
                api.create(objects.priority_class(name, value))
            fake.create_namespace(api, NAMESPACE, fake.HELD if way.planned else {})
            with _placing(plane, api, way) as service:
                owners = _owners(api, scenario) if way.moved else {}
                over = partial(ended, api, service) if service else lambda: None
                return _Replay(api, scenario, seconds, owners, slowest).run(over)
        finally:
            api.close()


def _owners(api: Api, scenario: Scenario) -> dict[str, str]:
    """UIDs of objects that pods may have for a controller, and that no controller looks at."""
    found = {}
    for each in scenario.arrivals:
        metadata = {"name": each.name, "namespace": NAMESPACE}
        made = api.create({"apiVersion": "v1", "kind": _OWNER, "metadata": metadata})
        found[each.name] = made["metadata"]["uid"]
    return found


@contextmanager
def _placing(plane: ControlPlane, api: Api, way: Way) -> Iterator[Tradewind | None]:
    if way.settings is None:
        plane.start_scheduler(scheduler.configuration())
        yield None
        return
    fake.create_namespace(api, manifests.NAMESPACE)
    service = Tradewind(plane.workspace, plane.kubeconfig, settings=way.settings)
    entry = scheduler.extender(service.url, weight=way.weight)
    plane.start_scheduler(scheduler.configuration(extenders=[entry]))
    if way.planned or way.guided:
        planner = Planner(plane.workspace, plane.kubeconfig, settings=_of_planner(way))
        planner.wait_leading()
    if way.planned:
        for obj in manifests.hold(plane):
            api.create(obj)
        manifests.wait_holding(api)
    if way.guided:
        service.wait_metric("tradewind_guide_followed", 1)
    if way.settings.get("shadow"):
        service.wait_metric("tradewind_shadow_leader", 1)
    yield service


def _of_planner(way: Way) -> dict[str, Any]:
    settings = dict(way.settings or {})
    if way.moved:
        settings["planner"] = {**settings["planner"], "moves": sped_up(MOVES)}
    elif not way.planned:
        settings["planner"] = {"schedulers": []}
    return settings


@dataclass(order=True)
class _Due:
    at: float
    number: int
    act: Callable[[], None] = field(compare=False)


class _Replay:
    def __init__(
        self, api: Api, scenario: Scenario, seconds: float, owners: Mapping[str, str], slowest: int
    ) -> None:
        """`owners`: UIDs of the objects that the pods belong to, by name."""
        self._api = api
        self._owners = owners
        self._slowest = slowest
        self._timeline = Timeline()
        self._seconds = seconds
        self._nodes = {each.name: each for each in scenario.nodes}  # by the name of now, and of before
        self._name_of = {each.name: each.name for each in scenario.nodes}  # the newest of its kind
        self._stays: dict[str, Stay] = {}  # by the name of the pod
        self._numbers = itertools.count()
        self._due: list[_Due] = []
        self._lock = threading.Lock()
        for arrival in scenario.arrivals:
            self._plan(arrival.at, partial(self._create, arrival, arrival.name))
        for vanishing in scenario.vanishings:
            self._plan(vanishing.at, partial(self._vanish, vanishing.node))
            self._plan(vanishing.back_at, partial(self._come_back, vanishing.node))

    def run(self, over: Callable[[], None]) -> Account:
        self._started = time.monotonic()
        watcher = threading.Thread(target=self._watch, daemon=True)
        watcher.start()
        while self._due and self._due[0].at < self._seconds:
            due = heapq.heappop(self._due)
            time.sleep(max(0.0, due.at - self._now()))
            due.act()
        time.sleep(max(0.0, self._seconds - self._now()))
        over()
        watcher.join()
        with self._lock:
            if self._slowest:
                print(*self._timeline.slowest(self._stays, self._slowest), sep="\n", flush=True)
            return account(list(self._stays.values()), self._nodes, self._seconds)

    def _plan(self, at: float, act: Callable[[], None]) -> None:
        heapq.heappush(self._due, _Due(at, next(self._numbers), act))

    def _now(self) -> float:
        return time.monotonic() - self._started

    def _create(self, arrival: Arrival, name: str) -> None:
        with self._lock:
            self._stays[name] = Stay(pod=arrival, created=self._now())
        obj = pod_object(arrival, name)
        if arrival.name in self._owners:
            obj["metadata"] |= controlled(arrival, _OWNER, self._owners[arrival.name])
        self._api.create(obj)
        self._plan(arrival.until, partial(self._end, name))

    def _end(self, name: str) -> None:
        with self._lock:
            stay = self._stays[name]
            if stay.ended is not None:
                return
            stay.ended = self._now()
        self._delete(f"/api/v1/namespaces/{NAMESPACE}/pods/{name}")

    def _vanish(self, kind: str) -> None:
        node = self._name_of[kind]
        with self._lock:
            hit = [name for name, stay in self._stays.items() if stay.node == node and stay.ended is None]
            for name in hit:
                self._stays[name].ended, self._stays[name].interrupted = self._now(), True
        self._delete(f"/api/v1/nodes/{node}")
        for name in hit:
            self._delete(f"/api/v1/namespaces/{NAMESPACE}/pods/{name}")
            self._create(self._stays[name].pod, f"{name}-r")

    def _come_back(self, kind: str) -> None:
        before = self._nodes[self._name_of[kind]]
        name = f"{kind}-{next(self._numbers)}"
        self._nodes[name] = before
        self._name_of[kind] = name
        fake.add_nodes(self._api, [node_object(before, name)])

    def _delete(self, path: str) -> None:
        try:
            self._api.delete(path, gracePeriodSeconds="0")
        except ApiError as error:
            if error.status != _NOT_FOUND:
                raise

    def _watch(self) -> None:
        pods = f"/api/v1/namespaces/{NAMESPACE}/pods"
        for change in self._api.changes(pods, self._seconds + _AFTER_SECONDS):
            if change.type == "DELETED":
                self._gone(change.object["metadata"]["name"], self._now())
            elif change.object:
                self._see(change.object, self._now())

    def _gone(self, name: str, at: float) -> None:
        with self._lock:
            stay = self._stays.get(name)
            if stay is not None and stay.ended is None:
                stay.ended, stay.evicted = at, True
                self._plan(0.0, partial(self._create, stay.pod, f"{name}-m"))

    def _see(self, pod: objects.Object, at: float) -> None:
        self._timeline.see(pod, at)
        name, node = pod["metadata"]["name"], outcomes.bound_to(pod)
        with self._lock:
            stay = self._stays.get(name)
            if stay is not None and node and stay.bound is None:
                stay.bound, stay.node = at, node
                if node not in self._name_of.values() and stay.ended is None:
                    self._lost(name, stay)

    def _lost(self, name: str, stay: Stay) -> None:
        """Bound to a node that had just vanished: it is noticed by now, and the pod comes again."""
        stay.ended, stay.interrupted = stay.bound, True
        self._plan(0.0, partial(self._again, name))

    def _again(self, name: str) -> None:
        self._delete(f"/api/v1/namespaces/{NAMESPACE}/pods/{name}")
        self._create(self._stays[name].pod, f"{name}-r")


def node_object(node: PricedNode, name: str) -> objects.Object:
    labels = {"node.kubernetes.io/instance-type": node.instance_type, _ZONE: node.zone}
    terms = {"karpenter.sh/capacity-type": "spot" if node.spot else "on-demand"}
    return objects.node(
        name,
        cpu=f"{node.cpu_milli}m",
        memory=str(node.memory),
        pods=str(node.pods),
        labels=labels | terms,
        annotations={PRICE: f"{node.price:.6f}", INTERRUPTION_RATE: f"{node.interruption_rate:.4f}"},
    )


def pod_object(arrival: Arrival, name: str) -> objects.Object:
    spec: dict[str, Any] = {"terminationGracePeriodSeconds": 0}  # no kubelet ends it
    if arrival.kind in _PRIORITIES:
        spec["priorityClassName"] = arrival.kind
    if arrival.zone:
        term = {"matchExpressions": [{"key": _ZONE, "operator": "In", "values": [arrival.zone]}]}
        preferred = [{"weight": 100, "preference": term}]
        spec["affinity"] = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    return objects.pod(name, NAMESPACE, cpu=f"{arrival.cpu_milli}m", memory=str(arrival.memory), **spec)
