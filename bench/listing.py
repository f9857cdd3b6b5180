"""Nodes and pods as an API server lists them, thousands of them, without one having to hold them.

One node and one pod were captured from a real API server (captured.json: managed fields, defaults, and the
status that a kubelet writes); every other one is that object with the name, shape, price and requests of
the workload.
"""

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench import workload
from e2e.objects import Object

NAMESPACE = "bench"
_CAPTURED = json.loads((Path(__file__).parent / "captured.json").read_text())


def nodes(count: int) -> Iterator[Object]:
    for number, wanted in enumerate(workload.nodes(count)):
        captured: Object = _CAPTURED["node"]
        yield {
            "metadata": captured["metadata"] | wanted["metadata"] | {"uid": _uid("node", number)},
            "spec": {},
            "status": captured["status"]
            | {key: wanted["status"][key] for key in ("capacity", "allocatable")},
        }


def bound_pods(count: int, node_names: Sequence[str]) -> Iterator[Object]:
    """Running, each on a node by chance."""
    chance = random.Random(count)
    for number, wanted in enumerate(workload.pods(count, NAMESPACE)):
        captured: Object = _CAPTURED["pod"]
        spec = captured["spec"] | {"nodeName": chance.choice(node_names)}
        address = f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"
        own = {"podIP": address, "podIPs": [{"ip": address}]}
        yield _pod(number, wanted, spec) | {"status": captured["status"] | own}


def waiting_pods(count: int) -> Iterator[Object]:
    """As kube-scheduler sends them to an extender: without managed fields and without a node."""
    for number, wanted in enumerate(workload.pods(count, NAMESPACE)):
        spec = {key: value for key, value in _CAPTURED["pod"]["spec"].items() if key != "nodeName"}
        pod = _pod(number, wanted, spec) | {"status": {"phase": "Pending", "qosClass": "Burstable"}}
        del pod["metadata"]["managedFields"]
        yield pod


def _pod(number: int, wanted: Object, spec: Object) -> Object:
    captured: Object = _CAPTURED["pod"]
    # Admission gives every pod a volume of its own for its token.
    volume = {"name": f"kube-api-access-{number:05x}"}
    container = spec["containers"][0] | {
        "resources": wanted["spec"]["containers"][0]["resources"],
        "volumeMounts": [spec["containers"][0]["volumeMounts"][0] | volume],
    }
    own = {"uid": _uid("pod", number), "resourceVersion": str(number + 1)}
    return {
        "metadata": captured["metadata"] | wanted["metadata"] | own,
        "spec": spec | {"containers": [container], "volumes": [spec["volumes"][0] | volume]},
    }


def _uid(kind: str, number: int) -> str:
    return f"{kind:0>8}-0000-4000-8000-{number:012}"
