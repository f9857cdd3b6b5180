"""Fake nodes and the namespaces of tests: made so that pods can be scheduled at once, removed without rest.

A fake node is a Node object without a kubelet. Nothing ever runs or ends on it, so its pods must be deleted
with a grace period of 0.
"""

import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from e2e import objects, outcomes
from e2e.api import MERGE_PATCH, Api, ApiError, path
from e2e.objects import Object

_NODES = "/api/v1/nodes"
_NOT_FOUND = 404

HELD = {"tradewind.dev/hold": "enabled"}


def add_nodes(api: Api, nodes: Iterable[Object]) -> list[str]:
    """Creates the nodes; they can take pods when this returns."""
    wanted = list(nodes)
    api.create_all(wanted)
    # Admission taints every new node as not ready; only a node lifecycle controller would take that away.
    patches = [(path(node), {"spec": {"taints": node["spec"]["taints"]}}) for node in wanted]
    api.concurrently("PATCH", patches, MERGE_PATCH)
    return [node["metadata"]["name"] for node in wanted]


@contextmanager
def existing(api: Api, wanted: Iterable[Object]) -> Iterator[None]:
    """These objects for as long as the test needs them."""
    created = [api.create(obj) for obj in wanted]
    try:
        yield
    finally:
        for obj in created:
            api.delete(path(obj))


def remove_nodes(api: Api, names: Iterable[str]) -> None:
    api.concurrently("DELETE", [(f"{_NODES}/{name}", None) for name in names])


def add_namespace(api: Api, prefix: str = "e2e", *, held: bool = False) -> str:
    """Creates a namespace with a name of its own, whose pods are held for the planner or not."""
    return create_namespace(api, f"{prefix}-{secrets.token_hex(4)}", HELD if held else {})


def create_namespace(api: Api, name: str, labels: Mapping[str, str] | None = None) -> str:
    """Pods can be created in the namespace when this returns."""
    api.create(objects.namespace(name, labels))
    accounts = f"/api/v1/namespaces/{name}/serviceaccounts"
    # Admission refuses a pod until the controller manager has made its default service account.
    for change in api.changes(accounts, outcomes.SECONDS, fieldSelector="metadata.name=default"):
        if change.object:
            return name
    raise outcomes.NotSeenError(f"namespace {name} got no default service account")


def remove_namespace(api: Api, name: str) -> None:
    remove_workloads(api, name)
    api.delete(f"/api/v1/namespaces/{name}")


def remove_workloads(api: Api, namespace: str) -> None:
    for owners in ("deployments", "replicasets", "daemonsets"):
        api.delete(f"/apis/apps/v1/namespaces/{namespace}/{owners}", propagationPolicy="Background")
    remove_pods(api, namespace)


def remove_pods(api: Api, namespace: str) -> None:
    """Also those that a controller adds until it has seen that their owner is gone."""
    pods = f"/api/v1/namespaces/{namespace}/pods"
    api.delete(pods, gracePeriodSeconds="0")
    left: set[str] = set()
    for change in api.changes(pods, outcomes.SECONDS):
        if change.type == "ADDED":
            left.add(change.object["metadata"]["name"])
            _delete_if_there(api, f"{pods}/{change.object['metadata']['name']}", gracePeriodSeconds="0")
        elif change.type == "DELETED":
            left.discard(change.object["metadata"]["name"])
        if not left and change.type in {"SYNCED", "DELETED"}:
            return
    raise outcomes.NotSeenError(f"pods {sorted(left)} in {namespace} were not removed")


def _delete_if_there(api: Api, path: str, **query: str) -> None:
    try:
        api.delete(path, **query)
    except ApiError as error:
        if error.status != _NOT_FOUND:
            raise


def service_account_token(api: Api, namespace: str, name: str, pod: Object | None = None) -> str:
    """With `pod`, the token is that pod's, as kubelet mounts it."""
    spec = {}
    if pod is not None:
        reference = {key: pod["metadata"][key] for key in ("name", "uid")}
        spec = {"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", **reference}}
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    answer = api.request("POST", f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token", request)
    return str(answer["status"]["token"])
