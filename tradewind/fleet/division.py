"""How many replicas each site gets: by cost in lumps, or as Karmada's preferences say.

Options come with the best first. No division gives a site more than its room, and none gives fewer replicas
than were asked for: it gives all of them, or None.
"""

import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

Division = dict[str, int]

_LUMPS = 32  # at most so many steps for a request


@dataclass(frozen=True)
class Option:
    name: str
    room: int
    value: float = 0.0  # the total score
    curve: tuple[
        tuple[float, int], ...
    ] = ()  # score of the next replicas, and how many have it; none: `value`
    weight: int = 1
    groups: Mapping[str, tuple[str, ...]] | None = None  # by spread field
    here: bool = False  # it has replicas, which are to stay

    def value_after(self, taken: int) -> float:
        """Of the next replica, once so many are there."""
        for value, count in self.curve:
            if taken < count:
                return value
            taken -= count
        return self.curve[-1][0] if self.curve else self.value

    def worth(self, replicas: int) -> float:
        """The scores of so many replicas together."""
        total, left = 0.0, replicas
        for value, count in self.curve:
            taken = min(left, count)
            total += value * taken
            left -= taken
        return total + left * self.value_after(replicas)


Divide = Callable[[Sequence[Option], int, Sequence[str]], Division | None]


def by_cost(options: Sequence[Option], replicas: int, required: Sequence[str] = ()) -> Division | None:
    """Lump after lump to the site where the next one is worth most; its room goes down, its cost up."""
    given = _required(options, replicas, required)
    if given is None or sum(option.room for option in options) < replicas:
        return None
    left = replicas - sum(given.values())
    lump = max(1, -(-replicas // _LUMPS))
    heap = [
        (-option.value_after(given.get(option.name, 0)), rank)
        for rank, option in enumerate(options)
        if option.room > given.get(option.name, 0)
    ]
    heapq.heapify(heap)
    while left:
        _, rank = heapq.heappop(heap)
        option = options[rank]
        taken = given.get(option.name, 0)
        more = min(lump, left, option.room - taken)
        given[option.name] = taken + more
        left -= more
        if option.room > taken + more:
            heapq.heappush(heap, (-option.value_after(taken + more), rank))
    return given


def aggregated(options: Sequence[Option], replicas: int, required: Sequence[str] = ()) -> Division | None:
    """As few sites as possible: those that have replicas, then the best; these are filled by cost."""
    given = _required(options, replicas, required)
    if given is None:
        return None
    chosen = [option for option in options if option.name in given or option.here]
    others = [option for option in options if option not in chosen]
    while sum(option.room for option in chosen) < replicas:
        short = replicas - sum(option.room for option in chosen)
        enough = [option for option in others if option.room >= short]
        if not others:
            return None
        best = enough[0] if enough else max(others, key=lambda option: option.room)
        chosen = [*chosen, best]
        others.remove(best)
    return by_cost(sorted(chosen, key=lambda option: -option.value), replicas, required)


def weighted(options: Sequence[Option], replicas: int, required: Sequence[str] = ()) -> Division | None:
    """In proportion to the weights, rounded by the largest remainder; what a site has no room for goes on."""
    given = _required(options, replicas, required)
    if given is None:
        return None
    left = replicas - sum(given.values())
    open_options = [option for option in options if option.weight > 0]
    while left:
        open_options = [option for option in open_options if option.room > given.get(option.name, 0)]
        if not open_options:
            return None
        for option, share in zip(open_options, _shares(open_options, left), strict=True):
            more = min(share, option.room - given.get(option.name, 0))
            if more:
                given[option.name] = given.get(option.name, 0) + more
                left -= more
    return given


def _shares(options: Sequence[Option], replicas: int) -> list[int]:
    total = sum(option.weight for option in options)
    exact = [replicas * option.weight for option in options]
    shares = [each // total for each in exact]
    by_remainder = sorted(range(len(options)), key=lambda rank: (-(exact[rank] % total), rank))
    for rank in by_remainder[: replicas - sum(shares)]:
        shares[rank] += 1
    return shares


def _required(options: Sequence[Option], replicas: int, names: Sequence[str]) -> Division | None:
    """One replica for each site that must have some."""
    rooms = {option.name: option.room for option in options}
    if len(names) > replicas or any(rooms.get(name, 0) < 1 for name in names):
        return None
    return dict.fromkeys(names, 1)


def shrunk(
    current: Mapping[str, int], values: Mapping[str, float], replicas: int, required: Sequence[str] = ()
) -> Division:
    """Fewer replicas: they leave the worst site first, and a required site last."""
    kept = dict(current)
    least = {name: 1 for name in required if current.get(name)} if len(required) <= replicas else {}
    for name in sorted(current, key=lambda name: (values.get(name, float("-inf")), name)):
        surplus = sum(kept.values()) - replicas
        kept[name] -= min(kept[name] - least.get(name, 0), max(0, surplus))
    return {name: count for name, count in kept.items() if count}
