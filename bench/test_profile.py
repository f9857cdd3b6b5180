"""The profile finds our functions, and charges all of the time to them."""

import pytest

from bench import profile
from bench.profile import Profile


@pytest.fixture(scope="module")
def measured() -> Profile:
    return profile.run(
        1_000, 1_000, print
    )  # a look is 1 to 4 ms apart: with 60 requests a room may never be seen


def test_every_verb_spends_its_time_in_our_rooms(measured: Profile) -> None:
    assert list(measured.steps) == ["filter", "prioritize"]
    for steps in measured.steps.values():
        assert all(micros > 0 for micros in steps.values())
        rooms = {step.split(".")[0] for step in steps}
        assert rooms <= {"extender", "scoring", "tradewind", "the event loop"}
        assert "extender" in rooms
