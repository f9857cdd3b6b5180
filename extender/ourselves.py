"""Who this process is, as the manifests tell it; outside a cluster, by what the machine says."""

import os
import socket


def namespace() -> str:
    return os.environ.get("POD_NAMESPACE", "tradewind-system")


def identity() -> str:
    """Of no other process at the same time; the same after a container's restart."""
    return os.environ.get("POD_NAME") or f"{socket.gethostname()}-{os.getpid()}"
