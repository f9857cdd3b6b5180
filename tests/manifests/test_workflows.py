"""The workflows, as far as they can be checked without running them."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from e2e import binaries, tools
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


def test_every_night_has_each_older_kubernetes_that_is_pinned() -> None:
    document = yaml.safe_load((ROOT / ".github" / "workflows" / "versions.yaml").read_text())
    assert document[True]["schedule"]  # YAML's reading of `on`
    (job,) = document["jobs"].values()
    assert job["strategy"]["matrix"]["kubernetes"] == binaries.OLDER
    assert f"KUBERNETES ?= {binaries.OLDER[0]}\n" in _MAKEFILE


def test_an_image_has_both_architectures_an_sbom_and_on_a_tag_a_signature() -> None:
    workflow = ROOT / ".github" / "workflows" / "image.yaml"
    (build,) = (step for step in steps(workflow) if "build-push-action" in step.get("uses", ""))
    assert build["with"]["platforms"] == "linux/amd64,linux/arm64"
    assert build["with"]["sbom"] is True
    (sign,) = (step for step in steps(workflow) if "cosign sign" in step.get("run", ""))
    assert sign["if"] == "github.ref_type == 'tag'"
