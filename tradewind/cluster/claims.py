"""The claims of a pod by name; `tradewind.cluster.volumes` knows where those of volumes can be."""

from collections.abc import Iterator
from typing import Any

import msgspec

from tradewind.cluster.wire import NULL, PodSpec

VOLUME_CLAIM = "PVC "  # before the name of a PersistentVolumeClaim


def claims_of(pod: str, spec: PodSpec) -> tuple[str, ...]:
    """As people call them: `PVC data`, `resource claim gpu`."""
    return tuple([f"{VOLUME_CLAIM}{name}" for name in _volume_claims(pod, spec)] + _resource_claims(spec))


def _volume_claims(pod: str, spec: PodSpec) -> Iterator[str]:
    for volume in spec.volumes or ():
        if volume.persistent_volume_claim is not NULL:
            claim = _read(volume.persistent_volume_claim)
            yield str(claim.get("claimName") or volume.name) if isinstance(claim, dict) else volume.name
        elif volume.ephemeral is not NULL:
            yield f"{pod}-{volume.name}"  # as Kubernetes names the claim that it makes


def _resource_claims(spec: PodSpec) -> list[str]:
    found = _read(spec.resource_claims) if spec.resource_claims is not NULL else None
    named = [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []
    return [f"resource claim {each.get('name', '')}" for each in named]


def _read(part: msgspec.Raw) -> Any:
    return msgspec.json.decode(part)
