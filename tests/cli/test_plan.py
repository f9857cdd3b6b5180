import json
from pathlib import Path

import pytest

from tests.builders import PodBuilder, node, pod
from tradewind.cli.main import main


def _file(directory: Path, pods: list[PodBuilder]) -> Path:
    nodes = [node("cheap").cpu("2").price(1), node("dear").cpu("2").price(3)]
    items = [json.loads(each.json()) for each in (*nodes, *pods)]
    path = directory / "cluster.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return path


def test_json_says_where_why_and_for_how_much(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pods = [
        pod("a").requests(cpu="1"),
        pod("b").requests(cpu="500m"),
        pod("gone").requests(cpu="1").phase("Succeeded"),
        pod("large").requests(cpu="9"),
    ]
    main(["plan", "--cluster", str(_file(tmp_path, pods)), "-o", "json"])
    told = json.loads(capsys.readouterr().out)
    assert list(told) == [
        "placements", "unplaced", "nodesUsed", "hourlyCost", "lowerBound", "seconds", "engine",
    ]  # fmt: skip
    assert told["placements"] == {"default/a": "cheap", "default/b": "cheap"}
    assert told["unplaced"].keys() == {"default/large"}
    assert "cpu: more than any node has" in told["unplaced"]["default/large"]
    assert (told["nodesUsed"], told["hourlyCost"], told["engine"]) == (1, 1.0, "exact")
    assert told["lowerBound"] == pytest.approx(0.75)


def test_the_table_is_for_people(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pods = [pod("a").requests(cpu="1"), pod("large").requests(cpu="9")]
    main(["plan", "--cluster", str(_file(tmp_path, pods))])
    output = capsys.readouterr().out
    assert "default/a  cheap" in output
    assert "UNPLACED" in output
    assert "1 pods placed, 1 not" in output


def test_pools_that_could_grow_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = tmp_path / "tradewind.yaml"
    document.write_text(
        "apiVersion: tradewind.dev/v1alpha1\nkind: TradewindConfiguration\nplanner:\n  pools:\n"
        "    - {name: big, resources: {cpu: 16, memory: 64Gi}, price: 2}\n"
    )
    path = _file(tmp_path, [pod("large").requests(cpu="9"), pod("larger").requests(cpu="99")])
    command = ["plan", "--cluster", str(path), "--config", str(document)]
    main([*command, "-o", "json"])
    told = json.loads(capsys.readouterr().out)
    assert (told["pools"], told["newNodes"]) == ({"default/large": "big"}, {"big": 1})
    assert told["unplaced"].keys() == {"default/large", "default/larger"}
    main(command)
    assert "Nodes to add to pool big: 1, for 1 of these pods." in capsys.readouterr().out


def test_an_empty_batch_is_a_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["plan", "--cluster", str(_file(tmp_path, [pod("on").requests(cpu="1").on("dear")])), "-o", "json"])
    told = json.loads(capsys.readouterr().out)
    assert (told["placements"], told["unplaced"]) == ({}, {})
    assert (told["nodesUsed"], told["hourlyCost"], told["lowerBound"]) == (1, 3.0, 3.0)


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        pytest.param(pod("a").requests(cpu="4Gb"), ['"4Gb"', "item 2", "default/a"], id="a quantity"),
        pytest.param(
            pod("a").annotation("tradewind.dev/gang-min", "few"),
            ["tradewind.dev/gang-min", "default/a", '"few"'],
            id="an annotation of ours",
        ),
        pytest.param(
            pod("a").field("spec", "containers", value=7),
            ["item 2", "containers"],
            id="a field of the wrong type",
        ),
    ],
)
def test_bad_input_names_file_item_and_field(
    broken: PodBuilder, words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _file(tmp_path, [broken])
    with pytest.raises(SystemExit) as ended:
        main(["plan", "--cluster", str(path)])
    assert ended.value.code == 2
    error = capsys.readouterr().err
    for word in (str(path), *words):
        assert word in error
