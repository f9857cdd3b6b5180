"""The fleet from a file: where workloads would go, and why, without Karmada."""

import json
from pathlib import Path
from typing import Any

import pytest

from tradewind.cli.main import main
from tradewind.runtime.source import EXAMPLES

_EXAMPLE = EXAMPLES / "fleet.json"


def _said(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    main([str(each) for each in arguments])
    return capsys.readouterr().out


def _file(directory: Path, change: Any) -> Path:
    """The example, changed; `change` gives whether an item stays."""
    document = json.loads(_EXAMPLE.read_text())
    document["items"] = [item for item in document["items"] if change(item)]
    file = directory / "fleet.json"
    file.write_text(json.dumps(document))
    return file


def test_the_example_needs_no_file(capsys: pytest.CaptureFixture[str]) -> None:
    told = _said(capsys, "fleet-plan")
    assert "6 bindings of 7 placed on 12 sites" in told
    placed = {each["binding"]: each for each in json.loads(_said(capsys, "fleet-plan", "-o", "json"))}
    assert len(placed) == 7
    # 16 cores: the clouds have far more of them, and no node of that size.
    assert placed["shop/database-deployment"]["clusters"] == {"own-berlin": 2}
    assert placed["ml/training-deployment"]["clusters"] == {"aws-virginia": 3}
    assert "no node that fits" in placed["ml/large-model-deployment"]["reason"]
    assert len(placed["shop/web-deployment"]["clusters"]) >= 2  # at least two regions
    assert sum(placed["shop/web-deployment"]["clusters"].values()) == 24


def test_weights_come_from_the_configuration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "tradewind.yaml"
    config.write_text(
        "apiVersion: tradewind.dev/v1alpha1\nkind: TradewindConfiguration\n"
        "fleet: {weights: {price: 0, energy: 100}}\n"
    )
    told = json.loads(_said(capsys, "fleet-plan", "--config", config, "-o", "json"))
    placed = {each["binding"]: each["clusters"] for each in told}
    assert "aws-stockholm" in placed["shop/search-deployment"]  # 25 grams a kWh


def test_without_prices_the_cost_is_said_to_be_unknown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def strip(item: dict[str, Any]) -> bool:
        if item["kind"] == "ConfigMap":
            summary = json.loads(item["data"]["summary"])
            for kind in summary["kinds"]:
                kind.pop("price", None)
            item["data"]["summary"] = json.dumps(summary)
        return True

    told = _said(capsys, "fleet-plan", "--sites", _file(tmp_path, strip))
    assert "no price is known" in told
    assert " ? " in told


def test_a_hub_without_summaries_places_nothing_and_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = _file(tmp_path, lambda item: item["kind"] != "ConfigMap")
    assert "12 site(s) had no summary" in _said(capsys, "fleet-plan", "--sites", file)


def test_other_objects_are_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "fleet.yaml"
    other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: y}\n---\n"
    capi = "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {name: capi}\n---\n"
    file.write_text(other + capi + _EXAMPLE.read_text())
    assert "on 12 sites" in _said(capsys, "fleet-plan", "--sites", file)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"kind": "List", "items": []}', "holds no Cluster of Karmada's"),
        ("no: [", "neither JSON nor YAML"),
        (
            '{"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": "a"}}',
            "no ResourceBinding that waits",
        ),
        (
            '{"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": 3}',
            "Expected `object`, got `int` - at `$.metadata`",
        ),
    ],
)
def test_a_file_that_will_not_do_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, says: str
) -> None:
    file = tmp_path / "fleet.yaml"
    file.write_text(text)
    with pytest.raises(SystemExit):
        main(["fleet-plan", "--sites", str(file)])
    assert says in capsys.readouterr().err


def test_explains_a_binding_that_has_a_place(capsys: pytest.CaptureFixture[str]) -> None:
    told = _said(capsys, "explain", "--binding", "shop/search-deployment", "--sites", _EXAMPLE)
    assert "shop/search-deployment asks for 4 replicas and is nowhere." in told
    assert "Decided anew, it would be on" in told
    assert "x 2" in told  # the weight of price
    assert "had no node that fits a replica (feasible_nodes)" in told


def test_explains_a_binding_where_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def put(item: dict[str, Any]) -> bool:
        if item["metadata"]["name"] == "search-deployment":
            item["spec"]["clusters"] = [{"name": "gcp-iowa", "replicas": 4}]
        return True

    file = _file(tmp_path, put)
    told = _said(capsys, "explain", "--binding", "shop/search-deployment", "--sites", file)
    assert "it is on gcp-iowa 4." in told
    found = json.loads(
        _said(capsys, "explain", "--binding", "shop/search-deployment", "--sites", file, "--json")
    )
    assert found["clusters"] == {"gcp-iowa": 4}
    assert "gcp-iowa" in {each["site"] for each in found["ranked"]}
    for each in found["ranked"]:
        assert sum(each["weighted"].values()) == pytest.approx(each["total"], abs=1e-4)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--binding", "shop/none", "--sites", str(_EXAMPLE)], 'no ResourceBinding "shop/none"'),
        (["shop/web", "--binding", "shop/web", "--sites", str(_EXAMPLE)], "leave pod out"),
        (["--sites", str(_EXAMPLE)], "with --binding"),
        ([], "name a pod"),
    ],
)
def test_what_does_not_go_together_is_refused(
    capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    with pytest.raises(SystemExit):
        main(["explain", *arguments])
    assert says in capsys.readouterr().err


def test_a_binding_that_is_refused_is_skipped_and_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def grouped(item: dict[str, Any]) -> bool:
        if item["metadata"]["name"] == "web-deployment":
            item["spec"]["components"] = [{"name": "a", "replicas": 1}]
        return True

    main(["fleet-plan", "--sites", str(_file(tmp_path, grouped)), "-o", "json"])
    out, err = capsys.readouterr()
    assert "shop/web-deployment" not in {each["binding"] for each in json.loads(out)}
    assert "Skipped shop/web-deployment: Tradewind does not support spec.components" in err
