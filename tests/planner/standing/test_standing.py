"""The standing plan: worked examples of what it opens, what room is worth, and who is to be drained."""

from collections.abc import Iterable, Sequence

import pytest

from tests.builders import NodeBuilder, PodBuilder, node, pod
from tests.planner.cases import filled, policy_of
from tradewind.cluster.guide import Guide, Role
from tradewind.planner.standing.network import Network, Solution
from tradewind.planner.standing.programme import Programme
from tradewind.planner.standing.standing import StandingPlan

# The middle of a step of sizes, so that one pod weighs one: e^(27.5/4) millicores.
_CPU = 968
_SPOT = "karpenter.sh/capacity-type"


def _pods(count: int, name: str = "p", on: str = "", priority: int = 0) -> list[PodBuilder]:
    made = [pod(f"{name}{number}").requests(cpu=f"{_CPU}m") for number in range(count)]
    made = [each.field("spec", "priority", value=priority) for each in made] if priority else made
    return [each.on(on) for each in made] if on else made


def _node(name: str, price: float, *, spot: bool = False) -> NodeBuilder:
    made = node(name).cpu(f"{4 * _CPU}m").memory("64Gi").price(price)
    return made.label(_SPOT, "spot" if spot else "on-demand")


class _Run:
    def __init__(self, nodes: Iterable[NodeBuilder], pods: Iterable[PodBuilder]) -> None:
        self.cache = filled(nodes, pods)
        self.networks: list[Network] = []
        self.programme = Programme()
        self.plan = StandingPlan(10.0, self._solve)

    def _solve(self, network: Network, seconds: float) -> Solution | None:
        self.networks.append(network)
        return self.programme.solve(network, seconds)

    def solved(self, now: float = 0.0) -> tuple[Guide, Solution]:
        found = self.plan.run(*self.cache.state(), policy_of, now)
        assert found is not None
        return found


def _roles(guide: Guide) -> dict[str, Role]:
    return {name: role for kind in guide.kinds for role, names in kind.roles.items() for name in names}


def test_the_cheaper_nodes_are_needed_and_the_rest_drained() -> None:
    """Six pods, four a node: one and a half of the cheap nodes."""
    run = _Run([_node(f"cheap{i}", 1.0) for i in range(3)] + [_node("dear", 2.0)], _pods(6))
    guide, solution = run.solved()
    assert sum(solution.opened) == pytest.approx(1.5, abs=0.01)
    roles = _roles(guide)
    assert [roles[name] for name in ("cheap0", "cheap1", "cheap2", "dear")] == [
        "keep",
        "keep",
        "drain",
        "drain",
    ]


def test_the_nodes_in_use_are_those_that_are_needed() -> None:
    run = _Run([_node(f"n{i}", 1.0) for i in range(3)], [*_pods(2, "a", "n2"), *_pods(1, "b", "n1")])
    roles = _roles(run.solved()[0])
    assert roles == {"n2": Role.FILL, "n1": Role.DRAIN, "n0": Role.DRAIN}


def test_a_bid_is_what_room_saves() -> None:
    """The last pod pays a quarter of the dear node: so much a place on the cheap one is worth."""
    run = _Run([_node("cheap", 1.0), _node("dear", 2.0)], _pods(6))
    guide, _ = run.solved()
    cheap, dear = (found[0] for name in ("cheap", "dear") if (found := guide.kind_of(name)))
    assert cheap.bids["cpu"] * _CPU == pytest.approx(0.5, rel=0.01)
    assert dear.bids["cpu"] * _CPU == pytest.approx(0.5, rel=0.01)


def test_pods_of_high_priority_are_on_durable_nodes_and_others_leave_them_room() -> None:
    nodes = [_node(f"spot{i}", 1.0, spot=True) for i in range(2)] + [_node("durable", 3.0)]
    guide, solution = _Run(nodes, [*_pods(4, "plain"), *_pods(2, "critical", priority=100_000)]).solved()
    kinds = {name: kind for kind in guide.kinds for names in kind.roles.values() for name in names}
    assert list(kinds["durable"].targets) == [f"default/100000/{_CPU}cpu"]
    assert list(kinds["spot0"].targets) == [f"default/0/{_CPU}cpu"]
    assert solution.unplaced.sum() == pytest.approx(0)


def test_what_has_no_room_is_unscheduled_and_the_rest_is_planned() -> None:
    _, solution = _Run([_node("only", 1.0)], _pods(7)).solved()
    assert solution.unplaced.sum() == pytest.approx(3, abs=0.05)


def test_pods_that_were_there_lately_are_expected_back() -> None:
    run = _Run([_node("n", 1.0)], _pods(4))
    run.solved(0.0)
    for each in run.cache.all_pods()[1:]:
        run.cache.remove_pod(each.uid)
    run.solved(20.0)  # a half-life: of four there is one left, and half of three are expected
    assert run.networks[1].fresh.sum() == pytest.approx(1 + 1.5, rel=0.01)


def test_what_did_not_change_is_not_built_again() -> None:
    nodes = [_node(f"n{i}", 1.0 + i) for i in range(4)]
    run = _Run(nodes, [*_pods(3), pod("small").requests(cpu="100m"), pod("big").requests(cpu="2")])
    first = run.solved(0.0)[1]
    again = run.solved(1.0)[1]
    assert first.rebuilt == first.arcs == 12
    assert (again.rebuilt, again.arcs) == (0, 12)
    run.cache.apply_pod(pod("other").requests(cpu="300m").build())
    more = run.solved(2.0)[1]
    assert (more.rebuilt, more.arcs) == (4, 16)


def test_an_update_finds_what_a_new_programme_finds() -> None:
    nodes = [_node(f"n{i}", 1.0 + i / 3, spot=i % 2 == 0) for i in range(6)]
    run = _Run(nodes, _pods(9))
    run.solved(0.0)
    for number, each in enumerate(_pods(5, "more")):
        run.cache.apply_pod(each.build())
        run.cache.remove_pod(f"default/p{number}")
        if number == 2:
            run.cache.remove_node("n0")
        _, found = run.solved(1.0 + number)
        anew = Programme().solve(run.networks[-1], 10.0)
        assert anew is not None
        price = run.networks[-1].price
        assert found.opened @ price == pytest.approx(anew.opened @ price, rel=1e-6)


def test_equal_choices_keep_their_roles() -> None:
    run = _Run([_node("a", 1.0), _node("b", 1.0)], _pods(2, on="b"))
    before = _roles(run.solved(0.0)[0])
    run.cache.apply_node(_node("a", 0.95).build())  # a little cheaper, but b is open
    assert _roles(run.solved(1.0)[0]) == before == {"b": Role.FILL, "a": Role.DRAIN}


def test_a_daemon_set_is_no_demand_and_takes_its_room() -> None:
    daemons = [
        pod(f"d{i}").requests(cpu=f"{_CPU}m").on(f"n{i}").owner("DaemonSet", "agent", "1") for i in range(2)
    ]
    guide, solution = _Run([_node(f"n{i}", 1.0) for i in range(2)], [*daemons, *_pods(3)]).solved()
    assert solution.opened.sum() == pytest.approx(1.0, rel=0.01)  # three places a node
    assert {kind.own_pods for kind in guide.kinds} == {1}


def test_without_nodes_there_is_no_guide() -> None:
    run = _Run([], _pods(2))
    assert run.plan.run(*run.cache.state(), policy_of, 0.0) is None


@pytest.mark.parametrize("odd", [[pod("odd")], [pod("odd").requests(cpu="0")], [pod("odd").on("gone")]])
def test_odd_pods_are_planned_too(odd: Sequence[PodBuilder]) -> None:
    assert _Run([_node("n", 1.0)], odd).solved()
