"""Writes plans on pods, and ungates them.

As few writes a pod as the API server allows (tried on 1.36): `pods/status` takes the nomination and the
annotation together but leaves the gate; the pod itself takes the annotation and the gate together but leaves
the nomination. So a pod behind our gate costs two writes, or one without a nomination, and any other pod one.
kube-scheduler tries a pod that an extender had rejected again after either. No nomination of ours is ever on
a pod without its plan, by which it is taken back.

A pod that is on its way already is written on only if it is not bound, and still carries the same plan.
"""

import asyncio
import enum
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from tradewind.cluster.objects import Pod
from tradewind.errors import ApiError, ConflictError, NotFoundError
from tradewind.kube.client import JSON_PATCH, STRATEGIC_PATCH
from tradewind.kube.writes import ApiWrites
from tradewind.planner import gate, nominations
from tradewind.planner.plan_annotation import ANNOTATION, PlanAnnotation

if TYPE_CHECKING:  # `release` writes too, and needs no planner
    from tradewind.controller.metrics import PlanMetrics
    from tradewind.controller.orders import Order

# Removes these entries whatever else is in the list, and does nothing where they are gone already.
_WITHOUT_GATE = {
    "spec": {"schedulingGates": [{"$patch": "delete", "name": name} for name in sorted(gate.GATES)]}
}
_ANNOTATION_PATH = f"/metadata/annotations/{ANNOTATION.replace('/', '~1')}"
_WAVE_SECONDS = 5.0
# The same for each pod of a large one, on a busy machine.
_WAVE_SECONDS_A_POD = 0.05
# Pods for each place: with so many left to write, no place is empty before the next plan is there.
_AHEAD = 2

_log = logging.getLogger(__name__)

# Takes UIDs and seconds; returns when these pods are on nodes, or after so long.
WaitBound = Callable[[frozenset[str], float], Awaitable[object]]
# Whether the order still counts, right before it is written.
Claim = Callable[["Order"], Awaitable[bool]]


async def always(_: "Order") -> bool:
    return True


class WriteOutcome(enum.StrEnum):
    WRITTEN = "written"
    GONE = "gone"  # the pod, or it is another one of the same name
    LEFT = "left"  # as it is: another gate holds the pod
    OUTDATED = "outdated"  # there is another plan for the pod, or it is no longer as that knew it
    FAILED = "failed"


class Named(Protocol):
    """Enough to write on a pod."""

    @property
    def namespace(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def uid(self) -> str: ...


class PlannedPod(Named, nominations.Planned, Protocol):
    """Enough to take its plan back."""


class _Swap(NamedTuple):
    path: str
    old: str | None
    new: str | None


class PlanWriter:
    def __init__(self, writes: ApiWrites, metrics: "PlanMetrics") -> None:
        self._writes = writes
        self._metrics = metrics
        # A pod's writes follow each other at once; otherwise all pods of a wave would be nominated before the
        # first is ungated.
        self._places = asyncio.Semaphore(writes.concurrency)
        self._unwritten = 0

    @property
    def busy(self) -> bool:
        """Whether there is so much to write that more would have to wait for its turn."""
        return self._unwritten > _AHEAD * self._writes.concurrency

    async def write(
        self,
        waves: Sequence[Sequence["Order"]],
        *,
        wait_bound: WaitBound,
        claim: Claim = always,
        wave_seconds: float = _WAVE_SECONDS,
    ) -> dict[str, WriteOutcome]:
        """By UID. A wave is bound, or had its time for that, before the next is written.

        When nothing of a wave can be written, the waves after it are not tried.
        """
        outcomes = {pod.uid: WriteOutcome.FAILED for wave in waves for pod, _ in wave}
        for number, wave in enumerate(waves, 1):
            written = await self._write_wave(wave, claim)
            outcomes |= written
            bound = frozenset(uid for uid, outcome in written.items() if outcome is WriteOutcome.WRITTEN)
            if not bound and WriteOutcome.FAILED in written.values():
                break
            if bound and number < len(waves):
                seconds = max(wave_seconds, _WAVE_SECONDS_A_POD * len(bound))
                await _within(seconds, wait_bound(bound, seconds))
        return outcomes

    async def write_plan(self, pod: Pod, plan: PlanAnnotation) -> WriteOutcome:
        """Also without the nomination, if only that fails: then the annotation alone must do."""
        if pod.gates and not gate.held(pod):
            return WriteOutcome.LEFT
        if plan.nominated or nominations.is_ours(pod):
            status = {"status": {"nominatedNodeName": plan.node if plan.nominated else None}}
            outcome = await self._patch("nominate", pod, _annotated(pod, plan) | status, "/status")
            failed = outcome is WriteOutcome.FAILED
            if outcome is WriteOutcome.GONE or not (pod.gates or (failed and not nominations.is_ours(pod))):
                return outcome
            plan = plan._replace(nominated=plan.nominated and not failed)
        if not pod.gates:
            return await self._patch("annotate", pod, _annotated(pod, plan))
        return await self._patch("ungate", pod, _annotated(pod, plan) | {"spec": {"schedulingGates": None}})

    async def take_back(self, pods: Iterable[Pod]) -> None:
        """Plans that have ended, with their nominations."""
        await asyncio.gather(*(self._counted("take_back", pod, take_back(self._writes, pod)) for pod in pods))

    async def ungate(self, pods: Iterable[Named]) -> dict[str, WriteOutcome]:
        """By UID: our gate is removed without a plan, any other stays."""
        held = list(pods)
        outcomes = await asyncio.gather(*(self._ungate(pod) for pod in held))
        return _warned("ungated", {pod.uid: outcome for pod, outcome in zip(held, outcomes, strict=True)})

    async def divert(self, orders: Sequence["Order"]) -> dict[str, WriteOutcome]:
        """By UID. Pods that were ungated with another plan, and are not bound, get this one."""
        outcomes = await asyncio.gather(*(self._divert(*order) for order in orders))
        return {order.pod.uid: outcome for order, outcome in zip(orders, outcomes, strict=True)}

    async def _divert(self, pod: Pod, plan: PlanAnnotation) -> WriteOutcome:
        return await self._counted("divert", pod, _replace_plan(self._writes, pod, plan))

    async def _write_wave(self, wave: Sequence["Order"], claim: Claim) -> Mapping[str, WriteOutcome]:
        async def one(order: "Order") -> WriteOutcome:
            try:
                async with self._places:
                    if not await claim(order):
                        return WriteOutcome.OUTDATED
                    return await self.write_plan(*order)
            finally:
                self._unwritten -= 1

        self._unwritten += len(wave)
        outcomes = await asyncio.gather(*map(one, wave))
        return _warned(
            "planned", {pod.uid: outcome for (pod, _), outcome in zip(wave, outcomes, strict=True)}
        )

    async def _ungate(self, pod: Named) -> WriteOutcome:
        return await self._counted("ungate_without_plan", pod, ungate(self._writes, pod))

    async def _patch(self, kind: str, pod: Pod, patch: dict[str, Any], subresource: str = "") -> WriteOutcome:
        return await self._counted(kind, pod, self._writes.patch(_path(pod) + subresource, patch))

    async def _counted(self, kind: str, pod: Named, write: Awaitable[object]) -> WriteOutcome:
        outcome = WriteOutcome.WRITTEN
        try:
            await write
        except ApiError as error:
            outcome = outcome_of(error)
            if outcome is WriteOutcome.FAILED:
                _log.info("%s of %s/%s failed: %s", kind, pod.namespace, pod.name, error)
        self._metrics.writes.labels(kind, outcome.value).inc()
        return outcome


async def ungate(writes: ApiWrites, pod: Named) -> None:
    await writes.patch(_path(pod), _on(pod, _WITHOUT_GATE), STRATEGIC_PATCH)


async def take_back(writes: ApiWrites, pod: PlannedPod) -> None:
    """The plan, and the nomination where it is ours, if the pod is not bound and has no other plan by now."""
    await _replace_plan(writes, pod, None)


async def _replace_plan(writes: ApiWrites, pod: PlannedPod, plan: PlanAnnotation | None) -> None:
    swaps = [_Swap(_ANNOTATION_PATH, pod.annotations[ANNOTATION], None if plan is None else plan.text())]
    if nominations.is_ours(pod) or (plan is not None and plan.nominated):
        node = plan.node if plan is not None and plan.nominated else None
        swaps.append(_Swap("/status/nominatedNodeName", pod.nominated or None, node))
    patch = [
        _test("/metadata/uid", pod.uid),
        _test("/spec/nodeName", None),
        *(_test(path, old) for path, old, _ in swaps),
        *(
            {"op": "remove", "path": path} if new is None else {"op": "add", "path": path, "value": new}
            for path, _, new in swaps
        ),
    ]
    await writes.patch(_path(pod) + ("/status" if len(swaps) > 1 else ""), patch, JSON_PATCH)


def outcome_of(error: ApiError) -> WriteOutcome:
    if isinstance(error, NotFoundError) or _is_other_pod(error):
        return WriteOutcome.GONE
    # What the API server says where a test of a JSON patch fails.
    if error.status == HTTPStatus.UNPROCESSABLE_ENTITY and "an error in our request" in str(error):
        return WriteOutcome.OUTDATED
    return WriteOutcome.FAILED


def _is_other_pod(error: ApiError) -> bool:
    """Whether the pod of that name has another UID: invalid, says 1.36; others may call it a conflict."""
    if error.status == HTTPStatus.UNPROCESSABLE_ENTITY:
        return "metadata.uid" in str(error)
    return isinstance(error, ConflictError) and "UID in precondition" in str(error)


def _path(pod: Named) -> str:
    return f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}"


def _on(pod: Named, patch: Mapping[str, Any]) -> dict[str, Any]:
    """The patch for this pod alone, not for one that came after it under the same name."""
    return {**patch, "metadata": {**patch.get("metadata", {}), "uid": pod.uid}}


def _annotated(pod: Named, plan: PlanAnnotation) -> dict[str, Any]:
    return _on(pod, {"metadata": {"annotations": {ANNOTATION: plan.text()}}})


def _test(path: str, value: str | None) -> dict[str, Any]:
    """None: there is nothing."""
    return {"op": "test", "path": path, "value": value}


def _warned(what: str, outcomes: dict[str, WriteOutcome]) -> dict[str, WriteOutcome]:
    counts = Counter(outcomes.values())
    if counts[WriteOutcome.FAILED]:
        _log.warning("%d of %d pods could not be %s", counts[WriteOutcome.FAILED], len(outcomes), what)
    return outcomes


async def _within(seconds: float, waiting: Awaitable[object]) -> None:
    try:
        async with asyncio.timeout(seconds):
            await waiting
    except TimeoutError:
        pass  # those behind must not wait for ever
