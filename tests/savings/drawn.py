"""Dumps drawn by chance, what savings says of them, and what the recount by other code says of that."""

import json
import random
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.savings.recount import Object, Recount
from tradewind.planner.keepers import CAUTIONS, Keeper
from tradewind.planner.worker import Worker
from tradewind.runtime.assembly import Assembly
from tradewind.runtime.source import from_file
from tradewind.savings import report
from tradewind.savings.forecast import forecast
from tradewind.savings.question import asked

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
_ZONES = ("a", "b", "c")
_SHAPES = ((2, 8, 0.1), (4, 16, 0.2), (8, 32, 0.4), (16, 32, 0.6))  # cores, GiB, dollars
_SECONDS = 10.0


class Dump:
    """A cluster as its objects."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)
        self.nodes: list[Object] = []
        self.pods: list[Object] = []
        self.others: list[Object] = []
        self.prices: dict[str, float] | None = {}
        self._cores: dict[str, float] = {}
        self._memory: dict[str, float] = {}
        self._apps: dict[str, list[str]] = defaultdict(list)
        for number in range(self._draw.randint(2, 14)):
            self._add_node(number)
        if self._draw.random() < 0.1:
            self._forget_prices()
        for number in range(self._draw.randint(1, 14)):
            self._add_workload(f"app{number}")
        self.overruled = frozenset(Keeper(each) for each in CAUTIONS if self._draw.random() < 0.15)

    @property
    def objects(self) -> list[Object]:
        return [*self.nodes, *self.pods, *self.others]

    def _add_node(self, number: int) -> None:
        draw, name = self._draw, f"n{number}"
        cores, gib, price = draw.choice(_SHAPES)
        spot = draw.random() < 0.4
        price *= (0.4 if spot else 1.0) * draw.uniform(0.8, 1.2)
        labels = {HOST: name, ZONE: draw.choice(_ZONES)}
        labels |= {"karpenter.sh/capacity-type": "spot"} if spot else {}
        labels |= {"karpenter.sh/nodepool": "general"} if draw.random() < 0.5 else {}
        spec: dict[str, Any] = {"unschedulable": True} if draw.random() < 0.1 else {}
        if draw.random() < 0.1:
            spec["taints"] = [{"key": "dedicated", "value": "x", "effect": "NoSchedule"}]
        price = round(price, 4)
        metadata = {"name": name, "labels": labels, "annotations": {"tradewind.dev/price": str(price)}}
        allocatable = {"cpu": str(cores), "memory": f"{gib}Gi", "pods": "30"}
        self.nodes.append(
            {"kind": "Node", "metadata": metadata, "spec": spec, "status": {"allocatable": allocatable}}
        )
        assert self.prices is not None
        self.prices[name] = price
        self._cores[name], self._memory[name] = cores - 0.1, gib - 0.2
        agent = self._pod(
            f"agent-{number}", "agent", (0.1, 0.2), "DaemonSet", {"tolerations": [{"operator": "Exists"}]}
        )
        agent["metadata"]["namespace"] = "kube-system"
        self._bind(agent, name)

    def _forget_prices(self) -> None:
        self.prices = None
        for node in self.nodes:
            node["metadata"]["annotations"] = {}

    def _add_workload(self, app: str) -> None:
        draw = self._draw
        size = draw.choice([0.1, 0.25, 0.5, 1.0, 2.0, 3.5]), draw.choice([0.125, 0.5, 1.0, 3.0])
        spec: dict[str, Any] = {}
        selector = {"matchLabels": {"app": app}}
        rule = draw.random()
        if rule < 0.15:
            term = {"topologyKey": HOST, "labelSelector": selector}
            spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        elif rule < 0.3:
            even = {"topologyKey": ZONE, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
            spec["topologySpreadConstraints"] = [{**even, "labelSelector": selector}]
        elif rule < 0.4:
            spec["tolerations"] = [{"key": "dedicated", "operator": "Exists"}]
        kind = draw.choices(["ReplicaSet", "StatefulSet", "Job", ""], [75, 12, 8, 5])[0]
        volume = draw.choices(["", "disk", "memory", "claim", "unknown"], [70, 8, 5, 12, 5])[0]
        annotations = {"karpenter.sh/do-not-disrupt": "true"} if draw.random() < 0.04 else {}
        for replica in range(draw.choice([1, 2, 2, 3, 4, 6])):
            pod = self._pod(f"{app}-{replica}", app, size, kind, spec)
            pod["metadata"]["annotations"] = annotations
            self._run(pod, volume)
        if draw.random() < 0.3:
            self.others.append(_budget(app, draw.choice([0, 1, 1, 2])))

    def _run(self, pod: dict[str, Any], volume: str) -> None:
        """On a node that takes it, or waiting for one."""
        draw, app, name = self._draw, pod["metadata"]["labels"]["app"], pod["metadata"]["name"]
        state = draw.random()
        fitting = [each for each in self.nodes if self._fits(pod, each)]
        at = draw.choice(fitting) if fitting and state > 0.12 else None
        zone = at["metadata"]["labels"][ZONE] if at else draw.choice(_ZONES)
        if volume:
            pod["spec"]["volumes"] = [self._volume(volume, name, zone)]
        if at is None:
            self.pods.append(pod)
            return
        self._bind(pod, at["metadata"]["name"])
        self._apps[app].append(at["metadata"]["name"])
        if state > 0.97:
            pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"

    def _volume(self, kind: str, name: str, zone: str) -> Object:
        if kind in {"disk", "memory"}:
            return {"name": "tmp", "emptyDir": {"medium": "Memory"} if kind == "memory" else {}}
        claim = f"data-{name}"
        if kind == "claim":
            term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}
            metadata = {"name": claim, "namespace": "shop"}
            spec = {"nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}}
            self.others.append({"kind": "PersistentVolume", "metadata": {"name": f"pv-{name}"}, "spec": spec})
            self.others.append(
                {
                    "kind": "PersistentVolumeClaim",
                    "metadata": metadata,
                    "spec": {"volumeName": f"pv-{name}"},
                    "status": {"phase": "Bound"},
                }
            )
        return {"name": "data", "persistentVolumeClaim": {"claimName": claim}}

    def _fits(self, pod: Object, node: Object) -> bool:
        name, wanted = node["metadata"]["name"], pod["spec"]["containers"][0]["resources"]["requests"]
        if node["spec"].get("taints") and not pod["spec"].get("tolerations"):
            return False
        if float(wanted["cpu"]) > self._cores[name]:
            return False
        if float(wanted["memory"].removesuffix("Gi")) > self._memory[name]:
            return False
        beside = self._apps[pod["metadata"]["labels"]["app"]]
        if "affinity" in pod["spec"]:
            return name not in beside
        if "topologySpreadConstraints" in pod["spec"]:
            zone_of = {each["metadata"]["name"]: each["metadata"]["labels"][ZONE] for each in self.nodes}
            counts = dict.fromkeys(zone_of.values(), 0)
            for each in beside:
                counts[zone_of[each]] += 1
            return counts[zone_of[name]] == min(counts.values())
        return True

    def _bind(self, pod: dict[str, Any], node: str) -> None:
        wanted = pod["spec"]["containers"][0]["resources"]["requests"]
        if pod["metadata"]["labels"]["app"] != "agent":
            self._cores[node] -= float(wanted["cpu"])
            self._memory[node] -= float(wanted["memory"].removesuffix("Gi"))
        pod["spec"]["nodeName"] = node
        pod["status"] = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        self.pods.append(pod)

    def _pod(
        self, name: str, app: str, size: tuple[float, float], kind: str, spec: dict[str, Any]
    ) -> dict[str, Any]:
        cores, gib = size
        owner = {"kind": kind, "name": app, "uid": f"uid-{app}", "controller": True}
        requests = {"cpu": str(cores), "memory": f"{gib}Gi"}
        return {
            "kind": "Pod",
            "metadata": {
                "name": name,
                "namespace": "shop",
                "labels": {"app": app},
                **({"ownerReferences": [owner]} if kind else {}),
            },
            "spec": {**spec, "containers": [{"name": "main", "resources": {"requests": requests}}]},
            "status": {"phase": "Pending"},
        }


def _budget(app: str, allowed: int) -> Object:
    return {
        "kind": "PodDisruptionBudget",
        "metadata": {"name": app, "namespace": "shop"},
        "spec": {"selector": {"matchLabels": {"app": app}}},
        "status": {"disruptionsAllowed": allowed},
    }


def wrong(seed: int, worker: Worker) -> list[str]:
    """What the recount of this dump finds, and whether the answer is another the second time."""
    dump = Dump(seed)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "cluster.json"
        path.write_text(json.dumps({"kind": "List", "items": dump.objects}))
        first, second = (_answer(path, dump.overruled, worker) for _ in range(2))
    recount = Recount(dump.objects, first, overruled=dump.overruled)
    return [
        *recount.wrong(dump.prices),
        *recount.forgotten(),
        *(["another answer the second time"] if first != second else []),
    ]


def _answer(path: Path, overruled: frozenset[Keeper], worker: Worker) -> dict[str, Any]:
    parts = Assembly(from_file(path), None)
    with parts.started():
        return report.as_data(forecast(asked(parts, overruled), worker, _SECONDS))


def all_wrong(seeds: Sequence[int]) -> Iterator[tuple[int, list[str]]]:
    worker = Worker()
    try:
        for seed in seeds:
            found = wrong(seed, worker)
            if found:
                yield seed, found
    finally:
        worker.close()
