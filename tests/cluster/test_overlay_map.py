"""A mapping in layers against a dict that is copied whole each time."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tradewind.cluster.overlay_map import OverlayMap

_keys = st.integers(0, 30)


class Layering(RuleBasedStateMachine):
    """An owner changes its copy; what it handed out before must stay as it was."""

    def __init__(self) -> None:
        super().__init__()
        self.owned: OverlayMap[int, int] = OverlayMap()
        self.expected: dict[int, int] = {}
        self.handed_out: list[tuple[OverlayMap[int, int], dict[int, int]]] = []

    @rule(keys=st.lists(_keys, max_size=20), value=st.integers(0, 3))
    def put(self, keys: list[int], value: int) -> None:
        for key in keys:
            self.owned.put(key, value)
            self.expected[key] = value

    @rule(keys=st.lists(_keys, max_size=20))
    def take_away(self, keys: list[int]) -> None:
        for key in keys:
            self.owned.put(key, None)
            self.expected.pop(key, None)

    @rule(looked_at=st.booleans())
    def hand_out(self, *, looked_at: bool) -> None:
        self.handed_out.append((self.owned, dict(self.expected)))
        if looked_at:
            list(self.owned)
        self.owned = self.owned.copy()

    @invariant()
    def each_is_what_it_was(self) -> None:
        for found, expected in (*self.handed_out, (self.owned.copy(), self.expected)):
            for key in range(31):
                assert (key in found, found.get(key)) == (key in expected, expected.get(key))
            assert len(found) == len(expected)

    def teardown(self) -> None:
        for found, expected in self.handed_out:
            assert found == expected
            assert dict(zip(found, found.values(), strict=True)) == dict(found.items()) == expected
            assert found.keys() == expected.keys()


TestLayering = Layering.TestCase
TestLayering.settings = settings(max_examples=60, stateful_step_count=15)


def test_a_copy_costs_by_what_is_different_not_by_how_much_there_is() -> None:
    large = OverlayMap({key: key for key in range(10_000)})
    copied = large.copy()
    for key in range(1_000):
        copied.put(key, None)
        copied = copied.copy()
        assert len(copied._differences) <= 101
    assert len(copied) == 9_000
    assert len(large) == 10_000
