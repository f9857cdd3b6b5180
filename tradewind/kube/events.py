"""Kubernetes Events about ourselves, so that a broken configuration shows up in `kubectl describe pod`."""

import logging
import os
from datetime import UTC, datetime

from kubernetes.client import ApiClient, CoreV1Api
from kubernetes.client.exceptions import ApiException
from urllib3.exceptions import HTTPError

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
        CoreV1Api(api).create_namespaced_event(namespace, event, _request_timeout=5)
    except (ApiException, HTTPError) as error:
        _log.warning("event %s could not be written: %s", reason, error)
