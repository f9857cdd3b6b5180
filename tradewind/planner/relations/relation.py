"""What every kind of relation between classes of pods can do.

A `Relation` is data, which can be sent to the solvers' process. Its `Tally` counts the pods of one placement
in the making. All that an engine asks of a relation is a method here, so that no engine knows the kinds.
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from tradewind.cluster.snapshot import Amounts
from tradewind.cluster.table import Rows

Codes = Rows  # (N,) the domain of each node, -1 outside of all
Variable = Any  # of CP-SAT, which only the solvers' process loads

_NOBODY: frozenset[int] = frozenset()


class Gate(Protocol):
    """A relation while the pods of one class are placed one after another; see `tradewind.planner.lanes`."""

    places: Codes  # (N,) what it tells nodes apart by

    def shut(self, place: int) -> bool: ...

    def take(self, place: int) -> bool:
        """Count one pod more; whether places that were shut may be open now."""


class WaveCheck(Protocol):
    """A relation while a wave of pods is put together that are bound in any order."""

    def admit(self, index: int, row: int, pods: int) -> int:
        """How many of these pods of the class may join the wave."""

    def book(self, index: int, row: int, pods: int) -> None: ...


class ExactModel(Protocol):
    """What a relation adds its constraints to: a variable for each class on each node of a window."""

    model: Any  # CpModel
    pods: int  # that may be placed at most

    def placed(self, classes: Iterable[int]) -> list[tuple[int, Variable]]:
        """The variables of these classes, each with its row."""

    def by_domain(self, codes: Codes, classes: Iterable[int]) -> dict[int, list[Variable]]: ...

    def any(self, variables: Sequence[Variable]) -> Variable:
        """True as soon as one of them is above zero."""


class Tally(ABC):
    """The pods that a relation counts. Those outside of all domains are in a last place that nobody reads."""

    @abstractmethod
    def count(self, index: int, rows: Codes | int, pods: Amounts | int) -> None:
        """So many pods more of the class on these rows, fewer where negative."""

    @abstractmethod
    def admit(self, index: int, room: Amounts) -> None:
        """Lower `room` (N,) to the pods of the class that each node alone could take now, or below 0."""

    @abstractmethod
    def constrain(self, window: ExactModel) -> None:
        """Make the relation hold for the final state, on top of what is counted already."""

    def admit_across(self, index: int, room: Amounts) -> None:
        """The same without what pods of the class do to each other across nodes; that is for `gate`."""
        self.admit(index, room)

    def limit(self, index: int, pods: int) -> int:  # noqa: ARG002  most relations have none
        """How many of `pods` may be placed before everything is looked at again."""
        return pods

    def gather(self, index: int, room: Amounts, pods: int) -> None:  # noqa: B027  most relations need not
        """Leave no room where a first pod of the class would keep the others of `pods` from following it."""

    def gate(self, index: int) -> Gate | None:  # noqa: ARG002  the same
        """What `admit_across` left out."""
        return None

    def wave(self) -> WaveCheck:
        """For a wave on top of what is counted now; asked of relations that are `ordered`."""
        raise NotImplementedError

    def sees(self, row: int) -> Hashable:  # noqa: ARG002  the same
        """What tells the node from others: its domain, or where that is the node alone, what is there."""
        return ()

    def exhausted(self) -> str:
        """Why no pod more of its classes has a place on whichever node; empty while one may."""
        return ""


@dataclass(frozen=True, kw_only=True, eq=False)
class Relation(ABC):
    ordered: ClassVar[bool] = False  # whether a pod that is bound can open nodes to others
    alternatives: ClassVar[bool] = False  # whether some of its pods are meant to stay without a place

    source: str = ""  # the rule that it comes from and its reason, for people

    @abstractmethod
    def members(self) -> frozenset[int]:
        """The classes that it counts or restricts."""

    @abstractmethod
    def tally(self) -> Tally: ...

    def anchors(self) -> frozenset[int]:
        """Classes that come before `dependents`, which can go only where these are."""
        return _NOBODY

    def dependents(self) -> frozenset[int]:
        return _NOBODY

    def first(self) -> frozenset[int]:
        """Classes of which the first pod decides where the others go."""
        return _NOBODY


def distinct(codes: Codes) -> bool:
    """Whether no two nodes share a domain."""
    inside = codes[codes >= 0]
    return int(inside.max(initial=-1)) + 1 == inside.size


def padded(counts: Amounts) -> Amounts:
    """With a last place for code -1."""
    return np.append(counts, 0)
