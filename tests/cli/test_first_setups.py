"""What a newcomer has in the first hour, on nodes as EKS has them: the right node, or a clear word."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.builders import NodeBuilder, node, pod
from tradewind.cli.main import main

_HEAD = "apiVersion: tradewind.dev/v1alpha1\nkind: TradewindConfiguration\n"
_ADVISOR = {
    "ranges": [{"index": 3, "label": "15-20%"}],
    "spot_advisor": {"us-east-1": {"Linux": {"m5.large": {"s": 66, "r": 3}}}},
}
_NOT_USED = "0 of 2 nodes have a price: price is not used, and stability does not prefer on-demand"


def eks(name: str, terms: str) -> NodeBuilder:
    built = node(name).label("node.kubernetes.io/instance-type", "m5.large")
    built = built.label("topology.kubernetes.io/region", "us-east-1")
    return built.label("topology.kubernetes.io/zone", "us-east-1a").label("karpenter.sh/capacity-type", terms)


class Newcomer:
    def __init__(self, directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.directory = directory
        self._capsys = capsys
        items = [eks("a-on-demand", "on-demand"), eks("b-spot", "spot"), pod("web").requests(cpu="500m")]
        cluster = {"apiVersion": "v1", "kind": "List", "items": [json.loads(item.json()) for item in items]}
        self.write("cluster.json", json.dumps(cluster))
        self.write("tradewind.yaml", _HEAD)

    def write(self, name: str, text: str) -> str:
        (self.directory / name).write_text(text)
        return str(self.directory / name)

    def price(self, table: str) -> None:
        self.write("prices.csv", table)
        self.write("tradewind.yaml", _HEAD + "market: {table: prices.csv}\n")

    def imports(self, name: str, text: str, *flags: str) -> None:
        main(["prices", "import", self.write(name, text), "--output", self.write("prices.csv", ""), *flags])
        self.write("tradewind.yaml", _HEAD + "market: {table: prices.csv}\n")
        self._capsys.readouterr()

    def run(self, *command: str) -> str:
        main([*command, "--cluster", str(self.directory / "cluster.json")])
        return self._capsys.readouterr().out

    def explained(self) -> dict[str, Any]:
        told = self.run(
            "explain", "default/web", "--config", str(self.directory / "tradewind.yaml"), "--json"
        )
        return dict(json.loads(told))

    def totals(self) -> dict[str, float]:
        return {each["node"]: each["total"] for each in self.explained()["ranked"]}

    def checked(self) -> str:
        return self.run("check-config", str(self.directory / "tradewind.yaml"))


@pytest.fixture
def newcomer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Newcomer:
    return Newcomer(tmp_path, capsys)


def test_no_prices_at_all(newcomer: Newcomer) -> None:
    totals = newcomer.totals()
    assert totals["b-spot"] == totals["a-on-demand"]
    assert _NOT_USED in newcomer.checked()
    assert any(_NOT_USED in sentence for sentence in newcomer.explained()["sentences"])


def test_rates_of_the_spot_advisor_alone(newcomer: Newcomer) -> None:
    newcomer.imports("advisor.json", json.dumps(_ADVISOR))
    ranked = {each["node"]: each for each in newcomer.explained()["ranked"]}
    assert ranked["b-spot"]["interruption_rate"] == 0.175
    assert ranked["b-spot"]["total"] == ranked["a-on-demand"]["total"]
    assert _NOT_USED in newcomer.checked()


def test_spot_advisor_with_on_demand_prices(newcomer: Newcomer) -> None:
    listed = newcomer.write("listed.csv", "instance_type,price\nm5.large,0.096\n")
    newcomer.imports("advisor.json", json.dumps(_ADVISOR), "--on-demand", listed)
    totals = newcomer.totals()
    assert totals["b-spot"] > totals["a-on-demand"]  # 0.096 x 0.34 and 0.096
    assert "2 of 2 nodes have a price: 2 from the price table." in newcomer.checked()


@pytest.mark.parametrize("imported", [True, False])
def test_two_columns(newcomer: Newcomer, imported: bool) -> None:
    text = "instance_type,price\nm5.large,0.096\n"
    newcomer.imports("listed.csv", text) if imported else newcomer.price(text)
    ranked = {each["node"]: each for each in newcomer.explained()["ranked"]}
    assert ranked["b-spot"]["total"] > ranked["a-on-demand"]["total"]
    assert ranked["b-spot"]["node_dollars_an_hour"] == pytest.approx(0.096 * 0.34)
    checked = newcomer.checked()
    assert "1 of 2 nodes have a price: 1 from the price table; 1 estimated from similar nodes." in checked
    assert "The price table has no price for m5.large (spot)." in checked


def test_a_table_for_another_region(newcomer: Newcomer) -> None:
    newcomer.price(
        "instance_type,region,capacity_type,price\n"
        "m5.large,eu-west-1,on-demand,0.107\nm5.large,eu-west-1,spot,0.04\n"
    )
    totals = newcomer.totals()
    assert totals["b-spot"] == totals["a-on-demand"]
    checked = newcomer.checked()
    assert _NOT_USED in checked
    assert "The price table is for eu-west-1; the nodes are in us-east-1." in checked
