"""What ties a pod to its node, or a node to its cluster, for all who move pods or remove nodes.

Short names in one tuple, shared by all objects that have the same: most have none.
"""

from collections.abc import Collection, Iterable, Mapping

import msgspec

from tradewind.cluster.wire import NULL, PodSpec, Volume

DO_NOT_DISRUPT = "karpenter.sh/do-not-disrupt"
DO_NOT_EVICT = "karpenter.sh/do-not-evict"  # its name before Karpenter 0.32
SAFE_TO_EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict"
SAFE_LOCAL_VOLUMES = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"
PREFER_NO_EVICTION = "descheduler.alpha.kubernetes.io/prefer-no-eviction"
SCALE_DOWN_DISABLED = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
MIRROR = "kubernetes.io/config.mirror"
LOCAL_STORAGE = "local storage"
CLAIM = "claim"


class _EmptyDir(msgspec.Struct, gc=False):
    medium: str | None = None


_empty_dir = msgspec.json.Decoder(_EmptyDir)

Bonds = tuple[str, ...]

_NONE: Bonds = ()
# Whatever the value, but for "false": Karpenter also takes a time, the descheduler looks at the key alone.
_UNLESS_FALSE = {
    DO_NOT_DISRUPT: DO_NOT_DISRUPT,
    DO_NOT_EVICT: DO_NOT_DISRUPT,
    PREFER_NO_EVICTION: PREFER_NO_EVICTION,
}
_shared: dict[Bonds, Bonds] = {}


def pod_bonds(annotations: Mapping[str, str] | None, spec: PodSpec) -> Bonds:
    found: list[str] = []
    own = annotations or {}
    if own:
        found += [bond for key, bond in _UNLESS_FALSE.items() if own.get(key, "false") != "false"]
        if own.get(SAFE_TO_EVICT) == "false":
            found.append(SAFE_TO_EVICT)
        if MIRROR in own:
            found.append(MIRROR)
    if spec.volumes:
        safe = own[SAFE_LOCAL_VOLUMES].split(",") if SAFE_LOCAL_VOLUMES in own else ()
        found += _of_volumes(spec.volumes, safe, all_safe=own.get(SAFE_TO_EVICT) == "true")
    if _there(spec.resource_claims):
        found.append(CLAIM)
    return _share(found)


def node_bonds(annotations: Mapping[str, str] | None) -> Bonds:
    if not annotations:
        return _NONE
    found = [DO_NOT_DISRUPT] if annotations.get(DO_NOT_DISRUPT, "false") != "false" else []
    if annotations.get(SCALE_DOWN_DISABLED) == "true":
        found.append(SCALE_DOWN_DISABLED)
    return _share(found)


def _of_volumes(volumes: Iterable[Volume], safe: Collection[str], *, all_safe: bool) -> Iterable[str]:
    """`safe`: the volumes of which the pod says itself that what it keeps there may be lost."""
    local = claimed = False
    for volume in volumes:
        if not all_safe and volume.name not in safe:
            local |= _on_disk(volume.empty_dir) or _there(volume.host_path)
        claimed |= _there(volume.persistent_volume_claim) or _there(volume.ephemeral)
    return [name for name, there in ((LOCAL_STORAGE, local), (CLAIM, claimed)) if there]


def _on_disk(empty_dir: msgspec.Raw) -> bool:
    """What is in memory ends with the pod wherever it is: cluster-autoscaler does not count it either."""
    if b"Memory" in bytes(empty_dir):
        return _empty_dir.decode(empty_dir).medium != "Memory"
    return _there(empty_dir)


def _there(part: msgspec.Raw) -> bool:
    return part is not NULL and bytes(part) not in {b"null", b"[]"}


def _share(found: Iterable[str]) -> Bonds:
    bonds = tuple(dict.fromkeys(found))
    return _shared.setdefault(bonds, bonds) if bonds else _NONE
