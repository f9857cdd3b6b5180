from dataclasses import dataclass
from typing import ClassVar

from scoring.label_preference import LabelPreference


@dataclass(frozen=True)
class DiskType(LabelPreference):
    """The node has the disk type of the pod's annotation `tradewind.dev/disk-type`."""

    name: ClassVar[str] = "disk_type"
    reason: ClassVar[str] = "node(s) didn't have the disk type that the pod requires"
    annotation: ClassVar[str] = "disk-type"

    labels: tuple[str, ...] = ("tradewind.dev/disk-type", "node.kubernetes.io/disk-type", "disktype")
