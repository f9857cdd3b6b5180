from bench import fleet


def test_a_small_fleet_is_measured_and_nothing_is_over_capacity() -> None:
    figures = fleet.run(50, 30)
    assert figures["over capacity"] == 0
    assert figures["unplaced"] < 15
