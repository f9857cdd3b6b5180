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


@pytest.mark.parametrize("command", ["planner", "serve"])
def test_every_process_with_objects_of_its_own_takes_their_namespace(
    monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("POD_NAMESPACE", "shop")
    assert parser().parse_args([command]).namespace == "shop"
    assert parser().parse_args([command, "--namespace", "other"]).namespace == "other"


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, None),
        ({"POD_NAME": "a"}, None),
        ({"POD_NAME": "a", "POD_NAMESPACE": "shop"}, ("shop", "a", "")),
        ({"POD_NAME": "a", "POD_NAMESPACE": "shop", "POD_UID": "u"}, ("shop", "a", "u")),
    ],
)
def test_which_pod_it_runs_in(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], expected: tuple[str, str, str] | None
) -> None:
    for name in ("POD_NAME", "POD_NAMESPACE", "POD_UID"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert identity.pod() == expected
