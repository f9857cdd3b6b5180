"""The first of pods that want to be with each other waits for another, if nobody says that none comes."""

import time
from collections.abc import Mapping

import pytest

from tests.builders import PodBuilder, offer_of, pod
from tests.controller.test_planning import held
from tradewind.cluster.cache import Cache
from tradewind.cluster.constraints import PodTerm
from tradewind.controller.first_ones import FirstOnes
from tradewind.planner import selection

_HOST = "kubernetes.io/hostname"


def _together(name: str, *, seconds: float = -3600.0) -> PodBuilder:
    """Young for as long as the tests run."""
    return held(name, seconds=seconds).label("app", "x").affinity(_HOST, {"app": "x"})


@pytest.mark.parametrize(
    ("tried", "others", "ready"),
    [
        pytest.param(_together("p"), [], False, id="alone"),
        pytest.param(_together("p"), [_together("q")], True, id="two of them"),
        pytest.param(_together("p"), [pod("q").label("app", "x").on("n")], True, id="one is bound"),
        pytest.param(
            _together("p"), [pod("q").label("app", "x").on("n").phase("Succeeded")], False, id="it is gone"
        ),
        pytest.param(_together("p"), [_together("q").namespace("other")], False, id="of another namespace"),
        pytest.param(_together("p", seconds=5), [], True, id="nobody came in time"),
        pytest.param(_together("p").owner("ReplicaSet", "x", "u"), [], True, id="its controller knows"),
        pytest.param(held("p").affinity(_HOST, {"app": "x"}), [], True, id="it is for others to come first"),
        pytest.param(held("p").label("app", "x"), [], True, id="it wants nobody"),
        pytest.param(
            held("p").label("app", "x").anti_affinity(_HOST, {"app": "x"}),
            [],
            True,
            id="it wants to be alone",
        ),
    ],
)
def test_the_first_waits_for_another(tried: PodBuilder, others: list[PodBuilder], ready: bool) -> None:
    cache = Cache(offer_of)
    for each in (tried, *others):
        cache.apply_pod(each.build())
    one = tried.build()
    waited = {one.uid: selection.waited_seconds(one, time.time())}
    found = FirstOnes(cache).waiting([one], waited)
    assert found == (frozenset() if ready else {one.uid})


def test_other_pods_are_not_looked_through_for_each_pod(monkeypatch: pytest.MonkeyPatch) -> None:
    cache, compared = Cache(offer_of), list[str]()
    for number in range(2_000):
        cache.apply_pod(pod(f"placed-{number}").label("app", f"a-{number % 50}").on("n").build())
    first = [
        held(f"p-{number}", seconds=0)
        .label("app", f"own-{number}")
        .affinity(_HOST, {"app": f"own-{number}"})
        .build()
        for number in range(100)
    ]
    for each in first:
        cache.apply_pod(each)
    matches = PodTerm.matches

    def counted(
        term: PodTerm, namespace: str, labels: Mapping[str, str], namespace_labels: Mapping[str, str]
    ) -> bool:
        compared.append(namespace)
        return matches(term, namespace, labels, namespace_labels)

    monkeypatch.setattr(PodTerm, "matches", counted)
    uids = frozenset(each.uid for each in first)
    assert FirstOnes(cache).waiting(first, dict.fromkeys(uids, 0.0)) == uids
    assert len(compared) <= 2 * len(first)
