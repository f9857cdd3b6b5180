"""Part 1 of the EKS guide and the imports of that for GKE and AKS, as they stand, on clusters of that shape.

kubectl and curl answer from files; parts 2 to 5 are run in e2e.
"""

import json
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.builders import NodeBuilder, node, pod
from tests.manifests.files import ROOT
from tradewind.config import document as config

_GUIDE = (ROOT / "docs" / "eks.md").read_text()
_PRICES = ROOT / "tests" / "market" / "lists" / "karpenter.prom"


def blocks(heading: str, guide: str = _GUIDE) -> list[str]:
    section = guide[guide.index(f"## {heading}") :]
    return re.findall(r"^```sh\n(.*?)^```$", section.split("\n## ")[0], re.DOTALL | re.MULTILINE)


def labelled(built: NodeBuilder, labels: dict[str, str]) -> object:
    for key, value in labels.items():
        built = built.label(key, value)
    return json.loads(built.json())


def cluster() -> str:
    def of_eks(name: str, zone: str, capacity_type: str) -> object:
        labels = {
            "node.kubernetes.io/instance-type": "m5.large",
            "topology.kubernetes.io/zone": zone,
            "topology.kubernetes.io/region": "us-east-1",
            "karpenter.sh/capacity-type": capacity_type,
        }
        return labelled(node(name).cpu("1930m").memory("7Gi"), labels)

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


def typed(commands: str, programs: Path) -> str:
    """What is printed, in the directory beside the programs."""
    done = subprocess.run(  # noqa: S603  bash
        ["/bin/bash", "-c", f"set -euo pipefail; set -m\n{commands}"],
        cwd=programs.parent,
        env={"PATH": f"{programs}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_first_part_ends_with_a_price_for_every_node(programs: Path) -> None:
    _, prices, look = blocks("1. On a file")
    commands = f"{prices}\n{look.replace('NAMESPACE/POD', 'shop/web')}"
    said = typed(commands, programs)
    assert "3 of 3 nodes have a price" in said
    # 1 of 1.93 cores of the cheapest, the spot node of us-east-1a: 0.0346 / 1.93 = 0.0179.
    assert re.search(r"shop/web +ip-10-0-1-2", said)
    assert "it would go to ip-10-0-1-2 ($0.0179/h)" in " ".join(said.split())


def test_the_values_are_those_of_the_chart() -> None:
    text = re.findall(r"^cat > values.yaml <<'END'\n(.*?)^END$", _GUIDE, re.DOTALL | re.MULTILINE)[0]
    values, known = yaml.safe_load(text), yaml.safe_load((ROOT / "chart" / "values.yaml").read_text())
    assert values.keys() <= known.keys()
    head = {"apiVersion": "tradewind.dev/v1alpha1", "kind": "TradewindConfiguration"}
    assert config.parse(yaml.safe_dump({**head, **values["config"]})).market.table


_LISTS = ROOT / "tests" / "market" / "lists"
_TYPE = "node.kubernetes.io/instance-type"


@pytest.mark.parametrize(
    ("heading", "file", "saved", "regions", "labels"),
    [
        pytest.param(
            "GKE",
            "gcp-catalogue.json",
            "catalogue.json",
            ("europe-west1", "us-central1"),
            [{_TYPE: "n1-highcpu-2"}, {_TYPE: "n1-highcpu-2", "kubernetes.io/os": "windows"}],
            id="GKE",
        ),
        pytest.param(
            "AKS",
            "azure-retail-prices.json",
            "azure.json",
            ("westeurope", "eastus"),
            [
                {_TYPE: "Standard_D2s_v3"},
                {_TYPE: "Standard_D2s_v3", "kubernetes.azure.com/scalesetpriority": "spot"},
                {_TYPE: "Standard_D2s_v3", "kubernetes.io/os": "windows"},
            ],
            id="AKS",
        ),
    ],
)
def test_the_lists_of_google_and_azure_price_every_node(
    programs: Path,
    tmp_path: Path,
    *,
    heading: str,
    file: str,
    saved: str,
    regions: tuple[str, str],
    labels: list[dict[str, str]],
) -> None:
    """The guide's region becomes that of the test's list, which is one page in an array of two."""
    (commands,) = blocks(heading, (ROOT / "docs" / "gke-aks.md").read_text())
    page = json.loads((_LISTS / file).read_text())
    (tmp_path / saved).write_text(json.dumps([page, page]))
    region = {"topology.kubernetes.io/region": regions[1]}
    nodes = [labelled(node(f"node-{number}"), region | said) for number, said in enumerate(labels)]
    (tmp_path / "cluster.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": nodes}))
    head = "apiVersion: tradewind.dev/v1alpha1\nkind: TradewindConfiguration\n"
    (tmp_path / "tradewind.yaml").write_text(f"{head}market: {{table: prices.csv}}\n")
    count = len(labels)
    said = typed(commands.replace(*regions), programs)
    assert f"{count} of {count} nodes have a price: {count} from the price table" in said
