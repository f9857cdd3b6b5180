"""Which programs are taken from where; nothing is built here."""

from pathlib import Path

import pytest

from e2e import binaries, toolchain
from e2e.binaries import OLDER, PACKAGES, kubernetes


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An environment without assets, without programs on PATH and with an empty cache; building fails."""
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("TRADEWIND_CONTROLPLANE_CACHE", raising=False)
    monkeypatch.delenv("TRADEWIND_KUBERNETES", raising=False)

    def refuse(*_: object, **__: object) -> None:
        raise toolchain.BuildError("built")

    monkeypatch.setattr(toolchain, "go", refuse)


def _programs(directory: Path, *, without: str = "", **versions: str) -> Path:
    directory.mkdir(parents=True)
    for name in PACKAGES.keys() - {without}:
        said = versions.get(name.replace("-", "_"), f"Kubernetes {kubernetes()}")
        (directory / name).write_text(f"#!/bin/sh\necho '{said}'\n")
        (directory / name).chmod(0o755)
    return directory


def test_assets_are_taken_whatever_their_version(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assets = _programs(tmp_path / "assets", kube_apiserver="Kubernetes v1.30.1")
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(assets))
    assert binaries.find().kube_apiserver == assets / "kube-apiserver"


def test_incomplete_assets_are_not_mixed_with_others(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assets = _programs(tmp_path / "assets", without="kube-scheduler")
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(assets))
    with pytest.raises(toolchain.BuildError, match="built"):
        binaries.find()


@pytest.mark.parametrize(
    ("versions", "taken"),
    [
        pytest.param({"etcd": "etcd Version: 3.5.21"}, True, id="same minor version and an etcd of 3.5"),
        pytest.param({"etcd": "etcd Version: 3.4.30"}, False, id="etcd too old"),
        pytest.param(
            {"etcd": "etcd Version: 3.6.8", "kubectl": "Client Version: v1.32.4"}, True, id="any kubectl"
        ),
        pytest.param(
            {"etcd": "etcd Version: 3.6.8", "kube_scheduler": "Kubernetes v1.35.9"},
            False,
            id="kube-scheduler of another minor version",
        ),
        pytest.param(
            {"etcd": "etcd Version: 3.6.8", "kube_apiserver": "no idea"}, False, id="no version at all"
        ),
    ],
)
def test_path(tmp_path: Path, versions: dict[str, str], taken: bool) -> None:
    directory = _programs(tmp_path / "bin", **versions)
    if taken:
        assert binaries.find().etcd == directory / "etcd"
    else:
        with pytest.raises(toolchain.BuildError, match="built"):
            binaries.find()


def test_cached_build_is_taken(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    with pytest.raises(toolchain.BuildError):
        binaries.find()
    (lock,) = (tmp_path / "cache" / "tradewind").iterdir()
    built = _programs(lock.with_name(lock.name.removesuffix(".lock")))
    assert binaries.find().kubectl == built / "kubectl"


def test_control_plane_can_be_kept_while_all_else_is_built_anew(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TRADEWIND_CONTROLPLANE_CACHE", str(tmp_path / "kept"))
    with pytest.raises(toolchain.BuildError):
        binaries.find()
    (lock,) = (tmp_path / "kept").iterdir()
    built = _programs(lock.with_name(lock.name.removesuffix(".lock")))
    assert binaries.find().kubectl == built / "kubectl"
    assert binaries.cache_directory() == tmp_path / "cache" / "tradewind"


@pytest.mark.parametrize("minor", OLDER)
def test_an_older_kubernetes_has_a_directory_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, minor: str
) -> None:
    newest = kubernetes()
    monkeypatch.setenv("TRADEWIND_KUBERNETES", minor)
    assert kubernetes().startswith(f"v{minor}.")
    with pytest.raises(toolchain.BuildError, match="built"):
        binaries.find()
    (lock,) = (tmp_path / "cache" / "tradewind").iterdir()
    built = _programs(lock.with_name(lock.name.removesuffix(".lock")))
    assert binaries.find().kubectl == built / "kubectl"
    assert binaries.find().minor() == int(minor.split(".")[1])
    monkeypatch.delenv("TRADEWIND_KUBERNETES")
    assert kubernetes() == newest
    with pytest.raises(toolchain.BuildError, match="built"):
        binaries.find()


def test_a_version_that_is_not_pinned_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TRADEWIND_KUBERNETES", "1.2")
    assert binaries.main() == 1
    assert capsys.readouterr().err == (
        f"TRADEWIND_KUBERNETES is 1.2: expected {', '.join(OLDER)}, or nothing for the newest\n"
    )


def test_failed_build_ends_the_command_with_its_message(capsys: pytest.CaptureFixture[str]) -> None:
    assert binaries.main() == 1
    assert capsys.readouterr().err == "built\n"
