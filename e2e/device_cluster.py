"""A cluster in which one node advertises an extended resource and another has it by a DeviceClass."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from e2e import objects
from e2e.objects import Object
from e2e.random_cluster import ClusterObjects

_NAMESPACE = "oracle-devices"
_GPU = "example.com/gpu"
_CLASS = "gpu.example.com"
_BY_CLASS = f"deviceclass.resource.kubernetes.io/{_CLASS}"


@dataclass(frozen=True)
class DeviceCluster:
    devices: Sequence[Object]
    objects: ClusterObjects
    feasible: Mapping[str, frozenset[str]]  # by pod, on which nodes kube-scheduler can place it
    planned: Mapping[str, frozenset[str]]


def device_cluster() -> DeviceCluster:
    device_class = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": _CLASS},
        "spec": {
            "extendedResourceName": _GPU,
            "selectors": [{"cel": {"expression": f"device.driver == '{_CLASS}'"}}],
        },
    }
    slice_ = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "devices-of-driver"},
        "spec": {
            "driver": _CLASS,
            "nodeName": "driver",
            "pool": {"name": "driver", "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": "gpu-0"}],
        },
    }
    nodes = [objects.node("plugin", resources={_GPU: "2"}), objects.node("driver"), objects.node("none")]
    waiting = [_pod("one", _GPU, "1"), _pod("two", _GPU, "2"), _pod("by-class", _BY_CLASS, "1")]
    return DeviceCluster(
        devices=[device_class, slice_],
        objects=ClusterObjects(
            namespaces=[objects.namespace(_NAMESPACE)],
            nodes=nodes,
            placed=[],
            waiting=waiting,
            finished=[],
            deleting=[],
            relabelled=[],
        ),
        feasible={
            "one": frozenset({"plugin", "driver"}),
            "two": frozenset({"plugin"}),
            "by-class": frozenset({"driver"}),
        },
        planned={"one": frozenset({"plugin"}), "two": frozenset({"plugin"}), "by-class": frozenset()},
    )


def _pod(name: str, resource: str, amount: str) -> Object:
    wanted = objects.container(requests={"cpu": "100m", resource: amount}, limits={resource: amount})
    return objects.pod(name, _NAMESPACE, containers=[wanted])
