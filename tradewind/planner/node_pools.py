"""Karpenter's NodePools as pools of the planner: a template for each kind of node that one of them could add.

A NodePool leaves the choice of the instance type to Karpenter, which looks for the cheapest that holds the
pods. Here the cheapest type of each size stands for all of that size, on each of the terms and in each zone
that the pool allows. Of labels that nobody knows of a type, such as its hypervisor, it is taken to have the
right ones.
"""

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice, product
from typing import NamedTuple

from tradewind.cluster.karpenter import CAPACITY_TYPE_LABEL, NODE_POOL_LABEL, NodePool
from tradewind.cluster.objects import Node, Pod
from tradewind.cluster.selectors import Selector, holds, matches
from tradewind.cluster.snapshot import Offer
from tradewind.planner.settings import PoolTaint, PoolTemplate

TYPE, ZONE = "node.kubernetes.io/instance-type", "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
_OS, _ARCH = "kubernetes.io/os", "kubernetes.io/arch"
_TERMS = ("spot", "on-demand")
_AWS = "karpenter.k8s.aws/instance-"
_AWS_NAME = re.compile(
    r"(?P<family>(?P<category>[a-z]+)(?P<generation>\d+)(?P<extras>[a-z-]*))\.(?P<size>[\w-]+)"
)
_GPU = "nvidia.com/gpu"
_MIB, _MILLICORES = 2**20, 1000
_MAX_NODES = 20  # of one type, where the pool has no limit
_MAX_CHOICES = 8  # of labels that the pool leaves open
_FAR = ("karpenter.", "node.kubernetes.io/", "topology.")  # keys whose labels come from the cloud

Resources = Mapping[str, int]  # cpu in millicores, all others in whole units


class InstanceType(NamedTuple):
    name: str
    allocatable: Resources
    labels: Mapping[str, str]  # that all its nodes have, as far as they are known


class Surroundings(NamedTuple):
    """What is known of the cluster that new nodes would join."""

    types: Sequence[InstanceType]
    zones: Collection[str]
    region: str
    agents: Resources  # what the pods of DaemonSets take on each node
    used: Mapping[str, Resources]  # by NodePool, what its nodes have


def surroundings(
    nodes: Sequence[Node],
    pods: Iterable[Pod],
    sizes: Mapping[str, tuple[int, int, int]],
    zones: Collection[str],
) -> Surroundings:
    """`sizes` of types by name: millicores, bytes, GPUs; `zones` that prices are known of."""
    seen = {node.labels[TYPE]: node for node in nodes if TYPE in node.labels}
    types = [InstanceType(name, node.allocatable, _lasting(node.labels)) for name, node in seen.items()]
    types += [_listed(name, *size) for name, size in sizes.items() if name not in seen]
    used: dict[str, dict[str, int]] = {}
    for node in nodes:
        total = used.setdefault(node.labels.get(NODE_POOL_LABEL, ""), {"nodes": 0})
        total["nodes"] += 1
        for resource, has in node.allocatable.items():
            total[resource] = total.get(resource, 0) + has
    return Surroundings(
        types=types,
        zones=sorted({node.labels[ZONE] for node in nodes if ZONE in node.labels} or zones),
        region=next((node.labels[REGION] for node in nodes if REGION in node.labels), ""),
        agents=_agents(pods),
        used=used,
    )


def templates(
    pools: Iterable[NodePool], around: Surroundings, offer_of: Callable[[Node], Offer]
) -> list[PoolTemplate]:
    found: dict[str, PoolTemplate] = {}
    for pool in pools:
        for labels in islice(_open_choices(pool), _MAX_CHOICES):
            for zone, terms in product(_zones(pool, around), _terms(pool)):
                candidates = _candidates(
                    pool, around, {**labels, **zone, CAPACITY_TYPE_LABEL: terms}, offer_of
                )
                found |= {each.name: each for each in _worthwhile(candidates)}
    return list(found.values())


def _candidates(
    pool: NodePool, around: Surroundings, labels: Mapping[str, str], offer_of: Callable[[Node], Offer]
) -> Iterator[PoolTemplate]:
    for each in around.types:
        known = {_ARCH: _arch(pool, each), **labels, **each.labels, TYPE: each.name}
        left = {name: has - around.agents.get(name, 0) for name, has in each.allocatable.items()}
        number = _max_nodes(pool, each, around.used.get(pool.name, {}))
        if number < 1 or not _allowed(pool.requirements, known) or min(left.values(), default=0) < 0:
            continue
        known |= {ZONE: labels[ZONE]} if ZONE in labels else {}
        known |= {REGION: around.region} if around.region else {}
        offer = offer_of(Node(name="", labels=known, annotations={}, allocatable=each.allocatable))
        where = ", ".join(filter(None, [each.name, labels[CAPACITY_TYPE_LABEL], labels.get(ZONE, "")]))
        chosen = [
            value for key, value in labels.items() if not key.startswith(_FAR) and key not in pool.labels
        ]
        yield PoolTemplate(
            name=f"{pool.name} ({', '.join([where, *sorted(set(chosen) - {'linux'})])})",
            resources={name: f"{has}m" if name == "cpu" else has for name, has in left.items()},
            labels={**known, NODE_POOL_LABEL: pool.name},
            taints=tuple(
                PoolTaint(key=each.key, value=each.value, effect=each.effect) for each in pool.taints
            ),
            price=offer.price if offer.price > 0 else None,
            # Without a price nothing says what safety costs; Karpenter takes spot nodes where it may.
            interruption_rate=offer.interruption_rate if offer.price > 0 else 0.0,
            durable=offer.durable,
            max_nodes=number,
            weight=pool.weight,
        )


def _worthwhile(candidates: Iterable[PoolTemplate]) -> Iterable[PoolTemplate]:
    """Without those that cost as much as one that has more of everything, or of the same size."""
    kept: list[tuple[PoolTemplate, Resources]] = []
    for each in sorted(candidates, key=lambda each: (_price(each), each.name)):
        has = each.allocatable()
        if not any(_within(has, other) for _, other in kept):
            kept.append((each, has))
    return [each for each, _ in kept]


def _within(has: Resources, other: Resources) -> bool:
    """A tenth less does not make another size."""
    return all(0.9 * amount <= other.get(name, 0) for name, amount in has.items() if name != "pods")


def _price(template: PoolTemplate) -> float:
    return math.inf if template.price is None else template.price


def _allowed(requirements: Selector, labels: Mapping[str, str]) -> bool:
    known = [each for each in requirements if each.key in labels or not each.key.startswith(_FAR)]
    return matches(tuple(known), labels)


def _open_choices(pool: NodePool) -> Iterator[Mapping[str, str]]:
    """Of labels that the pool lets pods choose, and its own; the system is Linux unless it says otherwise."""
    chosen: dict[str, Sequence[str]] = {_OS: ("linux",)}
    for each in pool.requirements:
        if each.operator == "In" and each.key != _ARCH and not each.key.startswith(_FAR):
            chosen[each.key] = each.values or ()
    for values in product(*chosen.values()):
        yield {**dict(zip(chosen, values, strict=True)), **pool.labels}


def _zones(pool: NodePool, around: Surroundings) -> list[Mapping[str, str]]:
    asked = [each for each in pool.requirements if each.key == ZONE]
    named = next((each.values or () for each in asked if each.operator == "In"), around.zones)
    allowed = [zone for zone in named if all(holds(each, zone) for each in asked)]
    return [{ZONE: zone} for zone in allowed] or ([] if asked else [{}])


def _terms(pool: NodePool) -> list[str]:
    asked = [each for each in pool.requirements if each.key == CAPACITY_TYPE_LABEL]
    return [terms for terms in _TERMS if all(holds(each, terms) for each in asked)]


def _max_nodes(pool: NodePool, each: InstanceType, used: Resources) -> int:
    """As far as the limits go, for each type by itself."""
    size = {**each.allocatable, "nodes": 1}
    left = [
        (limit - used.get(resource, 0)) // size[resource]
        for resource, limit in pool.limits.items()
        if size.get(resource)
    ]
    return max(0, min([_MAX_NODES, *left]))


def _agents(pods: Iterable[Pod]) -> Resources:
    """Of each DaemonSet one pod: some run on other nodes only, so it is rather too much."""
    one = {pod.owner: pod.counted for pod in pods if pod.owner is not None and pod.owner.kind == "DaemonSet"}
    total: dict[str, int] = {}
    for requests in one.values():
        for resource, amount in requests.items():
            total[resource] = total.get(resource, 0) + amount
    return total


def _lasting(labels: Mapping[str, str]) -> Mapping[str, str]:
    """Those that a node has from its type."""
    return {key: value for key, value in labels.items() if key == _ARCH or key.startswith(_AWS)}


def _listed(name: str, cpu: int, memory: int, gpus: int) -> InstanceType:
    labels = {}
    match = _AWS_NAME.fullmatch(name)
    if match is not None:
        labels = {
            _ARCH: "arm64" if match["extras"].startswith("g") or match["family"] == "a1" else "amd64",
            **{_AWS + part: match[part] for part in ("category", "family", "generation", "size")},
            _AWS + "cpu": str(cpu // _MILLICORES),
            _AWS + "memory": str(memory // _MIB),
            **({_AWS + "gpu-count": str(gpus)} if gpus else {}),
        }
    return InstanceType(name, allocatable_of(cpu, memory, gpus), labels)


def _arch(pool: NodePool, each: InstanceType) -> str:
    asked = next(
        (need.values for need in pool.requirements if need.key == _ARCH and need.operator == "In"), ()
    )
    return each.labels.get(_ARCH) or (asked[0] if asked else "amd64")


# What is kept for the kubelet and the system: of the first core, the second, the next two, and all others.
_KEPT_CORES = ((1, 0.06), (1, 0.01), (2, 0.005), (math.inf, 0.0025))
_KEPT_MEMORY = 0.075  # Karpenter's own guess at what a hypervisor takes
_KEPT_MIB = 255 + 11 * 110 + 100  # for the system, for each pod, and before pods are evicted
_PODS = 110


def allocatable_of(cpu: int, memory: int, gpus: int) -> Resources:
    """What is left for pods of a machine: rather too little."""
    cores, kept = cpu / _MILLICORES, 0.0
    for step, share in _KEPT_CORES:
        kept += min(cores, step) * share
        cores = max(0.0, cores - step)
    left = int(memory * (1 - _KEPT_MEMORY)) - _KEPT_MIB * _MIB
    found = {"cpu": cpu - math.ceil(kept * _MILLICORES), "memory": max(0, left), "pods": _PODS}
    return {**found, _GPU: gpus} if gpus else found
