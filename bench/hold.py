"""A namespace whose pods are held for the planner, by the admission policy that is shipped."""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec
import yaml

from bench.errors import MeasurementError
from e2e import fake, objects
from e2e.api import Api, ApiError
from tradewind.planner.gate import GATE
from tradewind.planner.plan_annotation import ANNOTATION

_NAMESPACE = "bench-planned"
_POLICY = Path(__file__).parents[1] / "manifests" / "components" / "hold" / "policy.yaml"
_CONFLICT = 409
_LONGEST_SECONDS = 60.0


def namespace(api: Api) -> str:
    """Made when it is asked for the first time, with the policy."""
    _once(partial(fake.create_namespace, api, _NAMESPACE))
    api.patch(f"/api/v1/namespaces/{_NAMESPACE}", {"metadata": {"labels": fake.HELD}})
    for obj in yaml.safe_load_all(_POLICY.read_text()):
        _once(partial(api.create, obj))
    return _NAMESPACE


def wait_in_force(api: Api, name: str) -> None:
    """Until a new pod is held; that a policy is in force cannot be watched, only tried."""
    deadline = time.monotonic() + _LONGEST_SECONDS
    pods, pod = f"/api/v1/namespaces/{name}/pods", objects.pod("tried", name)
    while not _held(api.request("POST", pods, pod, query={"dryRun": "All"})):
        if time.monotonic() > deadline:
            raise MeasurementError(f"no pod was held within {_LONGEST_SECONDS:.0f} s")
        time.sleep(0.1)


def _held(pod: objects.Object) -> bool:
    return any(gate["name"] == GATE for gate in pod["spec"].get("schedulingGates", ()))


def placed_as_planned(api: Api, name: str) -> int:
    """How many pods are where the annotation says."""
    count = 0
    for pod in api.read(f"/api/v1/namespaces/{name}/pods")["items"]:
        text = pod["metadata"].get("annotations", {}).get(ANNOTATION)
        count += bool(text) and msgspec.json.decode(text)["node"] == pod["spec"].get("nodeName")
    return count


def _once(create: Callable[[], object]) -> None:
    try:
        create()
    except ApiError as error:
        if error.status != _CONFLICT:
            raise
