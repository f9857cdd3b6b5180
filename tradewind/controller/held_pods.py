"""Pods behind our gate or with a plan of ours, as the API server lists them, and what became of them."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import msgspec

from tradewind.cluster.names import PLAN
from tradewind.errors import ApiError
from tradewind.kube.objects import Identity
from tradewind.kube.streams import Streams
from tradewind.planner import plan_annotation
from tradewind.planner.gate import GATES

# A pod that waits has no node and has not begun; the API server leaves all others out.
_WAITING = "spec.nodeName=,status.phase=Pending"
_PAGE_PODS = 500
_PAGE_SECONDS = 30.0


class _Gate(msgspec.Struct):
    name: str


class _Spec(msgspec.Struct, rename="camel"):
    scheduling_gates: tuple[_Gate, ...] | None = None
    preemption_policy: str | None = None


class _Metadata(Identity, rename="camel"):
    annotations: dict[str, str] | None = None
    creation_timestamp: datetime | None = None


class _Condition(msgspec.Struct):
    type: str = ""
    reason: str | None = None


class _Status(msgspec.Struct, rename="camel", frozen=True):
    nominated_node_name: str | None = None
    conditions: tuple[_Condition, ...] | None = None


class _Pod(msgspec.Struct):
    metadata: _Metadata
    spec: _Spec
    status: _Status = _Status()


class _ListMetadata(msgspec.Struct):
    token: str | None = msgspec.field(default=None, name="continue")


class _Page(msgspec.Struct):
    metadata: _ListMetadata
    items: tuple[_Pod, ...] | None = None


class Held(msgspec.Struct, frozen=True):
    namespace: str
    name: str
    uid: str
    gated: bool
    annotations: Mapping[str, str]  # the plan alone
    nominated: str
    unschedulable: bool
    preempts: bool


class UngateReport(msgspec.Struct):
    ungated: int = 0
    taken_back: int = 0  # plans
    failed: dict[str, str] = {}  # namespace/name to what the API server said
    silent: bool = False  # the API server, at least once
    held_for: float = 0.0  # seconds: only pods that were held for as long

    def __str__(self) -> str:
        if self.failed:
            first, said = next(iter(self.failed.items()))
            left = f"{_pods(len(self.failed))} could not be ungated, the first of them {first}: {said}"
            return f"Ungated {_pods(self.ungated)}; {left}."
        if self.taken_back:
            plans = f"removed the plans of {_pods(self.taken_back)}"
            return f"Ungated {_pods(self.ungated)} and {plans}; Tradewind holds none any more."
        if self.ungated:
            longer = f" for {self.held_for:.0f} s or longer" if self.held_for else " any more"
            return f"Ungated {_pods(self.ungated)}; Tradewind holds none{longer}."
        return "Tradewind holds no pod."


_page_decoder = msgspec.json.Decoder(_Page)


def held_pages(streams: Streams, held_for: float = 0.0) -> Iterator[list[Held]]:
    """All pods behind our gate or with a plan; or those held by nothing else for that many seconds.

    A gate is there from the creation of its pod, so the age of the hold is the age of the pod by the API
    server's clock. With `held_for`, a plan that has not expired stays.
    """
    query: dict[str, Any] = {"field_selector": _WAITING, "limit": _PAGE_PODS}
    while True:
        data = streams.page("pods", query, _PAGE_SECONDS)
        try:
            page = _page_decoder.decode(data)
        except msgspec.MsgspecError as error:
            raise ApiError(f"the API server's list of pods cannot be read: {error}") from error
        now = streams.clock.now()
        yield [
            _held(pod)
            for pod in page.items or ()
            if (_is_overdue(pod, now, held_for) if held_for else _is_ours(pod))
        ]
        if not page.metadata.token:
            return
        query["_continue"] = page.metadata.token


def _held(pod: _Pod) -> Held:
    metadata, spec, status = pod.metadata, pod.spec, pod.status
    plan = (metadata.annotations or {}).get(PLAN)
    return Held(
        metadata.namespace or "",
        metadata.name or "",
        metadata.uid or "",
        gated=any(gate.name in GATES for gate in spec.scheduling_gates or ()),
        annotations={} if plan is None else {PLAN: plan},
        nominated=status.nominated_node_name or "",
        unschedulable=any(
            each.type == "PodScheduled" and each.reason == "Unschedulable" for each in status.conditions or ()
        ),
        preempts=spec.preemption_policy != "Never",
    )


def _is_ours(pod: _Pod) -> bool:
    gates = {gate.name for gate in pod.spec.scheduling_gates or ()}
    return not gates.isdisjoint(GATES) or PLAN in (pod.metadata.annotations or {})


def _is_overdue(pod: _Pod, now: float, held_for: float) -> bool:
    gates = {gate.name for gate in pod.spec.scheduling_gates or ()}
    if not gates:
        plan = plan_annotation.read(_held(pod))
        return plan is not None and not plan.fresh(now)
    created = pod.metadata.creation_timestamp
    return gates <= GATES and (created is None or created.timestamp() <= now - held_for)


def _pods(count: int) -> str:
    return "1 pod" if count == 1 else f"{count} pods"
