"""What moves ask of the API server: evictions, reservations on pods, and the record of both."""

import logging
from collections.abc import Callable, Collection, Sequence
from http import HTTPStatus

import msgspec

from tradewind.cluster.budgets import Budget, read_budget
from tradewind.cluster.objects import Pod
from tradewind.controller.evictions import request_eviction
from tradewind.controller.metrics import PlanMetrics
from tradewind.errors import ApiError, ConflictError, NotFoundError, UnreadableObjectError
from tradewind.kube.client import Client
from tradewind.kube.config_map import ConfigMap
from tradewind.kube.failures import decoded
from tradewind.planner.moves.ledger import Ledger
from tradewind.planner.moves.mover import Refusal
from tradewind.planner.plan_annotation import MOVE, PlanAnnotation

NAME = "tradewind-moves"

_LEDGER = "evictions.json"
_ADVICE = "advice.txt"
_BUDGETS = "/apis/policy/v1/poddisruptionbudgets"

_log = logging.getLogger(__name__)


class _Budgets(msgspec.Struct, frozen=True):
    items: tuple[msgspec.Raw, ...] = ()


_ledger_decoder = msgspec.json.Decoder(Ledger)
_budgets_decoder = msgspec.json.Decoder(_Budgets)


class MoveHands:
    """Nothing is evicted or recorded by a replica that does not lead."""

    def __init__(
        self, client: Client, namespace: str, metrics: PlanMetrics, leading: Callable[[], bool]
    ) -> None:
        self._client = client
        self._metrics = metrics
        self._leading = leading
        self._record = ConfigMap(client, namespace, NAME)
        self._ledger = Ledger()
        self._sent = Ledger()  # with the last write, whatever became of it
        self._advice = ""
        self._reserved: set[str] = set()  # UIDs

    def load(self) -> Ledger | None:
        try:
            data = self._record.read() or {}
            self._ledger = _ledger_decoder.decode(data.get(_LEDGER, "{}"))
        except ApiError as error:
            _log.warning("%s", error)
            return None
        except msgspec.MsgspecError as error:
            # Rather no moves than moves without a memory.
            _log.error("%s cannot be decoded; delete it to begin anew: %s", self._record, error)
            return None
        self._advice = data.get(_ADVICE, "")
        return self._ledger

    def save(self, ledger: Ledger) -> Ledger | None:
        known = (self._ledger, self._sent)
        try:
            try:
                return self._put(ledger, self._advice)
            except (ConflictError, NotFoundError):
                # Somebody else wrote to it, or the answer to a write of ours was lost.
                return self._put(ledger.merged(self._reread(), known), self._advice)
        except ApiError as error:
            _log.warning("Failed to write %s: %s", self._record, error)
            return None

    def publish(self, advice: str) -> bool:
        """The list, for people; written when it changes."""
        try:
            return advice == self._advice or self._put(self._ledger, advice) is not None
        except ApiError as error:
            _log.warning("Failed to write %s: %s", self._record, error)
            return False

    def budgets(self) -> Sequence[Budget] | None:
        try:
            found = decoded(_budgets_decoder, self._client.get(_BUDGETS))
            return [read_budget(each) for each in found.items]
        except (ApiError, UnreadableObjectError) as error:
            _log.warning("disruption budgets cannot be listed, so nothing is moved: %s", error)
            return None

    def evict(self, pod: Pod, *, dry_run: bool = False) -> Refusal | None:
        if not self._leading():
            return Refusal("this planner no longer leads")
        try:
            request_eviction(self._client, pod, dry_run=dry_run)
        except ApiError as error:
            if not dry_run:
                self._metrics.evictions.labels("failed").inc()
            refused = _refusal(error)
            if refused.unsure and not dry_run:
                _log.warning("Eviction may have been carried out: pod=%s error=%s", pod, error)
            return refused
        if not dry_run:
            self._metrics.evictions.labels("evicted").inc()
            _log.info("evicted pod %s to move it", pod)
        return None

    def reserve(self, pod: Pod, place: PlanAnnotation) -> bool:
        self._reserved.add(pod.uid)
        return self._annotate(pod, place._replace(uid=pod.uid).text())

    def release(self, pods: Collection[Pod]) -> None:
        for pod in pods:
            if MOVE in pod.annotations or pod.uid in self._reserved:
                self._reserved.discard(pod.uid)
                self._annotate(pod, None)

    def _annotate(self, pod: Pod, text: str | None) -> bool:
        patch = {"metadata": {"uid": pod.uid, "annotations": {MOVE: text}}}
        try:
            self._client.patch(f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}", patch)
        except NotFoundError:
            return False
        except ApiError as error:
            # A pod of the same name came after it, or the reservation runs out by itself.
            _log.info("the reservation of pod %s could not be changed: %s", pod, error)
            return False
        return True

    def _put(self, ledger: Ledger, advice: str) -> Ledger | None:
        if not self._leading():
            return None
        self._sent = ledger
        self._record.write({_LEDGER: msgspec.json.encode(ledger).decode(), _ADVICE: advice})
        self._ledger, self._advice = ledger, advice
        return ledger

    def _reread(self) -> Ledger:
        data = self._record.read() or {}
        try:
            return _ledger_decoder.decode(data.get(_LEDGER, "{}"))
        except msgspec.MsgspecError:
            return Ledger()  # what we know replaces it


def _refusal(error: ApiError) -> Refusal:
    """Any other answer than a refusal leaves open what became of the eviction."""
    refused = HTTPStatus.BAD_REQUEST <= error.status < HTTPStatus.INTERNAL_SERVER_ERROR
    return Refusal(
        str(error),
        again=error.status == HTTPStatus.TOO_MANY_REQUESTS,
        gone=error.status == HTTPStatus.NOT_FOUND,
        unsure=not refused or error.status == HTTPStatus.REQUEST_TIMEOUT,
    )
