"""Priority first, tenants in turn, nobody starves, nothing is lost."""

from hypothesis import given
from hypothesis import strategies as st

from tradewind.fleet.queue import FairQueue, Waiting


def _order(queue: FairQueue, now: float = 0.0) -> list[str]:
    order = []
    while (waiting := queue.take(now)) is not None:
        order.append(waiting.key)
        queue.done(waiting.key)
    return order


def test_tenants_take_turns_however_much_one_asks() -> None:
    queue = FairQueue()
    for number in range(4):
        queue.add(Waiting(f"greedy{number}", "greedy"))
    queue.add(Waiting("modest", "modest"))
    assert _order(queue) == ["greedy0", "modest", "greedy1", "greedy2", "greedy3"]


def test_priority_comes_before_turns() -> None:
    queue = FairQueue()
    queue.add(Waiting("low", "a"))
    queue.add(Waiting("high", "b", priority=10))
    queue.add(Waiting("higher", "b", priority=11))
    assert _order(queue) == ["higher", "high", "low"]


def test_a_tenant_has_only_so_many_in_flight() -> None:
    queue = FairQueue(in_flight_of_tenant=2)
    for number in range(3):
        queue.add(Waiting(f"a{number}", "a", priority=5))
    queue.add(Waiting("b", "b"))
    taken = [queue.take(0.0) for _ in range(4)]
    assert [each and each.key for each in taken] == ["a0", "a1", "b", None]
    queue.done("a0")
    assert (waiting := queue.take(0.0)) is not None
    assert waiting.key == "a2"


def test_at_the_head_it_goes_before_everything_of_its_priority() -> None:
    queue = FairQueue()
    for key in ("a1", "a2", "b1"):
        queue.add(Waiting(key, key[0]))
    queue.add(Waiting("b2", "b"), at_head=True)
    assert _order(queue) == ["b2", "a1", "b1", "a2"]


def test_waits_longer_after_each_failure() -> None:
    queue = FairQueue()
    delays = []
    for _ in range(8):
        queue.add(Waiting("a", "t"))
        assert queue.take(0.0)
        queue.done("a", succeeded=False)
        delays.append(queue.add_later(Waiting("a", "t"), 0.0))
        queue.wake_all()
    assert delays == [1, 2, 4, 8, 16, 32, 60, 60]


def test_comes_back_when_its_time_has_come() -> None:
    queue = FairQueue()
    queue.add_later(Waiting("a", "t"), 10.0)
    assert queue.take(10.9) is None
    assert queue.take(11.0) == Waiting("a", "t")


def test_news_while_in_flight_bring_it_back_once() -> None:
    queue = FairQueue()
    queue.add(Waiting("a", "t"))
    assert queue.take(0.0)
    queue.add(Waiting("a", "t"))
    queue.add(Waiting("a", "t"))
    assert queue.take(0.0) is None
    queue.done("a")
    assert _order(queue) == ["a"]


def test_what_is_gone_is_gone() -> None:
    queue = FairQueue()
    queue.add(Waiting("a", "t"))
    queue.add_later(Waiting("b", "t"), 0.0)
    queue.forget("a")
    queue.forget("b")
    assert (_order(queue, 99.0), len(queue)) == ([], 0)


_STEPS = st.lists(
    st.tuples(st.sampled_from(["add", "head", "later", "take", "done", "fail", "wake"]), st.integers(0, 5)),
    max_size=60,
)


@given(_STEPS)
def test_nothing_is_lost_and_nothing_comes_twice(steps: list[tuple[str, int]]) -> None:
    queue, flying, now = FairQueue(in_flight_of_tenant=2), set[str](), 0.0
    waiting: set[str] = set()
    for step, number in steps:
        now += 0.5
        each = Waiting(f"k{number}", f"t{number % 3}", number % 2)
        match step:
            case "add" | "head":
                queue.add(each, at_head=step == "head")
                waiting.add(each.key)
            case "later" if each.key not in flying:
                if each.key not in waiting:
                    queue.add_later(each, now)
                waiting.add(each.key)
            case "take":
                if (taken := queue.take(now)) is not None:
                    assert taken.key not in flying
                    flying.add(taken.key)
                    waiting.discard(taken.key)
            case "done" | "fail" if each.key in flying:
                flying.discard(each.key)
                queue.done(each.key, succeeded=step == "done")
            case "wake":
                queue.wake_all()
    for key in list(flying):
        queue.done(key)
    queue.wake_all()
    assert set(_order(queue, now + 1000)) == waiting


def test_a_low_priority_is_taken_in_the_end_whatever_comes_above_it() -> None:
    """Five tenants with one more request of a high priority for each turn."""
    queue = FairQueue()
    queue.add(Waiting("late", "poor", -10))
    taken = []
    for turn in range(100):
        queue.add(Waiting(f"rich-{turn}", f"tenant-{turn % 5}", 1000))
        waiting = queue.take(0.0)
        assert waiting is not None
        taken.append(waiting.key)
        queue.done(waiting.key)
    assert "late" in taken[:10]
    assert sum(key.startswith("rich") for key in taken[:9]) == 9


def test_those_that_are_alone_go_one_after_the_other_and_hold_up_nobody_else() -> None:
    queue = FairQueue(alone=lambda key: key.startswith("alone"))
    for key, tenant in (("alone-1", "a"), ("alone-2", "a"), ("alone-3", "b"), ("free", "c")):
        queue.add(Waiting(key, tenant))
    taken = [queue.take(0.0) for _ in range(4)]
    assert [each and each.key for each in taken] == ["alone-1", "alone-3", "free", None]
    queue.done("alone-1")
    assert queue.take(0.0) == Waiting("alone-2", "a")
