"""The accounts and the roles of the shipped manifests, so that Tradewind runs in tests with no more."""

import time
from collections.abc import Iterable
from pathlib import Path

import yaml

from e2e import fake, objects, outcomes
from e2e.api import Api, collection
from e2e.objects import Object
from e2e.plane import ControlPlane

NAMESPACE = "tradewind-system"
SERVICE_ACCOUNT = "tradewind"
PLANNER_ACCOUNT = "tradewind-planner"
_COMPONENTS = Path(__file__).parents[1] / "manifests" / "components"
_BASE = Path(__file__).parents[1] / "manifests" / "base"
_KINDS = ("Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")


def roles(plane: ControlPlane) -> list[Object]:
    """In the order of creation: the namespace comes first."""
    return _in_order(yaml.safe_load_all(plane.kubectl("kustomize", str(_BASE))))


def component_roles(component: str) -> list[Object]:
    """What a component adds to them."""
    return _in_order(yaml.safe_load_all((_COMPONENTS / component / "rbac.yaml").read_text()))


def hold(plane: ControlPlane) -> list[Object]:
    """The policy that gates new pods, and its binding."""
    policies = list(yaml.safe_load_all((_COMPONENTS / "hold" / "policy.yaml").read_text()))
    version = {"apiVersion": "admissionregistration.k8s.io/v1beta1"} if plane.beta_policies else {}
    return [{**policy, **version} for policy in policies]


def wait_holding(api: Api) -> None:
    """Until the API server has heard of the policy, which nothing tells."""
    namespace = fake.add_namespace(api, held=True)
    pod, deadline = objects.pod("probe", namespace), time.monotonic() + outcomes.SECONDS
    while not _dry_run(api, pod)["spec"].get("schedulingGates"):
        if time.monotonic() > deadline:
            raise outcomes.NotSeenError("no pod is held")
        time.sleep(0.1)
    fake.remove_namespace(api, namespace)


def _dry_run(api: Api, obj: Object) -> Object:
    return api.request("POST", collection(obj), obj, query={"dryRun": "All"})


def _in_order(objects: Iterable[Object]) -> list[Object]:
    rendered = list(objects)
    return [obj for kind in _KINDS for obj in rendered if obj["kind"] == kind]
