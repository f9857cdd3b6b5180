"""Pods that kube-scheduler is about to bind: what scores count of them, and which rules look at them."""

from dataclasses import replace

import pytest

from extender.verbs import matters, with_expected
from tests.builders import PodBuilder, cluster_of, node, pod
from tests.extender.served import service
from tradewind.cluster import hints
from tradewind.cluster.assumed import AssumedPods
from tradewind.cluster.snapshot import Nodes, Snapshot

_NODES = [node("a").cpu("2"), node("b").cpu("2")]
_X = pod("x").requests(cpu="2")


def _counted(snapshot: Snapshot, asking: PodBuilder) -> Nodes:
    assumed = AssumedPods()
    assumed.assume(_X.build(), "b", 10, hard=False)
    return with_expected(asking.build(), snapshot.nodes, snapshot, assumed)


def _quiet(snapshot: Snapshot, to_come: dict[str, int]) -> Snapshot:
    """No pod came lately, so it is known how many are to come."""
    nodes = snapshot.nodes
    return replace(snapshot, nodes=replace(nodes, cluster=replace(nodes.cluster, to_come=to_come)))


def test_expected_pods_take_room_and_count_for_no_other_rule() -> None:
    """A guess must not keep a pod from a node: affinity, floors and hints count who is there."""
    snapshot = cluster_of(_NODES)
    counted = _counted(snapshot, pod("other"))
    free = counted.free_of("cpu")
    assert free is not None
    assert free.tolist() == [2000, 0]
    assert (counted.cluster.placed, counted.cluster.roster) == (
        snapshot.nodes.cluster.placed,
        snapshot.nodes.cluster.roster,
    )


def test_expected_pods_are_no_longer_to_come() -> None:
    """Of three pods that wait with four cores, the pod itself has one, and the one expected two."""
    waiting = [pod("other").requests(cpu="1"), _X, pod("y").requests(cpu="1")]
    snapshot = cluster_of(_NODES, waiting)
    quiet = _quiet(snapshot, {"cpu": 4000, "pods": 3})
    assert _counted(quiet, waiting[0]).cluster.to_come == {"cpu": 1000, "pods": 1}
    assert _counted(snapshot, waiting[0]).cluster.to_come is None  # they have just come


@pytest.mark.parametrize(
    ("to_come", "known"),
    [
        pytest.param({"cpu": 3000, "pods": 2}, {}, id="the two are all"),
        pytest.param({}, None, id="no pod waited, and now one asks"),
        pytest.param({"cpu": 9000, "pods": 1}, None, id="one waits that is neither of the two"),
    ],
)
def test_a_pod_that_the_watch_has_not_brought_is_not_the_last(
    to_come: dict[str, int], known: dict[str, int] | None
) -> None:
    asking = pod("new").requests(cpu="1")
    assert _counted(_quiet(cluster_of(_NODES), to_come), asking).cluster.to_come == known


def test_whose_place_matters_to_other_pods() -> None:
    hostile = cluster_of(_NODES, [pod("x").annotation(hints.CONFLICTS, "noisy-*")]).nodes.cluster.roster
    calm = cluster_of(_NODES).nodes.cluster.roster
    assert not matters(pod("p").build(), calm)
    assert not matters(pod("p").build(), hostile)
    assert matters(pod("noisy-1").build(), hostile)
    assert not matters(pod("p").annotation(hints.NODE, "a").build(), calm)
    for hint in (hints.ONE_PER_NODE, hints.MAX_PER_ZONE, hints.XOR, hints.CONFLICTS):
        assert matters(pod("p").annotation(hint, "1").build(), calm)
    assert matters(pod("p").annotation("tradewind.dev/gang", "ring").build(), calm)
    waited_for = cluster_of(_NODES, [pod("x").annotation(hints.BESIDE, "leader")]).nodes.cluster.roster
    assert matters(pod("leader").build(), waited_for)
    assert not matters(pod("p").build(), waited_for)


def test_a_pod_waits_for_the_binding_of_a_pod_that_it_conflicts_with(monkeypatch: pytest.MonkeyPatch) -> None:
    """The watch brings it in the meantime, as the second answer shows."""
    served = service(*_NODES)
    noisy = pod("noisy").requests(cpu="1")
    assert served.scores(noisy, ["a", "b"])["a"] == 10
    cache = served.cluster.cache
    looked = cache.pods

    def arrives(uids: object) -> object:
        monkeypatch.setattr(cache, "pods", looked)
        cache.apply_pod(noisy.on("a").build())
        return looked(uids)  # type: ignore[arg-type]

    monkeypatch.setattr(cache, "pods", arrives)
    calm = pod("calm").annotation("tradewind.dev/conflicts", "noisy")
    assert served.filter(calm, ["a", "b"])["NodeNames"] == ["b"]
