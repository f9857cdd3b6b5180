"""NodePools and NodeOverlays of a real API server, under Karpenter's own schemas."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from e2e import fake, karpenter, manifests, objects, outcomes
from e2e.api import Api, path
from e2e.conftest import AddNodes, StartPlanner
from e2e.installation.installation import eventually
from e2e.plane import ControlPlane
from e2e.tradewind import CONFIGURATION
from tests.karpenter_objects import need, node_overlay, node_pool

_TYPE, _TERMS = "node.kubernetes.io/instance-type", "karpenter.sh/capacity-type"
_ZONE = "topology.kubernetes.io/zone"
_ON_DEMAND = need(_TERMS, "on-demand")
_SAVINGS = node_overlay("savings", _ON_DEMAND, priceAdjustment="-50%")


@pytest.fixture(scope="module")
def crds(api: Api) -> Iterator[None]:
    wanted = karpenter.custom_resources()
    with fake.existing(api, wanted):
        for each in wanted:
            eventually(lambda each=each: _established(api.read(path(each))))  # type: ignore[misc]
        yield


def _established(crd: Any) -> bool:
    conditions = crd.get("status", {}).get("conditions") or []  # null at first
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)


@pytest.fixture
def prices(tmp_path: Path) -> Path:
    table = tmp_path / "prices.csv"
    table.write_text("instance_type,price\nm5.large,0.1\n")
    return table


@pytest.fixture
def held(api: Api, add_nodes: AddNodes) -> Iterator[str]:
    labels = {_TYPE: "m5.large", _TERMS: "on-demand", _ZONE: "us-east-1a"}
    add_nodes(objects.node("n", cpu="2", memory="8Gi", labels=labels))
    name = fake.add_namespace(api, held=True)
    yield name
    fake.remove_namespace(api, name)


def _planned(plane: ControlPlane, prices: Path) -> dict[str, Any]:
    """What `tradewind plan` says of what kubectl prints."""
    dumped = plane.kubectl("get", "nodes,pods,nodepools,nodeoverlays", "-A", "-o", "json")
    configuration = prices.with_name("tradewind.yaml")
    configuration.write_text(yaml.safe_dump({**CONFIGURATION, "market": {"table": str(prices)}}))
    command = [sys.executable, "-m", "tradewind", "plan", "--cluster", "-", "--config", str(configuration)]
    done = subprocess.run([*command, "-o", "json"], input=dumped, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


@pytest.mark.usefixtures("crds")
def test_a_plan_of_what_kubectl_prints_has_its_pools_and_prices(
    plane: ControlPlane, api: Api, held: str, prices: Path
) -> None:
    """One pod fits on the node that is there; $0.1 for each of two new ones, half of it by the overlay."""
    api.create_all(objects.pod(f"p-{number}", held, cpu="1500m") for number in range(3))
    assert len(_planned(plane, prices)["unplaced"]) == 2
    with fake.existing(api, [node_pool("general", _ON_DEMAND)]):
        told = _planned(plane, prices)
        assert told["newNodes"] == {"general (m5.large, on-demand, us-east-1a)": 2}
        assert (told["hourlyCost"], told["newNodesCost"], told["unplaced"]) == (0.3, 0.2, {})
        with fake.existing(api, [_SAVINGS]):
            told = _planned(plane, prices)
            assert (told["hourlyCost"], told["newNodesCost"]) == (0.15, 0.1)


@pytest.mark.usefixtures("crds")
def test_a_planner_reads_them_under_its_own_account(
    api: Api, held: str, prices: Path, start_planner: StartPlanner
) -> None:
    """Two pools that could add the same node; an overlay makes that of one of them ten times as dear."""
    wanted = [
        node_pool("dear", _ON_DEMAND, labels={"team": "dear"}),
        node_pool("general", _ON_DEMAND),
        node_overlay("premium", need("team", "dear"), priceAdjustment="+900%"),
    ]
    with fake.existing(api, [*manifests.component_roles("market"), *wanted]):
        start_planner({"market": {"table": str(prices)}, "planner": {"holdSeconds": 3600}})
        api.create(objects.pod("there", held, cpu="1500m", nodeName="n"))
        api.create(objects.pod("next", held, cpu="1500m"))
        assert '"general (m5.large, on-demand, us-east-1a)"' in outcomes.event(
            api, held, "next", "PlannedOnPool"
        )
