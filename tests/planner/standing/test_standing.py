"""The standing plan: worked examples of what it opens, what room is worth, and who is to be drained."""

from collections.abc import Iterable, Mapping, Sequence

import pytest

from tests.builders import NodeBuilder, PodBuilder, node, pod
from tests.planner.cases import filled, policy_of
from tradewind.cluster.guide import Guide, Role
from tradewind.config import document as config
from tradewind.planner.batch import PolicyOf
from tradewind.planner.standing import standing
from tradewind.planner.standing.network import Network, Solution
from tradewind.planner.standing.programme import Programme
from tradewind.planner.standing.standing import MAX_CLASSES, Solved, StandingPlan

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

    def solved(
        self,
        now: float = 0.0,
        pools: Mapping[str, int] | None = None,
        policy_of: PolicyOf = policy_of,
        wanted: Mapping[str, int] | None = None,
    ) -> Solved:
        found = self.plan.run(*self.cache.state(), policy_of, now, pools or {}, wanted=wanted or {})
        assert found is not None
        return found


def _roles(guide: Guide) -> dict[str, Role]:
    return {name: role for kind in guide.kinds for role, names in kind.roles.items() for name in names}


def test_the_cheaper_nodes_are_needed_and_the_rest_drained() -> None:
    """Six pods, four a node: one and a half of the cheap nodes."""
    run = _Run([_node(f"cheap{i}", 1.0) for i in range(3)] + [_node("dear", 2.0)], _pods(6))
    guide, solution, *_ = run.solved()
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
    guide = run.solved().guide
    cheap, dear = (found[0] for name in ("cheap", "dear") if (found := guide.kind_of(name)))
    assert cheap.bids["cpu"] * _CPU == pytest.approx(0.5, rel=0.01)
    assert dear.bids["cpu"] * _CPU == pytest.approx(0.5, rel=0.01)


def test_pods_of_high_priority_are_on_durable_nodes_and_others_leave_them_room() -> None:
    nodes = [_node(f"spot{i}", 1.0, spot=True) for i in range(2)] + [_node("durable", 3.0)]
    guide, solution, *_ = _Run(nodes, [*_pods(4, "plain"), *_pods(2, "critical", priority=100_000)]).solved()
    kinds = {name: kind for kind in guide.kinds for names in kind.roles.values() for name in names}
    assert list(kinds["durable"].targets) == [f"default/100000/{_CPU}cpu"]
    assert list(kinds["spot0"].targets) == [f"default/0/{_CPU}cpu"]
    assert solution.unplaced.sum() == pytest.approx(0)


def test_what_has_no_room_is_unscheduled_and_the_rest_is_planned() -> None:
    solution = _Run([_node("only", 1.0)], _pods(7)).solved().solution
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
        found = run.solved(1.0 + number).solution
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
    guide, solution, *_ = _Run([_node(f"n{i}", 1.0) for i in range(2)], [*daemons, *_pods(3)]).solved()
    assert solution.opened.sum() == pytest.approx(1.0, rel=0.01)  # three places a node
    assert {kind.own_pods for kind in guide.kinds} == {1}


def test_without_nodes_there_is_no_guide() -> None:
    run = _Run([], _pods(2))
    assert run.plan.run(*run.cache.state(), policy_of, 0.0) is None


@pytest.mark.parametrize("odd", [[pod("odd")], [pod("odd").requests(cpu="0")], [pod("odd").on("gone")]])
def test_odd_pods_are_planned_too(odd: Sequence[PodBuilder]) -> None:
    assert _Run([_node("n", 1.0)], odd).solved()


def _bid(guide: Guide, name: str) -> float:
    """Of one of the pods here, dollars an hour."""
    found = guide.kind_of(name)
    assert found is not None
    return found[0].bids.get("cpu", 0.0) * _CPU


@pytest.mark.parametrize(
    ("most", "bid", "new", "dear"),
    [
        # Two pods beyond the four of the cheap node: half of a new one. A place there is 1.2/4 and a tenth.
        pytest.param(5, 0.33, 0.5, Role.DRAIN, id="no room is worth more than that of a new node"),
        # The pool has room for none: both are on the dear node, at 2/4.
        pytest.param(0, 0.5, 0.0, Role.KEEP, id="without the pool the dear node says what room is worth"),
    ],
)
def test_a_pool_caps_the_bids(most: int, bid: float, new: float, dear: Role) -> None:
    nodes = [_node("cheap", 1.0), _node("dear", 2.0)]
    pools = [_node("pool/0", 1.2)] if most else []
    found = _Run([*nodes, *pools], _pods(6)).solved(pools={"pool/0": most} if most else {})
    assert _bid(found.guide, "cheap") == pytest.approx(bid, rel=0.01)
    assert found.new_nodes == pytest.approx(new, abs=0.01)
    assert _roles(found.guide) == {"cheap": Role.KEEP, "dear": dear}


def test_a_pool_that_is_used_up_caps_nothing() -> None:
    """Ten pods: four on the cheap node, four on the only new one, two on the dear one."""
    nodes = [_node("cheap", 1.0), _node("dear", 2.0), _node("pool/0", 1.2)]
    found = _Run(nodes, _pods(10)).solved(pools={"pool/0": 1})
    assert _bid(found.guide, "cheap") == pytest.approx(0.5, rel=0.01)
    assert found.new_nodes == pytest.approx(1.0)


def test_of_equals_the_node_that_is_there_is_filled() -> None:
    found = _Run([_node("here", 1.0), _node("pool/0", 1.0)], _pods(3)).solved(pools={"pool/0": 9})
    assert (_roles(found.guide), found.new_nodes) == ({"here": Role.KEEP}, 0.0)


def test_a_pool_alone_is_no_cluster() -> None:
    run = _Run([_node("pool/0", 1.0)], _pods(3))
    assert run.plan.run(*run.cache.state(), policy_of, 0.0, {"pool/0": 9}) is None


_SPREAD = """
apiVersion: tradewind.dev/v1alpha1
kind: TradewindConfiguration
classes: [{name: apart, match: {labels: app=apart}, placement: spread}]
"""


def test_pods_that_are_spread_take_the_same_share_of_every_node_and_are_driven_nowhere() -> None:
    """Four of them on four nodes: one place of each, so that six others need two nodes of three places."""
    apart = [each.label("app", "apart") for each in _pods(4, "apart")]
    run = _Run([_node(f"n{i}", 1.0 + i) for i in range(4)], [*_pods(6), *apart])
    found = run.solved(policy_of=config.parse(_SPREAD).policies().of)
    assert found.solution.opened.sum() == pytest.approx(2.0, abs=0.02)
    assert {name for kind in found.guide.kinds for name in kind.targets} == {f"default/0/{_CPU}cpu"}


def test_pods_that_are_spread_take_more_of_a_larger_node() -> None:
    """Four of six on the node of eight places, two on that of four: one of five others goes to the latter."""
    apart = [each.label("app", "apart") for each in _pods(6, "apart")]
    large = _node("large", 1.0).cpu(f"{8 * _CPU}m")
    found = _Run([large, _node("small", 9.0)], [*_pods(5), *apart]).solved(
        policy_of=config.parse(_SPREAD).policies().of
    )
    assert found.solution.opened.sum() == pytest.approx(1.5, abs=0.02)


def test_pods_that_are_spread_are_on_the_nodes_that_are_there() -> None:
    """Two of four places are theirs: of three others one needs a new node."""
    apart = [each.label("app", "apart") for each in _pods(2, "apart")]
    run = _Run([_node("n", 1.0), _node("pool/0", 9.0)], [*_pods(3), *apart])
    found = run.solved(pools={"pool/0": 9}, policy_of=config.parse(_SPREAD).policies().of)
    assert found.new_nodes == pytest.approx(0.25, abs=0.01)


def test_pods_that_are_spread_and_have_no_room_make_room_no_dearer() -> None:
    apart = [each.label("app", "apart") for each in _pods(9, "apart")]
    found = _Run([_node("n", 1.0)], apart).solved(policy_of=config.parse(_SPREAD).policies().of)
    assert found.solution.unplaced.sum() == 0
    assert found.guide.kinds[0].bids == {}


def test_what_a_replica_set_owes_is_planned_for() -> None:
    """Two of seven are there: five more, and so all of a node of four places and three of another."""
    replicas = [each.owner("ReplicaSet", "web", "uid-web") for each in _pods(2, on="a")]
    run = _Run([_node("a", 1.0), _node("b", 1.0), _node("c", 1.0)], replicas)
    found = run.solved(wanted={"default/uid-web": 7})
    assert found.solution.opened.sum() == pytest.approx(1.75, abs=0.01)
    assert found.owed == pytest.approx(5, rel=0.01)
    assert found.expected == 0
    assert _roles(found.guide) == {"a": Role.FILL, "b": Role.KEEP, "c": Role.DRAIN}
    assert run.solved(1.0).owed == 0, "what was not created is not remembered"


def test_a_replica_set_that_wants_two_thousand_million_pods_makes_no_room_dearer() -> None:
    nodes = [_node(f"{name}{number}", price) for name, price in (("a", 1), ("b", 2)) for number in range(10)]
    replicas = [each.owner("ReplicaSet", "web", "uid-web") for each in _pods(2, on="a0")]
    few, many = (_Run(nodes, replicas).solved(wanted={"default/uid-web": each}) for each in (10, 2**31 - 1))
    assert many.guide.kinds == few.guide.kinds
    assert sum(Role(role) is Role.DRAIN for role in _roles(many.guide).values()) == 17


def test_what_is_owed_and_was_there_lately_counts_once() -> None:
    run = _Run([_node("n", 1.0)], [_numbered(number) for number in range(4)])
    run.solved(0.0)
    run.cache.remove_pod("default/db-1")
    run.solved(0.0)
    assert run.networks[1].fresh.sum() == pytest.approx(3 + 1, rel=0.01)
    run.solved(1e6)  # nobody remembers, but db-1 is still owed
    assert run.networks[2].fresh.sum() == pytest.approx(3 + 1, rel=0.01)


def _numbered(number: int) -> PodBuilder:
    made = pod(f"db-{number}").requests(cpu=f"{_CPU}m").owner("StatefulSet", "db", "1")
    return made.label("apps.kubernetes.io/pod-index", str(number))


def _unlike(number: int) -> PodBuilder:
    """A pod that asks for what no other asks for; every second one runs."""
    made = pod(f"p{number}").requests(cpu=f"{_CPU}m").node_selector(f"key-{number}", "x")
    made = made.toleration(key=f"taint-{number}", operator="Exists")
    return made.on(f"n{number % 40}") if number % 2 else made


def test_the_network_is_bounded_however_many_pods_are_unlike() -> None:
    """Of 8,000 classes of one pod each, all but 999 are in one class, as far as they run."""
    nodes = [
        node(f"n{number}")
        .cpu(f"{400 * _CPU}m")
        .pods(400)
        .label("pool", f"{number % 4}")
        .price(number % 4 + 1)
        for number in range(40)
    ]
    run = _Run(nodes, [*_pods(3, "alike"), *map(_unlike, range(8_000))])
    solved = run.solved()
    [network] = run.networks
    assert network.cost.shape == (MAX_CLASSES, 4)
    assert solved.left_out == pytest.approx(8_000 + 1 - MAX_CLASSES + 1, rel=1e-3)
    assert network.fresh.max() == pytest.approx(3, rel=1e-3)  # the largest class is looked at
    assert network.running.sum() == pytest.approx(4_000, rel=1e-3)  # whoever runs takes its room


def test_no_more_arcs_than_fit_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four kinds of nodes, 20 arcs: five classes, one of which is of all others."""
    monkeypatch.setattr(standing, "MAX_ARCS", 20)
    nodes = [_node(f"n{number}", number + 1.0) for number in range(4)]
    run = _Run(
        nodes, [each for number in range(9) for each in _pods(number + 1, f"{number}-", priority=number)]
    )
    solved = run.solved()
    assert run.networks[0].cost.shape == (5, 4)
    assert solved.left_out == pytest.approx(1 + 2 + 3 + 4 + 5, rel=1e-3)


def test_pods_that_run_in_small_classes_take_as_much_room_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pod of 1 and one of 2 on one node, one of 3 on another: in pods of the mean size 1.5 and 1.5."""
    monkeypatch.setattr(standing, "MAX_CLASSES", 2)
    small = [
        pod(f"p{cpu}").requests(cpu=f"{cpu * _CPU}m").priority(cpu).on("a" if cpu < 3 else "b")
        for cpu in (1, 2, 3)
    ]
    run = _Run([_node("a", 1.0), _node("b", 2.0)], [*_pods(4, "large", priority=9), *small])
    run.solved()
    [network] = run.networks
    assert (network.running[1] * network.requests[0, 1]).tolist() == pytest.approx(
        [3 * 0.968, 3 * 0.968], rel=0.01
    )


@pytest.mark.parametrize(("nodes", "kinds"), [pytest.param(12, 12, id="few"), pytest.param(30, 1, id="many")])
def test_a_label_with_a_value_for_each_node_makes_no_kinds(nodes: int, kinds: int) -> None:
    made = [_node(f"n{number}", 1.0).label("serial", f"{number}") for number in range(nodes)]
    run = _Run(made, [pod("p").requests(cpu=f"{_CPU}m").node_selector("serial", "1")])
    run.solved()
    assert len(run.networks[0].kind_keys) == kinds
