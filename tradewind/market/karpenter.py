"""Why Karpenter disrupts a node, from the Events that it writes on the node."""

import logging
import time
from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import urlencode

import msgspec

from tradewind.errors import ApiError
from tradewind.kube.client import Client
from tradewind.kube.failures import decoded
from tradewind.market.learned import NodeState, Sighting

# What AWS' provider writes for a spot interruption and for a scheduled change of the machine. Not read:
# InstanceStopping and InstanceTerminating, which follow any end of a machine, and DisruptionTerminating,
# which is Karpenter's own choice.
_REASONS: Final = ("SpotInterrupted", "InstanceUnhealthy")
_EVENTS = "/api/v1/namespaces/default/events"  # where those of objects without a namespace are
_ASK_SECONDS = 5.0

_log = logging.getLogger(__name__)

Interrupted = Callable[[], set[str]]  # names of nodes; raises ApiError


class _Involved(msgspec.Struct):
    name: str = ""


class _Event(msgspec.Struct, rename="camel"):
    involved_object: _Involved


class _EventList(msgspec.Struct):
    items: list[_Event]


_decoder = msgspec.json.Decoder(_EventList)


def interrupted_by_events(client: Client) -> Interrupted:
    def interrupted() -> set[str]:
        names: set[str] = set()
        for reason in _REASONS:
            chosen = urlencode({"fieldSelector": f"involvedObject.kind=Node,reason={reason}"})
            try:
                found = decoded(_decoder, client.get(f"{_EVENTS}?{chosen}"))
            except ApiError as error:
                raise ApiError(f"listing Events of nodes: {error}", error.status) from error
            names |= {event.involved_object.name for event in found.items}
        return names

    return interrupted


class Disruptions:
    """Sorts nodes under Karpenter's taint into interrupted ones and others.

    The Event comes before the taint, yet recorders write late: a node is asked about while it is there, and
    once more after it has gone.
    """

    def __init__(self, interrupted: Interrupted) -> None:
        self._interrupted = interrupted
        self._pending: dict[str, Sighting] = {}  # not known to be interrupted
        self._next_ask = 0.0
        self._trouble = ""

    @property
    def due(self) -> bool:
        return bool(self._pending) and time.monotonic() >= self._next_ask

    def resolve(self, sightings: Mapping[str, Sighting]) -> Mapping[str, Sighting]:
        """With the state WARNED for those that Karpenter says are interrupted, gone or not."""
        self._pending |= {name: seen for name, seen in sightings.items() if seen.state is NodeState.DISRUPTED}
        if not self.due:
            return sightings
        self._next_ask = time.monotonic() + _ASK_SECONDS
        names = self._ask()
        warned = {
            name: seen._replace(state=NodeState.WARNED)
            for name, seen in self._pending.items()
            if name in names
        }
        self._pending = {
            name: seen for name, seen in self._pending.items() if name in sightings and name not in names
        }
        return {**sightings, **warned}

    def _ask(self) -> set[str]:
        try:
            names = self._interrupted()
        except ApiError as error:
            if str(error) != self._trouble:
                _log.warning("nodes that Karpenter disrupts do not count as interrupted: %s", error)
            self._trouble = str(error)
            return set()
        self._trouble = ""
        return names
