"""How starts are counted, forgotten and kept, with worked arithmetic."""

import msgspec
import pytest

from tradewind.cluster.starts import Outcome
from tradewind.market.learned import Learner, Memory, Sighting, decode, encode
from tradewind.market.node_history import NodeHistory
from tradewind.market.pools import Pool

_POOL = Pool("m5.large", "a", "spot")


def _good(node: str, seconds: float = 2.0) -> Outcome:
    return Outcome(node, failed=False, seconds=seconds)


def _bad(node: str) -> Outcome:
    return Outcome(node, failed=True)


@pytest.mark.parametrize(
    ("outcomes", "shares"),
    [
        pytest.param([_good("a")] * 5, {}, id="all went well"),
        pytest.param([_bad("a")], {"a": 0.333}, id="1 / (1 + 2)"),
        pytest.param([_bad("a")] * 8, {"a": 0.8}, id="8 / (8 + 2)"),
        pytest.param([_bad("a"), *[_good("a")] * 7, _bad("b")], {"a": 0.1, "b": 0.333}, id="1 / (8 + 2)"),
        pytest.param([*[_good("b")] * 20, _good("a", 21)], {"a": 0.167}, id="slow: 0.5 / (1 + 2)"),
        pytest.param([*[_good("b")] * 20, _good("a", 20)], {}, id="a moment is not slow"),
        pytest.param([*[_good("b", 10)] * 20, _good("a", 40)], {}, id="four times the median is not slow"),
        pytest.param([*[_good("b")] * 19, _good("a", 99)], {}, id="too few to say what is slow"),
        pytest.param([*[_bad("b")] * 20, _good("a", 99)], {"b": 0.909}, id="failed ones have no time"),
    ],
)
def test_shares(outcomes: list[Outcome], shares: dict[str, float]) -> None:
    history = NodeHistory()
    assert history.record(outcomes) is bool(shares)
    assert history.shares() == shares


def test_half_is_forgotten_in_a_day_however_it_is_cut() -> None:
    whole, cut = NodeHistory(), NodeHistory()
    for history in (whole, cut):
        history.record([_bad("a")] * 2)
    whole.pass_time(24, {"a"})
    for _ in range(48):
        cut.pass_time(0.5, {"a"})
    assert whole.shares() == cut.shares() == {"a": 0.333}  # 1 / (1 + 2), was 2 / (2 + 2)
    whole.pass_time(24 * 30, {"a"})
    assert (whole.shares(), whole.tallies) == ({}, {})


def test_nodes_that_are_gone_are_forgotten() -> None:
    history = NodeHistory()
    for number in range(1000):
        history.record([_bad(f"n-{number}")])
        history.pass_time(0, {f"n-{number}", "other"})
    assert list(history.tallies) == ["n-999"]


def _learner(*outcomes: Outcome, at: float = 1e9) -> Learner:
    learner = Learner(168)
    learner.observe(at, {name: Sighting(_POOL) for name in ("a", "b")})
    learner.history.record(outcomes)
    return learner


def test_a_restart_goes_on_where_it_was() -> None:
    data = encode(_learner(_bad("a"), _bad("a"), *[_good("b")] * 9).state(), 10_000)
    assert '""' not in data.split('"nodes"')[1]  # nothing to lose
    restarted = Learner(168)
    restarted.restore(decode(data))
    restarted.observe(1e9 + 86_400, {"a": Sighting(_POOL)})
    assert restarted.history.shares() == {"a": 0.333}


def test_merging_counts_nothing_twice_and_revives_no_node() -> None:
    learner = _learner(_bad("a"))
    learner.merge(learner.state())
    assert learner.history.shares() == {"a": 0.333}
    former = Learner(168)
    former.observe(1e9, {})
    former.history.record([_bad("gone"), _bad("a"), _bad("a"), _bad("b")])
    learner.merge(former.state())
    assert learner.history.shares() == {"a": 0.5, "b": 0.333}


def test_documents_of_other_versions_are_read() -> None:
    class Before(msgspec.Struct):
        at: float
        pools: list[msgspec.Raw]

    assert decode('{"at": 5, "pools": []}') == Memory(5, [])
    new = encode(_learner(_bad("a")).state(), 10_000)
    assert msgspec.json.decode(new, type=Before).at == 1e9
    assert "nodes" not in encode(_learner().state(), 10_000)


@pytest.mark.parametrize("numbers", ["-1, 0", "1, -1", "1, 2", "1e999, 0", '"1", 0'])
def test_impossible_numbers_are_refused(numbers: str) -> None:
    starts, troubles = numbers.split(", ")
    node = f'{{"name": "a", "starts": {starts}, "troubles": {troubles}}}'
    with pytest.raises(ValueError, match=r"[Nn]umber|troubles|float"):
        decode(f'{{"at": 5, "pools": [], "nodes": [{node}]}}')


def test_what_is_kept_has_a_bound() -> None:
    learner = _learner(*(_bad(f"n-{number}") for number in range(1000)))
    assert len(encode(learner.state(), 10_000)) <= 10_000
