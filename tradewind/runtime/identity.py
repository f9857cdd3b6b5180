"""Who this process is, as the manifests tell it; outside a cluster, by what the machine says."""

import os

from tradewind.kube.objects import PodReference

DEFAULT_NAMESPACE = "tradewind-system"  # of the manifests
SITES_NAMESPACE = "tradewind-sites"  # of the summaries on a hub


def switched_on(variable: str) -> bool:
    """For manifests: overlays replace the arguments as a whole, but leave the environment alone."""
    return os.environ.get(variable, "").lower() == "true"


def namespace() -> str:
    return os.environ.get("POD_NAMESPACE") or DEFAULT_NAMESPACE


def pod() -> PodReference | None:
    """The pod that this process runs in, where the manifests say so."""
    name, space = os.environ.get("POD_NAME"), os.environ.get("POD_NAMESPACE")
    return PodReference(space, name, os.environ.get("POD_UID", "")) if name and space else None


def identity() -> str:
    """Of no other process at the same time; the same after a container's restart."""
    return os.environ.get("POD_NAME") or f"{os.uname().nodename}-{os.getpid()}"
