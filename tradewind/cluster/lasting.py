"""What does not change once it is made keeps what was made of it."""

from collections.abc import Callable, Hashable
from functools import cached_property
from typing import Any, ClassVar, Self, TypeVar, TypeVarTuple

Value = TypeVar("Value")
Parameters = TypeVarTuple("Parameters")


class Lasting:
    """Nobody may change it, nor what was made of it; any number of threads may ask."""

    # A column of 15,000 nodes has 120 kB. Pods of one workload ask alike, mostly one after the other.
    most_kept: ClassVar[int] = 128

    def derived(self, make: Callable[[Self, *Parameters], Value], *parameters: *Parameters) -> Value:
        """`make(self, *parameters)`, made once; the parameters must be hashable."""
        key = (make, *parameters)
        value: Value | None = self._derived.get(key)
        if value is None:  # two threads may both make it, to the same end
            if len(self._derived) >= self.most_kept:
                self._derived.clear()
            value = self._derived[key] = make(self, *parameters)
        return value

    @cached_property
    def _derived(self) -> dict[Hashable, Any]:
        return {}
