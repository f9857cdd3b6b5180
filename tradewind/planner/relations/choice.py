from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tradewind.cluster.snapshot import Amounts
from tradewind.planner.relations.relation import Codes, ExactModel, Relation, Tally


@dataclass(frozen=True, kw_only=True, eq=False)
class Choice(Relation):
    """At most `max_pods` pods of these classes are placed at all."""

    alternatives: ClassVar[bool] = True

    name: str
    classes: frozenset[int]
    max_pods: int

    def members(self) -> frozenset[int]:
        return self.classes

    def tally(self) -> "_Choice":
        return _Choice(self)


class _Choice(Tally):
    def __init__(self, relation: Choice) -> None:
        self._relation = relation
        self._count = 0

    @property
    def _left(self) -> int:
        return self._relation.max_pods - self._count

    def count(self, index: int, rows: Codes | int, pods: Amounts | int) -> None:  # noqa: ARG002  all alike
        self._count += int(np.sum(pods))

    def admit(self, index: int, room: Amounts) -> None:  # noqa: ARG002  all alike
        np.minimum(room, self._left, out=room)

    def limit(self, index: int, pods: int) -> int:  # noqa: ARG002  all alike
        return min(pods, self._left)

    def constrain(self, window: ExactModel) -> None:
        pods = sum(variable for _, variable in window.placed(self._relation.classes))
        window.model.add(pods <= max(self._left, 0))

    def exhausted(self) -> str:
        if self._left > 0:
            return ""
        return f"another of the alternatives {self._relation.name} has a place"
