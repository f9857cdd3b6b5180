"""A hub from a file: what `kubectl get clusters,resourcebindings,configmaps -A -o json` wrote there.

Karmada's FederatedResourceQuotas, ClusterResourceBindings and policies are read as well. ConfigMaps other
than the fleet's are left out.
"""

from pathlib import Path
from typing import Any

import msgspec

from tradewind.cluster.files import parts
from tradewind.errors import ClusterFileError
from tradewind.hub.records import FLEET_LABEL, binding_of, member_of, note_of, policy_of, quota_of
from tradewind.hub.state import FleetState
from tradewind.hub.wire import BindingObject, ClusterObject, ConfigMapObject, PolicyObject, QuotaObject
from tradewind.kube.objects import UNREADABLE

_GROUPS = {
    "Cluster": "cluster.karmada.io",
    "ResourceBinding": "work.karmada.io",
    "ClusterResourceBinding": "work.karmada.io",
    "PropagationPolicy": "policy.karmada.io",
    "ClusterPropagationPolicy": "policy.karmada.io",
    "FederatedResourceQuota": "policy.karmada.io",
}
_KINDS: dict[str, type[Any]] = {
    "Cluster": ClusterObject,
    "ConfigMap": ConfigMapObject,
    "ResourceBinding": BindingObject,
    "ClusterResourceBinding": BindingObject,
    "PropagationPolicy": PolicyObject,
    "ClusterPropagationPolicy": PolicyObject,
    "FederatedResourceQuota": QuotaObject,
}


def load(path: Path) -> FleetState:
    """The namespaces are those of the first summary and the first ledger, wherever they are."""
    found: list[tuple[str, Any]] = []
    for part in parts(path, _GROUPS):
        if part.kind in _KINDS:
            try:
                found.append((part.kind, msgspec.json.decode(part.data, type=_KINDS[part.kind])))
            except UNREADABLE as error:
                raise ClusterFileError(f"reading {path}{part.place}: {error}") from error
    notes = [each for kind, each in found if kind == "ConfigMap" and _of_fleet(each)]
    namespaces = {_of_fleet(each): each.metadata.namespace for each in reversed(notes)}
    state = FleetState(namespaces.get("ledger", ""), namespaces.get("summary", ""))
    for kind, each in found:
        try:
            _apply(state, kind, each)
        except UNREADABLE as error:
            raise ClusterFileError(f"reading {path}, {kind} {each.metadata.name}: {error}") from error
    if not len(state.members):
        raise ClusterFileError(f"{path} holds no Cluster of Karmada's")
    return state


def _apply(state: FleetState, kind: str, each: Any) -> None:
    match kind, _of_fleet(each):
        case "Cluster", _:
            state.members.apply(member_of(each))
        case "ResourceBinding" | "ClusterResourceBinding", _:
            state.bindings.apply(binding_of(each))
        case "PropagationPolicy", _:
            state.policies.apply(policy_of(each))
        case "ClusterPropagationPolicy", _:
            state.cluster_policies.apply(policy_of(each))
        case "FederatedResourceQuota", _:
            state.quotas.apply(quota_of(each))
        case "ConfigMap", "summary":
            state.summaries.apply(note_of(each))
        case "ConfigMap", "ledger":
            state.ledgers.apply(note_of(each))


def _of_fleet(found: Any) -> str:
    return str((found.metadata.labels or {}).get(FLEET_LABEL, ""))
