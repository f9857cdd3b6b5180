"""Derived values of immutable objects, computed once."""

from collections.abc import Callable, Hashable
from functools import cached_property
from typing import Any, ClassVar, Self, TypeVar, TypeVarTuple

Value = TypeVar("Value")
Parameters = TypeVarTuple("Parameters")


class Memoised:
    """Base of immutable objects that keep what was derived from them; any number of threads may ask."""

    # A column of 15,000 nodes has 120 kB. Pods of one workload ask alike, mostly one after the other.
    max_kept: ClassVar[int] = 128

    def derived(self, make: Callable[[Self, *Parameters], Value], *parameters: *Parameters) -> Value:
        """`make(self, *parameters)`, made once; the parameters must be hashable."""
        key = (make, *parameters)
        value: Value | None = self._derived.get(key)
        if value is None:  # two threads may both make it, to the same end
            if len(self._derived) >= self.max_kept:
                self._derived.clear()
            value = self._derived[key] = make(self, *parameters)
        return value

    @cached_property
    def _derived(self) -> dict[Hashable, Any]:
        return {}
