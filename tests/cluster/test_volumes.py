import json
from typing import Any

import pytest

from scoring.filters.volume_affinity import VolumeAffinity
from tests.builders import PodBuilder, cluster_of, node, pod
from tradewind.cluster.volumes import Volumes, read_volume, read_volume_claim
from tradewind.errors import UnreadableObjectError

_ZONE = "topology.kubernetes.io/zone"


def claiming(*claims: str) -> PodBuilder:
    volumes = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims]
    return pod("db").field("spec", "volumes", value=volumes)


def in_zone(zone: str) -> dict[str, Any]:
    term = {"matchExpressions": [{"key": _ZONE, "operator": "In", "values": [zone]}]}
    return {"spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}}}


def volumes(*bound: tuple[str, dict[str, Any]]) -> Volumes:
    """Of each claim the volume; a claim without one is not bound."""
    found = Volumes()
    for name, volume in bound:
        metadata = {**volume.get("metadata", {}), "name": f"pv-{name}"}
        found.volumes[f"pv-{name}"] = read_volume(json.dumps({**volume, "metadata": metadata}).encode())
        claim = {"metadata": {"name": name, "namespace": "default"}, "spec": {"volumeName": f"pv-{name}"}}
        read = read_volume_claim(json.dumps(claim).encode())
        found.claims[str(read)] = read
    return found


NODES = [node("a").label(_ZONE, "a"), node("b").label(_ZONE, "b"), node("nowhere")]


@pytest.mark.parametrize(
    ("bound", "feasible"),
    [
        pytest.param([("data", in_zone("a"))], ["a"], id="node affinity"),
        pytest.param([("data", {"metadata": {"labels": {_ZONE: "a__b"}}})], ["a", "b"], id="labels"),
        pytest.param([("data", {})], ["a", "b", "nowhere"], id="reachable from everywhere"),
        pytest.param([("data", in_zone("a")), ("log", in_zone("b"))], [], id="two that contradict"),
    ],
)
def test_a_pod_can_run_where_all_its_volumes_can_be_reached(
    bound: list[tuple[str, dict[str, Any]]], feasible: list[str]
) -> None:
    wanted = volumes(*bound).placed(claiming(*(name for name, _ in bound)).build())
    nodes = cluster_of(NODES).nodes
    mask = VolumeAffinity().feasible(wanted, nodes)
    assert [name for name, passed in zip(nodes.names, mask.tolist(), strict=True) if passed] == feasible


def test_a_claim_without_a_known_volume_leaves_the_pod_unrestricted_and_unknown() -> None:
    wanted = volumes(("data", in_zone("a"))).placed(claiming("data", "other").build())
    assert wanted.volume_terms is None
    assert VolumeAffinity().feasible(wanted, cluster_of(NODES).nodes).all()


def test_a_claim_that_is_not_bound_is_not_known() -> None:
    found = Volumes()
    read = read_volume_claim(b'{"metadata": {"name": "data"}, "spec": {}}')
    found.claims[str(read)] = read
    assert found.placed(claiming("data").build()).volume_terms is None


@pytest.mark.parametrize("read", [read_volume, read_volume_claim])
def test_an_object_without_a_name_is_refused(read: Any) -> None:
    with pytest.raises(UnreadableObjectError, match=r"without metadata\.name"):
        read(b'{"metadata": {}}')
