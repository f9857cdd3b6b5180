import pytest

from cluster.cache import News
from extender.batching import Window
from planner.settings import BatchSettings

_SETTINGS = BatchSettings(events=30, seconds=10, pause_seconds=0.2)


@pytest.mark.parametrize(
    ("news", "now", "remaining"),
    [
        pytest.param([(0.0, News(1, 0))], 0.0, 0.2, id="one pod waits for a pause"),
        pytest.param([(0.0, News(1, 0)), (0.15, News(2, 0))], 0.2, 0.15, id="another one begins it anew"),
        pytest.param([(0.0, News(1, 0)), (0.15, News(1, 0))], 0.2, 0.0, id="no news is a pause"),
        pytest.param([(0.0, News(29, 0))], 0.0, 0.2, id="one short of full"),
        pytest.param([(0.0, News(1, 0)), (0.1, News(30, 0))], 0.1, -0.1, id="full"),
        pytest.param([(0.0, News(0, 500))], 0.0, 0.2, id="room that opens does not fill a batch"),
        pytest.param([(t / 10, News(1 + t // 5, t)) for t in range(100)], 9.95, 0.05, id="never a pause"),
    ],
)
def test_when_a_batch_is_closed(news: list[tuple[float, News]], now: float, remaining: float) -> None:
    window = Window(_SETTINGS, News(), 0.0)
    for at, count in news:
        window.note(count, at)
    assert window.remaining(now) == pytest.approx(remaining)


def test_what_was_seen_before_does_not_count() -> None:
    window = Window(_SETTINGS, News(100, 5), 0.0)
    window.note(News(129, 5), 0.1)
    assert window.remaining(0.1) > 0
    window.note(News(130, 5), 0.1)
    assert window.remaining(0.1) <= 0


def test_where_plans_take_long_a_full_batch_waits_for_more() -> None:
    window = Window(_SETTINGS, News(), 0.0, least=1.0)
    for tenth in range(10):
        window.note(News(100 * (tenth + 1), 0), tenth / 10)
    assert window.remaining(0.9) == pytest.approx(0.1)
    assert window.remaining(1.0) == 0
