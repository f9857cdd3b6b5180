"""Pods behind our gate, as the API server lists them, and what became of them."""

from collections.abc import Iterator
from typing import Any

import msgspec

from tradewind.errors import ApiError
from tradewind.kube.objects import Identity
from tradewind.kube.streams import Streams
from tradewind.planner.gate import GATES

# A pod behind a gate has no node and has not begun; the API server leaves all others out.
_MAYBE_HELD = "spec.nodeName=,status.phase=Pending"
_PAGE_PODS = 500
_PAGE_SECONDS = 30.0


class _Gate(msgspec.Struct):
    name: str


class _Spec(msgspec.Struct, rename="camel"):
    scheduling_gates: tuple[_Gate, ...] | None = None


class _Pod(msgspec.Struct):
    metadata: Identity
    spec: _Spec


class _ListMetadata(msgspec.Struct):
    token: str | None = msgspec.field(default=None, name="continue")


class _Page(msgspec.Struct):
    metadata: _ListMetadata
    items: tuple[_Pod, ...] | None = None


class Held(msgspec.Struct, frozen=True):
    namespace: str
    name: str
    uid: str


class UngateReport(msgspec.Struct):
    ungated: int = 0
    failed: dict[str, str] = {}  # namespace/name to what the API server said
    silent: bool = False  # the API server, at least once

    def __str__(self) -> str:
        if self.failed:
            first, said = next(iter(self.failed.items()))
            left = f"{_pods(len(self.failed))} could not be ungated, the first of them {first}: {said}"
            return f"Ungated {_pods(self.ungated)}; {left}."
        if self.ungated:
            return f"Ungated {_pods(self.ungated)}; Tradewind holds none any more."
        return "Tradewind holds no pod."


_page_decoder = msgspec.json.Decoder(_Page)


def held_pages(streams: Streams) -> Iterator[list[Held]]:
    query: dict[str, Any] = {"field_selector": _MAYBE_HELD, "limit": _PAGE_PODS}
    while True:
        data = streams.page("pods", query, _PAGE_SECONDS)
        try:
            page = _page_decoder.decode(data)
        except msgspec.MsgspecError as error:
            raise ApiError(f"the API server's list of pods cannot be read: {error}") from error
        yield [
            Held(pod.metadata.namespace or "", pod.metadata.name or "", pod.metadata.uid or "")
            for pod in page.items or ()
            if any(gate.name in GATES for gate in pod.spec.scheduling_gates or ())
        ]
        if not page.metadata.token:
            return
        query["_continue"] = page.metadata.token


def _pods(count: int) -> str:
    return "1 pod" if count == 1 else f"{count} pods"
