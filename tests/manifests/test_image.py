"""What can be said of the image without building it: its context is small and enough to install from."""

import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.manifests.files import ROOT, instruction

IGNORED = (ROOT / ".dockerignore").read_text().splitlines()
SENT = [line.removeprefix("!") for line in IGNORED if line.startswith("!")]
PACKAGES = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"][
    "packages"
]


@pytest.fixture
def context(tmp_path: Path) -> Path:
    """The files that .dockerignore lets through."""
    for name in SENT:
        source, target = ROOT / name, tmp_path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target)
    return tmp_path


def test_nothing_is_sent_but_what_is_named() -> None:
    rules = [line for line in IGNORED if line and not line.startswith("#")]
    assert rules[0] == "*"
    assert rules[-1] == "**/__pycache__"
    assert set(rules[1:-1]) == {f"!{name}" for name in SENT}


def test_every_package_is_sent() -> None:
    assert set(PACKAGES) <= set(SENT)


def test_context_is_enough_to_install_the_whole_project(context: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", "dist"],
        cwd=context,
        check=True,
        capture_output=True,
    )
    (wheel,) = (context / "dist").iterdir()
    installed = set(zipfile.ZipFile(wheel).namelist())
    files = {
        str(path.relative_to(ROOT))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert files <= installed


def test_image_is_started_without_a_shell() -> None:
    assert instruction("ENTRYPOINT") == '["tradewind"]'
    assert instruction("HEALTHCHECK").split("CMD ")[1].startswith('["python", ')
