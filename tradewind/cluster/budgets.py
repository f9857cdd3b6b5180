"""PodDisruptionBudgets: how many pods may be evicted."""

import math
from collections import defaultdict
from collections.abc import Iterable

import msgspec

from tradewind.cluster.objects import Pod
from tradewind.cluster.selectors import Selector, matches, selector_of
from tradewind.cluster.wire import BudgetObject, BudgetSpec
from tradewind.errors import UnreadableObjectError
from tradewind.kube.objects import UNREADABLE


class Budget(msgspec.Struct, frozen=True, gc=False):
    namespace: str
    name: str
    selector: Selector | None
    allowed: int | None = None  # evictions, as its controller last counted; None where it did not yet
    min_available: int | str | None = None
    max_unavailable: int | str | None = None
    healthy: int = 0  # pods, as its controller last counted

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"

    def covers(self, pod: Pod) -> bool:
        return pod.namespace == self.namespace and matches(self.selector, pod.labels)

    def evictions(self, pods: Iterable[Pod]) -> int:
        """How many of the pods that it covers may be evicted now; `pods` are those on nodes.

        Counted as its controller would where nothing else is known: those that are Ready as healthy, and as
        many wanted as there are.
        """
        if self.allowed is not None:
            return self.allowed
        ready = [pod.ready for pod in pods if self.covers(pod)]
        healthy, covered = sum(ready), len(ready)
        if self.max_unavailable is not None:
            wanted = max(covered - _of(self.max_unavailable, covered), 0)
        else:
            wanted = covered if self.min_available is None else _of(self.min_available, covered)
        return max(healthy - wanted, 0)


class CoveringBudgets:
    """Which budgets cover a pod, without a look at each of thousands."""

    def __init__(self, budgets: Iterable[Budget]) -> None:
        self._of_label: defaultdict[tuple[str, str, str], list[Budget]] = defaultdict(list)
        self._others: defaultdict[str, list[Budget]] = defaultdict(list)  # that ask for no one label
        for budget in budgets:
            exact = next((each for each in budget.selector or () if each.operator == "In"), None)
            if exact is None:
                self._others[budget.namespace].append(budget)
                continue
            for value in exact.values or ():
                self._of_label[budget.namespace, exact.key, value].append(budget)

    def of(self, pod: Pod) -> list[Budget]:
        found = list(self._others.get(pod.namespace, ()))
        for key, value in pod.labels.items():
            found += self._of_label.get((pod.namespace, key, value), ())
        return [each for each in found if each.covers(pod)]


def read_budget(data: bytes | msgspec.Raw) -> Budget:
    try:
        found = msgspec.json.decode(data, type=BudgetObject)
        spec = found.spec or BudgetSpec()
        for value in (spec.min_available, spec.max_unavailable):
            _of(value or 0, 0)
    except (*UNREADABLE, ValueError) as error:
        raise UnreadableObjectError(f"{error} in a PodDisruptionBudget") from error
    if not found.metadata.name:
        raise UnreadableObjectError("a PodDisruptionBudget without metadata.name")
    return Budget(
        namespace=found.metadata.namespace or "default",
        name=found.metadata.name,
        selector=selector_of(spec.selector),
        allowed=found.status.disruptions_allowed if found.status else None,
        min_available=spec.min_available,
        max_unavailable=spec.max_unavailable,
        healthy=(found.status and found.status.current_healthy) or 0,
    )


def _of(value: int | str, total: int) -> int:
    """A number, or a percentage of the total, rounded up as Kubernetes does for both."""
    if isinstance(value, int):
        return value
    if not (value.endswith("%") and value[:-1].isascii() and value[:-1].isdigit()):
        raise ValueError(f'"{value}" is neither a number nor a percentage')
    return math.ceil(int(value[:-1]) * total / 100)
