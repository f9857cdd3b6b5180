from tradewind.runtime.heartbeats import Heartbeats


def test_a_loop_is_missed_from_the_moment_its_next_beat_is_due() -> None:
    now = 100.0
    beats = Heartbeats(lambda: now)
    assert not beats.missed()  # nothing has started yet
    beats.beat("planning", within=60)
    beats.beat("prices", within=300)
    now = 159.9
    assert not beats.missed()
    now = 160
    assert beats.missed() == "loop planning: heartbeat overdue for 0 s"
    now = 500
    assert beats.missed() == (
        "loop planning: heartbeat overdue for 340 s; loop prices: heartbeat overdue for 100 s"
    )
    beats.beat("planning", within=60)
    beats.beat("prices", within=300)
    assert not beats.missed()
