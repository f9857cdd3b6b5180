"""A stand-in for the kubelets of fake nodes."""

import threading

import urllib3

from e2e.api import Api, ApiError, path
from e2e.objects import Object


class Kubelets:
    """Pods on nodes run at once, and end at once when they are deleted."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(10)

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                for change in self._api.changes("/api/v1/pods", 2.0):
                    if change.object and change.type != "DELETED":
                        self._tend(change.object)
                    if self._stop.is_set():
                        return
            except (ApiError, urllib3.exceptions.HTTPError):
                self._stop.wait(0.2)

    def _tend(self, pod: Object) -> None:
        where = path({**pod, "apiVersion": "v1", "kind": "Pod"})
        try:
            if pod["metadata"].get("deletionTimestamp"):
                self._api.delete(where, gracePeriodSeconds="0")
            elif pod["spec"].get("nodeName") and pod["status"].get("phase") == "Pending":
                ready = [
                    {"type": kind, "status": "True"} for kind in ("Ready", "ContainersReady", "PodScheduled")
                ]
                self._api.patch(f"{where}/status", {"status": {"phase": "Running", "conditions": ready}})
        except ApiError:
            return  # it is gone, or has changed
