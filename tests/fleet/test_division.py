"""No division gives a site more than its room; each gives all replicas or none."""

from hypothesis import given
from hypothesis import strategies as st

from tradewind.fleet.division import Divide, Option, aggregated, by_cost, shrunk, weighted

_OPTIONS = st.lists(
    st.builds(
        lambda room, value, steps, weight: (room, value, steps, weight),
        st.integers(0, 40),
        st.floats(0, 4),
        st.lists(st.tuples(st.floats(0, 4), st.integers(1, 20)), max_size=4),
        st.integers(0, 5),
    ),
    max_size=6,
).map(
    lambda drawn: sorted(
        (
            Option(f"s{i}", room, value, tuple(sorted(steps, reverse=True)), weight)
            for i, (room, value, steps, weight) in enumerate(drawn)
        ),
        key=lambda option: -option.value,
    )
)


@given(_OPTIONS, st.integers(0, 120), st.sampled_from([by_cost, aggregated, weighted]), st.integers(0, 2))
def test_all_replicas_within_every_room_or_none(
    options: list[Option], replicas: int, divide: Divide, least: int
) -> None:
    rooms = {option.name: option.room for option in options}
    required = [option.name for option in options][:least]
    division = divide(options, replicas, required)
    usable = [option for option in options if divide is not weighted or option.weight > 0]
    if division is None:
        short = sum(option.room for option in usable) < replicas
        assert short or len(required) > replicas or any(rooms[name] < 1 for name in required)
        return
    assert sum(division.values()) == replicas
    assert all(0 < count <= rooms[name] for name, count in division.items())
    assert all(division[name] >= 1 for name in required)


@given(_OPTIONS, st.integers(1, 120))
def test_aggregated_uses_as_few_sites_as_any(options: list[Option], replicas: int) -> None:
    division = aggregated(options, replicas)
    if division is not None:
        largest = sorted((option.room for option in options), reverse=True)
        fewest = next(count for count in range(7) if sum(largest[:count]) >= replicas)
        assert len(division) <= fewest


@given(_OPTIONS, st.integers(1, 32))
def test_by_cost_is_the_best_sum_of_single_replicas(options: list[Option], replicas: int) -> None:
    """With lumps of one and falling values the greedy choice is the best there is."""
    division = by_cost(options, replicas)
    if division is not None:
        values = sorted(
            (option.value_after(taken) for option in options for taken in range(option.room)), reverse=True
        )
        found = sum(
            option.value_after(taken) for option in options for taken in range(division.get(option.name, 0))
        )
        assert abs(found - sum(values[:replicas])) < 1e-6


def test_large_requests_go_in_lumps() -> None:
    """320 replicas in lumps of 10: the second site comes in where the first one's cheap rows end."""
    first = Option("a", 400, 3.0, ((3.0, 95), (1.0, 305)))
    second = Option("b", 400, 2.0, ((2.0, 400),))
    assert by_cost([first, second], 320) == {"a": 100, "b": 220}


def test_weights_round_by_the_largest_remainder() -> None:
    options = [Option("a", 99, weight=1), Option("b", 99, weight=1), Option("c", 99, weight=1)]
    assert weighted(options, 8) == {"a": 3, "b": 3, "c": 2}
    assert weighted([Option("a", 2, weight=9), Option("b", 99, weight=1)], 10) == {"a": 2, "b": 8}


@given(st.dictionaries(st.sampled_from("abcde"), st.integers(1, 9)), st.integers(0, 60))
def test_shrinking_never_adds(current: dict[str, int], replicas: int) -> None:
    kept = shrunk(current, {"a": 1.0, "b": 2.0}, replicas)
    assert sum(kept.values()) == min(replicas, sum(current.values()))
    assert all(kept[name] <= current[name] for name in kept)
