from tradewind.fleet.error_rate import ErrorRate


def test_is_the_share_of_pods_that_waited_too_long() -> None:
    rate = ErrorRate()
    assert rate.observe([], 0.0) == 0
    assert rate.observe(["a", "b"], 0.0) == 0
    assert rate.observe(["b"], 0.0) == 0  # a was placed
    assert rate.observe(["b"], 60.0) == 1 / (1 + 0.5 ** (60 / 600))  # what came before has faded a little
    assert rate.observe(["b"], 61.0) < 0.53  # b counts once


def test_old_failures_fade() -> None:
    rate = ErrorRate()
    rate.observe(["a"], 0.0)
    rate.observe(["a"], 60.0)
    assert rate.observe([], 60.0) == 0.5  # placed at last: one failure, one success
    rate.observe(["b"], 6060.0)
    assert rate.observe([], 6060.0) < 0.01
