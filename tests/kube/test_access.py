"""Which cluster is reached; the answers are kubectl's."""

import logging
import os
import warnings
from pathlib import Path
from typing import Any

import pytest
import urllib3
import yaml

from tradewind.errors import TradewindError
from tradewind.kube.access import connect

# Nobody reads it here: TLS is shown on a real API server in e2e.
_TOKEN = "token"


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)


def written(directory: Path, name: str, *, current: str = "", **parts: Any) -> str:
    """A kubeconfig with one context of this name, unless told otherwise."""
    document = {
        "current-context": current,
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "clusters": [{"name": name, "cluster": {"server": f"https://{name}.invalid"}}],
        "users": [{"name": name, "user": {"token": _TOKEN}}],
    }
    path = directory / name
    path.write_text(yaml.safe_dump(document | parts))
    return str(path)


def reached(monkeypatch: pytest.MonkeyPatch, *files: str) -> str:
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(files))
    connected = connect(None)
    assert connected
    server: str = connected[1].configuration.host
    return server


def test_an_empty_variable_is_an_unset_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "")
    assert connect(None) is None


def test_the_first_current_context_of_several_files_counts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    silent = written(tmp_path, "silent")
    one = written(tmp_path, "one", current="one")
    two = written(tmp_path, "two", current="two")
    assert reached(monkeypatch, one, two) == "https://one.invalid"
    assert reached(monkeypatch, silent, two, one) == "https://two.invalid"


def test_a_context_may_take_its_cluster_and_user_from_other_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    context = [{"name": "c", "context": {"cluster": "far", "user": "me"}}]
    first = written(tmp_path, "first", current="c", contexts=context, clusters=[], users=[])
    second = written(tmp_path, "far", contexts=None, users=[{"name": "me", "user": {"token": _TOKEN}}])
    third = written(tmp_path, "third", clusters=[{"name": "far", "cluster": {"server": "https://other"}}])
    assert reached(monkeypatch, first, second, third) == "https://far.invalid"


def test_files_that_are_missing_or_empty_are_passed_over(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "empty").touch()
    one = written(tmp_path, "one", current="one")
    files = [str(tmp_path / "missing"), "", str(tmp_path / "empty"), one]
    assert reached(monkeypatch, *files) == "https://one.invalid"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param(None, "there is no such file, or it is empty", id="missing"),
        pytest.param("", "there is no such file, or it is empty", id="empty"),
        pytest.param("[1, 2]", "is no kubeconfig", id="a list"),
        pytest.param("a: [", "expected the node content", id="no YAML"),
        pytest.param("a: b", "current-context", id="no context"),
    ],
)
def test_what_cannot_be_used_is_named(tmp_path: Path, text: str | None, said: str) -> None:
    path = tmp_path / "config"
    if text is not None:
        path.write_text(text)
    with pytest.raises(TradewindError, match=said) as raised:
        connect(path)
    assert str(path) in str(raised.value)


def test_skipped_verification_is_said_once_and_by_us(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cluster = {"server": "https://127.0.0.1:1", "insecure-skip-tls-verify": True}
    path = written(tmp_path, "one", current="one", clusters=[{"name": "one", "cluster": cluster}])
    with warnings.catch_warnings(), caplog.at_level(logging.WARNING):
        connect(Path(path))
        warnings.warn("unverified", urllib3.exceptions.InsecureRequestWarning, stacklevel=1)
    assert [record.getMessage() for record in caplog.records] == [
        f"{path} skips TLS verification: anybody in between can pose as the API server"
    ]


def test_verified_connections_are_not_talked_about(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    connect(Path(written(tmp_path, "one", current="one")))
    assert caplog.records == []
