"""Fake nodes and the namespaces of tests: made so that pods can be scheduled at once, removed without rest.

A fake node is a Node object without a kubelet. Nothing ever runs or ends on it, so its pods must be deleted
with a grace period of 0.
"""

import secrets
from collections.abc import Iterable

from e2e import objects, outcomes
from e2e.api import MERGE_PATCH, Api, path
from e2e.objects import Object

_NODES = "/api/v1/nodes"


def add_nodes(api: Api, nodes: Iterable[Object]) -> list[str]:
    """Creates the nodes; they can take pods when this returns."""
    wanted = list(nodes)
    api.create_all(wanted)
    # Admission taints every new node as not ready; only a node lifecycle controller would take that away.
    patches = [(path(node), {"spec": {"taints": node["spec"]["taints"]}}) for node in wanted]
    api.concurrently("PATCH", patches, MERGE_PATCH)
    return [node["metadata"]["name"] for node in wanted]


def remove_nodes(api: Api, names: Iterable[str]) -> None:
    api.concurrently("DELETE", [(f"{_NODES}/{name}", None) for name in names])


def add_namespace(api: Api, prefix: str = "e2e") -> str:
    """Creates a namespace with a name of its own."""
    return create_namespace(api, f"{prefix}-{secrets.token_hex(4)}")


def create_namespace(api: Api, name: str) -> str:
    """Pods can be created in the namespace when this returns."""
    api.create(objects.namespace(name))
    accounts = f"/api/v1/namespaces/{name}/serviceaccounts"
    # Admission refuses a pod until the controller manager has made its default service account.
    for change in api.changes(accounts, outcomes.SECONDS, fieldSelector="metadata.name=default"):
        if change.object:
            return name
    raise outcomes.NotSeenError(f"namespace {name} got no default service account")


def remove_namespace(api: Api, name: str) -> None:
    for owners in ("deployments", "replicasets"):
        api.delete(f"/apis/apps/v1/namespaces/{name}/{owners}", propagationPolicy="Background")
    remove_pods(api, name)
    api.delete(f"/api/v1/namespaces/{name}")


def remove_pods(api: Api, namespace: str) -> None:
    pods = f"/api/v1/namespaces/{namespace}/pods"
    api.delete(pods, gracePeriodSeconds="0")
    outcomes.gone(api, pods)


def service_account_token(api: Api, namespace: str, name: str) -> str:
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    answer = api.request("POST", f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token", request)
    return str(answer["status"]["token"])
