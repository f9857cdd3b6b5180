"""What a pod takes from a node, and the most it may take, counted as Kubernetes counts it.

Containers and sidecars add up; an ordinary init container needs what it asks for beside the sidecars started
before it, and only the largest such moment counts; requests at pod level replace the sum for cpu, memory and
huge pages; the overhead of the runtime class comes on top. For a running pod that is being resized, the
largest of the wanted, the allocated and the actual amount counts, unless the resize was found infeasible.
"""

from collections.abc import Callable, Iterator, Mapping

from cluster.errors import QuantityError
from cluster.quantity import amount, parse_nanos
from cluster.wire import Container, ContainerStatus, PodSpec, PodStatus, RawQuantities

Nanos = dict[str, int]


def pod_requests(spec: PodSpec, status: PodStatus) -> dict[str, int]:
    """Resource name to amount, in the units of `cluster.quantity.amount`; "pods" is always 1."""
    nanos = _container_sum(spec, running=lambda c: _effective(status, c), starting=_spec_requests)
    nanos.update(_pod_level(spec, status))
    _add(nanos, read_nanos(spec.overhead, "the overhead"))
    requests = {resource: amount(resource, value) for resource, value in nanos.items()}
    requests["pods"] = 1
    return requests


def pod_limits(spec: PodSpec) -> dict[str, int]:
    """The same for the limits of a pod to be placed; a resource that nothing limits is left out."""
    nanos = _container_sum(spec, running=_spec_limits, starting=_spec_limits)
    if spec.resources is not None:
        at_pod_level = read_nanos(spec.resources.limits, "the pod")
        nanos.update({name: value for name, value in at_pod_level.items() if _has_pod_level(name)})
    for resource, value in read_nanos(spec.overhead, "the overhead").items():
        if nanos.get(resource):
            nanos[resource] += value
    return {resource: amount(resource, value) for resource, value in nanos.items()}


def read_nanos(quantities: RawQuantities | None, owner: str) -> Nanos:
    """Parse a resource list; an error names the quantity, its resource and its owner."""
    return {resource: _nanos(raw, resource, owner) for resource, raw in (quantities or {}).items()}


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
    if spec.resources is None:
        return {}
    wanted = read_nanos(spec.resources.requests, "the pod")
    if status.resources is not None:
        actual = read_nanos(status.resources.requests, "the pod's status")
        allocated = read_nanos(status.allocated_resources, "the pod's allocated resources")
        largest = _largest(status, wanted, actual, allocated)
        wanted = {resource: largest.get(resource, 0) for resource in wanted}
    return {resource: value for resource, value in wanted.items() if _has_pod_level(resource)}


def _has_pod_level(resource: str) -> bool:
    return resource in {"cpu", "memory"} or resource.startswith("hugepages-")


def _spec_requests(container: Container) -> Nanos:
    requests = container.resources.requests if container.resources else None
    return read_nanos(requests, f'container "{container.name}"')


def _spec_limits(container: Container) -> Nanos:
    limits = container.resources.limits if container.resources else None
    return read_nanos(limits, f'container "{container.name}"')


def _effective(status: PodStatus, container: Container) -> Nanos:
    wanted = _spec_requests(container)
    state = next((s for s in _container_states(status) if s.name == container.name), None)
    if state is None or state.resources is None:
        return wanted
    owner = f'the status of container "{container.name}"'
    actual = read_nanos(state.resources.requests, owner)
    return _largest(status, wanted, actual, read_nanos(state.allocated_resources, owner))


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
