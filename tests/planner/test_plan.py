"""What a plan says of its pods and nodes."""

from tests.builders import node, pod
from tests.planner.cases import HOST, batch_of, copies, filled
from tradewind.planner.binding import valid_order
from tradewind.planner.plan import make_plan


def test_nodes_and_their_cost_are_those_in_use_afterwards() -> None:
    """The used node for 1 and the new one for 2; the third stays empty."""
    nodes = [node("used").price(1), node("new").price(2), node("idle").price(4)]
    batch = batch_of(filled(nodes, [pod("old").on("used"), *copies(pod("p").requests(cpu="1"), "p", 2)]))
    plan = make_plan(batch, valid_order(batch.problem, {(0, 1): 2}), {"default/x": "why"}, "exact", 99.0)
    assert [(each.pod, each.node, each.wave) for each in plan.placements] == [
        ("default/p-1", "new", 0),
        ("default/p-2", "new", 0),
    ]
    assert (plan.nodes_used, plan.hourly_cost) == (2, 3.0)
    assert (plan.unplaced, plan.engine, plan.expires_at) == ({"default/x": "why"}, "exact", 99.0)
    assert plan.generation == batch.snapshot.generation


def test_followers_are_a_wave_later_and_gangs_are_strict() -> None:
    anchor = pod("anchor").label("app", "a").annotation("tradewind.dev/gang", "ring")
    follower = pod("follower").label("app", "f").affinity(HOST, {"app": "a"})
    batch = batch_of(filled([node("n")], [follower, anchor]))
    assignment = {(index, 0): 1 for index in range(2)}
    plan = make_plan(batch, valid_order(batch.problem, assignment), {}, "any")
    assert [(each.pod, each.wave, each.strict) for each in plan.placements] == [
        ("default/anchor", 0, True),
        ("default/follower", 1, False),
    ]
