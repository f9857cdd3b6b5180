"""When nothing is moved at all."""

from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from tests.builders import offer_of
from tradewind.cluster.cache import Cache
from tradewind.config.metrics import ConfigMetrics
from tradewind.config.settings import Settings
from tradewind.controller.metrics import PlanMetrics
from tradewind.controller.moves import Moves

_HEAD = {"apiVersion": "tradewind.dev/v1alpha1", "kind": "TradewindConfiguration"}


class Untouched:
    """Hands that must not move."""

    def __getattr__(self, name: str) -> Any:
        pytest.fail(f"{name} was called")


def _moves(path: Path, *, shadow: bool) -> Moves:
    moves = {"planner": {"moves": {"mode": "act"}}}
    path.write_text(yaml.safe_dump({**_HEAD, **moves, "shadow": shadow}))
    settings = Settings(path, ConfigMetrics())
    return Moves(Cache(offer_of), settings, cast("Any", Untouched()), PlanMetrics())


def test_in_the_shadow_nothing_is_moved(tmp_path: Path) -> None:
    assert _moves(tmp_path / "settings.yaml", shadow=True).run() == []


def test_live_the_hands_are_used(tmp_path: Path) -> None:
    with pytest.raises(pytest.fail.Exception):
        _moves(tmp_path / "settings.yaml", shadow=False).run()
