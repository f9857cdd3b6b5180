"""Which relations the pods of a batch have, by their specs and hints; the filters' own tests say the rest."""

import pytest

from tests.builders import PodBuilder, node, pod
from tests.planner.cases import HOST, ZONE, batch_of, copies, filled
from tradewind.cluster import hints
from tradewind.planner.relations.attraction import Attraction
from tradewind.planner.relations.cap import Cap
from tradewind.planner.relations.choice import Choice
from tradewind.planner.relations.exclusion import Exclusion
from tradewind.planner.relations.floor import Floor
from tradewind.planner.relations.relation import Relation
from tradewind.planner.relations.skew import Skew


def _start() -> PodBuilder:
    return pod("p").label("app", "p").owner("Job", "j", "j")


@pytest.mark.parametrize(
    ("start", "kind", "source"),
    [
        (_start().anti_affinity(HOST, {"app": "p"}), Exclusion, "pod_anti_affinity: "),
        (_start().host_port(80), Exclusion, "host_ports: "),
        (_start().affinity(ZONE, {"app": "p"}), Attraction, "pod_affinity: "),
        (_start().spread(ZONE, {"app": "p"}), Skew, "topology_spread: "),
        (_start().annotation("tradewind.dev/durable-min", "1"), Floor, "durable_floor: "),
        (_start().annotation(hints.CONFLICTS, "p-1"), Exclusion, "conflicts: "),
        (_start().annotation(hints.BESIDE, "p-1"), Attraction, "beside: "),
        (_start().annotation(hints.ONE_PER_NODE, "true"), Cap, "one_per_node: "),
        (_start().annotation(hints.MAX_PER_ZONE, "2"), Cap, "max_per_zone: "),
        (_start().annotation(hints.XOR, "either"), Choice, ""),
    ],
)
def test_a_pod_has_one_relation_for_each_rule(start: PodBuilder, kind: type[Relation], source: str) -> None:
    [relation] = batch_of(filled([node("n").label(ZONE, "a")], copies(start, "p", 2))).problem.relations
    assert isinstance(relation, kind)
    assert relation.source.startswith(source)


def test_pods_that_nothing_ties_have_none() -> None:
    assert batch_of(filled([node("n")], [pod("p").limits(memory="1Gi")])).problem.relations == ()


@pytest.mark.parametrize(
    ("annotations", "min_pods"),
    [
        pytest.param({}, 3, id="all"),
        pytest.param({hints.GANG_MIN: "2"}, 2, id="so many"),
        pytest.param({hints.GANG_MIN: "4"}, 4, id="more than there are"),
    ],
)
def test_how_many_of_a_gang_must_be_placed(annotations: dict[str, str], min_pods: int) -> None:
    start = pod("p").annotation("tradewind.dev/gang", "ring")
    for key, value in annotations.items():
        start = start.annotation(key, value)
    [gang] = batch_of(filled([node("n")], copies(start, "p", 3))).problem.gangs
    assert (gang.name, gang.min_pods) == ("default/ring", min_pods)


@pytest.mark.parametrize("phase", ["Running", "Succeeded", "Failed"])
def test_members_of_a_gang_that_was_placed_before_are_planned_alone(phase: str) -> None:
    start = pod("p").annotation("tradewind.dev/gang", "ring").annotation(hints.GANG_MIN, "4")
    before = [each.on("n").phase(phase) for each in copies(start, "old", 2)]
    batch = batch_of(filled([node("n")], [*before, *copies(start, "p", 2)]))
    assert batch.problem.gangs == ()
    assert batch.problem.pods == 2
