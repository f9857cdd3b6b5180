"""What the manifests' roles grant, and how things are without one of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import yaml

from e2e.api import Api
from e2e.installation.installation import NAMESPACE, eventually
from e2e.objects import Object

_RBAC = "/apis/rbac.authorization.k8s.io/v1"
_PREFIXES = {"ClusterRole": f"{_RBAC}/clusterroles", "Role": f"{_RBAC}/namespaces/{NAMESPACE}/roles"}


class Permission(NamedTuple):
    """One verb on one resource; roles are named after the account that has them."""

    kind: str
    account: str
    verb: str
    group: str
    resource: str
    name: str  # empty: of any object

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}"

    @property
    def path(self) -> str:
        return f"{_PREFIXES[self.kind]}/{self.account}"

    @property
    def rule(self) -> Object:
        names = {"resourceNames": [self.name]} if self.name else {}
        return {"apiGroups": [self.group], "resources": [self.resource], "verbs": [self.verb], **names}


def granted(file: Path) -> list[Permission]:
    return [
        Permission(role["kind"], role["metadata"]["name"], verb, group, resource, name)
        for role in yaml.safe_load_all(file.read_text())
        for rule in role.get("rules", ())
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for name in rule.get("resourceNames", [""])
        for verb in rule["verbs"]
    ]


@contextmanager
def without(api: Api, permission: Permission, among: list[Permission]) -> Iterator[None]:
    """The role with all of these but one, as soon as the API server knows."""
    left = [other.rule for other in among if other.path == permission.path and other != permission]
    shipped = api.read(permission.path)["rules"]
    api.patch(permission.path, {"rules": left})
    try:
        eventually(lambda: not _allowed(api, permission))
        yield
    finally:
        api.patch(permission.path, {"rules": shipped})
        eventually(lambda: _allowed(api, permission))


def _allowed(api: Api, permission: Permission) -> bool:
    resource, _, subresource = permission.resource.partition("/")
    attributes = {
        "verb": permission.verb,
        "group": permission.group,
        "resource": resource,
        "subresource": subresource,
        "name": permission.name,
        "namespace": NAMESPACE if permission.kind == "Role" else "",
    }
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "metadata": {},
        "spec": {
            "user": f"system:serviceaccount:{NAMESPACE}:{permission.account}",
            "resourceAttributes": attributes,
        },
    }
    return bool(api.create(review)["status"]["allowed"])
