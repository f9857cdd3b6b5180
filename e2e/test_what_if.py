"""What-if on a live cluster, with no more than a kubeconfig."""

import json

import pytest

from e2e import objects
from e2e.api import Api
from e2e.conftest import AddNodes
from e2e.plane import ControlPlane
from tradewind.cli.main import main


def test_a_node_less_in_a_live_cluster(
    api: Api, plane: ControlPlane, add_nodes: AddNodes, namespace: str, capsys: pytest.CaptureFixture[str]
) -> None:
    add_nodes(*(objects.node(name, price=price) for name, price in (("what-a", 1.0), ("what-b", 0.5))))
    for name, node in (("one", "what-a"), ("two", "what-b")):
        api.create(objects.pod(name, namespace, nodeName=node))
    command = ["what-if", "--kubeconfig", str(plane.kubeconfig), "--without", "what-a"]
    main([*command, "-o", "json"])
    told = json.loads(capsys.readouterr().out)
    assert told["elsewhere"] == {f"{namespace}/one": {"now": "what-a", "then": "what-b"}}
    assert told["now"]["hourlyCost"] - told["then"]["hourlyCost"] == pytest.approx(1.0)
    assert told["then"]["placements"][f"{namespace}/two"] == "what-b"
    main(command)
    assert f"{namespace}/one" in capsys.readouterr().out
    left = api.request("GET", f"/api/v1/namespaces/{namespace}/pods/one")
    assert left["spec"]["nodeName"] == "what-a", "nothing was changed"
