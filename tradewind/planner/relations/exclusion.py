from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tradewind.cluster.snapshot import Amounts
from tradewind.planner.relations.relation import Codes, ExactModel, Gate, Relation, Tally, Variable, distinct


@dataclass(frozen=True, kw_only=True, eq=False)
class Exclusion(Relation):
    """No pod of a class in `left` shares a domain with another pod of a class in `right`."""

    codes: Codes
    left: frozenset[int]
    right: frozenset[int]

    @cached_property
    def one_node(self) -> bool:
        return distinct(self.codes)

    def members(self) -> frozenset[int]:
        return self.left | self.right

    def tally(self) -> "_Exclusion":
        return _Exclusion(self)


class _Exclusion(Tally):
    def __init__(self, relation: Exclusion) -> None:
        self._relation = relation
        size = int(relation.codes.max(initial=-1)) + 2
        self._left, self._right = np.zeros(size, np.int64), np.zeros(size, np.int64)

    def count(self, index: int, rows: Codes | int, pods: Amounts | int) -> None:
        codes = self._relation.codes[rows]
        if index in self._relation.left:
            np.add.at(self._left, codes, pods)
        if index in self._relation.right:
            np.add.at(self._right, codes, pods)
        self._left[-1] = self._right[-1] = 0

    def admit(self, index: int, room: Amounts) -> None:
        codes = self._relation.codes
        if index in self._relation.left:
            room[self._right[codes] > 0] = 0
        if index in self._relation.right:
            room[self._left[codes] > 0] = 0
        if self._apart_from_itself(index):
            inside = codes >= 0
            room[inside] = np.minimum(room[inside], 1)

    def gate(self, index: int) -> Gate | None:
        if self._relation.one_node or not self._apart_from_itself(index):
            return None
        return _OncePerDomain(self._relation.codes)

    def sees(self, row: int) -> Hashable:
        code = int(self._relation.codes[row])
        if not self._relation.one_node:
            return code
        return int(self._left[code]), int(self._right[code]), code < 0

    def constrain(self, window: ExactModel) -> None:
        lefts = window.by_domain(self._relation.codes, self._relation.left)
        rights = window.by_domain(self._relation.codes, self._relation.right)
        for code in lefts.keys() | rights.keys():
            left, right = lefts.get(code, []), rights.get(code, [])
            if self._left[code]:
                window.model.add(sum(right) == 0)
            if self._right[code]:
                window.model.add(sum(left) == 0)
            if left and right:
                self._one_side(window, left, right)

    def _one_side(self, window: ExactModel, left: list[Variable], right: list[Variable]) -> None:
        """In one domain there are none of the left, none of the right, or one pod that is of both."""
        model = window.model
        if self._relation.left == self._relation.right:
            model.add(sum(left) <= 1)
            return
        no_left, no_right = model.new_bool_var(""), model.new_bool_var("")
        model.add(sum(left) == 0).only_enforce_if(no_left)
        model.add(sum(right) == 0).only_enforce_if(no_right)
        modes = [no_left, no_right]
        if self._relation.left & self._relation.right:
            alone = model.new_bool_var("")
            modes.append(alone)
            everybody = {id(variable): variable for variable in (*left, *right)}.values()
            model.add(sum(everybody) <= 1).only_enforce_if(alone)
        model.add_bool_or(modes)

    def _apart_from_itself(self, index: int) -> bool:
        return index in self._relation.left and index in self._relation.right


class _OncePerDomain:
    def __init__(self, codes: Codes) -> None:
        self.places = codes
        self._taken: set[int] = set()

    def shut(self, place: int) -> bool:
        return place in self._taken

    def take(self, place: int) -> bool:
        if place >= 0:
            self._taken.add(place)
        return False
