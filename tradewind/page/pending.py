"""Every pod that waits for a node: since when, who holds it, what blocks it, and what would help."""

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Snapshot
from tradewind.explain.words import joined
from tradewind.planner import gate, plan_annotation
from tradewind.planner.batch import PolicyOf
from tradewind.planner.planner import plan
from tradewind.planner.settings import PoolTemplate

# Up to which it is worked out what blocks each: that looks at all of them together.
MOST_LOOKED_AT = 2000
MOST_SHOWN = 300

# By the rule that a reason starts with. Where two could be blamed, the first that the reason names is said.
_HELP = {
    "resources": "a node with more room, smaller requests, or pods that leave",
    "limits": "a node with more room for limits, or smaller limits",
    "taints": "a toleration on the pod, or a node without that taint",
    "unschedulable": "uncordoning a node: kubectl uncordon NODE",
    "leaving": "a node that is not about to be taken away",
    "node_affinity": "a node with the labels that the pod asks for, or another nodeSelector or affinity",
    "pod_affinity": "the pods that it wants to be with, on a node with room",
    "pod_anti_affinity": "a node without the pods that it must not be with",
    "topology_spread": "room in the domain that has fewest of these pods, or a larger maxSkew",
    "host_ports": "a node where that port is free",
    "durable_floor": "room on an on-demand node",
    "min_available": "room on nodes that are taken away less often, or more replicas",
    "disk_type": "a node with the disk type that the pod asks for",
    "network_type": "a node with the network type that the pod asks for",
    "gang": "room for the whole gang at once",
    "the cluster has no node": "a node",
}
_WAITS_FOR_PLANNER = "the planner's next batch; if that does not come, see Plan"


@dataclass(frozen=True, kw_only=True)
class Waiting:
    pod: Pod
    seconds: float | None  # since it was created; None where nobody says when
    held_by: str
    blocked_by: str  # empty where nothing is seen
    helped_by: str


def waiting_seconds(pod: Pod, now: float) -> float | None:
    try:
        return now - datetime.fromisoformat(pod.created).timestamp()
    except ValueError:  # a file written by hand, or an odd pod
        return None


def pending(
    snapshot: Snapshot,
    pods: Sequence[Pod],
    policy_of: PolicyOf,
    schedulers: frozenset[str],
    pools: Sequence[PoolTemplate] = (),
) -> list[Waiting]:
    """Who waits longest first; `schedulers` are those that ask Tradewind, `pools` those that may grow."""
    now = time.time()
    waiting = [pod for pod in pods if pod.waiting]
    blocked: Mapping[str, str] = {}
    grown: Mapping[str, str] = {}
    if 0 < len(waiting) <= MOST_LOOKED_AT:
        found = plan(snapshot, pods, policy_of, None, 0.0, pools=pools)
        blocked, grown = found.plan.unplaced, found.pools
    looked = len(waiting) <= MOST_LOOKED_AT
    told = [
        _with_pool(_waiting(pod, now, blocked, schedulers, looked=looked), grown.get(str(pod), ""))
        for pod in waiting
    ]
    return sorted(told, key=lambda each: (-(each.seconds or 0.0), str(each.pod)))


def _with_pool(waiting: Waiting, pool: str) -> Waiting:
    if not pool:
        return waiting
    return replace(waiting, helped_by=f"a new node of pool {pool}, which the autoscaler adds")


def _waiting(
    pod: Pod, now: float, blocked: Mapping[str, str], schedulers: frozenset[str], *, looked: bool
) -> Waiting:
    reason = blocked.get(str(pod), "")
    told, help_ = reason, helps(reason) if reason else ""
    planned = plan_annotation.read(pod)
    if pod.gates and not gate.held(pod):
        others = [name for name in pod.gates if name not in gate.GATES]
        told = f"the scheduling gate {joined(others)}" + (f"; then {reason}" if reason else "")
        help_ = "whoever set that gate removes it"
    elif planned is not None and planned.fresh(now):
        told, help_ = "", f"it is planned on {planned.node}: kube-scheduler is to bind it there"
    elif not looked:
        help_ = f"more than {MOST_LOOKED_AT:,} pods wait: ask about this one, by its link"
    elif not reason:
        help_ = (
            _WAITS_FOR_PLANNER if pod.gates else "nothing: a node has room, and kube-scheduler is to find it"
        )
    return Waiting(
        pod=pod,
        seconds=waiting_seconds(pod, now),
        held_by=_holder(pod, schedulers),
        blocked_by=told,
        helped_by=help_,
    )


def _holder(pod: Pod, schedulers: frozenset[str]) -> str:
    if gate.held(pod):
        return "Tradewind's planner, by its gate"
    if pod.gates:
        return f"the scheduling gate {joined(pod.gates)}"
    if pod.scheduler_name not in schedulers:
        return f"nobody; its scheduler is {pod.scheduler_name}"
    return "nobody; kube-scheduler tries it"


def helps(reason: str) -> str:
    """What would make the reason go away, by the first rule that it names."""
    found = [
        (match.start(), advice)
        for rule, advice in _HELP.items()
        if (match := re.search(rf"\b{re.escape(rule)}\b", reason))
    ]
    return min(found)[1] if found else "another node, or a pod that asks for less"
