import io
import json
from pathlib import Path

import pytest

from tests.builders import ELSEWHERE, NodeBuilder, PodBuilder, node, pod
from tradewind.cli.main import main

_ROOT = Path(__file__).parents[2]
_EXAMPLE = _ROOT / "tradewind" / "runtime" / "examples" / "cluster.json"


def web(name: str, on: str, cpu: str = "1") -> PodBuilder:
    return pod(name).label("app", "web").owner("ReplicaSet", "web", "web").requests(cpu=cpu).on(on)


def written(directory: Path, *objects: NodeBuilder | PodBuilder) -> Path:
    path = directory / "cluster.json"
    items = [json.loads(each.json()) for each in (*objects, ELSEWHERE)]
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return path


def test_the_guide_shows_what_the_command_says(capsys: pytest.CaptureFixture[str]) -> None:
    main(["savings", "--cluster", str(_EXAMPLE)])
    said = capsys.readouterr().out.strip()
    assert said in (_ROOT / "docs" / "savings.md").read_text()
    assert said in (_ROOT / "README.md").read_text()


@pytest.mark.parametrize("output", ["table", "md"])
def test_what_keeps_the_rest_is_named_with_its_money(
    output: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stubborn = web("a", "dear").annotation("karpenter.sh/do-not-disrupt", "true")
    path = written(
        tmp_path,
        node("dear").price(3),
        node("cheap").price(1),
        stubborn,
        web("b", "cheap"),
        web("c", "cheap"),
    )
    main(["savings", "--cluster", str(path), "-o", output])
    said = capsys.readouterr().out
    assert "1 node costs $3.000/h: $1.000/h less (25 %), $730 a month." in said
    assert "$3.000/h: 1 node kept by pods with do-not-disrupt (default/a)" in said
    assert "2 of 2 nodes have a price: 2 from node annotations." in said
    assert "No PodDisruptionBudget was seen." in said


@pytest.mark.parametrize("output", ["table", "md"])
def test_what_costs_most(output: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of $4 a core of four is $1; the six smallest of seven workloads have a tenth of a core each."""
    others = [
        pod(f"p{n}").owner("StatefulSet", f"s{n}", f"u{n}").requests(cpu="100m").on("n") for n in range(6)
    ]
    main(
        [
            "savings",
            "--cluster",
            str(written(tmp_path, node("n").cpu("4").price(4), web("a", "n"), *others)),
            "-o",
            output,
        ]
    )
    lines = [line.strip("| ").replace("|", " ").split() for line in capsys.readouterr().out.splitlines()]
    assert ["ReplicaSet", "default/web", "1", "$1.000/h", "$0.000/h"] in lines
    assert ["StatefulSet", "default/s3", "1", "$0.100/h", "$0.000/h"] in lines
    assert ["2", "others", "2", "$0.200/h", "$0.000/h"] in lines
    assert ["requested", "by", "nobody", "$2.400/h", "$0.000/h"] in lines


def test_caution_can_be_overruled_and_wishes_cannot(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    alone = web("a", "dear").owner("StatefulSet", "db", "db")
    path = written(tmp_path, node("dear").price(3), node("cheap").price(1), alone, web("b", "cheap"))
    main(["savings", "--cluster", str(path)])
    assert "with --move single-replica $3.000/h more could be saved" in capsys.readouterr().out
    main(["savings", "--cluster", str(path), "--move", "single-replica", "-o", "json"])
    assert json.loads(capsys.readouterr().out)["saved"]["hourlyCost"] == 3
    with pytest.raises(SystemExit) as ended:
        main(["savings", "--cluster", str(path), "--move", "do-not-disrupt"])
    assert ended.value.code == 2


def test_nothing_to_save_and_nothing_at_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["savings", "--cluster", str(written(tmp_path, node("n").price(2), web("a", "n")))])
    assert "1 node costs $2.000/h now. Tradewind finds none of them to save." in capsys.readouterr().out
    main(["savings", "--cluster", str(written(tmp_path, pod("p")))])
    assert "0 nodes now, 0 with Tradewind" in capsys.readouterr().out


def test_a_waiting_pod_keeps_the_empty_node_it_needs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The empty node for $1 takes the pod; that for $2 is not needed."""
    waiting = pod("w").owner("ReplicaSet", "w", "w").requests(cpu="3")
    path = written(tmp_path, node("small").price(1), node("large").price(2), waiting)
    main(["savings", "--cluster", str(path), "-o", "json"])
    told = json.loads(capsys.readouterr().out)
    assert (told["placements"], told["emptyOrCordoned"]) == ({"default/w": "small"}, ["large"])
    assert (told["now"]["hourlyCost"], told["after"]["hourlyCost"]) == (3, 1)


def test_the_cluster_may_come_from_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = written(tmp_path, node("n").price(2))
    monkeypatch.setattr("tradewind.cli.arguments.STANDARD_INPUT", path)
    monkeypatch.setattr("sys.stdin", io.StringIO())
    main(["savings", "--cluster", "-"])
    assert "1 node empty or cordoned already" in capsys.readouterr().out


def test_names_are_no_markup(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    odd = web("<img|*x*>", "n").without("metadata", "ownerReferences")
    main(["savings", "--cluster", str(written(tmp_path, node("n").price(2), odd)), "-o", "md"])
    assert r"default/\<img\|\*x\*\>" in capsys.readouterr().out


def test_what_cannot_be_read_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "cluster.json"
    budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b"}}
    path.write_text(json.dumps({"kind": "List", "items": [{**budget, "spec": {"minAvailable": "few"}}]}))
    with pytest.raises(SystemExit):
        main(["savings", "--cluster", str(path)])
    error = capsys.readouterr().err
    assert f'{path}, item 0: "few" is neither a number nor a percentage' in error
