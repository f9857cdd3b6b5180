from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tradewind.cluster.snapshot import Amounts
from tradewind.planner.relations.relation import Codes, ExactModel, Gate, Relation, Tally, distinct, padded


@dataclass(frozen=True, kw_only=True, eq=False)
class Cap(Relation):
    """At most `max_pods` pods of these classes in a domain, any number outside of the domains."""

    codes: Codes
    existing: Amounts  # (D,)
    classes: frozenset[int]
    max_pods: int

    @cached_property
    def one_node(self) -> bool:
        return distinct(self.codes)

    def members(self) -> frozenset[int]:
        return self.classes

    def tally(self) -> "_Cap":
        return _Cap(self)


class _Cap(Tally):
    def __init__(self, relation: Cap) -> None:
        self._relation = relation
        self._counts = padded(relation.existing)

    def count(self, index: int, rows: Codes | int, pods: Amounts | int) -> None:  # noqa: ARG002  all alike
        np.add.at(self._counts, self._relation.codes[rows], pods)

    def admit(self, index: int, room: Amounts) -> None:  # noqa: ARG002  all alike
        codes = self._relation.codes
        np.minimum(room, self._relation.max_pods - self._counts[codes], out=room, where=codes >= 0)

    def gate(self, index: int) -> Gate | None:  # noqa: ARG002  all alike
        if self._relation.one_node:
            return None
        return _UpToMax(self._relation.codes, self._relation.max_pods - self._counts)

    def sees(self, row: int) -> Hashable:
        code = int(self._relation.codes[row])
        return (int(self._counts[code]), code < 0) if self._relation.one_node else code

    def constrain(self, window: ExactModel) -> None:
        for code, pods in window.by_domain(self._relation.codes, self._relation.classes).items():
            window.model.add(sum(pods) <= max(self._relation.max_pods - int(self._counts[code]), 0))


class _UpToMax:
    def __init__(self, codes: Codes, left: Amounts) -> None:
        self.places = codes
        self._left: list[int] = left.tolist()

    def shut(self, place: int) -> bool:
        return place >= 0 and self._left[place] <= 0

    def take(self, place: int) -> bool:
        self._left[place] -= 1
        return False
