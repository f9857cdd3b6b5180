"""Writes drawn pods, one a line, for requests.go."""

import sys

from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.builders import PodBuilder
from tests.strategies import pods


@seed(1)
@settings(
    max_examples=150, database=None, phases=[Phase.generate], suppress_health_check=[HealthCheck.too_slow]
)
@given(pods())
def draw(built: PodBuilder) -> None:
    sys.stdout.buffer.write(built.json() + b"\n")


if __name__ == "__main__":
    draw()
