"""Captures what a real kube-scheduler sends to an extender: `python -m e2e.capture DIRECTORY`.

Each file VERB-MODE-POD.json is the body of one request, byte for byte; MODE is `names` (the extender's entry
says nodeCacheCapable: true) or `nodes`. cluster.json holds the nodes and pods as they were at each request,
in the form of `kubectl get nodes,pods -A -o json`. bind.json is the same in both modes.
"""

import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from e2e import capture_workloads, fake, outcomes, scheduler
from e2e.api import Api, path
from e2e.capture_workloads import NAMESPACE, NAMESPACE_OF_RESIDENTS
from e2e.objects import Object
from e2e.plane import ControlPlane
from e2e.recorder import Recorder

_VERBS = ("filter", "prioritize", "preempt")
# Full nodes in every request are large; these pods show all that is different about them.
_WITH_FULL_NODES = ("init-and-sidecar", "urgent")


def capture(directory: Path) -> list[Path]:
    directory.mkdir(parents=True, exist_ok=True)
    workloads = capture_workloads.workloads()
    few = [workload for workload in workloads if workload["metadata"]["name"] in _WITH_FULL_NODES]
    with ControlPlane() as plane, contextlib.closing(Api(plane.kubeconfig)) as api:
        _set_up(api)
        files = {"cluster": msgspec.json.encode(_everything(api))}
        files |= _capture(plane, api, workloads, node_cache_capable=True)
        _place_residents(api)
        files |= _capture(plane, api, few, node_cache_capable=False)
    return [_write(directory / f"{name}.json", body) for name, body in files.items()]


def _set_up(api: Api) -> None:
    fake.add_nodes(api, capture_workloads.NODES)
    api.create_all(capture_workloads.CLUSTER_OBJECTS)
    for namespace in (NAMESPACE, NAMESPACE_OF_RESIDENTS):
        fake.create_namespace(api, namespace)
    _place_residents(api)


def _place_residents(api: Api) -> None:
    fake.remove_pods(api, NAMESPACE_OF_RESIDENTS)
    api.create_all(capture_workloads.residents())


def _everything(api: Api) -> Object:
    kinds = {"Node": "/api/v1/nodes", "Pod": "/api/v1/pods"}
    items = [_printed(kind, item) for kind, path in kinds.items() for item in api.read(path)["items"]]
    return {"apiVersion": "v1", "kind": "List", "items": items}


def _printed(kind: str, item: Object) -> Object:
    """As kubectl prints an item of a list: with its kind, without the fields' managers."""
    metadata = {key: value for key, value in item["metadata"].items() if key != "managedFields"}
    return {"apiVersion": "v1", "kind": kind, **item, "metadata": metadata}


def _capture(
    plane: ControlPlane, api: Api, workloads: Sequence[Object], *, node_cache_capable: bool
) -> dict[str, bytes]:
    mode = "names" if node_cache_capable else "nodes"
    files: dict[str, bytes] = {}
    with Recorder(api) as recorder:
        entry = scheduler.extender(
            recorder.url, preempt_verb="preempt", bind_verb="bind", node_cache_capable=node_cache_capable
        )
        running = plane.start_scheduler(scheduler.configuration(extenders=[entry]))
        for workload in workloads:
            name = workload["metadata"]["name"]
            pod = _schedule(api, workload)
            for verb in _VERBS:
                files |= {f"{verb}-{mode}-{name}": seen.body for seen in recorder.requests(verb, pod)[:1]}
        # Four names are all that a bind request holds: one shows them all.
        files["bind"] = recorder.requests("bind", pod)[0].body
        running.kill()
    return files


def _schedule(api: Api, workload: Object) -> str:
    """Lets the workload's pod be bound and removes both, so that the next request finds the same cluster."""
    api.create(workload)
    (pod,) = outcomes.bound_nodes(api, NAMESPACE, 1, app=workload["metadata"]["name"])
    api.delete(path(workload), propagationPolicy="Background", gracePeriodSeconds="0")
    fake.remove_pods(api, NAMESPACE)
    return pod


def _write(file: Path, body: bytes) -> Path:
    file.write_bytes(body)
    return file


def main() -> None:
    files = capture(Path(sys.argv[1]))
    size = sum(file.stat().st_size for file in files)
    print(f"Wrote {len(files)} files, {size // 1000} kB, to {sys.argv[1]}.")


if __name__ == "__main__":
    main()
