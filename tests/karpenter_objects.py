"""Karpenter's objects for tests, as the API's JSON."""

from typing import Any

Object = dict[str, Any]


def need(key: str, *values: str, operator: str = "In") -> Object:
    return {"key": key, "operator": operator, "values": list(values)}


def node_pool(name: str, *needs: Object, **spec: Any) -> Object:
    template = {"metadata": {"labels": spec.pop("labels", {})}}
    node_class = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
    template["spec"] = {
        "nodeClassRef": node_class,
        "requirements": list(needs),
        "taints": spec.pop("taints", []),
    }
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": name},
        "spec": {"template": template, **spec},
    }


def node_overlay(name: str, *needs: Object, **spec: Any) -> Object:
    return {
        "apiVersion": "karpenter.sh/v1alpha1",
        "kind": "NodeOverlay",
        "metadata": {"name": name},
        "spec": {"requirements": list(needs), **spec},
    }
