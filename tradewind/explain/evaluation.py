"""Where a pod would go in a cluster from a file: no kube-scheduler asks, and no Tradewind needs to run."""

import difflib
import time
from collections.abc import Callable, Sequence

import msgspec
import numpy as np

from scoring.in_tree import with_in_tree
from scoring.policy import Policy, weighted_sum
from tradewind.cluster.cache import Cache
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Nodes, Snapshot
from tradewind.errors import TradewindError
from tradewind.explain.decisions import Decision, filter_decision, ranking_of
from tradewind.explain.explanation import Explanation, explain
from tradewind.explain.standing import is_static


def evaluate(
    cache: Cache, policy_of: Callable[[Pod], Policy], named: str, node_names: Sequence[str] = ()
) -> Explanation:
    """What the rules say of the pod and these nodes, or all; a placed pod counts as not being there."""
    pod = _find(cache, named)
    if is_static(pod):
        return explain(named, Decision(pod.uid, time.time()), pod, "evaluation")
    cache.remove_pod(pod.uid)
    return _told(pod, policy_of(pod), _chosen(cache.snapshot(), node_names))


def evaluate_in(snapshot: Snapshot, pod: Pod, policy_of: Callable[[Pod], Policy]) -> Explanation:
    """The same in a cluster that others look at too, and so must not change."""
    if is_static(pod):
        return explain(str(pod), Decision(pod.uid, time.time()), pod, "evaluation")
    return _told(pod, policy_of(pod), snapshot.without([pod]).nodes)


def _told(pod: Pod, policy: Policy, nodes: Nodes) -> Explanation:
    waiting = msgspec.structs.replace(pod, node_name="")
    return explain(str(pod), _decide(waiting, policy, nodes), pod, "evaluation")


def _decide(pod: Pod, policy: Policy, nodes: Nodes) -> Decision:
    policy = with_in_tree(policy)
    verdict = policy.filter(pod, nodes)
    decision = filter_decision(pod, policy, nodes, verdict, apart={})
    passed = nodes.take(np.flatnonzero(verdict.feasible))
    terms = tuple(policy.terms(pod, passed))
    ranking = ranking_of(pod, passed, terms, weighted_sum(terms, len(passed)))
    return msgspec.structs.replace(decision, ranking=ranking)


def _find(cache: Cache, named: str) -> Pod:
    pods = {str(pod): pod for pod in cache.all_pods()}
    if named not in pods:
        if "/" not in named:
            there = sorted(str(pod) for pod in pods.values() if pod.name == named)
            raise TradewindError(
                f'"{named}" lacks its namespace: {" or ".join(there) or f"NAMESPACE/{named}"}'
            )
        alike = difflib.get_close_matches(named, pods, n=3, cutoff=0.6)
        hint = f"; did you mean {' or '.join(alike)}?" if alike else ""
        raise TradewindError(f"the file has no pod {named}{hint}")
    return pods[named]


def _chosen(snapshot: Snapshot, node_names: Sequence[str]) -> Nodes:
    for name in node_names:
        if name not in snapshot.row_of:
            raise TradewindError(f"the file has no node {name}")
    if not node_names:
        return snapshot.nodes
    return snapshot.nodes.take(np.array([snapshot.row_of[name] for name in dict.fromkeys(node_names)]))
