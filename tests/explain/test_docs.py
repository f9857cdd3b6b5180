"""The examples of docs/explain.md are what the commands print."""

from pathlib import Path

import pytest

from tradewind.cli.main import main
from tradewind.runtime.source import EXAMPLES

_PAGE = Path(__file__).parents[2] / "docs" / "explain.md"


@pytest.mark.parametrize(
    "words",
    [["shop/cart-0"], ["--node", "spot-a1", "--node", "spot-b1", "shop/db-0"]],
    ids=["all nodes", "some nodes"],
)
def test_an_example_is_what_is_printed(
    words: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    main(["explain", "--cluster", str(EXAMPLES / "cluster.json"), *words])
    assert f"\n{capsys.readouterr().out.rstrip()}\n```" in _PAGE.read_text(encoding="utf-8")
