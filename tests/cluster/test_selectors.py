import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradewind.cluster.selectors import canonical, holds, integer, matches, selector_of
from tradewind.cluster.wire import LabelSelector, Requirement


@pytest.mark.parametrize(
    ("operator", "values", "value", "held"),
    [
        pytest.param("In", ("a", "b"), "b", True, id="one of the values"),
        pytest.param("In", ("a", "b"), "c", False, id="none of the values"),
        pytest.param("In", ("a", ""), None, False, id="a missing label is in nothing"),
        pytest.param("In", (), "a", False, id="in nothing"),
        pytest.param("NotIn", ("a",), "b", True, id="another value"),
        pytest.param("NotIn", ("a",), "a", False, id="the value itself"),
        pytest.param("NotIn", ("a",), None, True, id="a missing label is not in anything"),
        pytest.param("Exists", None, "", True, id="an empty label exists"),
        pytest.param("Exists", None, None, False, id="a missing one does not"),
        pytest.param("DoesNotExist", None, None, True, id="missing as it should"),
        pytest.param("DoesNotExist", None, "", False, id="empty is not missing"),
        pytest.param("Gt", ("4",), "5", True, id="greater"),
        pytest.param("Gt", ("4",), "4", False, id="not greater than itself"),
        pytest.param("Gt", ("9",), "10", True, id="as numbers and not as texts"),
        pytest.param("Gt", ("4",), None, False, id="a missing label is not greater"),
        pytest.param("Lt", ("4",), "3", True, id="less"),
        pytest.param("Lt", ("4",), None, False, id="nor is it less"),
        pytest.param("Lt", ("4",), "few", False, id="a word is not less"),
        pytest.param("Lt", ("few",), "4", False, id="nor is anything less than a word"),
        pytest.param("Lt", (), "4", False, id="no bound"),
        pytest.param("Lt", ("4", "5"), "3", False, id="two bounds"),
        pytest.param("Like", ("a",), "a", False, id="an operator that there is not"),
    ],
)
def test_holds(operator: str, values: tuple[str, ...] | None, value: str | None, held: bool) -> None:
    assert holds(Requirement("key", operator, values), value) is held


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("-0", 0),
        ("+7", 7),
        ("007", 7),
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
        ("9223372036854775808", None),
        ("0" * 5_000 + "7", 7),
        ("7" * 5_000, None),
        ("", None),
        ("-", None),
        (" 7", None),
        ("7 ", None),
        ("1_000", None),
        ("7.0", None),
        ("0x7", None),
        ("\u0667", None),
    ],
    ids=lambda value: ascii(value)[:24],
)
def test_integer(text: str, number: int | None) -> None:
    assert integer(text) == number


@given(st.integers(-(2**70), 2**70))
def test_integer_is_what_was_written_or_out_of_range(number: int) -> None:
    assert integer(str(number)) == (number if -(2**63) <= number < 2**63 else None)


def test_empty_selector_matches_everything_and_the_missing_one_nothing() -> None:
    assert matches(selector_of(LabelSelector()), {})
    assert matches(selector_of(LabelSelector()), {"app": "web"})
    assert not matches(selector_of(None), {})


def test_every_requirement_must_hold() -> None:
    exists = Requirement("track", "Exists")
    selector = selector_of(LabelSelector(match_labels={"app": "web"}, match_expressions=(exists,)))
    assert matches(selector, {"app": "web", "track": "canary"})
    assert not matches(selector, {"app": "web"})
    assert not matches(selector, {"track": "canary"})


def test_selectors_are_equal_however_they_were_written() -> None:
    one = LabelSelector(match_labels={"app": "web", "tier": "front"})
    other = LabelSelector(
        match_labels={"tier": "front"},
        match_expressions=(Requirement("app", "In", ("web",)), Requirement("app", "In", ("web", "web"))),
    )
    assert selector_of(one) == selector_of(other)
    forth = canonical([Requirement("app", "In", ("a", "b")), Requirement("x", "Exists")])
    back = canonical([Requirement("x", "Exists", ()), Requirement("app", "In", ("b", "a"))])
    assert forth == back
    assert hash(forth) == hash(back)
