"""The account and the roles of the shipped manifests, so that the service runs in tests with no more."""

from pathlib import Path

import yaml

from e2e.objects import Object
from e2e.plane import ControlPlane

NAMESPACE = "tradewind-system"
SERVICE_ACCOUNT = "tradewind"
_BASE = Path(__file__).parents[1] / "manifests" / "base"
_KINDS = ("Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")


def roles(plane: ControlPlane) -> list[Object]:
    """In the order of creation: the namespace comes first."""
    rendered = list(yaml.safe_load_all(plane.kubectl("kustomize", str(_BASE))))
    return [obj for kind in _KINDS for obj in rendered if obj["kind"] == kind]
