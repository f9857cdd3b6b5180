"""Which of kube-scheduler's preemption candidates make sense to us.

kube-scheduler has worked out on which nodes the pod would fit if it evicted some pods, and picks one of the
nodes that we leave. We leave the one that our filters accept after the eviction at the lowest cost; the
victims of a node are never changed.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

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


class _Candidate(NamedTuple):
    node_name: str
    row: int
    victims: Victims
    counted: Sequence[Pod]  # those of the victims that our watch has brought

    @property
    def complete(self) -> bool:
        return len(self.counted) == len(self.victims.uids)

    @property
    def pods(self) -> Sequence[Pod] | None:
        """All victims, from our watch or from the request; None where there is one that we cannot look at."""
        return self.counted if self.complete else self.victims.pods or None


def choose(
    request: PreemptRequest,
    snapshot: Snapshot,
    cache: Cache,
    policy: Policy,
    deadline: float = math.inf,
) -> Mapping[str, Victims]:
    """The cheapest of the candidates that our filters accept, if there are any.

    A victim that our watch has not brought yet has no priority that we could compare: then all of them are
    passed on, and kube-scheduler, which knows the pod, chooses.
    """
    candidates = list(_candidates(request, snapshot, cache))
    accepted = [
        # Without all of its victims we cannot tell what their leaving frees: trust kube-scheduler.
        each
        for each in candidates
        if not each.complete or _passes(request.pod, each, snapshot, policy, deadline)
    ]
    if any(each.pods is None for each in candidates):
        return {each.node_name: each.victims for each in accepted}
    cheapest = min(accepted, key=lambda each: _loss(each, each.pods or (), snapshot), default=None)
    return {cheapest.node_name: cheapest.victims} if cheapest else {}


def _candidates(request: PreemptRequest, snapshot: Snapshot, cache: Cache) -> Iterator[_Candidate]:
    for node_name, victims in request.victims.items():
        row = snapshot.row_of.get(node_name)
        if row is not None and victims.uids:
            yield _Candidate(node_name, row, victims, cache.pods(victims.uids))


def _passes(pod: Pod, candidate: _Candidate, snapshot: Snapshot, policy: Policy, deadline: float) -> bool:
    nodes = snapshot.without(candidate.counted).nodes.take(np.array([candidate.row]))
    return bool(policy.filter(pod, nodes, deadline).feasible[0])


def _loss(candidate: _Candidate, pods: Sequence[Pod], snapshot: Snapshot) -> _Loss:
    priorities = [pod.priority for pod in pods]
    lowest = -(2**31)  # of any pod
    return _Loss(
        broken_budgets=candidate.victims.broken_budgets,
        highest_priority=max(priorities),
        priorities=sum(priority - lowest + 1 for priority in priorities),
        remaining_life=1 - float(snapshot.nodes.interruption_rate[candidate.row]),
        age=max(-_seconds(pod.created) for pod in pods),
        name=candidate.node_name,
    )


def _seconds(created: str) -> float:
    try:
        return datetime.fromisoformat(created).timestamp()
    except ValueError:
        return 0.0
