"""A note survives the way over the pod; whatever else stands there is no note, and never an error."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import pod
from tradewind.planner.note import ANNOTATION, GATE, Note, fresh, read, text

_NOON = datetime(2026, 1, 1, 12, tzinfo=UTC).timestamp()
_WRITTEN = '{"node":"a","generation":7,"until":"2026-01-01T12:00:00Z"}'


def _read(written: str) -> Note | None:
    return read(pod("web").annotation(ANNOTATION, written).build())


def test_the_text_is_part_of_the_interface() -> None:
    assert GATE == ANNOTATION == "tradewind.dev/plan"
    assert text(Note("a", 7, _NOON)) == _WRITTEN
    assert text(Note("a", 7, _NOON, strict=True)) == _WRITTEN[:-1] + ',"strict":true}'
    assert _read(_WRITTEN) == Note("a", 7, _NOON)


def test_a_pod_without_a_note() -> None:
    assert read(pod("web").build()) is None


@given(
    st.builds(
        Note,
        st.text(min_size=1),
        st.integers(0, 2**63),
        st.floats(0, datetime(9999, 1, 1, tzinfo=UTC).timestamp()),
        st.booleans(),
    )
)
def test_what_is_written_is_read(note: Note) -> None:
    found = _read(text(note))
    assert found is not None
    assert found._replace(until=note.until) == note
    assert found.until == pytest.approx(note.until, abs=1e-4)


@pytest.mark.parametrize(
    ("written", "until"),
    [
        pytest.param("2026-01-01T13:00:00+01:00", _NOON, id="another time zone"),
        pytest.param("2026-01-01T12:00:00.25Z", _NOON + 0.25, id="a fraction of a second"),
    ],
)
def test_times(written: str, until: float) -> None:
    assert _read(_WRITTEN.replace("2026-01-01T12:00:00Z", written)) == Note("a", 7, until)


def test_a_later_version_may_say_more() -> None:
    assert _read(_WRITTEN[:-1] + ',"wave":{"number":[1,null]}}') == Note("a", 7, _NOON)


@pytest.mark.parametrize(
    "written",
    [
        pytest.param("", id="nothing"),
        pytest.param("node-a", id="no JSON"),
        pytest.param("null", id="null"),
        pytest.param("[]", id="no object"),
        pytest.param("{}", id="an empty object"),
        pytest.param(_WRITTEN[:-1], id="cut off"),
        pytest.param(_WRITTEN.replace('"a"', '""'), id="a node without a name"),
        pytest.param(_WRITTEN.replace('"a"', "1"), id="a number for a node"),
        pytest.param(_WRITTEN.replace("7", "-7"), id="a negative generation"),
        pytest.param(_WRITTEN.replace("7", "7.5"), id="half a generation"),
        pytest.param(_WRITTEN.replace("12:00:00Z", "12:00:00"), id="a time without a zone"),
        pytest.param(_WRITTEN.replace("2026-01-01T12:00:00Z", "soon"), id="no time"),
        pytest.param(_WRITTEN.replace('"2026-01-01T12:00:00Z"', "1767268800"), id="a number for a time"),
        pytest.param(_WRITTEN.replace("2026-01-01T12:00:00Z", "9999-12-31T23:59:59-01:00"), id="no year"),
        pytest.param(_WRITTEN[:-1] + ',"strict":"yes"}', id="a word for strict"),
        pytest.param(_WRITTEN[:-1] + ',"more":' + "[" * 200_000, id="nested too deep"),
        pytest.param(_WRITTEN.replace("7", "7" * 5_000), id="a generation of 5,000 digits"),
    ],
)
def test_what_makes_no_sense_is_no_note(written: str) -> None:
    assert _read(written) is None


@given(st.text() | st.from_regex(r'\{"node":"a","generation":\d+,"until":".*"\}'))
def test_no_text_is_an_error(written: str) -> None:
    found = _read(written)
    assert found is None or found.node


def test_a_note_is_fresh_until_its_time() -> None:
    note = Note("a", 7, _NOON)
    assert fresh(note, _NOON - 0.001)
    assert not fresh(note, _NOON)
    assert not fresh(note, _NOON + 1)
