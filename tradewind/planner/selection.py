"""Who waits for a plan, who is in the next batch, and who goes first in it."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from tradewind.cluster.objects import Pod
from tradewind.planner import gate, nominations, plan_annotation

# The part of a batch that goes by age alone, so that no stream of pods of higher priority, placed or not,
# keeps the others from being looked at.
_BY_AGE = 0.1

_WAITED_LONG, _WITHIN_SHARE, _BEYOND_SHARE = 2, 1, 0


class _Unit(NamedTuple):
    """A gang, or a pod on its own: chosen as a whole or not at all."""

    pods: tuple[Pod, ...]
    priority: int  # the highest
    waited: float  # the longest

    @property
    def namespace(self) -> str:
        return self.pods[0].namespace


def waiting(pods: Iterable[Pod], schedulers: Collection[str], now: float) -> list[Pod]:
    """Those that only we hold, and those that nobody holds and one of these schedulers is to place.

    Never one that another gate holds too, nor one in flight.
    """
    return [
        pod
        for pod in pods
        if pod.waiting
        and (gate.held(pod) or (not pod.gates and pod.scheduler_name in schedulers))
        and not _flying(pod, now)
    ]


def in_flight(pods: Iterable[Pod], now: float) -> list[Pod]:
    """Those that were ungated to a node and are not seen there yet, as if they were."""
    found = []
    for pod in pods:
        plan = _flying(pod, now)
        if plan is not None:
            found.append(msgspec.structs.replace(pod, node_name=plan.node))
    return found


def choose(pods: Sequence[Pod], waited: Mapping[str, float], max_pods: int, tenant_share: float) -> list[Pod]:
    """At most so many for one batch: higher priority first, then who waited longest.

    `waited` is in seconds by UID, since the pod came or was last in a batch: pods that find no place take
    turns with the others. Of equal priority, a namespace gets no more than its share before all others had
    theirs. A gang is taken whole; one that is larger than the batch makes a batch alone.
    """
    if len(pods) <= max_pods:
        return list(pods)
    units = _units(pods, waited)
    turns = _turns(units, max(1, int(tenant_share * max_pods)))
    order = sorted(range(len(units)), key=lambda i: (-units[i].priority, turns[i], -units[i].waited))
    chosen = _fitting([units[i] for i in order], max_pods - int(_BY_AGE * max_pods))
    left = max_pods - sum(len(unit.pods) for unit in chosen)
    if left > 0:
        taken = {unit.pods[0].uid for unit in chosen}
        rest = [unit for unit in units if unit.pods[0].uid not in taken]
        chosen += _fitting(sorted(rest, key=lambda unit: -unit.waited), left, whole=False)
    return [pod for unit in chosen for pod in unit.pods]


def favour(
    pods: Sequence[Pod], waited: Mapping[str, float], hold_seconds: float, tenant_share: float
) -> dict[str, int]:
    """By UID: 2 for a pod that waited longer than half of its hold, 1 within its tenant's share, 0 beyond.

    With the share each namespace gets as many as the largest that asks for no more than the configured or an
    equal part of the batch asks for: all of these are served in full before any other gets more.
    """
    found: dict[str, int] = {}
    share = _share(Counter(pod.namespace for pod in pods), tenant_share)
    used = Counter[str]()
    for unit in sorted(_units(pods, waited), key=lambda unit: (-unit.priority, -unit.waited)):
        within = not used[unit.namespace] or used[unit.namespace] + len(unit.pods) <= share
        used[unit.namespace] += len(unit.pods)
        level = _WITHIN_SHARE if within else _BEYOND_SHARE
        if unit.waited > hold_seconds / 2:
            level = _WAITED_LONG
        found |= {pod.uid: level for pod in unit.pods}
    return found


def overdue(pods: Sequence[Pod], waited: Mapping[str, float], hold_seconds: float) -> list[Pod]:
    """Those that were held as long as may be; of a gang all, as soon as one was."""
    return [pod for unit in _units(pods, waited) if unit.waited >= hold_seconds for pod in unit.pods]


def waited_seconds(pod: Pod, now: float) -> float:
    """By the API server's clock at its creation: any replica comes to the same."""
    return max(now - (created_at(pod) or now), 0.0)


def created_at(pod: Pod) -> float:
    """Seconds since 1970; 0 where that cannot be read."""
    try:
        return datetime.fromisoformat(pod.created).timestamp()
    except ValueError:
        return 0.0


def _flying(pod: Pod, now: float) -> plan_annotation.PlanAnnotation | None:
    plan = plan_annotation.read(pod)
    if plan is None or not pod.waiting or pod.gates or nominations.has_ended(pod, now):
        return None
    return plan


def _units(pods: Iterable[Pod], waited: Mapping[str, float]) -> list[_Unit]:
    together: dict[tuple[str, str], list[Pod]] = defaultdict(list)
    for pod in pods:
        together[(pod.namespace, pod.gang) if pod.gang else ("", pod.uid)].append(pod)
    return [
        _Unit(
            tuple(members),
            max(pod.priority for pod in members),
            max(waited.get(pod.uid, 0.0) for pod in members),
        )
        for members in together.values()
    ]


def _turns(units: Sequence[_Unit], share: int) -> list[int]:
    """How often the namespace of each unit must have had its share before it is the unit's turn."""
    turns = [0] * len(units)
    turn, used = Counter[str](), Counter[str]()
    for i in sorted(range(len(units)), key=lambda i: (-units[i].priority, -units[i].waited)):
        namespace, size = units[i].namespace, len(units[i].pods)
        if used[namespace] and used[namespace] + size > share:
            turn[namespace] += 1
            used[namespace] = 0
        used[namespace] += size
        turns[i] = turn[namespace]
    return turns


def _fitting(units: Iterable[_Unit], room: int, *, whole: bool = True) -> list[_Unit]:
    """Those that fit one after the other; with `whole` the first of them whatever its size."""
    taken: list[_Unit] = []
    for unit in units:
        if len(unit.pods) <= room or (whole and not taken):
            taken.append(unit)
            room -= len(unit.pods)
    return taken


def _share(asked: Mapping[str, int], tenant_share: float) -> float:
    """Pods; see `favour`."""
    if len(asked) < 2:  # noqa: PLR2004  a share is of what others want too
        return sum(asked.values())
    equal = sum(asked.values()) * min(tenant_share, 1 / len(asked))
    return max((count for count in asked.values() if count <= equal), default=max(equal, 1))
