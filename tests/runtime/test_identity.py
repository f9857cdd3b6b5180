import pytest

from tradewind.cli.main import parser
from tradewind.runtime import identity


@pytest.mark.parametrize(
    ("variable", "expected"), [(None, "tradewind-system"), ("", "tradewind-system"), ("shop", "shop")]
)
def test_the_namespace_is_the_pods_own(
    monkeypatch: pytest.MonkeyPatch, variable: str | None, expected: str
) -> None:
    monkeypatch.delenv("POD_NAMESPACE", raising=False)
    if variable is not None:
        monkeypatch.setenv("POD_NAMESPACE", variable)
    assert identity.namespace() == expected


@pytest.mark.parametrize("command", ["planner", "serve", "release"])
def test_every_command_with_objects_of_its_own_takes_their_namespace(
    monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("POD_NAMESPACE", "shop")
    assert parser().parse_args([command]).namespace == "shop"
    assert parser().parse_args([command, "--namespace", "other"]).namespace == "other"
