"""The placed pods of each workload, and which workloads changed: work in proportion to what changed."""

from collections.abc import Iterable, Mapping

from tradewind.cluster.objects import Pod


class Replicas:
    """Not for several threads: the cache keeps it, under its lock."""

    def __init__(self, pods: Iterable[Pod]) -> None:
        self._placed: dict[str, dict[str, Pod]] = {}
        self._changed: set[str] = set()
        for pod in pods:
            self.replace(None, pod)

    def replace(self, before: Pod | None, pod: Pod) -> None:
        if before is not None:
            self.remove(before)
        if pod.workload and pod.node_name and not pod.finished and not pod.deleting:
            self._placed.setdefault(pod.workload, {})[pod.uid] = pod
            self._changed.add(pod.workload)

    def remove(self, pod: Pod) -> None:
        replicas = self._placed.get(pod.workload, {})
        if replicas.pop(pod.uid, None) is None:
            return
        self._changed.add(pod.workload)
        if not replicas:
            del self._placed[pod.workload]

    def mark(self, workloads: Iterable[str]) -> None:
        """Something else about them has changed."""
        self._changed.update(workloads)

    def take(self, *, all_of_them: bool) -> Mapping[str, list[Pod]]:
        """By workload, those that changed since the last call."""
        wanted = self._placed.keys() if all_of_them else self._changed & self._placed.keys()
        taken = {workload: list(self._placed[workload].values()) for workload in wanted}
        self._changed.clear()
        return taken
