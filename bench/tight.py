"""`python -m bench.tight`: clusters so full that few placements are complete, through the running planner.

Each is drawn from a complete placement, which stays hidden (`tests/planner/hidden.py`), on a real control
plane: every pod is held, planned, nominated and bound by kube-scheduler. The exit code is 1 if one was left.
"""

import argparse
import contextlib
import sys
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from bench.planner_live import created, placing
from e2e import fake, objects, outcomes
from e2e.api import Api
from e2e.plane import ControlPlane
from tests.builders import NodeBuilder, PodBuilder
from tests.planner.hidden import tight

_LOG_LINES = 8  # of the planner, where pods were left
_SIZES = (12, 30, 60, 120)
_HEAD = "nodes  seed  pods  bound  seconds from the first pod to the last binding"


class _Seen(NamedTuple):
    bound: int
    seconds: float
    reason: str  # of a pod that was left


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.tight", description=__doc__)
    parser.add_argument("--nodes", type=int, nargs="+", default=_SIZES)
    parser.add_argument("--seeds", type=int, nargs="+", default=range(100, 105))
    parser.add_argument("--seconds", type=float, default=60.0, help="for each (default: %(default)g)")
    options = parser.parse_args(arguments)
    whole = total = left = 0
    print(_HEAD)
    with (
        ControlPlane() as plane,
        contextlib.closing(Api(plane.kubeconfig)) as api,
        placing(plane, api, {}) as planner,
    ):
        for size in options.nodes:
            for seed in options.seeds:
                nodes, pods = tight(seed, size)
                seen = _place(api, nodes, pods, options.seconds)
                print(
                    f"{size:5} {seed:5} {len(pods):5} {seen.bound:6} {seen.seconds:8.1f}  {seen.reason}",
                    flush=True,
                )
                if seen.bound < len(pods):
                    print(planner.process.tail(_LOG_LINES), flush=True)
                total += 1
                whole += seen.bound == len(pods)
                left += len(pods) - seen.bound
    print(f"{whole} of {total} complete, {left} pods left")
    return 1 if left else 0


def _place(api: Api, nodes: Sequence[NodeBuilder], pods: Sequence[PodBuilder], seconds: float) -> _Seen:
    """The nodes are gone again when this returns."""
    with _nodes(api, nodes), _namespace(api) as namespace:
        started = time.monotonic()
        api.create_all([_new(pod.namespace(namespace)) for pod in pods])
        with contextlib.suppress(outcomes.NotSeenError):
            outcomes.bound_nodes(api, namespace, len(pods), seconds=seconds)
            return _Seen(len(pods), time.monotonic() - started, "")
        return _left(api, namespace, seconds)


def _new(built: NodeBuilder | PodBuilder) -> objects.Object:
    fresh = built.without("metadata", "uid").without("metadata", "resourceVersion")
    return created(msgspec.json.decode(fresh.json()))


def _left(api: Api, namespace: str, seconds: float) -> _Seen:
    listed = api.read(f"/api/v1/namespaces/{namespace}/pods")["items"]
    bound = sum(bool(outcomes.bound_to(pod)) for pod in listed)
    events = api.read(f"/api/v1/namespaces/{namespace}/events", fieldSelector="reason=Unplaced")["items"]
    return _Seen(bound, seconds, next((event["message"] for event in reversed(events)), ""))


@contextlib.contextmanager
def _nodes(api: Api, nodes: Sequence[NodeBuilder]) -> Iterator[None]:
    names = fake.add_nodes(api, [_new(node) for node in nodes])
    try:
        yield
    finally:
        fake.remove_nodes(api, names)


@contextlib.contextmanager
def _namespace(api: Api) -> Iterator[str]:
    name = fake.add_namespace(api, held=True)
    try:
        yield name
    finally:
        fake.remove_namespace(api, name)


if __name__ == "__main__":
    sys.exit(main())
