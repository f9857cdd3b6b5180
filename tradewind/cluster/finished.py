"""Members of gangs that have finished on a node: by them a gang is known to have been placed before."""

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from tradewind.cluster.objects import Pod
from tradewind.cluster.roster import RosterWriter, gang_run

# Of one namespace; beyond this the oldest is forgotten. Quotas need not count finished pods.
MAX_PER_NAMESPACE = 4096


class FinishedPod(NamedTuple):
    """Of the same size whatever the pod's author wrote."""

    uid: str
    namespace: str = ""
    run: bytes = b""  # nothing for a pod that says nothing of a gang


def finished_pod(pod: Pod) -> FinishedPod:
    counts = pod.gang and pod.node_name and pod.finished and not pod.deleting
    return FinishedPod(pod.uid, pod.namespace, gang_run(pod)) if counts else FinishedPod(pod.uid)


class FinishedMembers:
    """Counts them in a roster."""

    def __init__(self, roster: RosterWriter) -> None:
        self._roster = roster
        self._members: dict[str, FinishedPod] = {}  # by UID
        self._of: dict[str, dict[str, None]] = defaultdict(dict)  # their UIDs by namespace, the oldest first

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def put(self, pod: FinishedPod) -> bool:
        """Whether anything changed."""
        if self._members.get(pod.uid, FinishedPod(pod.uid)) == pod:
            return False
        self.drop(pod.uid)
        if pod.run:
            self._members[pod.uid] = pod
            own = self._of[pod.namespace]
            own[pod.uid] = None
            self._roster.count_finished(pod.run, 1)
            if len(own) > MAX_PER_NAMESPACE:
                self.drop(next(iter(own)))
        return True

    def drop(self, uid: str) -> bool:
        pod = self._members.pop(uid, None)
        if pod is None:
            return False
        self._roster.count_finished(pod.run, -1)
        own = self._of[pod.namespace]
        del own[uid]
        if not own:
            del self._of[pod.namespace]
        return True
