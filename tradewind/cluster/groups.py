"""Groups of equal pods, and an index that finds them by what a rule asks of them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from tradewind.cluster.constraints import PodTerm
from tradewind.cluster.selectors import Selector

_SPARE = 512  # labels of vanished groups that are never worth a new index

_Pair = tuple[str, str]


class PodGroup(msgspec.Struct, frozen=True, cache_hash=True, gc=False):
    namespace: str
    labels: tuple[_Pair, ...]
    anti_affinity: tuple[PodTerm, ...]
    owner_uid: str
    workload: str
    deleting: bool

    @property
    def size(self) -> int:
        """By its labels, of which a pod may have thousands."""
        return 1 + len(self.labels)


class GroupIndex:
    """Finds groups without a scan of all of them, of which there may be tens of thousands.

    An index only grows, so that snapshots share it with the writer and with each other. A caller looks up in
    its own snapshot which of the groups are there. An index with a `base` holds the groups that the base
    lacks: an overlay of a few pods costs as much as these pods.
    """

    def __init__(self, groups: Iterable[PodGroup] = (), base: "GroupIndex | None" = None) -> None:
        self._base = base
        self._known: dict[PodGroup, None] = {}
        self._size = 0
        self._by_namespace: dict[str, list[PodGroup]] = {}
        self._by_workload: dict[str, list[PodGroup]] = {}
        self._by_label: dict[_Pair, list[PodGroup]] = {}
        self._repelling: dict[_Pair | None, dict[PodTerm, list[PodGroup]]] = {}
        for group in groups:
            self.add(group)

    def add(self, group: PodGroup) -> None:
        if group in self._known:
            return
        self._known[group] = None
        self._size += group.size
        self._by_namespace.setdefault(group.namespace, []).append(group)
        self._by_workload.setdefault(group.workload, []).append(group)
        for pair in group.labels:
            self._by_label.setdefault(pair, []).append(group)
        for term in group.anti_affinity:
            for key in _pairs(term.selector):
                self._repelling.setdefault(key, {}).setdefault(term, []).append(group)

    def __contains__(self, group: PodGroup) -> bool:
        return group in self._known or (self._base is not None and group in self._base)

    def with_groups(self, groups: Iterable[PodGroup]) -> "GroupIndex":
        """An index that knows these groups too; one level above the index that only grows, never more."""
        if self._base is None:
            return GroupIndex(groups, base=self)
        return GroupIndex([*self._known, *groups], base=self._base)

    def worn_out(self, in_use: int) -> bool:
        """Whether most of what it knows is gone; `in_use` is the size of the groups that are there."""
        return self._size > 2 * in_use + _SPARE

    def candidates(self, selector: Selector | None, namespaces: Iterable[str] | None) -> Sequence[PodGroup]:
        """All groups that can match, and some that do not; `namespaces` None stands for any."""
        if selector is None:
            return ()
        narrowed = [
            [self._by_label.get((each.key, value), ()) for value in each.values or ()]
            for each in selector
            if each.operator == "In"
        ]
        if namespaces is not None:
            narrowed.append([self._by_namespace.get(namespace, ()) for namespace in namespaces])
        fewest = min(narrowed, key=lambda lists: sum(map(len, lists)), default=[tuple(self._known)])
        below = self._base.candidates(selector, namespaces) if self._base is not None else ()
        return [*below, *(group for groups in fewest for group in groups)]

    def of_workload(self, workload: str) -> Sequence[PodGroup]:
        """All groups of the pods of this workload, and some of which there are no pods any more."""
        own = self._by_workload.get(workload, ())
        return own if self._base is None else [*self._base.of_workload(workload), *own]

    def repelling(self, labels: Mapping[str, str]) -> Iterator[tuple[PodTerm, Sequence[PodGroup]]]:
        """Anti-affinity terms that can match a pod of these labels, with the groups that have them."""
        if self._base is not None:
            yield from self._base.repelling(labels)
        for key in (*labels.items(), None):
            # As a copy: the writer may add to it meanwhile.
            yield from tuple(self._repelling.get(key, {}).items())


def _pairs(selector: Selector | None) -> Sequence[_Pair | None]:
    """One of these pairs is among the labels of any pod that matches; None where no such pairs are known."""
    if selector is None:
        return ()
    exact = [each for each in selector if each.operator == "In"]
    if not exact:
        return (None,)
    narrowest = min(exact, key=lambda each: len(each.values or ()))
    return [(narrowest.key, value) for value in narrowest.values or ()]
