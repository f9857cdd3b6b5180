"""For which pods without a place kube-scheduler could make room itself: to hold these only delays them."""

from collections.abc import Collection
from functools import cache

from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Snapshot
from tradewind.planner.batch import Batch, PolicyOf


def preempting(pods: Collection[Pod], batch: Batch, policy_of: PolicyOf) -> list[Pod]:
    """Those that a node would take without its pods of lower priority, as kube-scheduler looks for victims.

    Never one of a gang: room for one of it is no room for the gang. Nor one that is not to be planned.
    """

    @cache
    def without(priority: int) -> Snapshot:
        return batch.snapshot.without(pod for pod in batch.staying if pod.priority < priority)

    def fits(pod: Pod) -> bool:
        left = without(pod.priority)
        return left is not batch.snapshot and bool(policy_of(pod).filter(pod, left.nodes).feasible.any())

    found: list[Pod] = []
    wanted = {pod.uid for pod in pods if pod.preempts and not pod.gang}
    for group in batch.groups if wanted else ():
        alike = [pod for pod in group.pods if pod.uid in wanted]
        if alike and fits(alike[0]):
            found += alike
    return found
