"""What a rule is. Each is a frozen dataclass whose fields are its parameters."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import lru_cache
from typing import ClassVar, NamedTuple, Protocol

from tradewind.cluster import lazy_numpy as np
from tradewind.cluster.lazy_numpy import NDArray
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Amounts, Nodes, frozen

Mask = NDArray["np.bool_"]
Scores = NDArray["np.float64"]


class Filter(Protocol):
    """Which nodes may take the pod. Nobody changes the answer, which may be shared.

    One whose answer depends on other pods is a `ResourceFilter` if only what they leave free counts, else a
    `scoring.pod_filter.PodFilter`: it tells the planner what that means for pods that are placed together.
    """

    name: ClassVar[str]  # key in the configuration, label in the metrics
    reason: ClassVar[str]  # what people read in the pod's events: one constant sentence, nothing that varies
    resolvable: ClassVar[bool]  # could evicting pods make the node pass?

    def feasible(self, pod: Pod, nodes: Nodes) -> Mask: ...


class Account(NamedTuple):
    """What the pods on a node share: of a resource its allocatable, or for their limits a multiple of it."""

    resource: str
    overcommit: float = 0.0  # 0 is the account of the requests


class ResourceFilter(ABC):
    """A filter on what the pods on the node leave; the planner keeps the accounts itself."""

    name: ClassVar[str]
    reason: ClassVar[str]
    resolvable: ClassVar[bool]

    @abstractmethod
    def feasible(self, pod: Pod, nodes: Nodes) -> Mask: ...

    @abstractmethod
    def needs(self, pod: Pod, nodes: Nodes) -> Mapping[Account, int]:
        """What the pod takes from each account, and so must find there; nothing where the rule gives way."""

    @abstractmethod
    def left(self, account: Account, nodes: Nodes) -> Amounts:
        """(N,) what is left on the account."""


class InTree:
    """Marks a filter that kube-scheduler has applied itself by the time it asks.

    kube-scheduler's state is at least as new as ours, and a node that we reject because our watch is behind
    leaves the pod pending with nothing to wake it. So requests are checked by these again only where the
    configuration says `recheck`, for a kube-scheduler that runs without the plugin.
    """


class Hint:
    """Of a filter that means nothing to a pod without annotations and gang, unless a hint of another speaks
    of it: `Policy` asks it about no other pods, so that these cost nothing.
    """


class Scorer(Protocol):
    """How good each node is for the pod: (N,) in [0, 1], higher is better; the answer may be shared too."""

    name: ClassVar[str]

    def score(self, pod: Pod, nodes: Nodes) -> Scores: ...


@lru_cache(maxsize=64)
def all_nodes(count: int) -> Mask:
    """(N,) the answer of a filter that rejects none of `count` nodes: always the same mask."""
    return frozen(np.ones(count, np.bool_))


@lru_cache(maxsize=64)
def no_nodes(count: int) -> Mask:
    """(N,) the answer of a filter that rejects all of `count` nodes."""
    return frozen(np.zeros(count, np.bool_))


@lru_cache(maxsize=64)
def uniform(count: int, score: float) -> Scores:
    """(N,) the answer of a scorer that prefers none of `count` nodes."""
    return frozen(np.full(count, score))
