import json
from pathlib import Path
from typing import Any

import pytest

from tests.builders import ELSEWHERE, NodeBuilder, PodBuilder, node, pod
from tradewind.cli.main import main

_ZONE = "topology.kubernetes.io/zone"
_TYPE = "node.kubernetes.io/instance-type"


def web(name: str, on: str, cpu: str = "1") -> PodBuilder:
    return pod(name).label("app", "web").owner("ReplicaSet", "web", "web").requests(cpu=cpu).on(on)


def small(name: str, zone: str, price: float) -> NodeBuilder:
    return (
        node(name)
        .price(price)
        .label(_ZONE, zone)
        .label(_TYPE, "m5.large")
        .label("karpenter.sh/nodepool", zone)
    )


def asked(directory: Path, capsys: pytest.CaptureFixture[str], *flags: str) -> dict[str, Any]:
    objects = [small("a", "x", 1), small("b", "y", 2), web("w1", "a"), web("w2", "b"), web("w3", "b", "3")]
    path = directory / "cluster.json"
    items = [json.loads(each.json()) for each in (*objects, ELSEWHERE)]
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    main(["what-if", "--cluster", str(path), *flags, "-o", "json"])
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    main(["what-if", "--cluster", str(path), *flags])
    assert "DIFFERENCE" in capsys.readouterr().out
    return told


@pytest.mark.parametrize("flags", [["--without", "b"], ["--without", "y"], ["--lost-zone", "y"]])
def test_a_node_a_pool_or_a_zone_is_gone(
    flags: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """3 of 4 cores are free on a: enough for either pod of b, not for both."""
    told = asked(tmp_path, capsys, *flags)
    assert (told["now"]["hourlyCost"], told["then"]["hourlyCost"]) == (3, 1)
    assert len(told["then"]["unplaced"]) == 1
    assert set(told["elsewhere"]) == {"default/w2", "default/w3"}
    assert sorted(str(each["then"]) for each in told["elsewhere"].values()) == ["None", "a"]


@pytest.mark.parametrize(
    ("change", "cost"), [("m5.large x2", 6), ("m5.* on-demand x0.5", 1.5), ("a 5", 7), ("m5.large 1", 2)]
)
def test_prices(change: str, cost: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = asked(tmp_path, capsys, "--price", change)
    assert (told["now"]["hourlyCost"], told["then"]["hourlyCost"]) == (3, cost)


def test_rates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = asked(tmp_path, capsys, "--rate", "b 0.5")
    assert told["then"]["interruptionsAMonth"] - told["now"]["interruptionsAMonth"] == pytest.approx(
        1, abs=0.01
    )


@pytest.mark.parametrize("replicas", [9, 5, 1])
def test_replicas(replicas: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = asked(tmp_path, capsys, "--scale", f"default/web={replicas}")
    then = [each["then"] for each in told["elsewhere"].values()]
    if replicas < 3:
        assert then == [None] * (3 - replicas)
    else:
        assert 3 + sum(node is not None for node in then) + len(told["then"]["unplaced"]) == replicas


def test_another_configuration_places_all_anew(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "other.yaml"
    config.write_text("apiVersion: tradewind.dev/v1alpha1\nkind: TradewindConfiguration\npreset: cost\n")
    assert asked(tmp_path, capsys, "--config", str(config))["placedAnew"]


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ([], "nothing is to change"),
        (["--without", "c"], "--without: there is no node or pool c"),
        (["--lost-zone", "z"], "--lost-zone: no node is in zone z"),
        (["--price", "m5.large"], '--price: "m5.large" is not TYPE'),
        (["--price", "c5.large x2"], '--price: there is no node of type or name "c5.large"'),
        (["--rate", "m5.large 2"], "--rate: 2 is not from 0 to 1"),
        (["--scale", "web=2"], '--scale: "web=2" is not NAMESPACE/WORKLOAD=REPLICAS'),
        (["--scale", "default/wbe=2"], "did you mean default/web?"),
    ],
)
def test_what_makes_no_sense_is_named(
    flags: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        asked(tmp_path, capsys, *flags)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err
