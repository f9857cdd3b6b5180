"""Which workload a pod belongs to."""

from collections.abc import Mapping

from tradewind.cluster.wire import OwnerReference

# Set by the Deployment controller, and by Argo Rollouts, on each ReplicaSet and its pods.
_HASH_LABELS = (("pod-template-hash", "Deployment"), ("rollouts-pod-template-hash", "Rollout"))


def workload_of(owner: OwnerReference | None, namespace: str, labels: Mapping[str, str]) -> str:
    """The identity of the top controller as far as the pod alone tells it, "" without one.

    A Deployment names the ReplicaSet of each rollout NAME-HASH and labels its pods with the hash, so the pods
    of all its rollouts have one workload. Any other controller is taken for the top one. The namespace is a
    part of it: whoever may create a pod may name the controller of another namespace as its owner.
    """
    if owner is None:
        return ""
    if owner.kind == "ReplicaSet":
        for label, kind in _HASH_LABELS:
            name = owner.name.removesuffix(f"-{labels.get(label)}")
            if name and name != owner.name:
                return f"{kind} {namespace}/{name}"
    return f"{owner.kind} {namespace}/{owner.name}"
