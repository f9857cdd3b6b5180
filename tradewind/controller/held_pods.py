"""Pods behind our gate or with a plan of ours, as the API server lists them, and what became of them."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from tradewind.cluster.names import PLAN
from tradewind.errors import ApiError
from tradewind.kube.objects import Identity
from tradewind.kube.streams import Streams
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


class _Metadata(Identity):
    annotations: dict[str, str] | None = None


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

    def __str__(self) -> str:
        if self.failed:
            first, said = next(iter(self.failed.items()))
            left = f"{_pods(len(self.failed))} could not be ungated, the first of them {first}: {said}"
            return f"Ungated {_pods(self.ungated)}; {left}."
        if self.taken_back:
            plans = f"removed the plans of {_pods(self.taken_back)}"
            return f"Ungated {_pods(self.ungated)} and {plans}; Tradewind holds none any more."
        if self.ungated:
            return f"Ungated {_pods(self.ungated)}; Tradewind holds none any more."
        return "Tradewind holds no pod."


_page_decoder = msgspec.json.Decoder(_Page)


def held_pages(streams: Streams) -> Iterator[list[Held]]:
    query: dict[str, Any] = {"field_selector": _WAITING, "limit": _PAGE_PODS}
    while True:
        data = streams.page("pods", query, _PAGE_SECONDS)
        try:
            page = _page_decoder.decode(data)
        except msgspec.MsgspecError as error:
            raise ApiError(f"the API server's list of pods cannot be read: {error}") from error
        found = map(_held, page.items or ())
        yield [pod for pod in found if pod.gated or pod.annotations]
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


def _pods(count: int) -> str:
    return "1 pod" if count == 1 else f"{count} pods"
