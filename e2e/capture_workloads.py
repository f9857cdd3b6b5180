"""The small cluster and the pods of a capture: one pod for each part of the API that a rule may look at."""

from typing import Any

from e2e.objects import Object, container, deployment, node, pod, priority_class

NAMESPACE = "shop"
NAMESPACE_OF_RESIDENTS = "batch"


def _priced_node(name: str, zone: str, capacity_type: str, price: str, **fields: Any) -> Object:
    labels = {
        "topology.kubernetes.io/zone": zone,
        "karpenter.sh/capacity-type": capacity_type,
        "node.kubernetes.io/instance-type": f"{name.partition('-')[0]}.xlarge",
    }
    return node(name, price=price, labels=labels, **fields)


NODES = (
    _priced_node("spot-a", "eu-1a", "spot", "0.0712"),
    _priced_node("spot-b", "eu-1b", "spot", "0.0685"),
    _priced_node("durable-a", "eu-1a", "on-demand", "0.384", cpu="8", memory="32Gi"),
    _priced_node(
        "gpu-b",
        "eu-1b",
        "on-demand",
        "1.206",
        cpu="8",
        memory="64Gi",
        resources={"example.com/gpu": "2"},
        taints=[{"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}],
    ),
)

CLUSTER_OBJECTS = (
    priority_class("urgent", 1_000_000),
    {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": "sandboxed"},
        "handler": "sandboxed",
        "overhead": {"podFixed": {"cpu": "250m", "memory": "160Mi"}},
    },
)


def residents() -> list[Object]:
    """Pods that are there already; those on the large nodes must go before the urgent pod fits."""
    return [
        pod(f"batch-{name}", NAMESPACE_OF_RESIDENTS, **_resident(name), cpu=cpu, memory="2Gi", labels=labels)
        for name, cpu, labels in (
            ("spot-a", "500m", {"app": "cache"}),
            ("durable-a", "5", {"app": "batch"}),
            ("gpu-b", "3500m", {"app": "batch"}),
        )
    ]


def _resident(node_name: str) -> dict[str, Any]:
    # No grace: there is no kubelet that would ever confirm a victim's end.
    return {"nodeName": node_name, "terminationGracePeriodSeconds": 0}


def workloads() -> list[Object]:
    return [
        deployment("deployed", NAMESPACE, replicas=1, cpu="250m", memory="256Mi"),
        _job("job"),
        _single("plain"),
        _single("no-requests", containers=[container()]),
        _single("init-and-sidecar", **_init_and_sidecar()),
        _single("limits-only", containers=[container(limits={"cpu": "750m", "memory": "1Gi"})]),
        _single(
            "pod-level", resources={"requests": {"cpu": "1500m", "memory": "3Gi"}}, containers=[container()]
        ),
        _single("overhead", runtimeClassName="sandboxed"),
        _single("extended", **_extended()),
        _single("tolerant", tolerations=[{"operator": "Exists"}], priorityClassName="urgent"),
        _single("affinity", affinity=_affinity()),
        _single(
            "spread", topologySpreadConstraints=_spread(), nodeSelector={"karpenter.sh/capacity-type": "spot"}
        ),
        pod("wishes", NAMESPACE, labels={"app": "wishes"}, annotations=_wishes()),
        _single("urgent", cpu="6", memory="4Gi", tolerations=[_GPU_TOLERATION], priorityClassName="urgent"),
    ]


_GPU_TOLERATION = {"key": "dedicated", "operator": "Equal", "value": "gpu", "effect": "NoSchedule"}


def _single(name: str, **spec: Any) -> Object:
    return pod(name, NAMESPACE, labels={"app": name}, **spec)


def _job(name: str) -> Object:
    template = deployment(name, NAMESPACE, replicas=1, restartPolicy="Never")["spec"]["template"]
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"template": template},
    }


def _init_and_sidecar() -> dict[str, Any]:
    requests = {"cpu": "100m", "memory": "128Mi"}
    return {
        "initContainers": [
            container("migrate", requests={"cpu": "2", "memory": "512Mi"}),
            container("proxy", requests=requests, limits={"memory": "256Mi"}, restartPolicy="Always"),
            container("warm", requests={"cpu": "1500m", "memory": "1Gi"}),
        ],
        "containers": [
            container("web", requests={"cpu": "500m", "memory": "1Gi", "ephemeral-storage": "2Gi"})
        ],
        "volumes": [{"name": "scratch", "emptyDir": {"sizeLimit": "1Gi"}}],
    }


def _extended() -> dict[str, Any]:
    gpu = {"example.com/gpu": "1"}
    return {
        "containers": [container(requests={"cpu": "1", **gpu}, limits=gpu)],
        "tolerations": [_GPU_TOLERATION],
    }


def _affinity() -> Object:
    near_cache = {
        "labelSelector": {"matchLabels": {"app": "cache"}},
        "namespaces": [NAMESPACE_OF_RESIDENTS],
        "topologyKey": "topology.kubernetes.io/zone",
    }
    apart = {
        "labelSelector": {"matchExpressions": [{"key": "app", "operator": "In", "values": ["affinity"]}]},
        "namespaceSelector": {},
        "matchLabelKeys": ["pod-template-hash"],
        "topologyKey": "kubernetes.io/hostname",
    }
    spot = {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot", "on-demand"]}
    return {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [spot]}]
            }
        },
        "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [near_cache]},
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": apart}]
        },
    }


def _spread() -> list[Object]:
    return [
        {
            "maxSkew": 1,
            "topologyKey": "topology.kubernetes.io/zone",
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": {"app": "spread"}},
        }
    ]


def _wishes() -> dict[str, str]:
    return {
        "tradewind.dev/disk-type": "ssd",
        "tradewind.dev/network-type": "25g",
        "tradewind.dev/workload-class": "web",
    }
