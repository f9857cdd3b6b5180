"""Filters whose answer depends on which other pods are where, and how they tell the planner so.

On the request path such a filter is as any other. The planner places many pods at once, so it must know how
their places depend on each other: the filter describes that in `relate`, in terms that the planner knows.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Protocol

from scoring.rules import Mask, all_nodes
from scoring.topology import PodTable, SpreadDomains
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Amounts, Cluster, Nodes
from tradewind.cluster.table import Rows


@dataclass(frozen=True, eq=False)
class Waiting:
    """The pods of a batch, in classes of equal pods that are known by their number."""

    pods: Sequence[Pod]  # one of each class
    counts: Sequence[int]  # how many each class has
    subject: frozenset[int]  # classes that the filter is in force for

    @cached_property
    def table(self) -> PodTable:
        return PodTable(self.pods)


class Relations(Protocol):
    """What a filter can tell the planner. `codes` is the domain of each node, -1 outside of all."""

    def exclude(self, codes: Rows, left: Iterable[int], right: Iterable[int]) -> None:
        """No pod of a class in `left` shares a domain with another pod of a class in `right`."""

    def attract(
        self,
        codes: Sequence[Rows],
        existing: Sequence[Amounts],
        *,
        followers: Iterable[int],
        targets: Iterable[int],
    ) -> None:
        """Followers go where targets, or `existing` pods by domain, are: in a domain of each of the `codes`.

        Where there are none anywhere, a follower that is a target itself may be the first.
        """

    def spread(self, domains: SpreadDomains, bearer: int, counted: Iterable[int]) -> None:
        """The bearer's pods go where `domains` leaves headroom; these classes are counted there."""

    def cap(self, codes: Rows, existing: Amounts, classes: Iterable[int], max_pods: int) -> None:
        """At most so many pods of these classes, and `existing` ones, in a domain; no limit outside."""

    def choose(self, name: str, classes: Iterable[int], max_pods: int) -> None:
        """At most so many pods of these classes, which are alternatives of that name, have a place at all."""

    def keep_durable(
        self, classes: Iterable[int], *, durable: int, total: int, required: Sequence[int]
    ) -> None:
        """Of n pods of these classes and the `total` placed ones, `required[n]` are on durable nodes."""


class PodFilter(ABC):
    """A `Filter` that looks at other pods, or at whose pod it is."""

    name: ClassVar[str]
    reason: ClassVar[str]
    resolvable: ClassVar[bool]

    @abstractmethod
    def feasible(self, pod: Pod, nodes: Nodes) -> Mask: ...

    @abstractmethod
    def relate(self, waiting: Waiting, nodes: Nodes, relations: Relations) -> None:
        """What `feasible` will say while the pods of the batch are bound, as relations of their classes."""

    def attainable(self, pod: Pod, nodes: Nodes) -> Mask:  # noqa: ARG002  for others to say
        """(N,) nodes that pass, or may pass once other pods are placed. Relations see to the rest."""
        return all_nodes(len(nodes))

    def label_keys(self, pods: Sequence[Pod], cluster: Cluster) -> Iterable[str]:  # noqa: ARG002  the same
        """Labels of pods that the filter looks at: pods that differ in no such label are of one class."""
        return ()

    def counts_workload(self, pod: Pod) -> bool:  # noqa: ARG002  the same
        """Whether it counts the pods of the pod's workload: those of others are not equal to them then."""
        return False

    def durable_replicas(self, pod: Pod, total: int) -> int:  # noqa: ARG002  the same
        """How many of the `total` replicas of the pod's workload it wants to stay on durable nodes."""
        return 0
