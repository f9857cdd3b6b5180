"""The newest decisions as sentences, and who among them somebody looks for."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from tradewind.cluster.cache import Cache
from tradewind.cluster.objects import Pod
from tradewind.explain.decisions import Decision, Decisions
from tradewind.explain.explanation import explain

MOST = 100  # on one page


def chose_otherwise(decision: Decision, pod: Pod | None) -> bool:
    """Whether kube-scheduler put it on a node that was not among the best here, or not on the planned one."""
    ranking = decision.ranking
    if pod is None or not pod.node_name or ranking is None:
        return False
    row = ranking.row_of(pod.node_name)
    if ranking.planned is not None:
        return row != ranking.planned
    if row is None:
        return ranking.best_count <= len(ranking.names)  # else it may be one of many that are alike
    return bool(ranking.ranks[row] > 1)


def _refused(decision: Decision) -> bool:
    return decision.filtering is not None and not decision.filtering.passed


# What to show, in the words of the form.
KINDS: Mapping[str, tuple[str, Callable[[Decision, Pod | None], bool]]] = {
    "all": ("all", lambda _decision, _pod: True),
    "refused": ("every node rejected", lambda decision, _pod: _refused(decision)),
    "rejected": (
        "some nodes rejected",
        lambda decision, _pod: decision.filtering is not None and bool(decision.filtering.rejected),
    ),
    "otherwise": ("kube-scheduler chose otherwise", chose_otherwise),
    "planned": ("planned", lambda decision, _pod: decision.plan is not None),
    "aside": ("Tradewind stood aside", lambda decision, _pod: bool(decision.failed_open)),
}


@dataclass(frozen=True, kw_only=True)
class Told:
    namespace: str
    name: str
    at: float
    sentence: str
    marks: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class Stream:
    told: Sequence[Told]
    found: int
    kept: int
    namespaces: Sequence[str]


def stream(decisions: Decisions, cache: Cache, *, kind: str, namespace: str) -> Stream:
    kept = decisions.newest()
    known = {pod.uid: pod for pod in cache.pods([decision.uid for _, decision in kept])}
    wanted = KINDS[kind][1]
    found = [
        (key, decision, known.get(decision.uid))
        for key, decision in kept
        if (not namespace or key[0] == namespace) and wanted(decision, known.get(decision.uid))
    ]
    return Stream(
        told=[_told(*each) for each in islice(found, MOST)],
        found=len(found),
        kept=len(kept),
        namespaces=sorted({key[0] for key, _ in kept}),
    )


def _told(key: tuple[str, str], decision: Decision, pod: Pod | None) -> Told:
    named = "/".join(key)
    sentences = explain(named, decision, pod).sentences
    marks = [
        words
        for kind, (words, holds) in KINDS.items()
        if kind not in {"all", "rejected"} and holds(decision, pod)
    ]
    return Told(
        namespace=key[0],
        name=key[1],
        at=decision.decided_at,
        sentence=sentences[0] if sentences else f"{named} was asked about.",
        marks=marks,
    )
