from tradewind.kube.backoff import Backoff, jittered


def test_delays_double_up_to_the_maximum_and_start_again_after_a_success() -> None:
    backoff = Backoff(0.5, 3)
    for _ in range(20):  # they are random
        for whole in (0.5, 1, 2, 3, 3, 3):
            assert whole / 2 <= backoff.next() <= whole
        backoff.reset()


def test_clients_that_start_together_do_not_stay_together() -> None:
    assert len({Backoff(1, 1).next() for _ in range(10)}) > 1
    assert len({jittered(2) for _ in range(10)}) > 1
    assert all(2 <= jittered(2) <= 2.4 for _ in range(100))
