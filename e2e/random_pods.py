"""Random pods whose requests are hard to count: init containers, sidecars, overhead, pod level, odd units."""

import random
from collections.abc import Mapping
from typing import Any

from e2e.objects import Object, container

GPU = "example.com/gpu"
# Forms that round: finer than a millicore or a byte, decimal beside binary, exponents, fractions.
_QUANTITIES = {
    "cpu": ("1", "100m", "0.25", "1500m", "100100u", "333333333n", "2e-1"),
    "memory": ("64Mi", "128974848", "129e6", "0.5Gi", "100M", "1.5Gi", "123456789m"),
    "ephemeral-storage": ("1Gi", "500M", "1.1G"),
    GPU: ("1", "2"),
}
_OVERHEADS = ({"cpu": "250m", "memory": "120Mi"}, {"cpu": "100100u", "ephemeral-storage": "1Gi"})


def runtime_classes(prefix: str) -> list[Object]:
    return [
        {
            "apiVersion": "node.k8s.io/v1",
            "kind": "RuntimeClass",
            "metadata": {"name": f"{prefix}-{number}"},
            "handler": "none",
            "overhead": {"podFixed": overhead},
        }
        for number, overhead in enumerate(_OVERHEADS)
    ]


def spec(chance: random.Random, runtime_classes: list[Object]) -> dict[str, Any]:
    """Fields of a PodSpec."""
    fields: dict[str, Any] = {
        "containers": [_container(chance, f"main-{number}") for number in range(chance.randint(1, 3))],
        "initContainers": [
            _init_container(chance, f"init-{number}") for number in range(chance.randint(0, 4))
        ],
    }
    if chance.random() < 0.3:
        fields["runtimeClassName"] = chance.choice(runtime_classes)["metadata"]["name"]
    if chance.random() < 0.3:
        fields["resources"] = {"requests": _pod_level(chance)}
    return fields


def _container(chance: random.Random, name: str, **fields: Any) -> Object:
    requests = _quantities(chance)
    if chance.random() < 0.2:
        return container(name, limits=requests, **fields)
    # An extended resource has no limit apart from its request.
    gpu = {resource: value for resource, value in requests.items() if resource == GPU}
    return container(name, requests=requests, limits=gpu, **fields)


def _init_container(chance: random.Random, name: str) -> Object:
    return _container(chance, name, **({"restartPolicy": "Always"} if chance.random() < 0.5 else {}))


def _quantities(chance: random.Random) -> dict[str, str]:
    chosen = [resource for resource in _QUANTITIES if chance.random() < 0.6]
    return {resource: chance.choice(_QUANTITIES[resource]) for resource in chosen}


def _pod_level(chance: random.Random) -> dict[str, str]:
    """More than any sum of containers: the API refuses less."""
    both = {"cpu": "11.0001", "memory": "12.5Gi"}
    return both if chance.random() < 0.5 else {"cpu": both["cpu"]}


def status(chance: random.Random, spec: Mapping[str, Any]) -> Object:
    """A status as of a pod that runs, has ended, or is being resized."""
    phase = chance.choice(["Pending", "Running", "Running", "Succeeded", "Failed"])
    return {"phase": phase} | (_resize(chance, spec) if phase == "Running" else {})


def _resize(chance: random.Random, spec: Mapping[str, Any]) -> Object:
    pending = {
        "type": "PodResizePending",
        "status": "True",
        "reason": chance.choice(["Infeasible", "Deferred"]),
    }
    return {
        "conditions": [pending] if chance.random() < 0.5 else [],
        "containerStatuses": [
            {
                "name": entry["name"],
                "image": entry["image"],
                "imageID": "none",
                "ready": True,
                "restartCount": 0,
                "resources": {"requests": _quantities(chance)},
                "allocatedResources": _quantities(chance),
            }
            for entry in spec["containers"]
        ],
    }
