"""All pods of a cluster as a few hundred classes, and how many of each there are or are to come.

Sizes are taken in steps, so that a class outlives the pods in it: what a solve has built serves the next one.
What ties pods to each other is left out; the rules that look at a pod and a node alone are kept.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import msgspec

from scoring.policy import Policy
from tradewind.cluster import hints
from tradewind.cluster.in_use import belongs_to_node
from tradewind.cluster.objects import Pod
from tradewind.planner.standing.owed import owed

# Pods that every node of a pool has: they are no demand, but take from what their node has for others.

# Of the logarithm of a request; within a step requests differ by a quarter, and in the mean by nothing.
_STEP = 0.25
_IN_STEPS = frozenset({"cpu", "memory", "ephemeral-storage"})
# The key of the class of all pods whose own class is beyond the limit.
_REST = "rest"
NOTHING: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True, eq=False)
class StandingClass:
    """Pods that are alike but for a part of a step in size."""

    key: Hashable
    pod: Pod  # of the middle size, waiting
    policy: Policy

    @property
    def name(self) -> str:
        """For people."""
        size = "-".join(
            f"{self.pod.requests[each]:.3g}{each}"
            for each in ("cpu", "memory")
            if self.pod.requests.get(each)
        )
        return f"{self.policy.workload_class}/{self.pod.priority}/{size}"


@dataclass(eq=False)
class Demand:
    """Of one class, in pods of its middle size."""

    running: dict[str, float] = field(default_factory=lambda: defaultdict(float))  # by node
    waiting: float = 0.0
    expected: float = 0.0  # beyond those, because they were there lately
    owed: float = 0.0  # beyond those, by their controllers

    @property
    def now(self) -> float:
        return sum(self.running.values()) + self.waiting

    @property
    def to_come(self) -> float:
        """What is owed was often there before."""
        return max(self.expected, self.owed)


class Census:
    """Which class each pod is of, and how many there were lately. Remembers pods it has seen."""

    def __init__(self, half_life_seconds: float) -> None:
        self._half_life = half_life_seconds
        self._seen: dict[str, tuple[Pod, Hashable, float]] = {}  # by UID: as it was, its class, its weight
        self._classes: dict[Hashable, StandingClass] = {}
        self._usual: dict[Hashable, float] = {}  # how many there were, older counts weigh less
        self._counted_at: float | None = None

    def take(
        self,
        pods: Sequence[Pod],
        policy_of: Callable[[Pod], Policy],
        now: float,
        wanted: Mapping[str, int] = NOTHING,
    ) -> Mapping[StandingClass, Demand]:
        """`now` in seconds of any clock that does not jump. Pods of the nodes' own are left out.

        `wanted` are the pods that controllers want at the same time, by `Pod.controller`, where known.
        """
        found: dict[Hashable, Demand] = defaultdict(Demand)
        seen: dict[str, tuple[Pod, Hashable, float]] = {}
        for pod in pods:
            if not demanded(pod):
                continue
            known = self._seen.get(pod.uid)
            if known is None or known[0] is not pod:
                known = (pod, *self._classify(pod, policy_of(pod)))
            seen[pod.uid] = known
            if pod.node_name:
                found[known[1]].running[pod.node_name] += known[2]
            else:
                found[known[1]].waiting += known[2]
        self._seen = seen
        for uid, count in owed(pods, wanted).items():
            _, key, weight = seen[uid]
            found[key].owed += count * weight
        self._expect(found, now)
        return {self._classes[key]: demand for key, demand in found.items()}

    def _expect(self, found: dict[Hashable, Demand], now: float) -> None:
        """A class that there were more of lately is expected back, the less the longer ago that was."""
        passed = 0.0 if self._counted_at is None else max(now - self._counted_at, 0.0)
        self._counted_at = now
        kept = 0.5 ** (passed / self._half_life)
        for key in found.keys() | self._usual.keys():
            count = found[key].now if key in found else 0.0
            usual = max(count, kept * self._usual.get(key, 0.0) + (1 - kept) * count)
            if usual < 0.5:  # noqa: PLR2004  half a pod
                self._usual.pop(key, None)
                continue
            self._usual[key] = usual
            found[key].expected = usual - count
        for key in self._classes.keys() - found.keys():
            del self._classes[key]

    def _classify(self, pod: Pod, policy: Policy) -> tuple[Hashable, float]:
        steps = {
            each: _step(amount) for each, amount in pod.requests.items() if each in _IN_STEPS and amount > 0
        }
        exact = tuple(sorted((each, amount) for each, amount in pod.requests.items() if each not in steps))
        key = (policy.workload_class, tuple(sorted(steps.items())), exact, _terms(pod))
        if key not in self._classes or self._classes[key].policy is not policy:
            middle = {each: max(round(_middle(step)), 1) for each, step in steps.items()}
            waiting = msgspec.structs.replace(
                pod, requests={**pod.requests, **middle}, node_name="", gates=()
            )
            self._classes[key] = StandingClass(key, waiting, policy)
        weights = [pod.requests[each] / _middle(step) for each, step in steps.items()]
        return key, sum(weights) / len(weights) if weights else 1.0


def largest(demands: Mapping[StandingClass, Demand], most: int) -> Mapping[StandingClass, Demand]:
    """At most so many classes.

    One of the classes is of all other pods that run, as if they were alike: they take room where they are.
    Those that wait or are to come are left out.
    """
    if len(demands) <= most:
        return demands
    order = sorted(demands, key=lambda each: -(demands[each].now + demands[each].to_come))
    merged, demand = _merged(order[most - 1 :], demands)
    return {**{each: demands[each] for each in order[: most - 1]}, merged: demand}


def count_placeable(demands: Mapping[StandingClass, Demand]) -> float:
    """The pods of all classes but that of the others."""
    return sum(demand.now + demand.to_come for each, demand in demands.items() if each.key != _REST)


def _merged(
    classes: Sequence[StandingClass], demands: Mapping[StandingClass, Demand]
) -> tuple[StandingClass, Demand]:
    """A pod of the mean size, and how many of them would take the room on each node."""
    taken: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))  # by resource and node
    pods: dict[str, float] = defaultdict(float)  # by node
    for each in classes:
        for node, count in demands[each].running.items():
            pods[node] += count
            for resource, amount in each.pod.requests.items():
                taken[resource][node] += count * amount
    total = sum(pods.values())
    mean = {resource: sum(on.values()) / total for resource, on in taken.items()}
    sizes = [resource for resource, amount in mean.items() if resource in _IN_STEPS and amount > 0]
    demand = Demand()
    for node, count in pods.items():
        parts = [taken[resource][node] / mean[resource] for resource in sizes]
        demand.running[node] = sum(parts) / len(parts) if parts else count
    pod = msgspec.structs.replace(
        classes[0].pod,
        requests={resource: round(amount) for resource, amount in mean.items() if round(amount)},
        annotations={},
        node_selector={},
        node_terms=None,
        tolerations=(),
    )
    return StandingClass(_REST, pod, replace(classes[0].policy, placement="pack")), demand


def demanded(pod: Pod) -> bool:
    return not (pod.finished or pod.deleting or belongs_to_node(pod))


def _terms(pod: Pod) -> Hashable:
    """What rules over a pod and a node alone look at, sizes aside."""
    return (
        pod.priority,
        pod.owner.kind if pod.owner else "",
        tuple(sorted(hints.requested(pod))),
        tuple(sorted(pod.node_selector.items())),
        pod.node_terms,
        pod.tolerations,
    )


def _step(amount: int) -> int:
    return math.floor(math.log(amount) / _STEP)


def _middle(step: int) -> float:
    return math.exp((step + 0.5) * _STEP)
