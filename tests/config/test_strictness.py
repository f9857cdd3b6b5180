"""Documents that say something else than their author thinks are refused, with the place."""

import pytest

from scoring.registry import SCORERS
from tradewind.config.document import parse
from tradewind.errors import ConfigurationError, PriceTableError
from tradewind.market.rows import csv_rows

_HEAD = "apiVersion: tradewind.dev/v1alpha1\nkind: TradewindConfiguration\n"
_ALL_ZERO = "{" + ", ".join(f"{entry.scorer.name}: 0" for entry in SCORERS) + "}"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param(
            "weights: {price: 1}\nweights: {price: 2}", ['"weights"', "line 3", "line 4"], id="a key"
        ),
        pytest.param("weights:\n  price: 1\n  price: 2", ['"price"', "line 4", "line 5"], id="a key below"),
        pytest.param(
            "classes: [{name: a, match: {minPriority: 5, maxPriority: 4}}]",
            ["classes.0.match", "minPriority 5 is above maxPriority 4"],
            id="priorities",
        ),
        pytest.param(f"weights: {_ALL_ZERO}", ["weights: all are 0", '"default"'], id="weights"),
        pytest.param(
            f"classes: [{{name: batch, weights: {_ALL_ZERO}}}]",
            ["weights: all are 0", '"batch"'],
            id="of a class",
        ),
    ],
)
def test_refused_with_the_place(text: str, said: list[str]) -> None:
    with pytest.raises(ConfigurationError) as refused:
        parse(_HEAD + text)
    assert [each for each in said if each not in str(refused.value)] == []


def test_anchors_and_merges_still_work() -> None:
    parse(_HEAD + "classes:\n  - &a {name: a, preset: cost}\n  - {<<: *a, name: b}\n")
    parse(_HEAD + "classes: [{name: a, match: {minPriority: 4, maxPriority: 4}}]")


def test_a_row_of_one_cell_is_refused() -> None:
    with pytest.raises(PriceTableError, match="line 3: one cell for 2 columns; is the separator a comma"):
        csv_rows("instance_type,price\nm5.large,0.1\nm5.xlarge;0.2\n")
    csv_rows("instance_type,price,region\nm5.large,0.1\n")  # what is left out at the end may be anything
