"""Kubernetes Events about ourselves, so that a broken configuration shows up in `kubectl describe pod`."""

import logging
import os
from datetime import UTC, datetime

from kubernetes.client import ApiClient

from tradewind.errors import ApiError
from tradewind.kube.client import Client

_log = logging.getLogger(__name__)


def warn_about_ourselves(api: ApiClient | None, reason: str, message: str) -> None:
    """Outside a cluster, or when the event cannot be written, the log alone must do."""
    pod, namespace = os.environ.get("POD_NAME"), os.environ.get("POD_NAMESPACE")
    if api is None or not pod or not namespace:
        return
    now = datetime.now(UTC).isoformat(timespec="seconds")
    event = {
        "metadata": {"generateName": f"{pod}-", "namespace": namespace},
        "involvedObject": {"apiVersion": "v1", "kind": "Pod", "name": pod, "namespace": namespace},
        "reason": reason,
        "message": message[:1024],  # the API refuses longer ones
        "type": "Warning",
        "source": {"component": "tradewind"},
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }
    try:
        Client(api).create(f"/api/v1/namespaces/{namespace}/events", event, 5)
    except ApiError as error:
        _log.warning("event %s could not be written: %s", reason, error)
