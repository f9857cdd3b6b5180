import json
from pathlib import Path

import pytest

from tests.builders import PodBuilder, node, pod
from tests.karpenter_objects import need, node_overlay, node_pool
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
        "placements", "unplaced", "nodesUsed", "hourlyCost", "lowerBound", "prices", "seconds", "engine",
    ]  # fmt: skip
    assert told["placements"] == {"default/a": "cheap", "default/b": "cheap"}
    assert told["unplaced"].keys() == {"default/large"}
    assert "cpu: more than any node has" in told["unplaced"]["default/large"]
    assert (told["nodesUsed"], told["hourlyCost"], told["engine"]) == (1, 1.0, "exact")
    assert told["lowerBound"] == pytest.approx(0.75)
    assert told["prices"] == {"nodes": 2, "known": 2, "estimated": 0, "unknown": 0}


def test_the_table_is_for_people(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pods = [pod("a").requests(cpu="1"), pod("large").requests(cpu="9")]
    main(["plan", "--cluster", str(_file(tmp_path, pods))])
    output = capsys.readouterr().out
    assert "default/a  cheap" in output
    assert "UNPLACED" in output
    assert "1 pod placed, 1 not; 1 node in use." in output
    assert "$1.000/h; no plan can be below $0.5000/h." in output
    assert "have a price" not in output


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
    assert told["unplaced"].keys() == {"default/larger"}
    assert (told["hourlyCost"], told["newNodesCost"]) == (2.0, 2.0)
    main(command)
    output = capsys.readouterr().out
    assert "default/large  a new node of pool big" in output
    assert "1 pod placed, 1 not; 0 nodes in use, 1 new node of pool big." in output
    assert "$2.000/h, of which $2.000/h for new nodes." in output
    assert "\ndefault/larger: " in output


def test_it_says_why_a_pod_is_not_on_its_favourite(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both want the cheap node, which has room for one."""
    path = _file(tmp_path, [pod(f"p-{at}").requests(cpu="1500m") for at in range(2)])
    main(["plan", "--cluster", str(path), "-o", "json"])
    told = json.loads(capsys.readouterr().out)
    (why,) = told["elsewhere"].values()
    assert "cheap would score higher, but its room goes to default/p-" in why
    main(["plan", "--cluster", str(path)])
    output = capsys.readouterr().out
    assert "NOT THE HIGHEST SCORE\ndefault/p-" in output
    assert why in output


def _karpenter_file(directory: Path) -> Path:
    """As `kubectl get nodes,pods,nodepools,nodeoverlays -A -o json` writes it, on EKS."""
    seen = node("n").cpu("2").memory("8Gi").label("topology.kubernetes.io/zone", "us-east-1a")
    seen = seen.label("node.kubernetes.io/instance-type", "m5.large").label(
        "karpenter.sh/capacity-type", "on-demand"
    )
    items = [seen, *(pod(f"p-{at}").requests(cpu="1500m") for at in range(3))]
    on_demand = need("karpenter.sh/capacity-type", "on-demand")
    documents = [
        *(json.loads(each.json()) for each in items),
        node_pool("default", on_demand),
        node_overlay("savings", on_demand, priceAdjustment="-50%"),
    ]
    path = directory / "cluster.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": documents}))
    return path


def test_karpenters_node_pools_are_pools(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """$0.1 less half by the overlay, for the node that is there and for two new ones."""
    (tmp_path / "prices.csv").write_text("instance_type,price\nm5.large,0.1\n")
    document = tmp_path / "tradewind.yaml"
    document.write_text(
        "apiVersion: tradewind.dev/v1alpha1\nkind: TradewindConfiguration\nmarket: {table: prices.csv}\n"
    )
    main(["plan", "--cluster", str(_karpenter_file(tmp_path)), "--config", str(document), "-o", "json"])
    told = json.loads(capsys.readouterr().out)
    assert told["newNodes"] == {"default (m5.large, on-demand, us-east-1a)": 2}
    assert (told["hourlyCost"], told["newNodesCost"], told["unplaced"]) == (0.15, 0.1, {})


def test_new_nodes_without_a_price_are_no_money(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = _karpenter_file(tmp_path)
    main(["plan", "--cluster", str(path)])
    assert "1 node (no prices), and 2 new nodes (no prices)." in capsys.readouterr().out
    main(["plan", "--cluster", str(path), "-o", "json"])
    told = json.loads(capsys.readouterr().out)
    assert (told["hourlyCost"], told["newNodesCost"]) == (None, None)


def test_without_prices_nodes_are_counted_and_no_money(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    items = [node("a").cpu("2"), node("b").cpu("2"), *(pod(f"p-{i}").requests(cpu="1") for i in range(3))]
    path = tmp_path / "cluster.json"
    document = {"apiVersion": "v1", "kind": "List", "items": [json.loads(each.json()) for each in items]}
    path.write_text(json.dumps(document))
    main(["plan", "--cluster", str(path)])
    output = capsys.readouterr().out
    assert "2 nodes (no prices); no plan needs fewer than 2." in output
    assert "0 of 2 nodes have a price: price is not used" in output
    assert "$" not in output
    main(["plan", "--cluster", str(path), "-o", "json"])
    told = json.loads(capsys.readouterr().out)
    assert (told["nodesUsed"], told["hourlyCost"], told["lowerBound"]) == (2, None, None)
    assert told["prices"] == {"nodes": 2, "known": 0, "estimated": 0, "unknown": 2}


def test_equal_reasons_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pods = [
        pod(f"{name}-{i}").requests(cpu="9").owner("StatefulSet", name, name)
        for name in ("web", "cart", "api")
        for i in range(13)
    ]
    main(["plan", "--cluster", str(_file(tmp_path, [*pods, pod("other").requests(memory="1Ti")]))])
    told = capsys.readouterr()
    lines = told.out.partition("UNPLACED\n")[2].splitlines()
    assert lines[0].startswith("39 pods of 3 workloads: ")
    assert lines[0].endswith("(default/api-0, default/api-1, default/api-10, ...)")
    assert lines[1].startswith("default/other: ")
    assert "Planning 40 pods on 2 nodes, up to 10 s ..." in told.err


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
