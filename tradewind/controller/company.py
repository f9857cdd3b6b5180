"""What the planner does for pods that belong together, beside planning them: once a second, by the leader."""

import logging
from collections.abc import Callable

import msgspec

from tradewind.cluster.cache import Cache
from tradewind.cluster.objects import Pod
from tradewind.config.settings import Settings
from tradewind.controller.every_node import nodes_without
from tradewind.controller.evictions import Evictions
from tradewind.controller.gang_losses import GangLosses, Loss
from tradewind.controller.gang_sizes import GangSizes
from tradewind.controller.replacements import Replacements
from tradewind.errors import ApiError
from tradewind.kube.client import Client
from tradewind.kube.failures import decoded

_log = logging.getLogger(__name__)


class _Status(msgspec.Struct, frozen=True):
    phase: str = ""


class _Pod(msgspec.Struct, frozen=True):
    status: _Status = _Status()


class _Pods(msgspec.Struct, frozen=True):
    items: tuple[_Pod, ...] = ()


_pods = msgspec.json.Decoder(_Pods)


class Company:
    """Without `evictions` nothing is evicted, whatever the settings say."""

    def __init__(self, cache: Cache, client: Client, settings: Settings, evictions: Evictions | None) -> None:
        self._cache = cache
        self._settings = settings
        self._evictions = evictions
        self.sizes = GangSizes(cache, client)
        self._losses = GangLosses(cache, ended_well(client))
        self._replacements = Replacements(cache, client, settings.policy_of)
        self._left: dict[str, Pod] = {}  # by UID, of broken gangs, still to be evicted

    def run(self) -> tuple[list[Loss], list[tuple[Pod, str]]]:
        """One round: gangs that lost a member, and workloads with nodes that lack one of their pods."""
        self.sizes.run()
        losses = self._losses.look()
        if self._evictions is not None:
            if self._settings.planner.gangs.on_loss == "evict":
                self._left |= {pod.uid: pod for loss in losses for pod in loss.left}
            there = {pod.uid for pod in self._cache.pods(self._left) if not pod.deleting}
            self._left = {uid: pod for uid, pod in self._left.items() if uid in there}
            self._evictions.evict([*self._left.values(), *self._replacements.look()])
        return losses, list(nodes_without(self._cache.snapshot()))


def ended_well(client: Client) -> Callable[[Pod], bool]:
    """By its phase; a pod that cannot be found is lost. Lists, because pods may be listed and not read."""

    def check(pod: Pod) -> bool:
        path = f"/api/v1/namespaces/{pod.namespace}/pods?fieldSelector=metadata.name%3D{pod.name}"
        try:
            return any(each.status.phase == "Succeeded" for each in decoded(_pods, client.get(path)).items)
        except ApiError as error:
            _log.warning("what became of pod %s cannot be read: %s", pod, error)
            return True  # say nothing rather than something wrong

    return check
