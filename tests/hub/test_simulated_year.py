"""Nothing that runs leaves a site without a cause, whatever happens; and the judge of that can fail."""

from typing import Any

import pytest

from tests.hub.history_checker import History
from tests.hub.simulated_year import Year


@pytest.mark.parametrize("seed", [1, 2])
def test_no_running_replica_leaves_without_a_cause(seed: int) -> None:
    year = Year(sites=10, bindings=30, seed=seed)
    history = year.run(steps=60)
    assert history.losses == []
    assert history.removals > 10
    assert year.placed() > 15


def _spec(clusters: dict[str, int], replicas: int, **more: Any) -> dict[str, Any]:
    targets = [{"name": name, "replicas": count} for name, count in clusters.items()]
    return {"clusters": targets, "replicas": replicas, "placement": {}, **more}


def test_the_checker_finds_a_replica_that_left() -> None:
    history = History(labels={"a": {}, "b": {}})
    history.written("web", _spec({"a": 2}, 2), _spec({"b": 2}, 2), 1.0)
    assert [(loss.site, loss.before, loss.after) for loss in history.losses] == [("a", 2, 0)]


@pytest.mark.parametrize(
    ("before", "after", "gone"),
    [
        (_spec({"a": 3}, 3), _spec({"a": 2}, 2), ""),
        (_spec({"a": 2}, 2), _spec({"b": 2}, 2, placement={"replicaScheduling": {}}), ""),
        (_spec({"a": 2}, 2), _spec({"b": 2}, 2, rescheduleTriggeredAt="now"), ""),
        (_spec({"a": 2}, 2), _spec({"b": 2}, 2), "a"),
    ],
)
def test_the_checker_knows_the_causes(before: dict[str, Any], after: dict[str, Any], gone: str) -> None:
    history = History(labels={"a": {}, "b": {}})
    history.written("web", _spec({}, before["replicas"]), before, 0.0)
    history.site_gone(gone)
    history.written("web", before, after, 1.0)
    assert history.losses == []
