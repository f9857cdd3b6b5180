"""Kubernetes objects as the API takes them: plain dicts, each from one call, none changed afterwards."""

from collections.abc import Mapping, Sequence
from typing import Any

Object = dict[str, Any]

# Nothing pulls or runs it: fake nodes have no kubelet.
_IMAGE = "tradewind.dev/none"
PRICE = "tradewind.dev/price"


def node(
    name: str,
    *,
    cpu: str = "4",
    memory: str = "16Gi",
    pods: str = "110",
    resources: Mapping[str, str] | None = None,
    price: float | str | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    taints: Sequence[Mapping[str, str]] = (),
) -> Object:
    """A Ready node; without the label kubernetes.io/os, so that no DaemonSet of a real cluster selects it."""
    capacity = {"cpu": cpu, "memory": memory, "pods": pods, "ephemeral-storage": "100Gi"} | dict(
        resources or {}
    )
    prices = {} if price is None else {PRICE: str(price)}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/hostname": name} | dict(labels or {}),
            "annotations": prices | dict(annotations or {}),
        },
        "spec": {"taints": [dict(taint) for taint in taints]},
        "status": {
            "capacity": capacity,
            "allocatable": capacity,
            "conditions": [
                {"type": "Ready", "status": "True", "reason": "FakeNode", "message": "no kubelet"}
            ],
        },
    }


def container(
    name: str = "main",
    *,
    requests: Mapping[str, str] | None = None,
    limits: Mapping[str, str] | None = None,
    **fields: Any,
) -> Object:
    resources = {"requests": dict(requests or {}), "limits": dict(limits or {})}
    return {"name": name, "image": _IMAGE, "resources": resources, **fields}


def pod_spec(
    *,
    cpu: str = "100m",
    memory: str = "64Mi",
    containers: Sequence[Object] = (),
    scheduler: str = "default-scheduler",
    **fields: Any,
) -> Object:
    """One container of `cpu` and `memory` unless `containers` are given; `fields` are PodSpec's own."""
    single = container(requests={"cpu": cpu, "memory": memory})
    return {"schedulerName": scheduler, "containers": list(containers) or [single], **fields}


def pod(
    name: str,
    namespace: str,
    *,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    **spec: Any,
) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": dict(labels or {}),
            "annotations": dict(annotations or {}),
        },
        "spec": pod_spec(**spec),
    }


def deployment(
    name: str,
    namespace: str,
    *,
    replicas: int,
    annotations: Mapping[str, str] | None = None,
    **spec: Any,
) -> Object:
    """A Deployment whose pods carry the label `app: NAME`; `annotations` are its pods'."""
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels, "annotations": dict(annotations or {})},
                "spec": pod_spec(**spec),
            },
        },
    }


def daemon_set(name: str, namespace: str, **spec: Any) -> Object:
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod_spec(**spec)},
        },
    }


def namespace(name: str, labels: Mapping[str, str] | None = None) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": dict(labels or {})},
    }


def priority_class(name: str, value: int) -> Object:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
    }
