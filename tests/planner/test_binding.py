"""An assignment that holds in the end, in an order in which each pod is accepted."""

from tests.builders import NodeBuilder, PodBuilder, node, pod
from tests.planner.cases import HOST, batch_of, filled
from tradewind.planner.batch import Batch
from tradewind.planner.binding import Step, valid_order


def _batch(nodes: list[NodeBuilder], *pods: PodBuilder) -> tuple[Batch, dict[str, int]]:
    """With the class of each pod by its name."""
    batch = batch_of(filled(nodes, pods))
    return batch, {each.name: index for index, group in enumerate(batch.groups) for each in group.pods}


def test_anchors_come_first() -> None:
    follower = pod("follower").label("app", "f").affinity(HOST, {"app": "a"})
    batch, number = _batch([node("n")], follower, pod("anchor").label("app", "a"))
    order = valid_order(batch.problem, {(number["follower"], 0): 1, (number["anchor"], 0): 1})
    assert order == [Step(number["anchor"], 0), Step(number["follower"], 0)]


def test_pods_that_wait_for_each_other_are_left_out() -> None:
    one = pod("one").label("app", "one").affinity(HOST, {"app": "two"})
    two = pod("two").label("app", "two").affinity(HOST, {"app": "one"})
    batch, number = _batch([node("n")], one, two, pod("free"))
    assignment = {(index, 0): 1 for index in number.values()}
    assert valid_order(batch.problem, assignment) == [Step(number["free"], 0)]


def test_a_gang_that_falls_short_is_left_out_as_a_whole() -> None:
    lonely = pod("lonely").label("app", "l").affinity(HOST, {"app": "nobody"})
    gang = [each.annotation("tradewind.dev/gang", "ring") for each in (lonely, pod("other"))]
    batch, number = _batch([node("n")], *gang, pod("free"))
    assignment = {(index, 0): 1 for index in number.values()}
    assert valid_order(batch.problem, assignment) == [Step(number["free"], 0)]
