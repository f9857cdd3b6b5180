"""Pods that controllers still owe, and that are like those of theirs that are there.

The pods of a StatefulSet are numbered. What others want was read. A controller may want 2,147,483,647 pods,
so only as many count as it can create soon.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from tradewind.cluster.objects import Pod

# For each pod that is there: a ReplicaSet creates twice as many pods each time.
_MOST = 4


def owed(pods: Iterable[Pod], wanted: Mapping[str, int]) -> Mapping[str, float]:
    """UIDs of pods to how many more are to come that are like this one.

    `wanted` are pods at the same time, by `Pod.controller`.
    """
    stateful: dict[str, list[Pod]] = defaultdict(list)
    controlled: dict[str, list[Pod]] = defaultdict(list)
    for pod in pods:
        if pod.deleting:
            continue
        if pod.owner is not None and pod.owner.kind == "StatefulSet":
            stateful[pod.workload].append(pod)
        elif pod.controller in wanted and not pod.finished:
            controlled[pod.controller].append(pod)
    missing = [(replicas, _gaps(replicas)) for replicas in stateful.values()]
    missing += [(there, wanted[name] - len(there)) for name, there in controlled.items()]
    return dict(_shared(missing))


def _shared(missing: Iterable[tuple[list[Pod], int]]) -> Iterator[tuple[str, float]]:
    """Those that are missing are as those that are there; a finished one is not made again."""
    for pods, count in missing:
        alive = [pod.uid for pod in pods if not pod.finished]
        if count > 0:
            yield from ((uid, min(count / len(alive), _MOST)) for uid in alive)


def _gaps(replicas: Iterable[Pod]) -> int:
    """Numbers between the lowest and the highest that no pod has; the highest goes first when it shrinks."""
    numbers = {int(end) for pod in replicas if (end := pod.name.rpartition("-")[2]).isdecimal()}
    return max(numbers) - min(numbers) + 1 - len(numbers) if numbers else 0
