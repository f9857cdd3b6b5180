"""The Helm chart's files, made from what kustomize makes of the manifests, so that both install the same.

`python -m e2e.installation.chart` (`make chart`) writes them; a test says when they are out of date.
"""

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from e2e import binaries, tools
from e2e.objects import Object

ROOT = Path(__file__).parents[2]
CHART = ROOT / "chart"
MODES = ("kube-scheduler", "second-scheduler")
COMPONENTS = sorted(path.name for path in (ROOT / "manifests" / "components").iterdir() if path.is_dir())


def files(kubectl: Path) -> dict[str, str]:
    """By name. What a component adds is the same in every overlay."""
    base = kustomized(kubectl, MODES[0])
    found = {f"{mode}.yaml": _text(kustomized(kubectl, mode)) for mode in MODES}
    switches: dict[str, Any] = {}
    for component in COMPONENTS:
        whole = kustomized(kubectl, MODES[0], [component])
        known = {_key(obj): obj for obj in base}
        found[f"component-{component}.yaml"] = _text([obj for obj in whole if _key(obj) not in known])
        changed = {
            obj["metadata"]["name"]: _added(known[_key(obj)], obj)
            for obj in whole
            if obj["kind"] == "Deployment" and obj != known.get(_key(obj), obj)
        }
        if any(changed.values()):
            switches[component] = changed
    return {**found, "switches.yaml": yaml.safe_dump(switches)}


def kustomized(kubectl: Path, overlay: str, components: Sequence[str] = ()) -> list[Object]:
    with tempfile.TemporaryDirectory() as directory:
        shutil.copytree(ROOT / "manifests", Path(directory) / "manifests")
        file = Path(directory) / "manifests" / "overlays" / overlay / "kustomization.yaml"
        kustomization = yaml.safe_load(file.read_text())
        if components:
            kustomization["components"] = [f"../../components/{name}" for name in components]
        file.write_text(yaml.safe_dump(kustomization))
        done = tools.run(kubectl, "kustomize", file.parent)
    assert done.returncode == 0, done.stderr
    return list(yaml.safe_load_all(done.stdout))


def _key(obj: Object) -> tuple[str, str]:
    return obj["kind"], obj["metadata"]["name"]


def _text(objects: Sequence[Object]) -> str:
    return "---\n".join(yaml.safe_dump(obj) for obj in objects)


def _added(before: Object, after: Object) -> dict[str, Any]:
    old, new = (obj["spec"]["template"]["spec"] for obj in (before, after))
    containers = old["containers"][0], new["containers"][0]
    found = {key: _news(*(each.get(key, []) for each in containers)) for key in ("env", "volumeMounts")}
    found["volumes"] = _news(old.get("volumes", []), new.get("volumes", []))
    return {key: entries for key, entries in found.items() if entries}


def _news(old: Sequence[Mapping[str, Any]], new: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [entry for entry in new if entry not in old]


def main() -> None:
    directory = CHART / "files"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    for name, text in files(binaries.find().kubectl).items():
        (directory / name).write_text(text)
    print(f"{directory} is up to date.")


if __name__ == "__main__":
    main()
