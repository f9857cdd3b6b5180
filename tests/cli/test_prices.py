from pathlib import Path

import pytest

from tradewind.cli import price_config_map
from tradewind.cli.main import main
from tradewind.errors import PriceTableError


def refusal(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as ended:
        main(["prices", "import", *arguments])
    assert ended.value.code == 2
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["x", "--output", "y", "--configmap", "z"], "--output and --configmap do not go together"),
        (["x", "--namespace", "y"], "--namespace and --kubeconfig go with --configmap"),
        (["x", "--kubeconfig", "y"], "--namespace and --kubeconfig go with --configmap"),
        (["http://127.0.0.1:9/list"], "reading http://127.0.0.1:9/list"),
    ],
)
def test_what_cannot_be_is_refused(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said in refusal(arguments, capsys)


def test_a_table_that_is_too_large_for_a_config_map_is_not_sent(tmp_path: Path) -> None:
    with pytest.raises(PriceTableError, match=r"1025 KiB are too much .* --region"):
        price_config_map.publish("x" * 1025 * 1024, "name", "namespace", tmp_path / "none")
