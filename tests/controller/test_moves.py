"""When nothing is moved at all."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, cast

import pytest
import yaml

from tests.builders import offer_of
from tradewind.cluster.cache import Cache
from tradewind.config.metrics import ConfigMetrics
from tradewind.config.settings import Settings
from tradewind.controller.metrics import PlanMetrics
from tradewind.controller.moves import Moves
from tradewind.planner.moves.mover import Round
from tradewind.planner.moves.world import World

_HEAD = {"apiVersion": "tradewind.dev/v1alpha1", "kind": "TradewindConfiguration"}


class Untouched:
    """Hands that must not move."""

    def __getattr__(self, name: str) -> Any:
        pytest.fail(f"{name} was called")


def _moves(
    path: Path,
    *,
    shadow: bool,
    clock: Callable[[], float] = time.time,
    passing: Callable[[], float] = time.monotonic,
) -> Moves:
    moves = {"planner": {"moves": {"mode": "act"}}}
    path.write_text(yaml.safe_dump({**_HEAD, **moves, "shadow": shadow}))
    settings = Settings(path, ConfigMetrics())
    return Moves(
        Cache(offer_of), settings, cast("Any", Untouched()), PlanMetrics(), clock=clock, passing=passing
    )


def test_in_the_shadow_nothing_is_moved(tmp_path: Path) -> None:
    assert _moves(tmp_path / "settings.yaml", shadow=True).run() == []


def test_live_the_hands_are_used(tmp_path: Path) -> None:
    with pytest.raises(pytest.fail.Exception):
        _moves(tmp_path / "settings.yaml", shadow=False).run()


class Watching:
    """A mover that only notes the time."""

    drain = None
    seen: ClassVar[list[float]] = []

    def __init__(self, _hands: object, look: Callable[[], World], *_: object) -> None:
        self._look = look

    def run(self) -> Round:
        self.seen.append(self._look().now)
        return Round()

    def forget(self) -> None:
        pass


@pytest.mark.parametrize("step", [7200.0, -7200.0, 1e9])
def test_a_clock_that_is_set_while_we_lead_changes_nothing(
    step: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tradewind.controller.moves.Mover", Watching)
    monkeypatch.setattr(Watching, "seen", [])
    clocks = {"set": 1000.0, "passing": 5.0}
    moves = _moves(
        tmp_path / "settings.yaml",
        shadow=False,
        clock=lambda: clocks["set"],
        passing=lambda: clocks["passing"],
    )
    moves.run()
    clocks["set"] += step
    clocks["passing"] += 30.0
    moves.run()
    moves.rest()
    moves.run()  # whoever leads next begins with the API server's time
    assert Watching.seen == [1000.0, 1030.0, 1000.0 + step]
