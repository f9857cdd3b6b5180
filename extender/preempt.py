"""Which of kube-scheduler's preemption candidates make sense to us.

kube-scheduler has worked out on which nodes the pod would fit if it evicted some pods, and picks one of the
nodes that we leave. We keep the one that our filters would accept after the eviction with the cheapest loss;
the victims of a node are never changed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from extender.protocol import PreemptRequest, Victims
from scoring.policy import Policy
from tradewind.cluster.cache import Cache
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Snapshot


@dataclass(frozen=True, order=True)
class _Loss:
    """What an eviction costs, the most important first; the smallest is the best."""

    broken_budgets: int
    highest_priority: int
    priorities: int  # the sum, each raised above zero, so that two victims cost more than one
    remaining_life: float  # 1 - interruption rate: what is about to vanish anyway is lost cheaply
    age: float  # of the oldest victim, as minus its creation time: young pods have done less work
    name: str  # the same choice every time


def choose(
    request: PreemptRequest, snapshot: Snapshot, cache: Cache, policy: Policy
) -> Mapping[str, Victims]:
    """The best node and its victims; nothing if our filters accept no node."""
    acceptable = list(_acceptable(request, snapshot, cache, policy))
    if not acceptable:
        return {}
    _, node_name = min(acceptable)
    return {node_name: request.victims[node_name]}


def _acceptable(
    request: PreemptRequest, snapshot: Snapshot, cache: Cache, policy: Policy
) -> Iterator[tuple[_Loss, str]]:
    for node_name, victims in request.victims.items():
        row = snapshot.row_of.get(node_name)
        if row is None or not victims.uids:
            continue
        pods = cache.pods(victims.uids)
        # Where we do not know all victims we cannot tell what their leaving frees: trust kube-scheduler.
        if len(pods) < len(victims.uids) or _passes(request.pod, row, snapshot.without(pods), policy):
            yield _loss(node_name, row, victims, pods, snapshot), node_name


def _passes(pod: Pod, row: int, snapshot: Snapshot, policy: Policy) -> bool:
    return bool(policy.filter(pod, snapshot.nodes.take(np.array([row]))).feasible[0])


def _loss(node_name: str, row: int, victims: Victims, pods: Sequence[Pod], snapshot: Snapshot) -> _Loss:
    priorities = [pod.priority for pod in pods]
    lowest = -(2**31)  # of any pod
    return _Loss(
        broken_budgets=victims.broken_budgets,
        highest_priority=max(priorities, default=lowest),
        priorities=sum(priority - lowest + 1 for priority in priorities),
        remaining_life=1 - float(snapshot.nodes.interruption_rate[row]),
        age=max((-_seconds(pod.created) for pod in pods), default=0.0),
        name=node_name,
    )


def _seconds(created: str) -> float:
    try:
        return datetime.fromisoformat(created).timestamp()
    except ValueError:
        return 0.0
