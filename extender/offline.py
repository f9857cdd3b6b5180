"""Where a pod would go in a cluster from a file: no kube-scheduler asks, and no Tradewind needs to run."""

import difflib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np

from cluster.cache import Cache
from cluster.errors import TradewindError
from cluster.objects import Pod
from cluster.snapshot import Nodes, Snapshot
from extender import config, source
from extender.decisions import Decision, filter_decision, ranking_of
from extender.explain import Explanation, explain
from scoring.in_tree import IN_TREE
from scoring.policy import Policy, weighted_sum


def explain_in_file(
    cluster_file: Path, config_file: Path | None, named: str, node_names: Sequence[str] = ()
) -> Explanation:
    """What the rules say of the pod and these nodes, or all; a placed pod counts as not being there."""
    served = source.choose(cluster_file, None)
    served.start()
    pod = _find(served.cache, named)
    served.cache.remove_pod(pod.uid)
    nodes = _chosen(served.cache.snapshot(), node_names)
    document = config.read(config_file) if config_file else config.DEFAULT
    waiting = msgspec.structs.replace(pod, node_name="")
    return explain(named, _decide(waiting, document.policies().of(pod), nodes), pod, "evaluation")


def _decide(pod: Pod, policy: Policy, nodes: Nodes) -> Decision:
    policy = _with_in_tree(policy)
    verdict = policy.filter(pod, nodes)
    decision = filter_decision(pod, policy, nodes, verdict, apart={})
    passed = nodes.take(np.flatnonzero(verdict.feasible))
    terms = tuple(policy.terms(pod, passed))
    ranking = ranking_of(pod, passed, terms, weighted_sum(terms, len(passed)))
    return msgspec.structs.replace(decision, ranking=ranking)


def _with_in_tree(policy: Policy) -> Policy:
    """No kube-scheduler has filtered before; a rule that both have may have other parameters in ours."""
    return replace(policy, filters=(*(rule() for rule in IN_TREE), *policy.filters))


def _find(cache: Cache, named: str) -> Pod:
    pods = {str(pod): pod for pod in cache.all_pods()}
    if named not in pods:
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
