"""What a pod takes from a node, and the most it may take, counted as Kubernetes counts it.

Containers and sidecars add up; an ordinary init container needs what it asks for beside the sidecars started
before it, and only the largest such moment counts; requests at pod level replace the sum for cpu, memory and
huge pages; the overhead of the runtime class comes on top. For a running pod that is being resized, the
largest of the wanted, the allocated and the actual amount counts, unless the resize was found infeasible.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from tradewind.cluster.interning import MAX_KEPT, InterningDecoder, is_kept
from tradewind.cluster.quantity import amount, parse_nanos
from tradewind.cluster.wire import (
    NULL,
    Container,
    ContainerStatus,
    PodSpec,
    PodStatus,
    RawQuantities,
    ResourceLists,
)
from tradewind.errors import QuantityError

Nanos = dict[str, int]
Amounts = Mapping[str, int]

_read_lists = InterningDecoder(ResourceLists, lambda lists: lists or ResourceLists())
_read_quantities: InterningDecoder[RawQuantities] = InterningDecoder(
    RawQuantities, lambda quantities: quantities or {}
)


class Sizes(NamedTuple):
    """Resource name to amount, in the units of `tradewind.cluster.quantity.amount`."""

    requests: Amounts  # "pods" is always 1
    limits: Amounts  # of a pod to be placed; a resource that nothing limits is left out


_known: dict[Hashable, Sizes] = {}


def sizes_key(spec: PodSpec, status: PodStatus) -> Hashable:
    """Equal for pods that say the same about their sizes."""
    return (
        tuple([(each.name, each.restart_policy, bytes(each.resources)) for each in _containers(spec)]),
        len(spec.containers or ()),
        spec.overhead is NULL or bytes(spec.overhead),
        spec.resources is NULL
        or (bytes(spec.resources), bytes(status.resources), bytes(status.allocated_resources)),
        tuple(
            [
                (each.name, bytes(each.resources), bytes(each.allocated_resources))
                for each in _container_states(status)
            ]
        ),
        _resize_infeasible(status),
    )


def pod_sizes(spec: PodSpec, status: PodStatus) -> Sizes:
    """Counted once for all pods that say the same."""
    key = sizes_key(spec, status)
    sizes = _known.get(key)
    if sizes is None:
        if len(_known) >= MAX_KEPT:
            _known.clear()
        sizes = Sizes(_requests(spec, status), _limits(spec))
        if is_kept(key):
            _known[key] = sizes
    return sizes


def _requests(spec: PodSpec, status: PodStatus) -> Amounts:
    nanos = _container_sum(spec, running=lambda c: _effective(status, c), starting=_spec_requests)
    nanos.update(_pod_level(spec, status))
    _add(nanos, _quantities(spec.overhead, "the overhead"))
    requests = {resource: amount(resource, value) for resource, value in nanos.items()}
    requests["pods"] = 1
    return requests


def _limits(spec: PodSpec) -> Amounts:
    nanos = _container_sum(spec, running=_spec_limits, starting=_spec_limits)
    at_pod_level = read_nanos(_lists(spec.resources, "the pod").limits, "the pod")
    nanos.update({name: value for name, value in at_pod_level.items() if _has_pod_level(name)})
    for resource, value in _quantities(spec.overhead, "the overhead").items():
        if nanos.get(resource):
            nanos[resource] += value
    return {resource: amount(resource, value) for resource, value in nanos.items()}


def read_nanos(quantities: RawQuantities | None, owner: str) -> Nanos:
    """Parse a resource list; an error names the quantity, its resource and its owner."""
    return {resource: _nanos(raw, resource, owner) for resource, raw in (quantities or {}).items()}


def _lists(part: msgspec.Raw, owner: str) -> ResourceLists:
    try:
        return _read_lists(part)
    except msgspec.MsgspecError as error:
        raise QuantityError(f"{error} of the resources of {owner}") from error


def _quantities(part: msgspec.Raw, owner: str) -> Nanos:
    try:
        return read_nanos(_read_quantities(part), owner)
    except msgspec.MsgspecError as error:
        raise QuantityError(f"{error} of {owner}") from error


def _containers(spec: PodSpec) -> Iterable[Container]:
    return (*(spec.containers or ()), *(spec.init_containers or ()))


def _nanos(raw: str | float | None, resource: str, owner: str) -> int:
    if raw is None:
        return 0
    try:
        return parse_nanos(str(raw))
    except QuantityError as error:
        raise QuantityError(f'reading quantity "{str(raw)[:60]}" ({resource}) of {owner}') from error


def _container_sum(
    spec: PodSpec, *, running: Callable[[Container], Nanos], starting: Callable[[Container], Nanos]
) -> Nanos:
    total: Nanos = {}
    for container in spec.containers or ():
        _add(total, running(container))
    sidecars: Nanos = {}
    peak: Nanos = {}
    for container in spec.init_containers or ():
        if container.restart_policy == "Always":
            amounts = running(container)
            _add(total, amounts)
            _add(sidecars, amounts)
        else:
            moment = dict(sidecars)
            _add(moment, starting(container))
            _raise_to(peak, moment)
    _raise_to(total, peak)
    return total


def _pod_level(spec: PodSpec, status: PodStatus) -> Nanos:
    wanted = read_nanos(_lists(spec.resources, "the pod").requests, "the pod")
    if wanted and _is_there(status.resources):
        actual = read_nanos(_lists(status.resources, "the pod's status").requests, "the pod's status")
        allocated = _quantities(status.allocated_resources, "the pod's allocated resources")
        largest = _largest(status, wanted, actual, allocated)
        wanted = {resource: largest.get(resource, 0) for resource in wanted}
    return {resource: value for resource, value in wanted.items() if _has_pod_level(resource)}


def _is_there(part: msgspec.Raw) -> bool:
    return part != NULL


def _has_pod_level(resource: str) -> bool:
    return resource in {"cpu", "memory"} or resource.startswith("hugepages-")


def _spec_requests(container: Container) -> Nanos:
    owner = f'container "{container.name}"'
    return read_nanos(_lists(container.resources, owner).requests, owner)


def _spec_limits(container: Container) -> Nanos:
    owner = f'container "{container.name}"'
    return read_nanos(_lists(container.resources, owner).limits, owner)


def _effective(status: PodStatus, container: Container) -> Nanos:
    wanted = _spec_requests(container)
    state = next((s for s in _container_states(status) if s.name == container.name), None)
    if state is None or not _is_there(state.resources):
        return wanted
    owner = f'the status of container "{container.name}"'
    actual = read_nanos(_lists(state.resources, owner).requests, owner)
    return _largest(status, wanted, actual, _quantities(state.allocated_resources, owner))


def _container_states(status: PodStatus) -> Iterator[ContainerStatus]:
    yield from status.container_statuses or ()
    yield from status.init_container_statuses or ()


def _largest(status: PodStatus, wanted: Nanos, actual: Nanos, allocated: Nanos) -> Nanos:
    largest = dict(actual)
    _raise_to(largest, allocated)
    if not _resize_infeasible(status):
        _raise_to(largest, wanted)
    return largest


def _resize_infeasible(status: PodStatus) -> bool:
    pending = [c for c in status.conditions or () if c.type == "PodResizePending"]
    return bool(pending) and pending[0].reason == "Infeasible"


def _add(total: Nanos, more: Mapping[str, int]) -> None:
    for resource, value in more.items():
        total[resource] = total.get(resource, 0) + value


def _raise_to(total: Nanos, floor: Mapping[str, int]) -> None:
    for resource, value in floor.items():
        total[resource] = max(total.get(resource, value), value)
