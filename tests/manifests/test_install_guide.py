import re

import pytest

from tests.manifests.files import ROOT, SCHEDULER_CONFIGS, operations

GUIDE = (ROOT / "docs" / "install.md").read_text()


@pytest.mark.parametrize("path", sorted(set(re.findall(r"(?<!/)\bmanifests/[\w/+.-]*\w", GUIDE))))
def test_files_that_the_guide_names_exist(path: str) -> None:
    assert (ROOT / path).exists()


def test_every_overlay_is_explained() -> None:
    assert {name for name in SCHEDULER_CONFIGS if f"-k manifests/overlays/{name}" in GUIDE} == set(
        SCHEDULER_CONFIGS
    )


def test_links_lead_to_headings() -> None:
    headings = re.findall(r"^#+ (.+)$", GUIDE, re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings}
    assert set(re.findall(r"\]\(#([\w-]+)\)", GUIDE)) <= anchors


def test_files_are_put_where_the_static_pod_mounts_them() -> None:
    patch = operations(ROOT / "manifests" / "kubeadm" / "kube-scheduler+json.yaml")
    directory = patch["/spec/volumes/-"]["hostPath"]["path"]
    assert f"install -d -m 0755 {directory}\n" in GUIDE
    assert f"/client.key {directory}/\n" in re.sub(r"\s*\\\n\s*", " ", GUIDE)
