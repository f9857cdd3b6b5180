"""A plan survives the way over the pod; whatever else stands there is no plan, and never an error."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import pod
from tradewind.planner.plan_annotation import ANNOTATION, PlanAnnotation, read

_NOON = datetime(2026, 1, 1, 12, tzinfo=UTC).timestamp()
_WRITTEN = '{"node":"a","until":"2026-01-01T12:00:00Z"}'


def _read(written: str) -> PlanAnnotation | None:
    return read(pod("web").annotation(ANNOTATION, written).build())


def test_the_text_is_part_of_the_interface() -> None:
    assert ANNOTATION == "tradewind.dev/plan"
    assert PlanAnnotation("a", _NOON).text() == _WRITTEN
    assert PlanAnnotation("a", _NOON, strict=True).text() == _WRITTEN[:-1] + ',"strict":true}'
    assert PlanAnnotation("a", _NOON, nominated=True).text() == _WRITTEN[:-1] + ',"nominated":true}'
    assert _read(_WRITTEN) == PlanAnnotation("a", _NOON)


def test_a_pod_without_a_plan() -> None:
    assert read(pod("web").build()) is None


@given(
    st.builds(
        PlanAnnotation,
        st.text(min_size=1),
        st.floats(0, datetime(9999, 1, 1, tzinfo=UTC).timestamp()),
        st.booleans(),
        st.text(),
        st.booleans(),
    )
)
def test_what_is_written_is_read(plan: PlanAnnotation) -> None:
    found = _read(plan.text())
    assert found is not None
    assert found._replace(until=plan.until) == plan
    assert found.until == pytest.approx(plan.until, abs=1e-4)


@pytest.mark.parametrize(
    ("written", "until"),
    [
        pytest.param("2026-01-01T13:00:00+01:00", _NOON, id="another time zone"),
        pytest.param("2026-01-01T12:00:00.25Z", _NOON + 0.25, id="a fraction of a second"),
    ],
)
def test_times(written: str, until: float) -> None:
    assert _read(_WRITTEN.replace("2026-01-01T12:00:00Z", written)) == PlanAnnotation("a", until)


def test_a_plan_of_the_version_before_is_read() -> None:
    written = '{"node":"a","generation":7,"until":"2026-01-01T12:00:00Z"}'
    assert _read(written) == PlanAnnotation("a", _NOON)


def test_a_later_version_may_say_more() -> None:
    assert _read(_WRITTEN[:-1] + ',"wave":{"number":[1,null]}}') == PlanAnnotation("a", _NOON)


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
        pytest.param(_WRITTEN.replace("12:00:00Z", "12:00:00"), id="a time without a zone"),
        pytest.param(_WRITTEN.replace("2026-01-01T12:00:00Z", "soon"), id="no time"),
        pytest.param(_WRITTEN.replace('"2026-01-01T12:00:00Z"', "1767268800"), id="a number for a time"),
        pytest.param(_WRITTEN.replace("2026-01-01T12:00:00Z", "9999-12-31T23:59:59-01:00"), id="no year"),
        pytest.param(_WRITTEN[:-1] + ',"strict":"yes"}', id="a word for strict"),
        pytest.param(_WRITTEN[:-1] + ',"more":' + "[" * 200_000, id="nested too deep"),
    ],
)
def test_what_makes_no_sense_is_no_plan(written: str) -> None:
    assert _read(written) is None


@given(st.text() | st.from_regex(r'\{"node":"a","until":".*"\}'))
def test_no_text_is_an_error(written: str) -> None:
    found = _read(written)
    assert found is None or found.node


def test_a_plan_is_fresh_until_its_time() -> None:
    plan = PlanAnnotation("a", _NOON)
    assert plan.fresh(_NOON - 0.001)
    assert not plan.fresh(_NOON)
    assert not plan.fresh(_NOON + 1)


@pytest.mark.parametrize("skew", [-86_400, -600, -240, -60, 0, 30, 86_400])
def test_no_clock_makes_a_plan_count_for_longer_than_its_limit(skew: int) -> None:
    """A plan of 60 s is written by a clock that is right, and read by one that is `skew` seconds ahead."""
    plan = PlanAnnotation("a", _NOON + 60)
    counted = sum(plan.fresh(_NOON + second + skew) for second in range(100_000))
    assert counted <= 301
    assert counted == {-86_400: 301, -600: 301, -240: 300, -60: 120, 0: 60, 30: 30, 86_400: 0}[skew]
    assert not PlanAnnotation("a", _NOON + 1e9).fresh(_NOON)
