"""Random clusters, with waiting pods that ask for everything kube-scheduler checks. One seed, one cluster."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from e2e import objects
from e2e.api import path
from e2e.objects import Object
from e2e.random_terms import (
    HOSTNAME,
    NAMESPACE_LABELS,
    host_ports,
    node_affinity,
    node_labels,
    node_selector,
    pod_affinity,
    pod_labels,
    some_of,
    spread_constraints,
    taints,
    tolerations,
)

_GPU = "example.com/gpu"
_GONE = "gone"  # a node that pods were on and that is no more


@dataclass(frozen=True, kw_only=True)
class ClusterObjects:
    namespaces: Sequence[Object]
    nodes: Sequence[Object]
    placed: Sequence[Object]  # on nodes when they are created
    waiting: Sequence[Object]
    finished: Sequence[str]  # paths of placed pods that have run to their end
    deleting: Sequence[str]  # paths of placed pods that are on their way out
    relabelled: Sequence[tuple[str, dict[str, str]]]  # paths of pods whose labels change once they are stored


def random_cluster(seed: int, waiting: int, *, comparisons: bool = False) -> ClusterObjects:
    """With `comparisons` tolerations may compare numbers, which the API refuses unless a gate is open."""
    rng = Random(seed)  # noqa: S311  a cluster that can be made again, not a secret
    namespaces = [f"oracle-{seed}-{index}" for index in range(3)]
    nodes = [_node(rng, f"n{index}", comparisons=comparisons) for index in range(rng.randint(8, 14))]
    node_names = [node["metadata"]["name"] for node in nodes]
    placed = [pod for number in range(12) for pod in _workload(rng, number, namespaces, node_names)]
    # Those on a node that is gone are garbage, which the controller manager may collect meanwhile.
    lasting = [pod for pod in placed if pod["spec"]["nodeName"] != _GONE]
    pods = [
        _pod(rng, f"waiting-{number}", namespaces, node_names, comparisons=comparisons)
        for number in range(waiting)
    ]
    return ClusterObjects(
        namespaces=[_namespace(rng, name) for name in namespaces],
        nodes=nodes,
        placed=placed,
        waiting=pods,
        finished=[path(pod) for pod in lasting if rng.random() < 0.08],
        deleting=[path(pod) for pod in lasting if rng.random() < 0.1],
        relabelled=[(path(pod), pod_labels(rng)) for pod in (*lasting, *pods) if rng.random() < 0.2],
    )


def _namespace(rng: Random, name: str) -> Object:
    namespace = objects.namespace(name)
    labels = {key: rng.choice(values) for key, values in NAMESPACE_LABELS.items() if rng.random() < 0.8}
    return {**namespace, "metadata": {**namespace["metadata"], "labels": labels}}


def _node(rng: Random, name: str, *, comparisons: bool) -> Object:
    node = objects.node(
        name,
        cpu=rng.choice(["1", "2", "4"]),
        memory=rng.choice(["1Gi", "4Gi"]),
        pods=rng.choice(["3", "110", "110", "110"]),
        resources=some_of(rng, {_GPU: (0.5, lambda: str(rng.randint(0, 2)))}),
        labels=node_labels(rng),
        taints=taints(rng, comparisons=comparisons) if rng.random() < (0.6 if comparisons else 0.3) else [],
    )
    if rng.random() < 0.1:
        del node["metadata"]["labels"][HOSTNAME]
    return {**node, "spec": {**node["spec"], "unschedulable": rng.random() < 0.12}}


def _workload(rng: Random, number: int, namespaces: Sequence[str], node_names: Sequence[str]) -> list[Object]:
    """Equal pods on some nodes: what others are counted with, near to, repelled by, or short of room by."""
    anti_affinity = some_of(rng, {"podAntiAffinity": (0.25, lambda: pod_affinity(rng, namespaces))})
    common: Object = {
        "namespace": rng.choice(namespaces),
        "labels": pod_labels(rng),
        "affinity": anti_affinity,
        # Otherwise a controller evicts those on nodes with a NoExecute taint, at any moment.
        "tolerations": [{"operator": "Exists"}],
        **_containers(rng),
    }
    places = rng.choices([*node_names, *node_names, _GONE], k=rng.randint(1, 6))
    return [
        objects.pod(f"placed-{number}-{replica}", **common, nodeName=place)
        for replica, place in enumerate(places)
    ]


def _pod(
    rng: Random, name: str, namespaces: Sequence[str], node_names: Sequence[str], *, comparisons: bool
) -> Object:
    """About two demands a pod, so that most have some nodes left but not all."""
    affinity = some_of(
        rng,
        {
            "nodeAffinity": (0.2, lambda: node_affinity(rng, node_names)),
            "podAffinity": (0.25, lambda: pod_affinity(rng, namespaces)),
            "podAntiAffinity": (0.3, lambda: pod_affinity(rng, namespaces)),
        },
    )
    spec = some_of(
        rng,
        {
            "nodeSelector": (0.1, lambda: node_selector(rng)),
            "tolerations": (0.5, lambda: tolerations(rng, comparisons=comparisons)),
            "topologySpreadConstraints": (0.4, lambda: spread_constraints(rng)),
        },
    )
    return objects.pod(
        name,
        rng.choice(namespaces),
        labels=pod_labels(rng),
        affinity=affinity,
        **spec,
        **_containers(rng),
    )


def _containers(rng: Random) -> Object:
    """Some with a sidecar, which holds what it needs, or an init container, which gives its ports back."""
    requests = {"cpu": rng.choice(["0", "100m", "500m"]), "memory": rng.choice(["0", "64Mi", "256Mi"])}
    limits = some_of(rng, {_GPU: (0.1, lambda: "1")})
    ports = some_of(rng, {"ports": (0.2, lambda: host_ports(rng))})
    always = some_of(rng, {"restartPolicy": (0.5, lambda: "Always")})
    first = objects.container(
        "first", requests={"cpu": "200m"}, ports=[{"containerPort": 9000, "hostPort": 9000}], **always
    )
    main = objects.container(requests=requests | limits, limits=limits, **ports)
    return {"containers": [main]} | some_of(
        rng, {"initContainers": (0.15, lambda: [first]), "hostNetwork": (0.1, lambda: True)}
    )
