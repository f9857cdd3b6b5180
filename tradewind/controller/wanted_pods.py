"""How many pods a ReplicaSet or a Job wants: read from the object itself, when somebody has a reason to ask.

A watch would bring every ReplicaSet of the cluster, those of old revisions too, for the few that are growing.
"""

import logging
from collections.abc import Callable

import msgspec

from tradewind.errors import ApiError, NotFoundError
from tradewind.kube.client import Client
from tradewind.kube.failures import decoded

REPLICA_SET = "ReplicaSet"
JOB = "Job"

_ENDED = frozenset({"Complete", "SuccessCriteriaMet", "Failed", "FailureTarget"})

_log = logging.getLogger(__name__)


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    deletion_timestamp: str | None = None


class _Spec(msgspec.Struct, frozen=True):
    replicas: int = 1
    parallelism: int | None = None
    completions: int | None = None
    suspend: bool | None = None


class _Condition(msgspec.Struct, frozen=True):
    type: str = ""
    status: str = ""


class _Status(msgspec.Struct, frozen=True):
    succeeded: int = 0
    conditions: tuple[_Condition, ...] = ()


class _Controller(msgspec.Struct, frozen=True):
    metadata: _Metadata = _Metadata()
    spec: _Spec = _Spec()
    status: _Status = _Status()


_controllers = msgspec.json.Decoder(_Controller)


def _of_replica_set(found: _Controller) -> int:
    return 0 if found.metadata.deletion_timestamp else found.spec.replicas


def _of_job(found: _Controller) -> int:
    """Without a number of completions the first success is the beginning of the end."""
    spec, succeeded = found.spec, found.status.succeeded
    at_once = 1 if spec.parallelism is None else spec.parallelism
    left = (0 if succeeded else at_once) if spec.completions is None else max(spec.completions - succeeded, 0)
    ended = any(each.type in _ENDED and each.status == "True" for each in found.status.conditions)
    still = not (ended or spec.suspend or found.metadata.deletion_timestamp)
    return min(at_once, left) if still else 0


_Read = Callable[[_Controller], int]
_KINDS: dict[str, tuple[str, _Read]] = {
    REPLICA_SET: ("/apis/apps/v1/namespaces/{}/replicasets/{}", _of_replica_set),
    JOB: ("/apis/batch/v1/namespaces/{}/jobs/{}", _of_job),
}


class WantedPods:
    """May be asked from any thread."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._failing: set[str] = set()  # kinds of which that was said

    def of(self, kind: str, namespace: str, name: str) -> int | None:
        """At the same time, less what is done: fewer at the end of a Job, none while it is suspended.

        One request; None where it is gone or cannot be read, which is said once.
        """
        template, wanted = _KINDS[kind]
        path = template.format(namespace, name)
        try:
            found = wanted(decoded(_controllers, self._client.get(path)))
        except NotFoundError:
            return None
        except ApiError as error:
            self._complain(kind, path, error)
            return None
        self._failing.discard(kind)
        return found

    def _complain(self, kind: str, path: str, error: ApiError) -> None:
        if kind not in self._failing:
            self._failing.add(kind)
            _log.warning("how many pods a %s wants cannot be read from %s: %s", kind, path, error)
