"""Running clusters as files, for tables of savings: one shaped as on EKS, and the public openb trace."""

import csv
import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.planner_cases import Object, node, pod

_MIB = 2**20
ZONES = ("us-east-1a", "us-east-1b", "us-east-1c")

# Allocatable millicores, MiB and pods; dollars an hour on demand and on spot terms.
_TYPES = {
    "m5.large": (1930, 6950, 29, 0.096, 0.038),
    "m5.xlarge": (3920, 14470, 58, 0.192, 0.075),
    "m5.2xlarge": (7910, 30060, 58, 0.384, 0.150),
    "c5.2xlarge": (7910, 14100, 58, 0.340, 0.139),
    "r5.xlarge": (3920, 30060, 58, 0.252, 0.088),
}
PRICE_TABLE = "instance_type,capacity_type,price\n" + "".join(
    f"{name},{terms},{price}\n"
    for name, (*_, dear, cheap) in _TYPES.items()
    for terms, price in (("on-demand", dear), ("spot", cheap))
)

_REPLICAS = (1, 1, 2, 2, 3, 3, 4, 6, 8, 12, 20, 40)
_LEFT = 0.2  # of the cores, when the nodes were fullest
_GONE = 0.35  # of the pods that once filled the nodes: deployments shrank since


class _Room:
    """What is left of the nodes."""

    def __init__(self, names: Sequence[str], totals: Sequence[Sequence[int]], zones: Sequence[str]) -> None:
        self.names = names
        self.total = np.array(totals, np.int64)  # nodes by resources, processor first
        self.free = self.total.copy()
        self._zones = np.array(zones)
        self._apps: dict[str, set[int]] = defaultdict(set)

    @property
    def left(self) -> float:
        """Of all cores."""
        return float(self.free[:, 0].sum() / self.total[:, 0].sum())

    def emptiest(
        self, needs: Sequence[int], app: str = "", zone: str = "", *, apart: bool = False
    ) -> str | None:
        """As kube-scheduler chooses by default: the node with the largest part of it free."""
        fits = np.asarray((self.free >= needs).all(axis=1))
        if zone:
            fits &= self._zones == zone
        if apart:
            fits[list(self._apps[app])] = False
        if not fits.any():
            return None
        best = int(np.where(fits, self.free[:, 0] / self.total[:, 0], -1).argmax())
        self.free[best] -= needs
        self._apps[app].add(best)
        return self.names[best]


def eks(nodes: int = 500, seed: int = 1) -> list[Object]:
    """A cluster after its deployments shrank, with all that keeps nodes: budgets, annotations, volumes."""
    draw = random.Random(seed)
    found: list[Object] = []
    names, totals, zones = [], [], []
    for number in range(nodes):
        kind = draw.choice(list(_TYPES))
        milli, mib, pods, _, _ = _TYPES[kind]
        name, zone = f"ip-10-0-{number // 250}-{number % 250}.ec2.internal", ZONES[number % 3]
        labels = {
            "node.kubernetes.io/instance-type": kind,
            "topology.kubernetes.io/region": "us-east-1",
            "topology.kubernetes.io/zone": zone,
            "karpenter.sh/capacity-type": "spot" if number % 2 else "on-demand",
        }
        found.append(node(name, milli, mib * _MIB, labels=labels, pods=pods))
        names.append(name)
        zones.append(zone)
        totals.append([milli - 150, (mib - 200) * _MIB, pods - 2])
        agents = [pod(f"{agent}-{number}", 75, 100 * _MIB, app=agent) for agent in ("aws-node", "kube-proxy")]
        found += [_in_system(_owned(agent, "DaemonSet", name)) for agent in agents]
    found += _workloads(draw, _Room(names, totals, zones))
    return found


def _in_system(made: Object) -> Object:
    return {**made, "metadata": {**made["metadata"], "namespace": "kube-system"}}


def _workloads(draw: random.Random, room: _Room) -> Iterator[Object]:
    number = 0
    while room.left > _LEFT:
        number += 1
        app, count = f"app-{number:03}", draw.choice(_REPLICAS)
        milli, memory = draw.choice([50, 100, 250, 500, 1000]), draw.choice([64, 128, 512, 1024, 2048]) * _MIB
        odd = draw.random()
        spread, apart = odd < 0.2, 0.2 <= odd < 0.3
        running = []
        for replica in range(count):
            zone = ZONES[replica % 3] if spread else ""
            at = room.emptiest([milli, memory, 1], app, zone, apart=apart)
            if at is not None:
                running.append((replica, at))
        kept = _shrunk(draw, running, spread=spread)
        if kept:
            yield from _workload(draw, app, kept, (milli, memory), _rules(app, spread=spread, apart=apart))


def _shrunk(draw: random.Random, running: list[tuple[int, str]], *, spread: bool) -> list[tuple[int, str]]:
    """Those that are left; of spread ones the last have gone, so that the zones stay even."""
    left = max(round(len(running) * (1 - _GONE)), 1) if running else 0
    return running[:left] if spread else sorted(draw.sample(running, left))


def _rules(app: str, *, spread: bool, apart: bool) -> dict[str, Any]:
    selector = {"matchLabels": {"app": app}}
    if spread:
        even = {
            "topologyKey": "topology.kubernetes.io/zone",
            "maxSkew": 1,
            "whenUnsatisfiable": "DoNotSchedule",
        }
        return {"topologySpreadConstraints": [even | {"labelSelector": selector}]}
    if apart:
        term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": selector}
        return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    return {}


def _workload(
    draw: random.Random,
    app: str,
    running: list[tuple[int, str]],
    size: tuple[int, int],
    spec: dict[str, Any],
) -> Iterator[Object]:
    kind = draw.choices(["ReplicaSet", "StatefulSet", "Job"], [88, 9, 3])[0]
    if kind == "StatefulSet":
        running = running[:3]
        spec["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    elif draw.random() < 0.05:
        spec["volumes"] = [{"name": "tmp", "emptyDir": {}}]
    annotations = {"karpenter.sh/do-not-disrupt": "true"} if draw.random() < 0.02 else {}
    for replica, at in running:
        yield _owned(pod(f"{app}-{replica}", *size, app=app, spec=spec), kind, at, annotations)
    if draw.random() < 0.3:
        allowed = 0 if draw.random() < 0.05 else 1
        yield {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": app, "namespace": "bench"},
            "spec": {"selector": {"matchLabels": {"app": app}}, "maxUnavailable": allowed},
            "status": {"disruptionsAllowed": min(allowed, len(running))},
        }


def _owned(made: Object, kind: str, at: str, annotations: Object | None = None) -> Object:
    app = made["metadata"]["labels"]["app"]
    owner = {"kind": kind, "name": app, "uid": f"uid-{app}", "controller": True}
    metadata = {**made["metadata"], "ownerReferences": [owner], "annotations": dict(annotations or {})}
    return {
        **made,
        "metadata": metadata,
        "spec": {**made["spec"], "nodeName": at},
        "status": {"phase": "Running"},
    }


def openb(data: Path) -> list[Object]:
    """Its nodes; all pods of its trace were placed one after another, and every second one has left.

    The trace says nothing of workloads: pods that ask for the same are taken for replicas. Nor of prices.
    """
    rows = list(_rows(data / "openb/openb_node_list_all_node.csv"))
    totals = [_sizes(row, "gpu", pods=110) for row in rows]
    room = _Room([row["sn"] for row in rows], totals, [""] * len(rows))
    found = [
        node(row["sn"], milli, memory, gpus=gpus)
        for row, (milli, memory, gpus, _) in zip(rows, totals, strict=True)
    ]
    for number, row in enumerate(_rows(data / "openb/openb_pod_list_default.csv")):
        needs = _sizes(row, "num_gpu", pods=1)
        at = room.emptiest(needs)
        if at is not None and number % 2 == 0:
            milli, memory, gpus, _ = needs
            made = pod(row["name"], milli, memory, gpus=gpus, app=f"{milli}-{memory}-{gpus}")
            found.append(_owned(made, "ReplicaSet", at))
    return found


def _sizes(row: dict[str, str], gpus: str, *, pods: int) -> tuple[int, int, int, int]:
    return int(row["cpu_milli"]), int(row["memory_mib"]) * _MIB, int(row[gpus]), pods


def write(objects: Sequence[Object], path: Path) -> Path:
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))
    return path


def _rows(path: Path) -> Iterator[dict[str, str]]:
    with path.open() as file:
        yield from csv.DictReader(file)


def fullest(objects: Sequence[Object]) -> str:
    """The node with most pods."""
    nodes = Counter(str(each["spec"].get("nodeName", "")) for each in objects if each["kind"] == "Pod")
    return max((name for name in nodes if name), key=lambda name: (nodes[name], name))
