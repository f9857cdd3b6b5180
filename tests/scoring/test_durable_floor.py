import pytest

from scoring.filters.durable_floor import MIN, SHARE, STRICT, DurableFloor
from tests.builders import NodeBuilder, PodBuilder, cluster_of, expression, node, pod

_SPOT = ("karpenter.sh/capacity-type", "spot")
_BOTH = [node("durable"), node("spot").label(*_SPOT)]
_WEB = ("ReplicaSet", "web", "uid-web")


def replicas(durable: int, spot: int) -> list[PodBuilder]:
    places = ["durable"] * durable + ["spot"] * spot
    return [pod(f"web-{i}").owner(*_WEB).on(place) for i, place in enumerate(places)]


def feasible(
    rule: DurableFloor, placed: list[PodBuilder], wanted: PodBuilder, nodes: list[NodeBuilder] = _BOTH
) -> list[str]:
    columns = cluster_of(nodes, placed).nodes
    mask = rule.feasible(wanted.build(), columns)
    return [name for name, passed in zip(columns.names, mask, strict=True) if passed]


_WANTED = pod("web-new").owner(*_WEB)


@pytest.mark.parametrize(
    ("rule", "durable", "spot", "spot_is_open"),
    [
        pytest.param(DurableFloor(), 0, 5, True, id="no floor"),
        pytest.param(DurableFloor(min=2), 0, 0, False, id="the first of two"),
        pytest.param(DurableFloor(min=2), 1, 7, False, id="the second, whatever runs on spot"),
        pytest.param(DurableFloor(min=2), 2, 0, True, id="two are there"),
        # of 4 pods a half is 2, of 5 it is 3 (2.5 rounded up)
        pytest.param(DurableFloor(share=0.5), 2, 1, True, id="2 of 4"),
        pytest.param(DurableFloor(share=0.5), 2, 2, False, id="2 of 5"),
        pytest.param(DurableFloor(share=1), 9, 0, False, id="all of them"),
        pytest.param(DurableFloor(share=0.1), 1, 8, True, id="1 of 10 is exactly a tenth"),
        pytest.param(DurableFloor(min=3, share=0.5), 2, 0, False, id="the larger of both"),
    ],
)
def test_spot_nodes_open_when_the_floor_holds_with_the_new_pod(
    rule: DurableFloor, durable: int, spot: int, spot_is_open: bool
) -> None:
    expected = ["durable", "spot"] if spot_is_open else ["durable"]
    assert feasible(rule, replicas(durable, spot), _WANTED) == expected


def test_annotations_of_the_pod_go_first() -> None:
    assert feasible(DurableFloor(min=1), [], _WANTED.annotation(MIN, "0")) == ["durable", "spot"]
    assert feasible(DurableFloor(), [], _WANTED.annotation(SHARE, "0.5")) == ["durable"]
    assert feasible(DurableFloor(min=1), [], _WANTED.annotation(MIN, "many")) == ["durable"]
    assert feasible(DurableFloor(), [], _WANTED.annotation(SHARE, "7")) == ["durable", "spot"]


def test_without_any_durable_node_the_floor_gives_way_unless_strict() -> None:
    spot_only = [node("spot").label(*_SPOT)]
    assert feasible(DurableFloor(min=1), [], _WANTED, spot_only) == ["spot"]
    assert feasible(DurableFloor(min=1, strict=True), [], _WANTED, spot_only) == []
    assert feasible(DurableFloor(min=1), [], _WANTED.annotation(STRICT, "true"), spot_only) == []


_ON_SPOT = expression("karpenter.sh/capacity-type", "In", "spot")
_SPOT_NODE = node("spot").label(*_SPOT)
_WITH_VOLUME = _WANTED.field(
    "spec", "volumes", value=[{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
)


@pytest.mark.parametrize(
    ("wanted", "durable", "gives_way"),
    [
        pytest.param(_WANTED, node("durable"), False, id="eligible"),
        pytest.param(_WANTED.node_selector(*_SPOT), node("durable"), True, id="selects spot nodes"),
        pytest.param(_WANTED.node_term(_ON_SPOT), node("durable"), True, id="affinity to spot nodes"),
        pytest.param(_WANTED, node("durable").taint("CriticalAddonsOnly"), True, id="tainted"),
        pytest.param(_WANTED, node("durable").taint("x", "PreferNoSchedule"), False, id="a soft taint"),
        pytest.param(
            _WANTED.toleration(key="CriticalAddonsOnly", operator="Exists"),
            node("durable").taint("CriticalAddonsOnly"),
            False,
            id="tolerated",
        ),
        pytest.param(_WANTED, node("durable").unschedulable(), True, id="cordoned"),
        pytest.param(_WANTED.requests(cpu="5"), node("durable").cpu("4"), True, id="too small"),
        pytest.param(_WANTED.requests(cpu="4"), node("durable").cpu("4"), False, id="just large enough"),
        pytest.param(
            _WANTED.requests({"example.com/gpu": "1"}), node("durable"), True, id="without the device"
        ),
        pytest.param(
            _WANTED.requests({"example.com/fpga": "1"}), node("durable"), False, id="a device of no node"
        ),
    ],
)
def test_the_floor_gives_way_where_no_durable_node_is_eligible(
    wanted: PodBuilder, durable: NodeBuilder, gives_way: bool
) -> None:
    nodes = [durable, _SPOT_NODE.cpu("8").resource("example.com/gpu", 1)]
    assert ("spot" in feasible(DurableFloor(share=0.5), [], wanted, nodes)) is gives_way
    assert "spot" not in feasible(DurableFloor(share=0.5, strict=True), [], wanted, nodes)


def test_the_floor_does_not_give_way_where_durable_nodes_are_full() -> None:
    full = pod("x").requests(cpu="4").on("durable")
    assert feasible(DurableFloor(min=1), [full], _WANTED.requests(cpu="1")) == ["durable"]


def test_of_a_pod_with_a_volume_only_candidates_are_eligible() -> None:
    nodes = cluster_of(_BOTH).nodes
    for candidates, expected in ((nodes, [True, False]), (nodes.take(nodes.rows[1:]), [True])):
        assert DurableFloor(min=1).feasible(_WITH_VOLUME.build(), candidates).tolist() == expected


def test_a_durable_node_that_is_no_candidate_still_holds_the_floor() -> None:
    nodes = cluster_of(_BOTH).nodes
    spot_alone = nodes.take(nodes.rows[1:])
    assert DurableFloor(min=1).feasible(_WANTED.build(), spot_alone).tolist() == [False]


def test_a_pod_without_a_controller_has_no_floor() -> None:
    assert feasible(DurableFloor(min=1), [], pod("alone")) == ["durable", "spot"]


def test_other_workloads_and_leaving_pods_do_not_count() -> None:
    other = pod("api").owner("ReplicaSet", "api", "uid-api").on("durable")
    leaving = replicas(1, 0)[0].field("metadata", "deletionTimestamp", value="2026-01-01T00:00:00Z")
    assert feasible(DurableFloor(min=1), [other, leaving], _WANTED) == ["durable"]


_NAMED = expression("metadata.name", "In", "spot")
_HOSTNAME = expression("kubernetes.io/hostname", "In", "spot")


@pytest.mark.parametrize(
    "wanted",
    [
        pytest.param(pod("w").owner("DaemonSet", "cni", "uid-cni"), id="of a DaemonSet"),
        pytest.param(pod("w").owner("Node", "spot", "uid-spot"), id="a static pod's mirror"),
        pytest.param(_WANTED.node_term(fields=[_NAMED]), id="affinity to the node's name"),
        pytest.param(_WANTED.node_term(_HOSTNAME), id="affinity to one hostname"),
        pytest.param(_WANTED.node_selector("kubernetes.io/hostname", "spot"), id="selector of one hostname"),
        pytest.param(
            _WANTED.node_term(_HOSTNAME).node_term(fields=[_NAMED]), id="either term names the node"
        ),
    ],
)
def test_a_pod_whose_node_is_fixed_has_no_floor(wanted: PodBuilder) -> None:
    assert feasible(DurableFloor(min=1, strict=True), [], wanted) == ["durable", "spot"]
    assert DurableFloor(min=1).durable_replicas(wanted.build(), 4) == 0


@pytest.mark.parametrize(
    "wanted",
    [
        pytest.param(
            _WANTED.node_term(expression("kubernetes.io/hostname", "In", "spot", "durable")),
            id="one of two hostnames",
        ),
        pytest.param(
            _WANTED.node_term(_HOSTNAME).node_term(expression("zone", "NotIn", "a")),
            id="or any node out of a zone",
        ),
        pytest.param(
            _WANTED.node_term(fields=[expression("metadata.name", "NotIn", "other")]), id="all but one"
        ),
    ],
)
def test_a_pod_with_a_choice_of_nodes_has_a_floor(wanted: PodBuilder) -> None:
    assert feasible(DurableFloor(min=1), [], wanted) == ["durable"]


def of_rollout(name: str, revision: str) -> PodBuilder:
    owned = pod(name).owner("ReplicaSet", f"web-{revision}", f"uid-{revision}")
    return owned.label("pod-template-hash", revision)


def rollout(revision: str, durable: int, spot: int) -> list[PodBuilder]:
    places = ["durable"] * durable + ["spot"] * spot
    return [of_rollout(f"web-{revision}-{i}", revision).on(place) for i, place in enumerate(places)]


@pytest.mark.parametrize(
    ("rule", "old", "new", "spot_is_open"),
    [
        # durable, spot of the old and the new ReplicaSet; then the new pod
        pytest.param(DurableFloor(min=2), (2, 6), (0, 0), False, id="0 of 2 would be left"),
        pytest.param(DurableFloor(min=2), (2, 6), (2, 0), True, id="2 of 2 are left"),
        pytest.param(DurableFloor(min=2), (0, 3), (2, 0), True, id="2 of 2, all of the new"),
        # old and new together: 2 + 1 of 4 + 1 + 1 = 6, a half is 3; the new alone: 1 of 2, a half is 1
        pytest.param(DurableFloor(share=0.5), (2, 2), (1, 0), True, id="3 of 6"),
        # 1 + 1 of 6 fall short of 3, though of the new alone 1 of 2 is enough
        pytest.param(DurableFloor(share=0.5), (1, 3), (1, 0), False, id="2 of 6: the old fall short"),
        # 4 + 1 of 8 are more than a half, but of the new alone 1 of 3 is less than 1.5
        pytest.param(DurableFloor(share=0.5), (4, 1), (1, 1), False, id="5 of 8, but 1 of 3 would be left"),
    ],
)
def test_a_rollout_keeps_the_floor_now_and_when_the_old_replicas_are_gone(
    rule: DurableFloor, old: tuple[int, int], new: tuple[int, int], spot_is_open: bool
) -> None:
    placed = [*rollout("aaa", *old), *rollout("bbb", *new)]
    expected = ["durable", "spot"] if spot_is_open else ["durable"]
    assert feasible(rule, placed, of_rollout("web-new", "bbb")) == expected
