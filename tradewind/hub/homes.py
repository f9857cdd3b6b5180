"""The homes of partitions: who is alive, what was moved, and the mapper that moves it.

The map is one ConfigMap for each scheduler name. The scheduler with the lowest identity keeps it; two that
believe they are that one meet at its version. Nobody needs it: without it every partition has the home that
its name gives it.
"""

import asyncio
import logging
import time
from collections.abc import Callable

import msgspec

from tradewind.errors import ApiError, ConflictError
from tradewind.fleet.partitions import Homes, Loads, evened
from tradewind.hub.records import Binding
from tradewind.kube.client import Client
from tradewind.kube.config_map import ConfigMap

_log = logging.getLogger(__name__)
_decoder = msgspec.json.Decoder(dict[str, str])


class HomeView:
    """What a scheduler asks: is this mine, and whose is that?"""

    def __init__(self, identity: str, alive: Callable[[], frozenset[str]]) -> None:
        self.identity = identity
        self._alive = alive
        self._moved: dict[str, str] = {}
        self.loads = Loads()
        self._counted: dict[str, int] = {}  # the generation of a binding that is in the loads

    @property
    def homes(self) -> Homes:
        return Homes(self._alive(), self._moved)

    @property
    def alone(self) -> bool:
        return len(self._alive()) == 1

    def home(self, partition: str) -> str:
        return self.homes.home(partition)

    def forwarded(self, binding: Binding) -> bool:
        """Another scheduler sent it to one that is alive."""
        return binding.forwarded_to in self._alive()

    def at_home(self, binding: Binding) -> bool:
        if self.forwarded(binding):
            return binding.forwarded_to == self.identity
        return self.home(binding.partition) == self.identity

    def count(self, binding: Binding, now: float) -> None:
        """Each answer that a binding waits for, once, whoever is to give it."""
        if binding.unsettled and self._counted.get(binding.key) != binding.generation:
            self._counted[binding.key] = binding.generation
            self.loads.add(binding.partition, now)

    def forget(self, key: str) -> None:
        self._counted.pop(key, None)

    def move(self, moved: dict[str, str]) -> bool:
        """Whether that changes anything."""
        changed = moved != self._moved
        self._moved = moved
        return changed


class PartitionMapper:
    def __init__(self, view: HomeView, client: Client, namespace: str, scheduler_name: str) -> None:
        self._view = view
        self._map = ConfigMap(client, namespace, f"{scheduler_name}-fleet-partitions")

    async def run(self) -> bool:
        """Follow the map, and even it where that is ours to do; whether homes have changed."""
        if self._view.alone:
            return False
        try:
            text = (await asyncio.to_thread(self._map.read) or {}).get("homes", "{}")
            moved = _decoder.decode(text)
            if self._view.identity == min(self._view.homes.alive):
                moved = await self._even(moved)
        except (ApiError, msgspec.MsgspecError) as error:
            _log.warning("the map of partitions could not be followed: %s", error)
            return False
        return self._view.move(moved)

    async def _even(self, moved: dict[str, str]) -> dict[str, str]:
        homes = Homes(self._view.homes.alive, moved)
        new = dict(evened(homes, self._view.loads.of(time.time())))
        if new == moved:
            return moved
        data = {"homes": msgspec.json.encode(new, order="sorted").decode()}
        try:
            await asyncio.to_thread(self._map.write, data)
        except ConflictError:
            return moved  # another believes that it is the mapper: its map is read next time
        _log.info("partitions have moved: %s", data["homes"])
        return new
