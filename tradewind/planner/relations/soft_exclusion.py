from collections.abc import Hashable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tradewind.cluster.snapshot import Amounts
from tradewind.planner.relations.preference import Charge, Preference, PreferenceTally, upper
from tradewind.planner.relations.relation import Codes, ExactModel, Variable, padded


@dataclass(frozen=True, kw_only=True, eq=False)
class SoftExclusion(Preference):
    """Each pair of a pod of `bearer` and another of `counted`, or placed before, pays in a shared domain.

    So the cost of a domain grows with the square of its pods, and spreading evenly costs least.
    """

    outside: float = 0.0  # dollars an hour of a bearer outside of all domains

    def tally(self) -> "_SoftExclusion":
        return _SoftExclusion(self)


class _SoftExclusion(PreferenceTally):
    def __init__(self, preference: SoftExclusion) -> None:
        self._preference = preference
        self._others = padded(preference.existing)  # that a bearer minds, but for other bearers
        self._bearers = np.zeros_like(self._others)

    def count(self, index: int, rows: Codes | int, pods: Amounts | int) -> None:
        codes = self._preference.codes
        if index == self._preference.bearer:
            np.add.at(self._bearers, codes[rows], pods)
        elif index in self._preference.counted:
            np.add.at(self._others, codes[rows], pods)
            self._others[-1] = 0

    def marginal(self, index: int) -> NDArray[np.float64]:
        preference = self._preference
        minded = self._bearers
        if index == preference.bearer:
            minded = self._others + self._bearers * preference.itself
        added = preference.dollars * minded.astype(np.float64)
        added[-1] = preference.outside if index == preference.bearer else 0.0
        return added[preference.codes]

    def total(self) -> float:
        preference, bearers = self._preference, self._bearers[:-1]
        pairs = int(bearers @ self._others[:-1])
        if preference.itself:
            pairs += int(bearers @ (bearers - 1)) // 2
        return preference.dollars * pairs + preference.outside * int(self._bearers[-1])

    def sees(self, row: int) -> Hashable:
        code = int(self._preference.codes[row])
        if not self._preference.one_node:
            return code
        return int(self._others[code]), int(self._bearers[code]), code < 0

    def charges(self, window: ExactModel) -> Iterator[Charge]:
        preference = self._preference
        bearing = window.by_domain(preference.codes, [preference.bearer])
        minded = window.by_domain(preference.codes, sorted(preference.counted - {preference.bearer}))
        for code in sorted(bearing.keys() | minded.keys()):
            yield from self._of_domain(window, code, bearing.get(code, []), minded.get(code, []))
        if preference.outside:
            for row, variable in window.placed([preference.bearer]):
                if preference.codes[row] < 0:
                    yield Charge(preference.outside, upper(0, [variable], window.pods), variable)

    def _of_domain(
        self, window: ExactModel, code: int, bearing: list[Variable], minded: list[Variable]
    ) -> Iterator[Charge]:
        preference = self._preference
        pods, others = int(self._bearers[code]), int(self._others[code])
        most_pods, most_others = upper(pods, bearing, window.pods), upper(others, minded, window.pods)
        if most_pods and most_others:
            product = window.model.new_int_var(0, most_pods * most_others, "")
            factors = [pods + sum(bearing), others + sum(minded)]
            window.model.add_multiplication_equality(product, factors)
            yield Charge(preference.dollars, most_pods * most_others, product)
        if preference.itself and bearing and most_pods > 1:
            pairs = window.model.new_int_var(0, most_pods * (most_pods - 1) // 2, "")
            for number in range(1, most_pods):
                window.model.add(pairs >= number * (pods + sum(bearing)) - number * (number + 1) // 2)
            yield Charge(preference.dollars, most_pods * (most_pods - 1) // 2, pairs)
