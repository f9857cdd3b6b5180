"""Who knows what was decided: this process alone, or several of which each knows its own decisions."""

from collections.abc import Callable, Sequence
from typing import Protocol

from tradewind.cluster.cache import Cache
from tradewind.explain.decisions import Decisions
from tradewind.explain.explanation import Explanation, explain
from tradewind.explain.origins import with_origins
from tradewind.market.quotes import Origins
from tradewind.page.stream import Stream, stream
from tradewind.runtime import identity


class Decided(Protocol):
    @property
    def replicas(self) -> Sequence[str]: ...  # whose decisions these are

    @property
    def troubles(self) -> Sequence[str]: ...  # of those that could not be asked

    def stream(self, *, kind: str, namespace: str) -> Stream: ...

    def explained(self, namespace: str, name: str) -> Explanation | None: ...


class OwnDecisions:
    """Those of this process."""

    troubles: Sequence[str] = ()

    def __init__(self, decisions: Decisions, cache: Cache, origins_of: Callable[[str], Origins]) -> None:
        self._decisions = decisions
        self._cache = cache
        self._origins_of = origins_of

    @property
    def replicas(self) -> Sequence[str]:
        return (identity.identity(),)

    def stream(self, *, kind: str, namespace: str) -> Stream:
        return stream(self._decisions, self._cache, kind=kind, namespace=namespace)

    def explained(self, namespace: str, name: str) -> Explanation | None:
        decision = self._decisions.find(namespace, name)
        if decision is None:
            return None
        known = self._cache.pods([decision.uid])
        told = explain(f"{namespace}/{name}", decision, known[0] if known else None)
        return with_origins(told, self._origins_of)
