"""What is saved, what only goes, and who comes first: on clusters small enough to do by hand."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.builders import ELSEWHERE, NodeBuilder, PodBuilder, node, pod
from tradewind.cli.main import main
from tradewind.config.document import DEFAULT
from tradewind.page.pending import pending
from tradewind.runtime.assembly import Assembly
from tradewind.runtime.source import from_file

ZONE = "topology.kubernetes.io/zone"

Objects = Sequence[NodeBuilder | PodBuilder]


def web(name: str, on: str, cpu: str = "1") -> PodBuilder:
    return pod(name).label("app", "web").owner("ReplicaSet", "web", "web").requests(cpu=cpu).on(on)


def waiting(name: str, cpu: str) -> PodBuilder:
    return pod(name).owner("ReplicaSet", name, name).requests(cpu=cpu)


def written(directory: Path, objects: Objects, others: Sequence[dict[str, Any]] = ()) -> Path:
    items = [json.loads(each.json()) for each in (*objects, ELSEWHERE)]
    path = directory / "cluster.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [*items, *others]}))
    return path


def forecast(
    directory: Path,
    capsys: pytest.CaptureFixture[str],
    objects: Objects,
    *more: str,
    others: Sequence[dict[str, Any]] = (),
) -> dict[str, Any]:
    main(["savings", "--cluster", str(written(directory, objects, others)), "-o", "json", *more])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_a_node_that_a_waiting_pod_needs_is_not_saved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither node has room for 3.5 of 4 cores; one of them has, once its pod is beside the other."""
    objects: Objects = [
        node("a").price(1),
        node("b").price(1),
        web("x", "a"),
        web("y", "b"),
        waiting("w", "3500m"),
    ]
    told = forecast(tmp_path, capsys, objects)
    assert told["saved"]["nodes"] == 0
    assert told["after"]["hourlyCost"] == told["now"]["hourlyCost"] == 2
    assert told["unplaced"] == {}
    [cleared] = told["emptiedForWaitingPods"]
    assert told["placements"] == {"default/w": cleared["node"]}
    assert [each["by"] for each in told["stay"] if cleared["node"] in each["nodes"]] == ["waiting"]


def test_an_empty_node_that_a_waiting_pod_needs_is_not_removed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    objects: Objects = [node("a").price(1), node("b").price(1), node("c").price(1), waiting("w", "3")]
    told = forecast(tmp_path, capsys, objects)
    assert (told["savedByAnyAutoscaler"]["nodes"], told["after"]["nodes"]) == (2, 1)


def test_what_any_autoscaler_removes_is_not_our_saving(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of $10: $4 is empty, $2 is cordoned and can be emptied, $3 is emptied by a move."""
    objects: Objects = [
        node("empty").price(4),
        node("cordoned").price(2).unschedulable(),
        node("dear").price(3),
        node("cheap").price(1),
        *(web(f"w{number}", name) for number, name in enumerate(("cordoned", "dear", "cheap"))),
    ]
    told = forecast(tmp_path, capsys, objects)
    assert told["now"]["hourlyCost"] == 10
    assert told["saved"]["hourlyCost"] == 3
    assert told["savedByAnyAutoscaler"]["hourlyCost"] == 6
    assert told["emptyOrCordoned"] == ["cordoned", "empty"]
    assert told["after"]["hourlyCost"] == 1
    main(["savings", "--cluster", str(tmp_path / "cluster.json")])
    said = capsys.readouterr().out
    assert "4 nodes cost $10.00/h now, $6.00/h of it for 2 nodes empty or cordoned already." in said
    assert "With Tradewind 1 node costs $1.00/h: another $3.00/h less (30 %), $2,190 a month." in said
    assert "$6.00/h: 2 nodes empty or cordoned already: any autoscaler removes them" in said


_POOL = """apiVersion: tradewind.dev/v1alpha1
kind: TradewindConfiguration
planner:
  pools: [{name: large, price: 5, resources: {cpu: 16, memory: 64Gi}}]
"""


def test_a_place_on_a_new_node_is_a_place_in_every_view(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "tradewind.yaml"
    config.write_text(_POOL)
    objects: Objects = [node("a").price(1), web("x", "a"), waiting("large", "12"), waiting("small", "1")]
    told = forecast(tmp_path, capsys, objects, "--config", str(config))
    assert told["pools"] == {"default/large": "large"}
    assert (told["newNodes"], told["newNodesCost"]) == ({"large": 1}, 5)
    assert told["unplaced"] == {}
    arguments = ["--cluster", str(tmp_path / "cluster.json"), "--config", str(config), "-o", "json"]
    main(["plan", *arguments])
    planned = json.loads(capsys.readouterr().out)
    assert (planned["pools"], planned["unplaced"]) == (told["pools"], told["unplaced"])
    main(["explain", "default/large", *arguments[:-2]])
    assert "It fits on a new node of pool large" in capsys.readouterr().out
    parts = Assembly(from_file(tmp_path / "cluster.json"), config)
    with parts.started():
        waits = pending(*parts.cache.state(), parts.settings.policy_of, frozenset(), parts.pools())
    helped = {str(each.pod): each.helped_by for each in waits}
    assert "a new node of pool large" in helped["default/large"]
    assert "pool" not in helped["default/small"]
    main(["savings", *arguments[:-2]])
    said = capsys.readouterr().out
    assert "2 of 2 waiting pods would have a place." in said
    assert "1 pod of them on 1 new node of pool large, $5.000/h" in said


def test_interruptions_are_of_the_same_pods_and_the_assumed_rate_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A waiting pod that is placed on the spot node interrupts nothing that runs now."""
    spot = node("spot").price(1).label("karpenter.sh/capacity-type", "spot")
    told = forecast(tmp_path, capsys, [spot, web("x", "spot"), waiting("w", "1")])
    rate = DEFAULT.market.priors.spot
    found = told["interruptionsAMonth"]
    assert (found["now"], found["after"], found["pods"]) == (rate, rate, 1)
    assert (found["spotNodes"], found["spotNodesWithAssumedRate"]) == (1, 1)
    main(["savings", "--cluster", str(tmp_path / "cluster.json")])
    assert (
        f"The rate of 1 of 1 spot node is unknown; {100 * rate:.0f} % a month is assumed."
        in capsys.readouterr().out
    )


def claiming(name: str, on: str, claim: str) -> PodBuilder:
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": claim}}
    return web(name, on).field("spec", "volumes", value=[volume])


STAYING = web("stays", "cheap").annotation("karpenter.sh/do-not-disrupt", "true")


def volume(claim: str, zone: str) -> list[dict[str, Any]]:
    """What is bound to the claim, in one zone."""
    term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}
    return [
        {
            "kind": "PersistentVolume",
            "metadata": {"name": f"pv-{claim}"},
            "spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}},
        },
        {
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": claim, "namespace": "default"},
            "spec": {"volumeName": f"pv-{claim}"},
        },
    ]


ZONED = [node("dear").price(3).label(ZONE, "a"), node("cheap").price(1).label(ZONE, "b")]


@pytest.mark.parametrize(
    ("zone", "emptied"),
    [pytest.param("a", [], id="in its zone"), pytest.param("b", ["dear"], id="elsewhere")],
)
def test_a_pod_moves_only_to_where_its_volume_is(
    zone: str, emptied: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    objects: Objects = [*ZONED, claiming("db", "dear", "data"), STAYING]
    told = forecast(tmp_path, capsys, objects, "--move", "volume-claim", others=volume("data", zone))
    assert [each["node"] for each in told["emptied"]] == emptied


def test_a_pod_whose_volume_is_not_in_the_file_stays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    objects: Objects = [*ZONED, claiming("db", "dear", "data"), STAYING]
    told = forecast(tmp_path, capsys, objects, "--move", "volume-claim")
    assert told["emptied"] == []
    assert [each["by"] for each in told["stay"] if "dear" in each["nodes"]] == ["volume-unknown"]


def test_a_waiting_pod_goes_where_its_volume_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pending = claiming("db", "", "data").without("spec", "nodeName")
    objects: Objects = [*ZONED, web("x", "cheap"), pending]
    assert forecast(tmp_path, capsys, objects, others=volume("data", "a"))["placements"] == {
        "default/db": "dear"
    }
    arguments = ["--cluster", str(tmp_path / "cluster.json")]
    main(["plan", *arguments, "-o", "json"])
    assert json.loads(capsys.readouterr().out)["placements"] == {"default/db": "dear"}
    main(["explain", "default/db", *arguments])
    assert "didn't match PersistentVolume's node affinity" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("medium", "pool", "emptied"),
    [
        pytest.param("Memory", False, ["dear"], id="in memory"),
        pytest.param("", False, [], id="on disk, by cluster-autoscaler's rule"),
        pytest.param("", True, ["dear"], id="on disk, by Karpenter's rule"),
    ],
)
def test_an_empty_dir_counts_as_for_the_autoscaler_of_its_node(
    medium: str, pool: bool, emptied: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dear = node("dear").price(3).label("karpenter.sh/nodepool", "x") if pool else node("dear").price(3)
    volume = {"name": "tmp", "emptyDir": {"medium": medium} if medium else {}}
    odd = web("x", "dear").field("spec", "volumes", value=[volume])
    told = forecast(tmp_path, capsys, [dear, node("cheap").price(1), odd, STAYING])
    assert [each["node"] for each in told["emptied"]] == emptied


def _budget(healthy: int) -> dict[str, Any]:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}},
        "status": {"currentHealthy": healthy, "disruptionsAllowed": 1},
    }


_SYSTEM = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-system"}}


@pytest.mark.parametrize(
    ("objects", "sign"),
    [
        pytest.param([node("a"), node("b")], "it has nodes, but no pod", id="nodes alone"),
        pytest.param(
            [node("a"), node("b"), web("x", "a")], "all its pods are of namespace default", id="no -A"
        ),
        pytest.param(
            [node("a"), web("x", "a"), web("y", "a").namespace("b"), _SYSTEM],
            "it has no pod of kube-system",
            id="some namespaces",
        ),
        pytest.param(
            [node("a"), web("x", "a"), ELSEWHERE, _budget(5)],
            "PodDisruptionBudget default/web counts 5 healthy pods, and it has 1",
            id="pods that a budget counts",
        ),
    ],
)
@pytest.mark.parametrize("command", ["savings", "rebalance", "what-if"])
def test_a_file_that_lacks_pods_is_refused_unless_wanted(
    command: str, objects: list[Any], sign: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "cluster.json"
    items = [each if isinstance(each, dict) else json.loads(each.json()) for each in objects]
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    arguments = [command, "--cluster", str(path), *(["--price", "a x2"] if command == "what-if" else [])]
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert sign in said
    assert "--partial" in said
    if command == "savings":
        main([*arguments, "--partial"])
        assert f"The file seems to lack pods, so the savings are too high: {sign}" in capsys.readouterr().out


def test_a_whole_file_is_not_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    objects: Objects = [node("a").price(1), web("x", "a"), ELSEWHERE]
    assert forecast(tmp_path, capsys, objects, others=[_SYSTEM, _budget(1)])["missing"] == []


def _others(told: dict[str, Any]) -> dict[str, tuple[int, float, int]]:
    """Nodes and dollars that others leave, and what they replace."""
    return {
        each["name"].split()[0].partition("'")[0]: (each["nodes"], each["hourlyCost"], each["replaced"])
        for each in told["others"]
    }


def test_what_the_autoscaler_would_empty_too_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The only pod of a workload keeps its node for us, not for either autoscaler."""
    alone = web("x", "dear").owner("StatefulSet", "db", "db")
    busy = web("y", "busy", "3").annotation("karpenter.sh/do-not-disrupt", "true")
    plain = [node("dear").price(3), node("cheap").price(1), node("busy").price(2)]
    told = forecast(tmp_path, capsys, [*plain, alone, busy, STAYING])
    assert told["saved"]["nodes"] == 0
    assert _others(told)["cluster-autoscaler"] == (2, 3, 0)
    owned = [each.label("karpenter.sh/nodepool", "x") for each in plain]
    assert _others(forecast(tmp_path, capsys, [*owned, alone, busy, STAYING]))["Karpenter"] == (2, 3, 0)


def test_karpenter_would_replace_a_node_by_a_cheaper_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "tradewind.yaml"
    config.write_text(_POOL.replace("price: 5", "price: 0.5").replace("cpu: 16", "cpu: 2"))
    one = node("dear").price(3).label("karpenter.sh/nodepool", "x")
    told = forecast(tmp_path, capsys, [one, web("x", "dear")], "--config", str(config))
    assert _others(told)["Karpenter"] == (1, 0.5, 1)


def test_both_schedulers_place_all_pods_anew(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A bare pod stays on the dear node, which both fill rather than open another."""
    bare = pod("bare").requests(cpu="1").on("dear")
    nodes = [node("dear").price(3), node("cheap").price(1)]
    told = forecast(tmp_path, capsys, [*nodes, bare, web("x", "cheap"), web("y", "cheap")])
    assert _others(told)["kube-scheduler"] == (1, 3, 0)
    assert _others(told)["Tradewind,"] == (1, 3, 0)
