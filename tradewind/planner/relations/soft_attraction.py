from collections.abc import Hashable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tradewind.cluster.snapshot import Amounts
from tradewind.planner.relations.preference import Charge, Preference, PreferenceTally, upper
from tradewind.planner.relations.relation import Codes, ExactModel, padded


@dataclass(frozen=True, kw_only=True, eq=False)
class SoftAttraction(Preference):
    """A pod of `bearer` pays where no other pod of `counted`, or placed before, shares its domain."""

    def tally(self) -> "_SoftAttraction":
        return _SoftAttraction(self)


class _SoftAttraction(PreferenceTally):
    def __init__(self, preference: SoftAttraction) -> None:
        self._preference = preference
        self._targets = padded(preference.existing)
        self._followers = np.zeros_like(self._targets)
        self._itself = int(preference.itself)  # targets that a follower sees when it is alone

    def count(self, index: int, rows: Codes | int, pods: Amounts | int) -> None:
        codes = self._preference.codes
        if index == self._preference.bearer:
            np.add.at(self._followers, codes[rows], pods)
        if index in self._preference.counted:
            np.add.at(self._targets, codes[rows], pods)
            self._targets[-1] = 0

    def marginal(self, index: int) -> NDArray[np.float64]:
        preference = self._preference
        added = np.zeros(self._targets.size)
        if index in preference.counted:
            added -= self._followers * (self._targets == self._itself)  # these have company now
            added[-1] = 0.0
        if index == preference.bearer:
            added += self._targets == 0
        return preference.dollars * added[preference.codes]

    def total(self) -> float:
        return self._preference.dollars * int(self._followers[self._targets <= self._itself].sum())

    def sees(self, row: int) -> Hashable:
        code = int(self._preference.codes[row])
        if not self._preference.one_node:
            return code
        return int(self._targets[code]), int(self._followers[code]), code < 0

    def charges(self, window: ExactModel) -> Iterator[Charge]:
        preference, model = self._preference, window.model
        following = window.by_domain(preference.codes, [preference.bearer])
        wanted = window.by_domain(preference.codes, sorted(preference.counted))
        for code in sorted(following.keys() | wanted.keys()):
            pods, targets = int(self._followers[code]), int(self._targets[code])
            here = following.get(code, [])
            most = upper(pods, here, window.pods)
            if targets > self._itself or not most:
                continue
            company, alone = model.new_bool_var(""), model.new_int_var(0, most, "")
            found = targets + sum(wanted.get(code, []))
            model.add(found >= 1 + self._itself).only_enforce_if(company)
            model.add(alone >= pods + sum(here)).only_enforce_if(~company)
            yield Charge(preference.dollars, most, alone)
        for row, variable in window.placed([preference.bearer]):
            if preference.codes[row] < 0:
                yield Charge(preference.dollars, upper(0, [variable], window.pods), variable)
