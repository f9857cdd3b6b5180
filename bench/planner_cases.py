"""Clusters for the planner's benchmark, as the API's JSON: synthetic ones, and ones made of public data."""

import csv
import os
import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from tradewind.cluster.cache import Cache
from tradewind.cluster.objects import read_node, read_pod
from tradewind.market.market import Market
from tradewind.market.offers import PRICE

Object = Mapping[str, Any]

_MIB = 2**20


def data_directory() -> Path | None:
    """Where the public data is, if anywhere."""
    named = os.environ.get("TRADEWIND_DATA")
    places = [Path(named)] if named else [p / "shared" / "data" for p in Path(__file__).resolve().parents]
    return next((place for place in places if (place / "openb").is_dir()), None)


def node(
    name: str,
    cpu_milli: int,
    memory: int,
    *,
    price: float | None = None,
    labels: Mapping[str, str] | None = None,
    pods: int = 110,
    gpus: int = 0,
) -> Object:
    allocatable = {"cpu": f"{cpu_milli}m", "memory": str(memory), "pods": str(pods)}
    if gpus:
        allocatable["nvidia.com/gpu"] = str(gpus)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/hostname": name, **(labels or {})},
            "annotations": {} if price is None else {PRICE: f"{price:.6f}"},
        },
        "status": {"allocatable": allocatable},
    }


def pod(
    name: str, cpu_milli: int, memory: int, *, gpus: int = 0, app: str = "", spec: Object | None = None
) -> Object:
    requests = {"cpu": f"{cpu_milli}m", "memory": str(memory)} | (
        {"nvidia.com/gpu": str(gpus)} if gpus else {}
    )
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "bench", "labels": {"app": app or "bench"}},
        "spec": {
            "containers": [{"name": "main", "image": "none", "resources": {"requests": requests}}],
            **(spec or {}),
        },
        "status": {"phase": "Pending"},
    }


def filled(objects: Sequence[Object]) -> Cache:
    cache = Cache(Market().offer_of)
    with cache.batch():
        for each in objects:
            data = msgspec.json.encode(each)
            if each["kind"] == "Node":
                cache.apply_node(read_node(data))
            else:
                cache.apply_pod(read_pod(data))
    return cache


_SHAPES = ((4, 16, 0.17), (8, 32, 0.34), (8, 64, 0.45), (16, 64, 0.67), (16, 128, 0.9), (32, 128, 1.36))


def synthetic(
    pods: int, nodes: int, classes: int, tied: float = 0.0, *, seed: int = 1, kinds: int = len(_SHAPES)
) -> list[Object]:
    """Equal workloads of mixed sizes on `kinds` of nodes in three zones; `tied` of the pods with rules."""
    draw = random.Random(seed)
    shapes = [*_SHAPES, *(_shape(draw) for _ in range(kinds - len(_SHAPES)))]
    objects: list[Object] = []
    for number in range(nodes):
        cores, gibs, price = shapes[number % len(shapes)]
        spot = number % 2 == 0
        labels = {"topology.kubernetes.io/zone": f"zone-{number % 3}"}
        if spot:
            labels["karpenter.sh/capacity-type"] = "spot"
        objects.append(
            node(
                f"node-{number:05}",
                cores * 950,
                gibs * 970 * _MIB,
                price=price * (0.4 if spot else 1),
                labels=labels,
            )
        )
    sizes = [
        (draw.choice([100, 200, 250, 500, 1000, 2000]), draw.choice([1, 2, 4, 8])) for _ in range(classes)
    ]
    for number in range(pods):
        index = number % classes
        milli, per_core = sizes[index]
        app = f"app-{index}"
        spec = _rule(app, index) if index < tied * classes else None
        objects.append(pod(f"pod-{number:05}", milli, milli * per_core * _MIB, app=app, spec=spec))
    return objects


def _shape(draw: random.Random) -> tuple[int, int, float]:
    """Cores, GiB, dollars an hour."""
    cores, per_core = draw.choice([2, 4, 8, 16, 32, 48]), draw.choice([2, 4, 6, 8])
    return cores, cores * per_core, round(cores * (0.03 + 0.003 * per_core) * draw.uniform(0.7, 1.4), 4)


def _rule(app: str, index: int) -> Object:
    selector = {"matchLabels": {"app": app}}
    if index % 2:
        term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": selector}
        return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    spread = {
        "topologyKey": "topology.kubernetes.io/zone",
        "maxSkew": 1,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": selector,
    }
    return {"topologySpreadConstraints": [spread]}


def openb(data: Path) -> list[Object]:
    """The nodes of a GPU cluster, all empty, and every pod of its trace at once."""
    nodes = [
        node(row["sn"], int(row["cpu_milli"]), int(row["memory_mib"]) * _MIB, gpus=int(row["gpu"]))
        for row in _rows(data / "openb/openb_node_list_all_node.csv")
    ]
    pods = [
        pod(row["name"], int(row["cpu_milli"]), int(row["memory_mib"]) * _MIB, gpus=int(row["num_gpu"]))
        for row in _rows(data / "openb/openb_pod_list_default.csv")
    ]
    return [*nodes, *pods]


def priced(data: Path, nodes: int, seed: int, used: float = 0.45) -> list[Object]:
    """Room to spare at many prices: 25 instance types, half of the nodes spot; `used` of the cores wanted."""
    draw = random.Random(seed)
    types = [
        row
        for row in _rows(data / "catalogs/aws_us_east_1_instances.csv")
        if row["spot_savings_pct"] and int(row["spot_savings_pct"]) > 0 and not int(row["gpu_count"] or 0)
    ]
    chosen = draw.sample(types, 25)
    objects: list[Object] = []
    cores = 0
    for number in range(nodes):
        row = chosen[number % len(chosen)]
        spot = number % 2 == 0
        price = float(row["spot_usd_h_est"] if spot else row["on_demand_usd_h"])
        labels = {"node.kubernetes.io/instance-type": row["instance_type"]}
        if spot:
            labels["karpenter.sh/capacity-type"] = "spot"
        cores += int(row["alloc_cpu_milli"])
        memory = int(row["alloc_memory_mib"]) * _MIB
        pods = int(row["alloc_pods"])
        objects.append(
            node(
                f"node-{number:03}",
                int(row["alloc_cpu_milli"]),
                memory,
                price=price,
                labels=labels,
                pods=pods,
            )
        )
    wanted = [row for row in _rows(data / "openb/openb_pod_list_default.csv") if not int(row["num_gpu"])]
    asked = 0
    while True:
        row, factor = draw.choice(wanted), draw.uniform(0.05, 0.5)
        milli = max(int(int(row["cpu_milli"]) * factor), 1)
        asked += milli
        if asked > used * cores:
            return objects
        memory = int(int(row["memory_mib"]) * factor) * _MIB
        objects.append(pod(f"pod-{len(objects):05}", milli, memory))


def _rows(path: Path) -> Iterator[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        yield from csv.DictReader(file)
