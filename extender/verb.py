"""What all verbs have in common: a request is decoded, answered, counted and timed, and never blocks a pod.

Before the cluster state is complete, when it is stale and when a rule fails, the answer is the fail-open one:
every node passes and none is preferred, as if Tradewind were not there.
"""

import asyncio
import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from typing import ClassVar, Generic, NamedTuple, Protocol, TypeVar

from extender import protocol
from extender.lookup import WatchBehindError
from extender.metrics import ExtenderMetrics
from extender.protocol import PreemptRequest, Request
from scoring.policy import Policy
from tradewind.cluster.cache import Cache
from tradewind.cluster.objects import Pod
from tradewind.errors import RequestError, TooLateError
from tradewind.explain.decisions import Decisions

OUTCOMES = ("ok", "malformed", "not_synced", "stale", "failed", "late", "shadow")

# Half of the httpTimeout of the extender entries that we ship.
ANSWER_SECONDS = 0.5

Asked = TypeVar("Asked", Request, PreemptRequest)

_log = logging.getLogger(__name__)


class ClusterState(Protocol):
    @property
    def cache(self) -> Cache: ...

    @property
    def synced(self) -> bool: ...

    @property
    def stale(self) -> str: ...  # why it must not be trusted, empty while it may be

    def now(self) -> float: ...  # seconds since 1970, by the API server's clock


class Answer(NamedTuple):
    body: bytes
    outcome: str
    status: int = 200


class Context(NamedTuple):
    """What the verbs share."""

    cluster: ClusterState
    policy_of: Callable[[Pod], Policy]
    metrics: ExtenderMetrics
    decisions: Decisions | None
    shadow: Callable[[], bool] = lambda: False  # advise nobody, and record what would have been answered


class Counted:
    """The counters and the clock of one verb."""

    name: ClassVar[str]

    def __init__(self, metrics: ExtenderMetrics) -> None:
        self._counts = {outcome: metrics.requests.labels(self.name, outcome) for outcome in OUTCOMES}
        self._seconds = metrics.request_seconds.labels(self.name)

    def _count(self, answer: Answer, started: float) -> Answer:
        self._counts[answer.outcome].inc()
        self._seconds.observe(time.perf_counter() - started)
        return answer


class Verb(Counted, ABC, Generic[Asked]):
    """A verb that can be answered from the cluster state."""

    malformed_status: ClassVar[int] = HTTPStatus.BAD_REQUEST

    def __init__(self, context: Context) -> None:
        super().__init__(context.metrics)
        self._context = context
        self._cluster = context.cluster

    @abstractmethod
    def decode(self, body: bytes) -> Asked: ...

    @abstractmethod
    def decide(self, request: Asked, *, waited: bool, deadline: float) -> bytes:
        """Raise WatchBehindError where it is better to wait, unless that was done.

        Raise TooLateError after the deadline, on the monotonic clock.
        """

    @abstractmethod
    def fail_open(self, request: Asked) -> bytes:
        """The answer as if Tradewind were not there."""

    def rehearse(self, request: Asked) -> None:
        """Record what would have been answered, were this not the shadow; the answer has gone out."""

    async def wait(self, behind: WatchBehindError) -> None:
        """For what `decide` found to be missing."""

    async def __call__(self, body: bytes) -> Answer:
        started = time.perf_counter()
        try:
            return self._count(self._answer(body, waited=False), started)
        except WatchBehindError as behind:
            await self.wait(behind)
        return self._count(self._answer(body, waited=True), started)

    def at_once(self, body: bytes) -> Answer:
        """Raise WatchBehindError where it is better to wait."""
        started = time.perf_counter()
        return self._count(self._answer(body, waited=False), started)

    def _answer(self, body: bytes, *, waited: bool) -> Answer:
        try:
            request = self.decode(body)
        except RequestError as error:
            _log.warning("%s request refused: %s", self.name, error)
            return Answer(protocol.encode_error(str(error)), "malformed", self.malformed_status)
        if not self._cluster.synced:
            return self._failed_open(request, "not_synced", "the cluster state was not complete yet")
        if stale := self._cluster.stale:
            return self._failed_open(request, "stale", stale)
        if self._context.shadow():
            record_later(partial(self.rehearse, request))
            return Answer(self.fail_open(request), "shadow")
        try:
            deadline = time.monotonic() + ANSWER_SECONDS
            answer = Answer(self.decide(request, waited=waited, deadline=deadline), "ok")
        except WatchBehindError:
            raise
        except Exception as error:  # noqa: BLE001  the boundary: no fault of ours may block a pod
            return self._failed(request, error)
        _log.debug("%s answered for pod %s", self.name, request.pod)
        return answer

    def _failed(self, request: Asked, error: Exception) -> Answer:
        if isinstance(error, TooLateError):
            _log.warning("%s took too long; failing open: pod=%s: %s", self.name, request.pod, error)
            return self._failed_open(request, "late", f"answering {self.name} took too long: {error}")
        _log.error("%s failed for pod %s; failing open", self.name, request.pod, exc_info=error)
        return self._failed_open(request, "failed", f"answering {self.name} failed, the log says how")

    def _failed_open(self, request: Asked, outcome: str, why: str) -> Answer:
        decisions = self._context.decisions
        if decisions is not None and isinstance(request, Request):
            record_later(partial(decisions.failed_open, request.pod, why))
        return Answer(self.fail_open(request), outcome)


def record_later(record: Callable[[], None]) -> None:
    """After the answer: kube-scheduler does not wait for it, and no fault in it can change the answer."""
    asyncio.get_running_loop().call_soon(_record, record)


def _record(record: Callable[[], None]) -> None:
    """The event loop would log a fault with all of the record's arrays, and answer nobody meanwhile."""
    try:
        record()
    except Exception:  # noqa: BLE001  any defect at all; it is logged with its trace
        _log.exception("could not record the decision for explain")
