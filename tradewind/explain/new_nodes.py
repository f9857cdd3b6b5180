"""Whether a pod that no node takes would get a new one, as plan and savings say it."""

from collections.abc import Sequence

from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Snapshot
from tradewind.explain.explanation import Explanation
from tradewind.planner.batch import PolicyOf
from tradewind.planner.greedy import greedy
from tradewind.planner.pools import growth
from tradewind.planner.settings import PoolTemplate


def with_pool(
    told: Explanation, snapshot: Snapshot, pod: Pod, policy_of: PolicyOf, pools: Sequence[PoolTemplate]
) -> Explanation:
    if not pod.waiting or told.candidates is None or told.candidates.passed:
        return told
    namespaces = snapshot.nodes.cluster.namespaces.values()
    pool = growth(pools, [pod], namespaces, policy_of, greedy).pools.get(str(pod)) if pools else None
    if pool is None:
        return told
    sentence = f"It fits on a new node of pool {pool}, which the autoscaler adds."
    return told.model_copy(update={"sentences": [*told.sentences, sentence]})
