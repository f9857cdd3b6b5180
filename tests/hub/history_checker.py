"""Judges a fleet's history without the scheduler: did running replicas leave a site without a cause?

A history is what an API server saw: bindings as they were written, and sites as they came, changed and went.
Causes are what Karmada's contract allows.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

Spec = Mapping[str, Any]


@dataclass(frozen=True)
class Loss:
    binding: str
    site: str
    before: int
    after: int
    time: float


@dataclass
class History:
    """Fed in the order of time; `losses` are those without a cause."""

    labels: dict[str, Mapping[str, str]] = field(default_factory=dict)  # of the sites that are there
    unplaced: dict[tuple[str, str], int] = field(
        default_factory=dict
    )  # pods without a node, by binding and site
    losses: list[Loss] = field(default_factory=list)
    removals: int = 0
    _decided: dict[str, Spec] = field(default_factory=dict)  # what was asked when it was decided last

    def site(self, name: str, labels: Mapping[str, str]) -> None:
        self.labels[name] = labels

    def site_gone(self, name: str) -> None:
        self.labels.pop(name, None)

    def written(self, binding: str, before: Spec, after: Spec, time: float) -> None:
        """By the scheduler: anybody else's change of the clusters is its own cause."""
        asked = self._decided.get(binding, before)
        self._decided[binding] = after
        for site, had, has in _fewer(before, after):
            self.removals += 1
            if not self._allowed(binding, site, had - has, asked, after):
                self.losses.append(Loss(binding, site, had, has, time))

    def _allowed(self, binding: str, site: str, fewer: int, asked: Spec, after: Spec) -> bool:
        if site not in self.labels or not _selects(after["placement"], self.labels[site]):
            return True
        if asked["placement"] != after["placement"]:
            return True
        if asked.get("rescheduleTriggeredAt") != after.get("rescheduleTriggeredAt"):
            return True
        if after["replicas"] < _total(asked):
            return True
        kind = after["placement"].get("replicaScheduling", {}).get("replicaSchedulingType")
        return kind == "Divided" and fewer <= self.unplaced.get((binding, site), 0)


def _total(spec: Spec) -> int:
    """What was asked before: of a duplicated workload on each site."""
    return int(spec["replicas"])


def _fewer(before: Spec, after: Spec) -> Iterator[tuple[str, int, int]]:
    now = {each["name"]: each.get("replicas", 0) for each in after.get("clusters") or ()}
    for each in before.get("clusters") or ():
        had = each.get("replicas", 0)
        if each["name"] not in now or now[each["name"]] < had:
            yield each["name"], had, now.get(each["name"], 0)


def _selects(placement: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    wanted = placement.get("clusterAffinity", {}).get("labelSelector", {}).get("matchLabels", {})
    return all(labels.get(key) == value for key, value in wanted.items())
