"""What every kind of preference between classes of pods can do: a `Relation` with dollars, not limits."""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tradewind.cluster.snapshot import Amounts
from tradewind.planner.relations.relation import Codes, ExactModel, Variable, distinct


class Charge(NamedTuple):
    """A part of the objective of an exact model."""

    dollars: float
    most: int  # that `amount` can be
    amount: Variable


class PreferenceTally(ABC):
    """The pods that a preference is about. Those outside of all domains are in a last place."""

    @abstractmethod
    def count(self, index: int, rows: Codes | int, pods: Amounts | int) -> None:
        """So many pods more of the class on these rows, fewer where negative."""

    @abstractmethod
    def marginal(self, index: int) -> NDArray[np.float64]:
        """(N,) dollars an hour that one more pod of the class adds there; negative where it saves some."""

    @abstractmethod
    def total(self) -> float:
        """Dollars an hour of all pods that are counted."""

    @abstractmethod
    def charges(self, window: ExactModel) -> Iterator[Charge]:
        """The total of the final state, but for domains in which it cannot change."""

    @abstractmethod
    def sees(self, row: int) -> Hashable:
        """What tells the node from others, as for `Tally`."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Preference(ABC):
    """What pods of `bearer` want of pods in their domain, those of `counted` and those placed before."""

    codes: Codes
    existing: Amounts  # (D,) pods placed before
    bearer: int
    counted: frozenset[int]
    dollars: float  # an hour, for each time that it is missed

    @property
    def itself(self) -> bool:
        return self.bearer in self.counted

    @cached_property
    def one_node(self) -> bool:
        return distinct(self.codes)

    def members(self) -> frozenset[int]:
        return self.counted | {self.bearer}

    @abstractmethod
    def tally(self) -> PreferenceTally: ...


def upper(base: int, variables: list[Variable], capacity: int) -> int:
    """The most that a number of placed pods, and these variables, can add up to."""
    return base + min(sum(int(each.proto.domain[1]) for each in variables), capacity)
