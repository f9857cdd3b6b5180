"""The parts of the bill by workload: they add up, whatever pods ask for."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import NodeBuilder, PodBuilder, node, pod
from tradewind.cli.main import main
from tradewind.planner.worker import Worker
from tradewind.runtime.assembly import Assembly
from tradewind.runtime.source import EXAMPLES, from_file
from tradewind.savings.forecast import Forecast, forecast
from tradewind.savings.question import asked
from tradewind.savings.workloads import _shares, division


def told(path: Path) -> Forecast:
    parts = Assembly(from_file(path), None)
    worker = Worker()
    try:
        with parts.started():
            return forecast(asked(parts), worker, 1.0)
    finally:
        worker.close()


def written(directory: Path, objects: Sequence[NodeBuilder | PodBuilder]) -> Path:
    path = directory / "cluster.json"
    items = [json.loads(each.json()) for each in objects]
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return path


def web(name: str, on: str, replica_set: str = "web-1") -> PodBuilder:
    hashed = pod(name).label("pod-template-hash", replica_set.removeprefix("web-"))
    return hashed.owner("ReplicaSet", replica_set, replica_set).requests(cpu="1").on(on)


def test_a_node_is_divided_by_dominant_shares(tmp_path: Path) -> None:
    objects: list[NodeBuilder | PodBuilder] = [
        node("n").price(4).cpu("4").memory("8Gi"),
        node("estimated").cpu("4").memory("8Gi"),
        web("a", "n"),
        web("b", "n", "web-2"),
        pod("fat").owner("StatefulSet", "fat", "u-1").requests(cpu="100m", memory="3Gi").on("n"),
        pod("done").owner("Job", "done", "u-2").requests(cpu="4").on("n").phase("Succeeded"),
        pod("elsewhere").owner("StatefulSet", "other", "u-3").requests(cpu="4").on("estimated"),
    ]
    found = division(told(written(tmp_path, objects)), 10)
    assert found is not None
    assert [(each.name, each.pods) for each in found.top] == [
        ("StatefulSet default/other", 1),
        ("Deployment default/web", 2),
        ("StatefulSet default/fat", 1),
    ]
    assert [each.hourly for each in found.top] == pytest.approx([4.0, 2.0, 1.5])
    assert [each.estimated for each in found.top] == pytest.approx([4.0, 0.0, 0.0])
    assert found.idle.hourly == pytest.approx(0.5)


@given(st.lists(st.tuples(st.integers(0, 9000), st.integers(0, 2**34)), max_size=8))
def test_no_node_is_divided_into_more_than_itself(asked_for: list[tuple[int, int]]) -> None:
    pods = [
        pod(str(n)).requests(cpu=f"{cpu}m", memory=memory).build()
        for n, (cpu, memory) in enumerate(asked_for)
    ]
    shares = _shares(node("n").cpu("4").memory("8Gi").build(), pods)
    assert all(share >= 0 for share in shares)
    assert sum(shares) <= 1 + 1e-9


@pytest.mark.parametrize("most", [0, 1, 100])
def test_the_parts_of_the_example_are_its_bill_and_its_saving(most: int) -> None:
    forecast = told(EXAMPLES / "cluster.json")
    found = division(forecast, most)
    assert found is not None
    assert len(found.top) <= most
    assert sum(each.hourly for each in found.parts) == pytest.approx(forecast.now.hourly)
    assert sum(each.estimated for each in found.parts) == pytest.approx(forecast.now.estimated)
    assert forecast.saved.hourly
    assert sum(each.leaving for each in found.parts) == pytest.approx(forecast.saved.hourly)
    assert all(each.leaving <= each.hourly + 1e-9 for each in found.parts)


def test_an_empty_node_is_saved_for_nobody(tmp_path: Path) -> None:
    found = division(told(written(tmp_path, [node("n").price(4), node("empty").price(3), web("a", "n")])), 10)
    assert found is not None
    assert found.idle.leaving == pytest.approx(3.0)
    assert [each.leaving for each in found.top] == [0.0]


def test_without_prices_no_workload_has_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, [node("n"), web("a", "n")])
    assert division(told(path), 10) is None
    main(["savings", "--cluster", str(path), "-o", "html"])
    assert "What costs most" not in capsys.readouterr().out


def test_the_table_says_what_is_an_estimate(capsys: pytest.CaptureFixture[str]) -> None:
    main(["savings", "--cluster", str(EXAMPLES / "cluster.json"), "-o", "html"])
    section = re.search("<h2>What costs most.*?</section>", capsys.readouterr().out)
    assert section is not None
    assert "price" in section[0]
    assert "requested by nobody" in section[0]
