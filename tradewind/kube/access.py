"""How the API server is reached: a kubeconfig, or the service account of the pod that we run in."""

import os
from pathlib import Path

from kubernetes.client import ApiClient, Configuration
from kubernetes.config import ConfigException, load_incluster_config, load_kube_config

from tradewind.errors import TradewindError

__all__ = ["ApiClient", "connect"]  # nobody else names the official client


def connect(kubeconfig: Path | None) -> tuple[str, ApiClient] | None:
    """The cluster's name for people, and the access to it; None where none is named and we run in none."""
    if kubeconfig is None and "KUBECONFIG" in os.environ:
        kubeconfig = Path(os.environ["KUBECONFIG"])
    if kubeconfig is not None:
        return f"the cluster of {kubeconfig}", _api_client(kubeconfig)
    if "KUBERNETES_SERVICE_HOST" in os.environ:
        return "the cluster it runs in", _api_client(None)
    return None


def _api_client(kubeconfig: Path | None) -> ApiClient:
    configuration = Configuration()
    try:
        if kubeconfig is None:
            load_incluster_config(client_configuration=configuration)
        else:
            load_kube_config(str(kubeconfig), client_configuration=configuration)
    except (ConfigException, OSError) as error:
        place = kubeconfig or "the service account of the pod"
        raise TradewindError(f"reading the access to the cluster from {place}: {error}") from error
    return ApiClient(configuration)
