from dataclasses import dataclass
from typing import ClassVar

from scoring.label_preference import LabelPreference


@dataclass(frozen=True)
class NetworkType(LabelPreference):
    """The node has the network type of the pod's annotation `tradewind.dev/network-type`."""

    name: ClassVar[str] = "network_type"
    reason: ClassVar[str] = "node(s) didn't have the network type that the pod requires"
    annotation: ClassVar[str] = "network-type"

    labels: tuple[str, ...] = ("tradewind.dev/network-type", "node.kubernetes.io/network-type", "networktype")
