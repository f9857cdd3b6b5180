"""The process that savings and what-if are worked out in: it says what this process would say."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.builders import node
from tests.savings.test_workloads import told, web, written
from tradewind.config.document import DEFAULT, Document, with_scoring
from tradewind.errors import TradewindError
from tradewind.planner.worker import Worker
from tradewind.runtime.assembly import Assembly
from tradewind.runtime.source import EXAMPLES, from_file
from tradewind.savings import difference_report, html, worker
from tradewind.savings.changes import Changes
from tradewind.savings.what_if import read_changes, what_if
from tradewind.savings.worker import SavingsWorker

_EXAMPLE = EXAMPLES / "cluster.json"


@pytest.fixture
def parts() -> Iterator[Assembly]:
    parts = Assembly(from_file(_EXAMPLE), None)
    with parts.started():
        yield parts


def test_a_forecast_is_that_of_this_process(parts: Assembly) -> None:
    asked = SavingsWorker()
    found = asked.forecast(parts)
    here = told(_EXAMPLE)
    assert (found.content, found.page) == (html.content(here), html.page(here))
    assert asked.pid is None


def test_one_that_was_killed_before_it_had_a_process_works_nothing_out(parts: Assembly) -> None:
    asked = SavingsWorker()
    asked.kill()
    with pytest.raises(TradewindError, match="the solver"):
        asked.forecast(parts)
    assert asked.pid is None


@pytest.mark.parametrize(
    ("changed", "document"),
    [
        ({"without": ["durable-a1"], "price": ["durable-* x3"]}, None),
        ({"rate": ["spot-* 0.9"]}, with_scoring(DEFAULT, {"preset": "cost"})),
    ],
    ids=["changes", "another configuration"],
)
def test_a_difference_is_that_of_this_process(
    parts: Assembly, changed: dict[str, list[str]], document: Document | None
) -> None:
    changes = read_changes(changed)
    here = Worker()
    try:
        expected = what_if(parts, changes, here, 5.0, document)
    finally:
        here.close()
    found = SavingsWorker().what_if(parts, changes, document, 1)
    assert found == difference_report.summary(expected, 1)
    assert found.elsewhere == len(expected.elsewhere) >= 1
    assert len(found.moved) == 1


def test_what_a_server_said_is_known_there_too(tmp_path: Path) -> None:
    """Prometheus is not asked again: what it said comes along."""
    path = written(tmp_path, [node("n").price(1).label("karpenter.sh/capacity-type", "spot"), web("a", "n")])
    parts = Assembly(from_file(path), None)
    with parts.started():
        parts.market.quote({"interruption_rate": {"n": 0.77}})
        parts.feed.offer()
        found = SavingsWorker().what_if(parts, Changes(), None, 1)
    assert ("interruptions a month", "0.77") in [each[:2] for each in found.figures]


_POOL = """apiVersion: tradewind.dev/v1alpha1
kind: TradewindConfiguration
market: {table: prices.csv}
planner:
  pools:
  - name: large
    resources: {cpu: 16, memory: 64Gi}
    labels: {node.kubernetes.io/instance-type: m5.4xlarge, karpenter.sh/capacity-type: spot}
    interruptionRate: 0.5
    durable: false
"""


def test_new_nodes_have_the_prices_of_now_and_are_in_the_totals(tmp_path: Path) -> None:
    """Without its node the pod goes to a new one for $0.25 of the table, at a rate of 0.5."""
    (tmp_path / "prices.csv").write_text(
        "instance_type,capacity_type,price\nm5.4xlarge,spot,0.25\nm5.4xlarge,on-demand,0.75\n"
    )
    config = tmp_path / "tradewind.yaml"
    config.write_text(_POOL)
    path = written(tmp_path, [node("n").price(1), node("tiny").cpu("500m").price(2), web("a", "n")])
    parts = Assembly(from_file(path), config)
    with parts.started():
        changes = read_changes({"without": ["n"]})
        found = SavingsWorker().what_if(parts, changes, None, 1)
        here = Worker()
        try:
            assert found == difference_report.summary(what_if(parts, changes, here, 5.0), 1)
        finally:
            here.close()
    figures = {each.name: (each.now, each.then) for each in found.figures}
    assert figures["nodes"] == ("2", "2")
    assert figures["dollars an hour"] == ("$3.000", "$2.250")
    assert figures["interruptions a month"] == ("0.00", "0.50")
    assert figures["pods with a place"] == ("1", "1")


def test_what_cannot_be_supposed_is_refused(parts: Assembly) -> None:
    with pytest.raises(TradewindError, match="there is no node or pool spot-a9; did you mean"):
        SavingsWorker().what_if(parts, read_changes({"without": ["spot-a9"]}), None, 1)


def test_it_takes_no_more_memory_than_it_may(parts: Assembly, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "_memory_left", lambda: 2**20)
    with pytest.raises(TradewindError, match=r"1 MiB of memory"):
        SavingsWorker().forecast(parts)


def test_it_is_given_up_after_a_while(parts: Assembly, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "MAX_SECONDS", 0.01)
    asked = SavingsWorker()
    with pytest.raises(TradewindError, match=r"not done in time; no more than 0\.01 s and \d+ MiB of memory"):
        asked.forecast(parts)
    assert asked.pid is None
