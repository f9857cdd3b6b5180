"""A summary says what is there, never more, and whatever else comes is refused with a sentence."""

import json
import math
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import cluster_of, node, pod
from tests.fleet.cases import NOW, nodes, request, site, summary_of
from tradewind.fleet import ledger as ledgers
from tradewind.fleet.decision import decide
from tradewind.fleet.policy import SitePolicy
from tradewind.fleet.sites import Site, Sites
from tradewind.fleet.summarise import summarise
from tradewind.fleet.summary import MAX_ROWS, Place, Summary, SummaryError, encode, read_summary


def test_lists_for_each_resource_the_nodes_with_most_of_it() -> None:
    wide, deep, small = (
        node("wide").cpu("32"),
        node("deep").memory("256Gi"),
        node("small").cpu("1").memory("1Gi"),
    )
    summary = summarise(cluster_of([wide, deep, small]), "s", Place(), time=NOW, best=1)
    cpu, memory = summary.resources.index("cpu"), summary.resources.index("memory")
    shown = {(row.free[cpu], row.free[memory] >> 30, row.count) for row in summary.rows}
    assert shown == {(32_000, 16, 1), (4_000, 256, 1), (1_000, 1, 1)}
    assert summary.nodes == 3
    assert summary.free[cpu] == 37_000  # the centroid is a third of it: 12.3 cores a node


def test_nodes_that_are_not_listed_are_groups_with_the_least_of_their_members() -> None:
    nodes = [node(f"n{i}") for i in range(100)]
    pods = [pod(f"p{i}").requests(cpu=f"{i * 30}m").on(f"n{i}") for i in range(100)]
    summary = summary_of("s", nodes, pods)
    cpu = summary.resources.index("cpu")
    assert sum(row.count for row in summary.rows) == 100
    assert len(summary.rows) <= 45
    assert sum(row.count * row.free[cpu] for row in summary.rows) <= summary.free[cpu]
    # Of node i, 30m times i is taken.
    big = pod("big").requests(cpu="1500m").build()
    exact = sum((4000 - 30 * i) // 1500 for i in range(100))
    assert exact * 0.8 <= ledgers.room(summary, ledgers.EMPTY, big) <= exact


def test_alike_nodes_are_one_row() -> None:
    summary = summary_of("s", [node(f"n{i}").price(0.5) for i in range(1000)])
    assert [(row.kind, row.count) for row in summary.rows] == [(0, 1000)]
    assert len(encode(summary)) < 1000


def test_nodes_that_take_no_pods_are_left_out() -> None:
    assert summary_of("s", [node("a").unschedulable(), node("b")]).nodes == 1


def test_is_read_as_it_was_written() -> None:
    place = Place(region="eu", latitude=52.5, longitude=13.4, watts_per_core=4, carbon=300)
    summary = summary_of("s", [node("a").price(0.1).taint("gpu")], place=place)
    assert read_summary(encode(summary), "s") == summary


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"version": 2}, "version 2"),
        ({"version": None}, "cannot be read"),
        ({"site": "other"}, 'of site "other"'),
        ({"time": 1e999}, "out of range"),
        ({"errorRate": 2}, "error rate is out of range"),
        ({"rows": [[9, 1, [0, 0, 0]]]}, "does not have"),
        ({"rows": [[0, 1, [0]]]}, "not one for each resource"),
        ({"rows": [[0, 1, [-1, 0, 0]]]}, "not one for each resource"),
        ({"rows": [[0, 1, [0, 0, 0]]] * (MAX_ROWS + 1)}, "more than"),
        ({"resources": ["cpu", "cpu", "memory"]}, "twice"),
        ({"kinds": [{"price": -1}]}, "out of range"),
        ({"place": {"latitude": 100}}, "coordinates"),
        ({"place": {"carbon": -5}}, "energy"),
        ({"free": "much"}, "cannot be read"),
    ],
)
def test_a_broken_one_is_refused_with_the_reason(change: dict[str, Any], says: str) -> None:
    summary = json.loads(encode(summary_of("s", [node("a")])))
    with pytest.raises(SummaryError, match=says):
        read_summary(json.dumps({**summary, **change}).replace("Infinity", "1e999"), "s")


@given(st.one_of(st.binary(max_size=200), st.text(max_size=200)))
def test_noise_is_refused(noise: str | bytes) -> None:
    with pytest.raises(SummaryError):
        read_summary(noise, "s")


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=10,
)


@given(st.sampled_from([field.encode_name for field in msgspec.structs.fields(Summary)]), _JSON)
def test_any_field_may_hold_anything_and_the_matrix_lives(field: str, value: object) -> None:
    document = json.loads(encode(summary_of("s", [node("a").price(0.1)]))) | {field: value}
    try:
        summary = read_summary(json.dumps(document), "s")
    except SummaryError:
        return
    sites = Sites([site("other", node("b"))])
    sites.apply(site("s", node("a")))
    sites.apply(Site(name="s", summary=summary))


_WHOLE = encode(summary_of("s", [node("a").price(0.1), node("b").cpu("9").taint("gpu")])).encode()


@given(st.lists(st.tuples(st.integers(0, len(_WHOLE) - 1), st.binary(max_size=3)), min_size=1, max_size=4))
def test_a_summary_with_other_bytes_is_refused_or_harms_no_decision(edits: list[tuple[int, bytes]]) -> None:
    text = _WHOLE
    for place, put in edits:
        text = text[:place] + put + text[place + len(put) :]
    try:
        summary = read_summary(text, "s")
    except SummaryError:
        return
    sites = Sites([site("whole", *nodes(1)), Site(name="s", summary=summary)])
    decision = decide(request(4), sites, SitePolicy(), NOW)
    assert decision.placed
    assert all(math.isfinite(value) for value in decision.values.values())
    for name, replicas in decision.division.items():
        chosen = sites.site(name)
        assert chosen is not None
        assert chosen.summary is not None
        assert replicas <= ledgers.room(chosen.summary, ledgers.EMPTY, request().pod)
