"""A decision written: first the clusters, then the status, each with the version that was read."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from tradewind.errors import ConflictError
from tradewind.fleet.decision import Decision
from tradewind.hub.ledger_store import written_decoder
from tradewind.hub.records import APPLIED_PLACEMENT, FORWARDED_ANNOTATION, SCHEDULED, Binding, binding_of
from tradewind.hub.wire import BINDINGS, BindingObject, TargetCluster
from tradewind.kube.client import Client
from tradewind.kube.writes import ApiWrites

NOWHERE: Mapping[str, int] = {}
_TRIES = 5
_MAX_MESSAGE = 1024
_TIME = "%Y-%m-%dT%H:%M:%SZ"
_SCHEDULED = "Binding has been scheduled successfully."

_decoder = msgspec.json.Decoder(BindingObject)


class BindingWriter:
    def __init__(self, writes: ApiWrites, client: Client) -> None:
        self._writes = writes
        self._client = client

    async def read(self, binding: Binding) -> Binding:
        return binding_of(_decoder.decode(await asyncio.to_thread(self._client.get, _path(binding))))

    async def place(
        self, binding: Binding, decision: Decision, leaving: Mapping[str, int] = NOWHERE
    ) -> Binding:
        """Raise ConflictError where the binding is no longer what was read; gives what it is now.

        Sites that are left by choice keep their replicas until the new ones are ready: Karmada's graceful
        eviction sees to that.
        """
        clusters = [_target(name, replicas) for name, replicas in sorted(decision.division.items())]
        head = {
            "resourceVersion": binding.version,
            "annotations": {APPLIED_PLACEMENT: bytes(binding.object.spec.placement).decode()},
        }
        spec: dict[str, Any] = {"clusters": clusters}
        if leaving:
            evicting = binding.object.spec.graceful_eviction_tasks or ()
            spec["gracefulEvictionTasks"] = [*evicting, *(_eviction(*each) for each in leaving.items())]
        patch = {"metadata": head, "spec": spec}
        answer = await self._writes.patch(_path(binding), patch)
        changed = msgspec.structs.replace(
            binding.object.spec,
            clusters=tuple(TargetCluster(*each) for each in decision.division.items()),
            graceful_eviction_tasks=spec.get(
                "gracefulEvictionTasks", binding.object.spec.graceful_eviction_tasks
            ),
        )
        metadata = written_decoder.decode(answer).metadata
        return binding_of(msgspec.structs.replace(binding.object, metadata=metadata, spec=changed))

    async def forward(self, binding: Binding, scheduler: str) -> None:
        """Raise ConflictError where the binding is no longer what was read."""
        metadata = {
            "resourceVersion": binding.version,
            "annotations": {FORWARDED_ANNOTATION: f"{scheduler}@{binding.generation}"},
        }
        await self._writes.patch(_path(binding), {"metadata": metadata})

    async def report(self, binding: Binding, decision: Decision) -> bool:
        """In the status; another's write in between is read again, and its conditions are carried over.

        False where others came in between each time: then it is still to be said.
        """
        generation = binding.generation
        for _ in range(_TRIES):
            status = _status(binding, decision, generation)
            patch = {"metadata": {"resourceVersion": binding.version}, "status": status}
            try:
                await self._writes.patch(f"{_path(binding)}/status", patch)
            except ConflictError:
                binding = await self.read(binding)
                if binding.generation != generation:
                    return True  # whoever changed it has asked for a new decision
            else:
                return True
        return False


def _path(binding: Binding) -> str:
    if not binding.namespace:
        return f"{BINDINGS}/clusterresourcebindings/{binding.name}"
    return f"{BINDINGS}/namespaces/{binding.namespace}/resourcebindings/{binding.name}"


def _eviction(site: str, replicas: int) -> dict[str, Any]:
    return {
        "fromCluster": site,
        "replicas": replicas,
        "reason": "BetterPlace",
        "message": "a new decision placed these replicas elsewhere",
        "producer": "tradewind",
    }


def _target(name: str, replicas: int) -> dict[str, Any]:
    return {"name": name, "replicas": replicas} if replicas else {"name": name}


def _status(binding: Binding, decision: Decision, generation: int) -> dict[str, Any]:
    moment = datetime.now(UTC)
    asked = binding.object.spec.reschedule_triggered_at
    if asked is not None and binding.rescheduled:
        moment = max(moment, asked + timedelta(seconds=1))  # times are whole seconds: this one is answered
    now = moment.strftime(_TIME)
    conditions = binding.object.status.conditions or ()
    before = next((each for each in conditions if each.type == SCHEDULED), None)
    state = "True" if decision.placed else "False"
    same = before is not None and before.status == state and before.last_transition_time
    condition = {
        "type": SCHEDULED,
        "status": state,
        "reason": decision.outcome,
        "message": (decision.reason or decision.note or _SCHEDULED)[:_MAX_MESSAGE],
        "lastTransitionTime": before.last_transition_time if same and before else now,
    }
    others = [msgspec.to_builtins(each) for each in conditions if each.type != SCHEDULED]
    status: dict[str, Any] = {"conditions": [*others, condition]}
    if decision.placed:
        status |= {
            "schedulerObservedGeneration": generation,
            "schedulerObservingAffinityName": decision.affinity_name or None,
            "lastScheduledTime": now,
        }
    return status
