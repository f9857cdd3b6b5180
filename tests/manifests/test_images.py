"""Images that nobody has named are refused, not looked for in a public registry."""

import re

import pytest

from tests.manifests.files import MANIFESTS, OVERLAYS, documents, read

# How container runtimes read a name without a registry and a path: lower case only.
_VALID = re.compile(r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*")


@pytest.mark.parametrize(
    ("overlay", "images"),
    [("kube-scheduler", {"tradewind"}), ("second-scheduler", {"tradewind", "kube-scheduler"})],
)
def test_an_overlay_names_no_image_that_could_be_pulled(overlay: str, images: set[str]) -> None:
    names = {
        image["name"]: image["newName"] for image in read(OVERLAYS / overlay / "kustomization.yaml")["images"]
    }
    assert names.keys() == images
    assert [name for name in names.values() if _VALID.fullmatch(name) or "/" in name] == []


def test_the_manifest_of_a_site_names_no_image_that_could_be_pulled() -> None:
    (site,) = (each for each in documents(MANIFESTS / "fleet" / "site.yaml") if each["kind"] == "Deployment")
    (container,) = site["spec"]["template"]["spec"]["containers"]
    name = container["image"].partition(":")[0]
    assert not _VALID.fullmatch(name)
    assert "/" not in name
