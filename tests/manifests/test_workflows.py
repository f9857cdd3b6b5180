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
def test_actions_are_pinned_to_a_commit(workflow: Path) -> None:
    """A tag may be moved; the comment says which it was."""
    used = re.findall(r"uses: (.+)", workflow.read_text())
    assert used
    pinned = re.compile(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
    assert [action for action in used if not pinned.fullmatch(action)] == []


@pytest.mark.parametrize("workflow", _WORKFLOWS, ids=lambda path: path.stem)
def test_only_a_tag_gets_a_token_that_signs_or_a_secret(workflow: Path) -> None:
    for job in yaml.safe_load(workflow.read_text())["jobs"].values():
        if job.get("permissions", {"contents": "read"}) != {"contents": "read"} or "secrets." in str(job):
            assert job["if"] == "github.ref_type == 'tag'"


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
    tried, published = (step["with"] for step in steps(workflow) if "build-push" in step.get("uses", ""))
    assert tried["platforms"] == published["platforms"] == "linux/amd64,linux/arm64"
    assert (tried["push"], published["push"], published["sbom"]) == (False, True, True)
    jobs = yaml.safe_load(workflow.read_text())["jobs"]
    assert "cosign sign" in str(jobs["publish"])
    assert "cosign sign" not in str(jobs["build"])


def test_an_image_is_published_on_a_pinned_base_only() -> None:
    workflow = ROOT / ".github" / "workflows" / "image.yaml"
    published = yaml.safe_load(workflow.read_text())["jobs"]["publish"]["steps"]
    (build,) = (step for step in published if "build-push" in step.get("uses", ""))
    assert build["with"]["build-args"] == "BASE=${{ vars.BASE }}"
    assert any("@sha256:" in step.get("run", "") for step in published[: published.index(build)])
