"""SECURITY.md lists every account that the manifests create."""

import re

from tests.manifests.files import MANIFESTS, ROOT, documents


def test_every_account_is_listed() -> None:
    created = {
        document["metadata"]["name"]
        for path in MANIFESTS.rglob("*.yaml")
        if "+json" not in path.name
        for document in documents(path)
        if isinstance(document, dict) and document.get("kind") == "ServiceAccount"
    }
    listed = re.findall(r"^\| `([\w-]+)` \|", (ROOT / "SECURITY.md").read_text(), re.MULTILINE)
    assert set(listed) == created
    assert len(listed) == len(created)
