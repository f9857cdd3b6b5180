"""What the shadow says is what going live gives, in the simulation."""

import pytest

from bench import planner_cases
from bench.churn import scenario
from bench.churn.made_up import SECONDS, made_up
from bench.churn.shadow import rehearse
from bench.churn.ways import PRESETS


@pytest.mark.parametrize("seed", [1, 2])
def test_the_shadow_says_what_going_live_gives(seed: int) -> None:
    found = rehearse(made_up(seed), "balanced", 10, SECONDS)
    assert found.live.dollars < 0.8 * found.alone.dollars, "there is something to save"
    assert abs(found.saving_off) < 0.1


@pytest.mark.skipif(planner_cases.data_directory() is None, reason="needs the public data of $TRADEWIND_DATA")
@pytest.mark.parametrize("preset", PRESETS)
def test_the_same_with_public_data(preset: str) -> None:
    data = planner_cases.data_directory()
    assert data is not None
    found = rehearse(scenario.draw(data, 1), preset, 10, scenario.SECONDS)
    assert abs(found.saving_off) < 0.1
