import json
from pathlib import Path

import pytest

from tests.builders import ELSEWHERE, NodeBuilder, PodBuilder, namespace, node, pod
from tradewind.cli.main import main

_ROOT = Path(__file__).parents[2]
_EXAMPLE = _ROOT / "tradewind" / "runtime" / "examples" / "cluster.json"
_HEAD = "apiVersion: tradewind.dev/v1alpha1\nkind: TradewindConfiguration\n"


def web(name: str, on: str) -> PodBuilder:
    old = pod(name).field("metadata", "creationTimestamp", value="2020-01-01T00:00:00Z")
    return old.label("app", "web").owner("ReplicaSet", "web", "web").requests(cpu="1").on(on)


def written(directory: Path, *objects: NodeBuilder | PodBuilder, held: bool = True) -> Path:
    path = directory / "cluster.json"
    home = namespace("default").label("tradewind.dev/hold", "enabled" if held else "no")
    items = [json.loads(each.json()) for each in (home, *objects, ELSEWHERE)]
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return path


def nodes() -> list[NodeBuilder]:
    return [node("dear").price(3), node("cheap").price(1)]


def told(path: Path, capsys: pytest.CaptureFixture[str], *more: str) -> str:
    main(["rebalance", "--cluster", str(path), *more])
    return capsys.readouterr().out


def test_the_page_shows_what_the_command_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(_EXAMPLE, capsys).strip() in (_ROOT / "docs" / "rebalance.md").read_text()


def test_the_figures_are_those_of_savings(capsys: pytest.CaptureFixture[str]) -> None:
    moves = json.loads(told(_EXAMPLE, capsys, "-o", "json"))
    main(["savings", "--cluster", str(_EXAMPLE), "-o", "json"])
    savings = json.loads(capsys.readouterr().out)
    assert [each.pop("act") for each in moves["emptied"]] == [False, False]
    for each in moves["emptied"]:
        assert each.pop("balance") > 0
        assert "not held" in each.pop("reason")
    assert (moves.pop("mode"), moves.pop("safety")) == ("off", [])
    assert moves == savings


@pytest.mark.parametrize(
    ("settings", "verdict"),
    [
        pytest.param("", "yes", id="by default"),
        pytest.param("minDollars: 4", "no: $3 in 1 h is less than $4", id="too little"),
        pytest.param("minDollars: 4, horizonHours: 2", "yes", id="enough in two hours"),
        pytest.param(
            "minBalance: 2", "no: its share of the bill is 1.50 of its share of the pods", id="balance"
        ),
        pytest.param("budget: {evictions: 0}", "no: more than 0 evictions an hour", id="budget"),
        pytest.param("minAgeSeconds: 31536000", "yes", id="old enough"),
        pytest.param(
            "maxPriority: -1", "no: kept by critical pods, which are not moved for money", id="critical"
        ),
    ],
)
def test_what_the_planner_would_do(
    settings: str, verdict: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "tradewind.yaml"
    config.write_text(f"{_HEAD}planner: {{moves: {{mode: act, {settings}}}}}\n")
    path = written(tmp_path, *nodes(), web("a", "dear"), web("b", "cheap"))
    said = told(path, capsys, "--config", str(config))
    assert f"dear   $3.000/h  default/a  cheap  {verdict}" in said
    assert "planner.moves.mode is act: the planner moves them by itself" in said


def test_where_pods_are_not_held_the_planner_moves_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, *nodes(), web("a", "dear"), web("b", "cheap"), held=False)
    assert "no: kept by pods of namespaces that are not held (default/a)" in told(path, capsys)


def test_without_prices_nodes_are_counted_and_nothing_pays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, node("x"), node("y"), web("a", "x"), web("b", "y"))
    said = told(path, capsys)
    assert "2 nodes now, 1 with Tradewind: 1 node fewer" in said
    assert "$" not in said
    assert "no: its price is not known" in said


def exposed(directory: Path) -> Path:
    """A node with a termination notice, and a critical pod on the other spot node."""
    spot = ("karpenter.sh/capacity-type", "spot")
    nodes = [
        node("going").label(*spot).taint("aws-node-termination-handler/spot-itn"),
        node("spot").label(*spot),
        node("durable"),
    ]
    return written(
        directory, *nodes, web("a", "going"), web("b", "spot").priority(100_000), web("c", "durable")
    )


def test_what_would_be_safer_also_without_prices(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = exposed(tmp_path)
    said = " ".join(told(path, capsys).split())
    assert "default/a durable going has a termination notice yes" in said
    assert "default/b durable it has a high priority, and spot is a spot node yes" in said
    found = json.loads(told(path, capsys, "-o", "json"))["safety"]
    assert [(each["cause"], each["node"], each["act"]) for each in found] == [
        ("notice", "going", True),
        ("critical", "spot", True),
    ]


def test_causes_that_are_not_served_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "tradewind.yaml"
    config.write_text(f"{_HEAD}planner: {{moves: {{mode: act, causes: [notice]}}}}\n")
    said = told(exposed(tmp_path), capsys, "--config", str(config))
    assert "no: planner.moves.causes has no critical" in said
    assert "no: planner.moves.causes has no notice" not in said
