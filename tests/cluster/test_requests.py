"""What a pod takes from a node.

`kubernetes-requests.jsonl` holds drawn pods and what Kubernetes' own code makes of them; requests.go wrote
the answers, and says how.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import PodBuilder, Quantity, pod
from tests.strategies import pods, resource_lists
from tradewind.cluster.objects import read_pod
from tradewind.errors import UnreadableObjectError

GI = 2**30
GPU = "nvidia.com/gpu"


def status(
    name: str,
    *,
    actual: Mapping[str, Quantity] | None = None,
    allocated: Mapping[str, Quantity] | None = None,
) -> dict[str, object]:
    resources = {} if actual is None else {"resources": {"requests": actual}}
    return {"name": name, "allocatedResources": allocated, **resources}


def resize_pending(reason: str) -> list[dict[str, str]]:
    return [{"type": "Ready", "status": "True"}, {"type": "PodResizePending", "reason": reason}]


web = pod("web").requests(cpu=1, memory="1Gi")
running = web.on("a").phase("Running")
resized = running.field("status", "containerStatuses", value=[status("main", actual={"cpu": 3})])
whole = pod("whole").requests(cpu="100m", memory="1Gi").pod_level(cpu=2, memory="4Gi")


@pytest.mark.parametrize(
    ("built", "expected"),
    [
        pytest.param(pod("idle"), {}, id="a pod that asks for nothing still is one pod"),
        pytest.param(web, {"cpu": 1000, "memory": GI}, id="one container"),
        # 1 + 0.5; 1Gi; the GPU of the second.
        pytest.param(
            web.container({GPU: 1}, cpu="500m"),
            {"cpu": 1500, "memory": GI, GPU: 1},
            id="containers add up",
        ),
        # 0.4m + 0.4m = 0.8m: rounded once, after the sum.
        pytest.param(
            pod("tiny").requests(cpu="400u").container(cpu="400u"),
            {"cpu": 1},
            id="rounding comes after the sum",
        ),
        # max(1, 2); max(1Gi, 512Mi).
        pytest.param(
            web.init(cpu=2, memory="512Mi"),
            {"cpu": 2000, "memory": GI},
            id="a larger init container counts, for each resource by itself",
        ),
        pytest.param(
            web.init(cpu=2).init(cpu=3), {"cpu": 3000, "memory": GI}, id="init containers run one by one"
        ),
        pytest.param(web.sidecar(cpu=2), {"cpu": 3000, "memory": GI}, id="a sidecar runs beside the pod"),
        # Starting: 0.5 + 2 = 2.5. Running: 1 + 0.5 = 1.5.
        pytest.param(
            web.sidecar(cpu="500m").init(cpu=2),
            {"cpu": 2500, "memory": GI},
            id="an init container after a sidecar runs beside it",
        ),
        # Starting: 2. Running: 1 + 0.5 = 1.5.
        pytest.param(
            web.init(cpu=2).sidecar(cpu="500m"),
            {"cpu": 2000, "memory": GI},
            id="an init container before a sidecar does not",
        ),
        # Starting: 0.5 + 2, then 0.5 + 0.25 + 1.9 = 2.65. Running: 1 + 0.75.
        pytest.param(
            web.sidecar(cpu="500m").init(cpu=2).sidecar(cpu="250m").init(cpu="1900m"),
            {"cpu": 2650, "memory": GI},
            id="each init container meets the sidecars before it",
        ),
        # Only sidecars: starting and running are the same sum.
        pytest.param(
            pod("mesh").sidecar(cpu=1).sidecar(cpu=2), {"cpu": 3000}, id="sidecars alone add up once"
        ),
        pytest.param(
            web.overhead(cpu="250m", memory="120Mi"),
            {"cpu": 1250, "memory": GI + 120 * 2**20},
            id="the overhead comes on top",
        ),
        # max(1, 2) + 0.25.
        pytest.param(
            web.init(cpu=2).overhead(cpu="250m"),
            {"cpu": 2250, "memory": GI},
            id="the overhead comes on top of the largest moment",
        ),
        pytest.param(whole, {"cpu": 2000, "memory": 4 * GI}, id="requests at pod level replace the sum"),
        pytest.param(
            whole.overhead(cpu="250m"),
            {"cpu": 2250, "memory": 4 * GI},
            id="the overhead comes on top of requests at pod level",
        ),
        pytest.param(
            web.pod_level(cpu="500m"),
            {"cpu": 500, "memory": GI},
            id="what the pod level does not name stays the sum",
        ),
        pytest.param(
            web.pod_level({GPU: 5, "ephemeral-storage": "5Gi", "hugepages-2Mi": "4Mi"}),
            {"cpu": 1000, "memory": GI, "hugepages-2Mi": 4 * 2**20},
            id="the pod level is for cpu, memory and huge pages only",
        ),
        pytest.param(
            resized,
            {"cpu": 3000, "memory": GI},
            id="a container that still has more than it now asks for",
        ),
        pytest.param(
            running.field("status", "containerStatuses", value=[status("main", allocated={"cpu": 3})]),
            {"cpu": 1000, "memory": GI},
            id="without actual resources the spec counts",
        ),
        # max(1, 0.5, 2) cores, max(1Gi, -, 3Gi).
        pytest.param(
            running.field(
                "status",
                "containerStatuses",
                value=[status("main", actual={"cpu": "500m"}, allocated={"cpu": 2, "memory": "3Gi"})],
            ),
            {"cpu": 2000, "memory": 3 * GI},
            id="the largest of wanted, actual and allocated counts",
        ),
        # max(0.5, 0.75): the wanted core and GiB will never be given.
        pytest.param(
            running.field(
                "status",
                "containerStatuses",
                value=[status("main", actual={"cpu": "500m"}, allocated={"cpu": "750m"})],
            ).field("status", "conditions", value=resize_pending("Infeasible")),
            {"cpu": 750},
            id="a resize that was found infeasible does not count",
        ),
        pytest.param(
            resized.field("status", "conditions", value=resize_pending("Deferred")).requests(cpu=5),
            {"cpu": 5000},
            id="a resize that is only deferred does",
        ),
        pytest.param(
            web.sidecar(cpu=1).field(
                "status", "initContainerStatuses", value=[status("initcontainers-0", actual={"cpu": 2})]
            ),
            {"cpu": 3000, "memory": GI},
            id="a sidecar is resized as well",
        ),
        pytest.param(
            web.init(cpu=1).field(
                "status", "initContainerStatuses", value=[status("initcontainers-0", actual={"cpu": 9})]
            ),
            {"cpu": 1000, "memory": GI},
            id="an ordinary init container is not",
        ),
        # max(2, 3, 1) cores; max(4Gi, 2Gi, -).
        pytest.param(
            whole.field("status", "resources", value={"requests": {"cpu": 3, "memory": "2Gi"}}).field(
                "status", "allocatedResources", value={"cpu": 1}
            ),
            {"cpu": 3000, "memory": 4 * GI},
            id="requests at pod level are resized as well",
        ),
        pytest.param(
            whole.field("status", "resources", value={"requests": {"cpu": 3}}).field(
                "status", "conditions", value=resize_pending("Infeasible")
            ),
            {"cpu": 3000, "memory": 0},
            id="an infeasible resize at pod level leaves what is there",
        ),
    ],
)
def test_requests(built: PodBuilder, expected: dict[str, int]) -> None:
    assert built.build().requests == {**expected, "pods": 1}


def test_requests_agree_with_kubernetes() -> None:
    lines = (Path(__file__).parent / "kubernetes-requests.jsonl").read_text().splitlines()
    for line in lines:
        case = json.loads(line)
        found = read_pod(json.dumps(case["pod"]).encode()).requests
        assert found == {**case["requests"], "pods": 1}, line
    assert len(lines) > 100


@pytest.mark.parametrize(
    ("built", "message"),
    [
        (web.requests(cpu="4Gb"), 'reading quantity "4Gb" (cpu) of container "main" in pod default/web'),
        (web.namespace("shop").overhead(memory="x"), '"x" (memory) of the overhead in pod shop/web'),
        (web.init(cpu="1K"), 'of container "initcontainers-0" in pod default/web'),
        (web.pod_level(cpu="?"), 'reading quantity "?" (cpu) of the pod in pod default/web'),
        (
            web.field("status", "containerStatuses", value=[status("main", actual={"cpu": "oh"})]),
            'reading quantity "oh" (cpu) of the status of container "main" in pod default/web',
        ),
    ],
)
def test_a_bad_quantity_is_named_with_its_place(built: PodBuilder, message: str) -> None:
    with pytest.raises(UnreadableObjectError) as caught:
        built.build()
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(
            web.container(cpu=2).field("spec", "containers", 1, "name", value="x"),
            web.init(cpu=2).field("spec", "initContainers", 0, "name", value="x"),
            id="beside or before",
        ),
        pytest.param(web.init(cpu=2), web.sidecar(cpu=2), id="before or all the time"),
        pytest.param(web, web.overhead(cpu=1), id="with an overhead"),
        pytest.param(web, web.pod_level(cpu=3), id="with requests of the pod"),
        pytest.param(running, resized, id="with another actual size"),
        pytest.param(
            resized,
            resized.field("status", "conditions", value=resize_pending("Infeasible")),
            id="with a resize that is not possible",
        ),
        pytest.param(
            running.field("status", "containerStatuses", value=[status("main", actual={}, allocated={})]),
            running.field(
                "status", "containerStatuses", value=[status("main", actual={}, allocated={"cpu": 9})]
            ),
            id="with another allocation",
        ),
        pytest.param(
            whole.field("status", "resources", value={"requests": {"cpu": 1}}),
            whole.field("status", "resources", value={"requests": {"cpu": 7}}),
            id="with another actual size of the pod",
        ),
    ],
)
def test_pods_that_are_counted_otherwise_are_not_taken_for_each_other(
    first: PodBuilder, second: PodBuilder
) -> None:
    assert first.build().requests != second.build().requests


@given(pods(), resource_lists())
def test_one_more_container_never_lowers_a_request(built: PodBuilder, more: dict[str, Quantity]) -> None:
    before = built.build().requests
    for larger in (built.container(more), built.sidecar(more), built.init(more)):
        after = larger.build().requests
        assert all(after[resource] >= value for resource, value in before.items())


@given(st.lists(resource_lists(), min_size=1, max_size=4), st.randoms())
def test_the_order_of_containers_has_no_meaning(lists: list[dict[str, Quantity]], random: Random) -> None:
    shuffled = random.sample(lists, len(lists))
    assert _with_containers(lists).build().requests == _with_containers(shuffled).build().requests


@given(st.lists(resource_lists(), max_size=4), st.randoms())
def test_the_order_of_ordinary_init_containers_has_no_meaning(
    lists: list[dict[str, Quantity]], random: Random
) -> None:
    def requests(order: list[dict[str, Quantity]]) -> Mapping[str, int]:
        built = web
        for each in order:
            built = built.init(each)
        return built.build().requests

    assert requests(lists) == requests(random.sample(lists, len(lists)))


@given(pods(), resource_lists())
def test_a_sidecar_asks_for_at_least_what_a_container_would(
    built: PodBuilder, more: dict[str, Quantity]
) -> None:
    as_container = built.container(more).build().requests
    as_sidecar = built.sidecar(more).build().requests
    assert as_sidecar.keys() == as_container.keys()
    assert all(as_sidecar[resource] >= value for resource, value in as_container.items())


def _with_containers(lists: list[dict[str, Quantity]]) -> PodBuilder:
    built = pod("many").requests(lists[0])
    for each in lists[1:]:
        built = built.container(each)
    return built
