from dataclasses import dataclass
from typing import ClassVar

from scoring.wishes import TypeWish


@dataclass(frozen=True)
class DiskType(TypeWish):
    """The node has the disk type of the pod's annotation `tradewind.dev/disk-type`; see TypeWish."""

    name: ClassVar[str] = "disk_type"
    reason: ClassVar[str] = "node does not have the disk type that the pod requires"
    wish: ClassVar[str] = "disk-type"

    labels: tuple[str, ...] = ("tradewind.dev/disk-type", "node.kubernetes.io/disk-type", "disktype")
