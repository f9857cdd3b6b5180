from pathlib import Path

import pytest

from tradewind.config.document import parse
from tradewind.errors import ConfigurationError
from tradewind.planner.keepers import CAUTIONS
from tradewind.planner.settings import MoveBudget, MoveSettings, MoveWindow

_HEAD = "apiVersion: tradewind.dev/v1alpha1\nkind: TradewindConfiguration\nplanner: {moves: "
_PAGE = (Path(__file__).parents[3] / "docs" / "rebalance.md").read_text()


def read(text: str) -> MoveSettings:
    return parse(f"{_HEAD}{text}}}").planner.moves


def test_off_by_default_and_where_yaml_reads_it_as_false() -> None:
    assert read("{}").mode == read("{mode: off}").mode == read('{mode: "off"}').mode == "off"
    assert read("{mode: act}").mode == "act"


def test_what_may_be_moved_besides_is_what_savings_may() -> None:
    assert read(f"{{move: [{', '.join(CAUTIONS)}]}}").move == CAUTIONS


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{mode: on}", "planner.moves.mode"),
        ("{mode: delete}", "planner.moves.mode"),
        ("{modes: act}", "planner.moves.modes: unknown key"),
        ("{budget: {evictions: -1}}", "planner.moves.budget.evictions"),
        ("{budget: {perPod: 1}}", "planner.moves.budget.perPod: unknown key"),
        ("{windows: [{start: '9:00', end: '10:00'}]}", "planner.moves.windows.0.start"),
        ("{windows: [{start: '24:00', end: '10:00'}]}", "planner.moves.windows.0.start"),
        ("{windows: [{start: '09:00', end: '09:00'}]}", "a window that ends when it starts"),
        ("{windows: [{days: [], start: '09:00', end: '10:00'}]}", "planner.moves.windows.0.days"),
        ("{windows: [{days: [monday], start: '09:00', end: '10:00'}]}", "planner.moves.windows.0.days.0"),
        ("{move: [bare]}", "planner.moves.move.0"),
        ("{minBalance: .nan}", "planner.moves.minBalance"),
        ("{minDollars: .inf}", "planner.moves.minDollars"),
        ("{horizonHours: 0}", "planner.moves.horizonHours"),
        ("{placeSeconds: 0}", "planner.moves.placeSeconds"),
    ],
)
def test_refused_with_the_place(text: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        read(text)


def test_the_page_has_every_key_with_its_default() -> None:
    for prefix, section in (("", MoveSettings), ("budget.", MoveBudget), ("windows[].", MoveWindow)):
        for field in section.model_fields.values():
            if field.alias not in {"budget", "windows"}:
                assert f"| `{prefix}{field.alias}` |" in _PAGE
                if isinstance(field.default, int | float):
                    assert f"| `{prefix}{field.alias}` | {field.default:g} |" in _PAGE
