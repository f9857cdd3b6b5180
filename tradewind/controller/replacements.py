"""Pods that are to replace others: the other is evicted when its successor can have its node.

The successor is told the node first, by the hint `node`: later nothing else says where the other was.
"""

import logging
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from scoring.policy import Policy
from tradewind.cluster import hints
from tradewind.cluster.cache import Cache
from tradewind.cluster.objects import Pod
from tradewind.cluster.roster import Roster
from tradewind.cluster.snapshot import Snapshot
from tradewind.errors import ApiError
from tradewind.kube.client import Client
from tradewind.planner.terms import Group

_log = logging.getLogger(__name__)


class Replacement(NamedTuple):
    successor: Pod
    replaced: Pod


def due(snapshot: Snapshot, policy_of: Callable[[Pod], Policy]) -> list[Replacement]:
    """One for each pod that is to go; none across namespaces, where the successor may have no say."""
    roster = snapshot.nodes.cluster.roster
    found: dict[str, Replacement] = {}
    for circle, pods in roster.reaching.items():
        if circle.hint != hints.REPLACES:
            continue
        for pod in sorted(pods.values(), key=lambda each: (each.created, each.name)):
            replaced = _replaced(pod, roster)
            if (
                replaced is not None
                and replaced.uid not in found
                and _fits(pod, replaced, snapshot, policy_of)
            ):
                found[replaced.uid] = Replacement(pod, replaced)
    return list(found.values())


def _replaced(pod: Pod, roster: Roster) -> Pod | None:
    if pod.node_name or pod.deleting:
        return None
    there = roster.find(hints.readable(pod).replaces)
    if there is None or there.deleting or there.namespace != pod.namespace or there.uid == pod.uid:
        return None
    return there


def _fits(pod: Pod, replaced: Pod, snapshot: Snapshot, policy_of: Callable[[Pod], Policy]) -> bool:
    """By every rule, once the other has left."""
    row = snapshot.row_of.get(replaced.node_name)
    if row is None:
        return False
    nodes = snapshot.without([replaced]).nodes.take(np.array([row]))
    rules = Group([pod], policy_of(pod), hints.NONE).filters()
    return all(rule.feasible(pod, nodes).all() for rule in rules)


class Replacements:
    def __init__(self, cache: Cache, client: Client, policy_of: Callable[[Pod], Policy]) -> None:
        self._cache = cache
        self._client = client
        self._policy_of = policy_of

    def look(self) -> list[Pod]:
        """The pods to evict now, whose successors know where they go."""
        found = due(self._cache.snapshot(), self._policy_of)
        return [each.replaced for each in found if self._tell(each)]

    def _tell(self, each: Replacement) -> bool:
        pod, node = each.successor, each.replaced.node_name
        if pod.annotations.get(hints.NODE) == node:
            return True
        patch = {"metadata": {"uid": pod.uid, "annotations": {hints.NODE: node}}}
        try:
            self._client.patch(f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}", patch)
        except ApiError as error:
            _log.warning("could not write its node on pod %s: %s", pod, error)
            return False
        return True
