"""Part 1 of the EKS guide as it stands, on a cluster of EKS shape; kubectl and curl answer from files."""

import json
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.builders import node, pod
from tests.manifests.files import ROOT
from tradewind.config import document as config

_GUIDE = (ROOT / "docs" / "eks.md").read_text()
_PRICES = ROOT / "tests" / "market" / "lists" / "karpenter.prom"


def blocks(heading: str) -> list[str]:
    section = _GUIDE[_GUIDE.index(f"## {heading}") :]
    return re.findall(r"^```sh\n(.*?)^```$", section.split("\n## ")[0], re.DOTALL | re.MULTILINE)


def cluster() -> str:
    def of_eks(name: str, zone: str, capacity_type: str) -> object:
        labels = {
            "node.kubernetes.io/instance-type": "m5.large",
            "topology.kubernetes.io/zone": zone,
            "topology.kubernetes.io/region": "us-east-1",
            "karpenter.sh/capacity-type": capacity_type,
        }
        built = node(name).cpu("1930m").memory("7Gi")
        for key, value in labels.items():
            built = built.label(key, value)
        return json.loads(built.json())

    nodes = [
        of_eks("ip-10-0-1-1", "us-east-1a", "on-demand"),
        of_eks("ip-10-0-1-2", "us-east-1a", "spot"),
        of_eks("ip-10-0-2-1", "us-east-1b", "spot"),
    ]
    waiting = json.loads(pod("web").namespace("shop").requests(cpu="1").json())
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": [*nodes, waiting]})


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    (tmp_path / "listed.json").write_text(cluster())
    directory = tmp_path / "bin"
    directory.mkdir()
    scripts = {
        "kubectl": 'case "$*" in *port-forward*) exec /bin/sleep 60 ;; '
        f"*) cat {tmp_path}/listed.json ;; esac",
        "curl": f"cat {_PRICES}",
        "sleep": "exec /bin/sleep 0.1",
        "tradewind": f'PYTHONPATH={":".join(sys.path)} exec {sys.executable} -m tradewind "$@"',
    }
    for name, script in scripts.items():
        program = directory / name
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return directory


def test_the_first_part_ends_with_a_price_for_every_node(programs: Path, tmp_path: Path) -> None:
    _, prices, look = blocks("1. On a file")
    commands = f"set -euo pipefail; set -m\n{prices}\n{look.replace('NAMESPACE/POD', 'shop/web')}"
    done = subprocess.run(  # noqa: S603  bash
        ["/bin/bash", "-c", commands],
        cwd=tmp_path,
        env={"PATH": f"{programs}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "3 of 3 nodes have a price" in done.stdout
    # 1 of 1.93 cores of the cheapest, the spot node of us-east-1a: 0.0346 / 1.93 = 0.0179.
    assert re.search(r"shop/web +ip-10-0-1-2", done.stdout)
    assert "it would go to ip-10-0-1-2 ($0.0179/h)" in " ".join(done.stdout.split())


def test_the_values_are_those_of_the_chart() -> None:
    text = re.findall(r"^cat > values.yaml <<'END'\n(.*?)^END$", _GUIDE, re.DOTALL | re.MULTILINE)[0]
    values, known = yaml.safe_load(text), yaml.safe_load((ROOT / "chart" / "values.yaml").read_text())
    assert values.keys() <= known.keys()
    head = {"apiVersion": "tradewind.dev/v1alpha1", "kind": "TradewindConfiguration"}
    assert config.parse(yaml.safe_dump({**head, **values["config"]})).market.table
