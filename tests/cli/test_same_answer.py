"""`plan` and `explain` read one configuration the same way: prices, discounts and priors count in both."""

import json
from pathlib import Path

import pytest

from tests.builders import NodeBuilder, node, pod
from tradewind.cli.main import main

_HEAD = "apiVersion: tradewind.dev/v1alpha1\nkind: TradewindConfiguration\n"
_TABLE = "instance_type,capacity_type,price\nlarge,on-demand,1.00\nsmall,on-demand,0.10\nsmall,spot,0.10\n"
_STABILITY_ONLY = "weights: {price: 0, resource_fit: 0, workload_priority: 0, equivalence: 0, stability: 1}\n"


def typed(name: str, instance_type: str, terms: str = "on-demand") -> NodeBuilder:
    built = node(name).cpu("2").label("node.kubernetes.io/instance-type", instance_type)
    return built.label("karpenter.sh/capacity-type", terms)


@pytest.mark.parametrize(
    ("nodes", "settings", "expected"),
    [
        pytest.param(
            [typed("a-dear", "large"), typed("b-cheap", "small")],
            "market: {table: prices.csv}",
            "b-cheap",
            id="the table: 1.00 and 0.10",
        ),
        pytest.param(
            [typed("a-listed", "small"), typed("b-reduced", "large").label("team", "shop")],
            "market: {table: prices.csv, discounts: [{selector: team=shop, factor: 0.05}]}",
            "b-reduced",
            id="discounts: 0.10 and 1.00 x 0.05",
        ),
        pytest.param(
            [typed("a-risky", "small"), typed("b-calm", "small", "spot")],
            _STABILITY_ONLY + "market: {table: prices.csv, priors: {spot: 0.01, onDemand: 0.9}}",
            "b-calm",
            id="priors: 0.9 and 0.01",
        ),
    ],
)
def test_plan_and_explain_choose_the_same_node(
    nodes: list[NodeBuilder],
    settings: str,
    expected: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    items = [json.loads(each.json()) for each in (*nodes, pod("p").requests(cpu="500m"))]
    cluster, config = tmp_path / "cluster.json", tmp_path / "tradewind.yaml"
    cluster.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    (tmp_path / "prices.csv").write_text(_TABLE)
    config.write_text(_HEAD + settings + "\n")
    files = ["--cluster", str(cluster), "--config", str(config)]

    main(["plan", *files, "-o", "json"])
    planned = json.loads(capsys.readouterr().out)["placements"]["default/p"]
    main(["explain", "default/p", *files, "--json"])
    preferred = json.loads(capsys.readouterr().out)["ranked"][0]["node"]
    assert (planned, preferred) == (expected, expected)
