"""Who is where by name, and who asks for company."""

from hypothesis import given
from hypothesis import strategies as st

from tests.builders import PodBuilder, cluster_of, node, offer_of, pod
from tradewind.cluster import hints
from tradewind.cluster.cache import Cache
from tradewind.cluster.roster import GANG, Circle, Roster


def _names(roster: Roster, hint: str, name: str) -> set[str]:
    return {each.name for each in roster.circle(hint, name)}


def test_pods_on_nodes_are_found_by_name() -> None:
    roster = cluster_of([node("a")], [pod("x").on("a"), pod("y")]).nodes.cluster.roster
    found = roster.find("default/x")
    assert found is not None
    assert found.node_name == "a"
    assert roster.find("default/y") is None
    assert roster.find("shop/x") is None


def test_a_later_pod_of_the_same_name_stays() -> None:
    """A list brings the new one before the old one is dropped."""
    cache = Cache(offer_of)
    cache.apply_pod(pod("x").uid("1").on("a").build())
    cache.apply_pod(pod("x").uid("2").on("b").build())
    cache.remove_pod("1")
    found = cache.snapshot().nodes.cluster.roster.find("default/x")
    assert found is not None
    assert found.uid == "2"


def test_members_of_a_gang_are_there_with_and_without_a_node() -> None:
    members = [pod(name).annotation("tradewind.dev/gang", "g") for name in "xyz"]
    pods = [members[0].on("a"), members[1], members[2].phase("Succeeded"), pod("other")]
    roster = cluster_of([node("a")], pods).nodes.cluster.roster
    assert _names(roster, GANG, "default/g") == {"x", "y"}


def test_a_view_without_a_pod_knows_where_it_was() -> None:
    snapshot = cluster_of([node("a")], [pod("x").annotation(hints.XOR, "e").on("a")])
    placed = pod("x").annotation(hints.XOR, "e").on("a").build()
    roster = snapshot.without([placed]).nodes.cluster.roster
    assert roster.find("default/x") is None
    assert not _names(roster, hints.XOR, "default/e")
    assert roster.leaving["default/x"].node_name == "a"
    assert snapshot.nodes.cluster.roster.find("default/x") is not None


def test_a_view_with_a_pod_counts_it_as_placed() -> None:
    waiting = pod("x").annotation(hints.XOR, "e")
    snapshot = cluster_of([node("a")], [waiting]).with_pods([waiting.on("a").build()])
    assert [each.node_name for each in snapshot.nodes.cluster.roster.circle(hints.XOR, "default/e")] == ["a"]


_KINDS = [
    pod("p"),
    pod("p").annotation("tradewind.dev/gang", "g"),
    pod("p").annotation(hints.XOR, "e,p=2"),
    pod("p").annotation(hints.CONFLICTS, "q"),
    pod("p").annotation(hints.MAX_PER_ZONE, "2").label("app", "x"),
]
_changes = st.tuples(st.integers(0, 3), st.sampled_from([*_KINDS, None]), st.sampled_from(["", "a", "b"]))


@given(st.lists(_changes, max_size=20))
def test_whatever_came_and_went_the_roster_is_that_of_the_pods_that_are_there(
    changes: list[tuple[int, PodBuilder | None, str]],
) -> None:
    cache, frozen = Cache(offer_of), []
    for number, kind, on in changes:
        if kind is None:
            cache.remove_pod(f"u{number}")
        else:
            each = kind.field("metadata", "name", value=f"p{number}").uid(f"u{number}")
            cache.apply_pod((each.on(on) if on else each).build())
        roster = cache.snapshot().nodes.cluster.roster
        frozen.append((roster, _dumped(roster)))
    fresh = Cache(offer_of)
    for each_pod in cache.all_pods():
        fresh.apply_pod(each_pod)
    assert _dumped(cache.snapshot().nodes.cluster.roster) == _dumped(fresh.snapshot().nodes.cluster.roster)
    for roster, dumped in frozen:  # what was handed out stays as it was
        assert _dumped(roster) == dumped


def _dumped(roster: Roster) -> dict[str, dict[str | Circle, set[tuple[str, str]]]]:
    return {
        field: {
            key: {(each.uid, each.node_name) for each in pods.values()}
            for key, pods in getattr(roster, field).items()
        }
        for field in ("named", "circles", "reaching")
    }
