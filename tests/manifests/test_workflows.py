"""The workflows, as far as they can be checked without running them."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from e2e import tools
from tests.manifests.files import ROOT

_WORKFLOWS = sorted((ROOT / ".github" / "workflows").iterdir())
_MAKEFILE = (ROOT / "Makefile").read_text()


def steps(workflow: Path) -> Iterator[dict[str, Any]]:
    for job in yaml.safe_load(workflow.read_text())["jobs"].values():
        yield from job["steps"]


def test_actionlint_has_nothing_against_them() -> None:
    done = tools.run(tools.need("actionlint"), "-no-color", *_WORKFLOWS)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("workflow", _WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_to_a_version(workflow: Path) -> None:
    used = [step["uses"] for step in steps(workflow) if "uses" in step]
    assert used
    assert [action for action in used if not re.fullmatch(r"[\w-]+/[\w-]+@v\d+\.\d+\.\d+", action)] == []


@pytest.mark.parametrize("workflow", _WORKFLOWS, ids=lambda path: path.stem)
def test_no_workflow_may_write_to_the_repository(workflow: Path) -> None:
    document = yaml.safe_load(workflow.read_text())
    assert document["permissions"] == {"contents": "read"}
    for job in document["jobs"].values():
        assert job.get("permissions", {"contents": "read"})["contents"] == "read"


@pytest.mark.parametrize("workflow", _WORKFLOWS, ids=lambda path: path.stem)
def test_targets_are_in_the_makefile(workflow: Path) -> None:
    for step in steps(workflow):
        for target in re.findall(r"\bmake ([\w-]+)", step.get("run", "")):
            assert re.search(rf"^{target}:", _MAKEFILE, re.MULTILINE)
