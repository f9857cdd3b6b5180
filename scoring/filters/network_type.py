from dataclasses import dataclass
from typing import ClassVar

from scoring.wishes import TypeWish


@dataclass(frozen=True)
class NetworkType(TypeWish):
    """The node has the network type of the pod's annotation `tradewind.dev/network-type`; see TypeWish."""

    name: ClassVar[str] = "network_type"
    reason: ClassVar[str] = "node does not have the network type that the pod requires"
    wish: ClassVar[str] = "network-type"

    labels: tuple[str, ...] = ("tradewind.dev/network-type", "node.kubernetes.io/network-type", "networktype")
