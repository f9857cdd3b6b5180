import json
from pathlib import Path

from tradewind.cli.explain import explain_in_file
from tradewind.explain import report
from tradewind.runtime.source import EXAMPLES


def test_an_estimated_price_is_named_as_such(tmp_path: Path) -> None:
    document = json.loads((EXAMPLES / "cluster.json").read_text())
    (unpriced,) = [item for item in document["items"] if item["metadata"]["name"] == "durable-a1"]
    del unpriced["metadata"]["annotations"]["tradewind.dev/price"]
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps(document))
    told = explain_in_file(path, None, "shop/cart-0")
    by_name = {each.node: each for each in told.ranked}
    assert by_name["durable-a1"].price_from == "estimated"
    assert by_name["durable-a1"].interruption_rate_from == "node"
    assert by_name["durable-b1"].price_from == "node"
    assert by_name["durable-a1"].node_dollars_an_hour == by_name["durable-b1"].node_dollars_an_hour
    assert "No source knows the price of durable-a1; it is" in report.text(told, 120)


def test_nothing_is_said_where_all_prices_are_known() -> None:
    told = explain_in_file(EXAMPLES / "cluster.json", None, "shop/cart-0")
    assert not any("estimated" in sentence for sentence in told.sentences)
