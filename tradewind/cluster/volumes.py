"""PersistentVolumes and the claims that are bound to them: on which nodes the pods that use them can run."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

from tradewind.cluster.claims import VOLUME_CLAIM
from tradewind.cluster.objects import Pod
from tradewind.cluster.wire import NodeSelectorTerm, Requirement, VolumeClaimObject, VolumeObject
from tradewind.errors import UnreadableObjectError
from tradewind.kube.objects import UNREADABLE

Terms = tuple[NodeSelectorTerm, ...]

# kube-scheduler's VolumeZone reads these labels of a volume; several zones are joined by two underscores.
_TOPOLOGY = (
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
)
_BETWEEN_ZONES = "__"


class PersistentVolume(msgspec.Struct, frozen=True):
    name: str
    terms: tuple[Terms, ...]  # of each, a node must match one


class VolumeClaim(msgspec.Struct, frozen=True):
    namespace: str
    name: str
    volume: str  # empty while it is not bound

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass
class Volumes:
    """Those of a cluster."""

    volumes: dict[str, PersistentVolume] = field(default_factory=dict)
    claims: dict[str, VolumeClaim] = field(default_factory=dict)

    def placed(self, pod: Pod) -> Pod:
        """The pod with what its volumes ask of a node; None is left where one of them is not known."""
        if pod.volume_terms is not None:
            return pod
        found: list[Terms] = []
        for name in pod.claims:
            claim = self.claims.get(f"{pod.namespace}/{name.removeprefix(VOLUME_CLAIM)}")
            volume = self.volumes.get(claim.volume) if claim else None
            if volume is None:
                return pod
            found += volume.terms
        return msgspec.structs.replace(pod, volume_terms=tuple(dict.fromkeys(found)))


def read_volume(data: bytes | msgspec.Raw) -> PersistentVolume:
    try:
        read = msgspec.json.decode(data, type=VolumeObject)
        labels = msgspec.json.decode(read.metadata.labels, type=dict[str, str] | None) or {}
    except UNREADABLE as error:
        raise UnreadableObjectError(f"{error} in a PersistentVolume") from error
    if not read.metadata.name:
        raise UnreadableObjectError("a PersistentVolume without metadata.name")
    affinity = read.spec and read.spec.node_affinity
    required = affinity.required.node_selector_terms if affinity and affinity.required else None
    return PersistentVolume(read.metadata.name, (*_of_labels(labels), *([required] if required else [])))


def read_volume_claim(data: bytes | msgspec.Raw) -> VolumeClaim:
    try:
        read = msgspec.json.decode(data, type=VolumeClaimObject)
    except UNREADABLE as error:
        raise UnreadableObjectError(f"{error} in a PersistentVolumeClaim") from error
    if not read.metadata.name:
        raise UnreadableObjectError("a PersistentVolumeClaim without metadata.name")
    volume = (read.spec and read.spec.volume_name) or ""
    return VolumeClaim(read.metadata.namespace or "default", read.metadata.name, volume)


def _of_labels(labels: Mapping[str, str]) -> Iterable[Terms]:
    for key in _TOPOLOGY:
        if key in labels:
            values = tuple(labels[key].split(_BETWEEN_ZONES))
            yield (NodeSelectorTerm((Requirement(key, "In", values),)),)
