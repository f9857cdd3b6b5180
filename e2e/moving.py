"""Running pods that are to be moved, and what was recorded and said of that."""

import json
import time
from collections.abc import Callable
from typing import Any

from e2e import manifests, objects, outcomes
from e2e.api import Api
from e2e.objects import Object

SECONDS = 90.0
RECORD = f"/api/v1/namespaces/{manifests.NAMESPACE}/configmaps/tradewind-moves"
# Whoever pays is moved, at once.
QUICK: dict[str, Any] = {"mode": "act", "everySeconds": 1, "minAgeSeconds": 0, "minBalance": 0}

Act = Callable[[int], object]  # with the number of the turn

_MOVE = "tradewind.dev/move"


def deployment(name: str, namespace: str, replicas: int, **spec: Any) -> Object:
    # No kubelet ends a pod here.
    return objects.deployment(name, namespace, replicas=replicas, terminationGracePeriodSeconds=0, **spec)


def wait(what: str, seen: Callable[[], object], act: Act = lambda _: None) -> None:
    """Meanwhile somebody acts, turn after turn."""
    deadline, turn = time.monotonic() + SECONDS, 0
    while not seen():
        if time.monotonic() > deadline:
            raise outcomes.NotSeenError(what)
        act(turn)
        turn += 1
        time.sleep(0.2)


def reserved(pod: Object) -> bool:
    """Whether room is kept for what is to replace it."""
    return _MOVE in (pod["metadata"].get("annotations") or {})


def record(api: Api) -> Object:
    """Of evictions; what was never written is empty."""
    found: Object = json.loads(_data(api).get("evictions.json", "{}"))
    return {"evictions": [], "under_way": []} | found


def advice(api: Api) -> str:
    return str(_data(api).get("advice.txt", ""))


def _data(api: Api) -> Object:
    path, _, name = RECORD.rpartition("/")
    items = api.read(path, fieldSelector=f"metadata.name={name}")["items"]
    return items[0]["data"] if items else {}
