"""Pods without a node, and whether they are all that is to come."""

from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping

from tradewind.cluster.objects import Pod

# Pods keep coming until none came for this long, or for so many times as long as they came apart lately.
_PAUSE_SECONDS = 0.1
_PAUSE_GAPS = 3.0
_LATELY_SECONDS = 1.0


class Waiting:
    """By UID. For one thread at a time."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._pods: dict[str, Pod] = {}
        self._requests: Counter[str] = Counter()  # of those that kube-scheduler is free to place
        self._lately: deque[float] = deque()  # when such a pod came

    def __contains__(self, uid: str) -> bool:
        return uid in self._pods

    def __len__(self) -> int:
        return len(self._pods)

    def __iter__(self) -> Iterator[Pod]:
        return iter(self._pods.values())

    def put(self, pod: Pod) -> bool:
        """Whether it is one more for a planner: new, or kube-scheduler took its nomination back."""
        before = self._pods.get(pod.uid)
        self._count(before, pod)
        self._pods[pod.uid] = pod
        return before is None or bool(before.nominated and not pod.nominated)

    def drop(self, uid: str) -> None:
        self._count(self._pods.pop(uid, None), None)

    def to_come(self) -> Mapping[str, int] | None:
        """What the pods that wait ask for; None while more of them come than can be told."""
        now = self._clock()
        while self._lately and self._lately[0] <= now - _LATELY_SECONDS:
            self._lately.popleft()
        gap = _LATELY_SECONDS / max(len(self._lately), 1)
        if self._lately and now - self._lately[-1] < max(_PAUSE_SECONDS, _PAUSE_GAPS * gap):
            return None
        return +self._requests

    def _count(self, before: Pod | None, after: Pod | None) -> None:
        if before is not None and _free(before):
            self._requests.subtract(before.requests)
        if after is not None and _free(after):
            self._requests.update(after.requests)
            if before is None or not _free(before):
                self._lately.append(self._clock())


def _free(pod: Pod) -> bool:
    """No gate holds it and no plan sends it."""
    return not (pod.gates or pod.nominated)
