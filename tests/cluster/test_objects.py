import gc
import tracemalloc
from collections.abc import Callable
from functools import reduce

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import NodeBuilder, PodBuilder, namespace, node, pod
from tradewind.cluster import objects
from tradewind.cluster.objects import read_namespace, read_node, read_pod
from tradewind.cluster.wire import Taint
from tradewind.errors import UnreadableObjectError
from tradewind.kube.objects import read_identity


def test_a_node() -> None:
    read = node("a").cpu("1500m").resource("nvidia.com/gpu", 2).price(0.5).label("zone", "eu").taint("spot")
    assert read.annotation("other.io/note", "long text").unschedulable().build() == msgspec.structs.replace(
        read.build(), unschedulable=True
    )
    built = read.build()
    assert built.name == "a"
    assert built.allocatable == {"cpu": 1500, "memory": 16 * 2**30, "pods": 110, "nvidia.com/gpu": 2}
    assert built.labels == {"kubernetes.io/hostname": "a", "zone": "eu"}
    assert built.annotations == {"tradewind.dev/price": "0.5"}
    assert built.taints == (Taint(key="spot", effect="NoSchedule"),)
    assert not built.unschedulable


def test_a_pod() -> None:
    built = pod("web").namespace("shop").label("app", "web").annotation("tradewind.dev/workload-class", "x")
    read = built.annotation("other.io/note", "long text").on("a").priority(7).uid("u-1").build()
    assert (read.namespace, read.name, read.uid, str(read)) == ("shop", "web", "u-1", "shop/web")
    assert read.labels == {"app": "web"}
    assert read.annotations == {"tradewind.dev/workload-class": "x"}
    assert (read.node_name, read.priority, read.finished) == ("a", 7, False)


@pytest.mark.parametrize(
    ("phase", "finished"),
    [("Pending", False), ("Running", False), ("Unknown", False), ("Succeeded", True), ("Failed", True)],
)
def test_a_finished_pod(phase: str, finished: bool) -> None:
    assert pod("job").phase(phase).build().finished is finished


@pytest.mark.parametrize(
    ("built", "ready"),
    [
        pytest.param(pod("a").on("n"), True, id="by its condition"),
        pytest.param(pod("a").on("n").ready("False"), False, id="not by its condition"),
        pytest.param(pod("a").on("n").without("status", "conditions"), False, id="no kubelet has seen it"),
        pytest.param(
            pod("a").on("n").without("status", "conditions").phase("Running"), True, id="a file by hand"
        ),
        pytest.param(pod("a").on("n").without("status"), True, id="a shorter one"),
        pytest.param(pod("a").without("status"), False, id="on no node"),
    ],
)
def test_a_pod_is_ready(built: PodBuilder, *, ready: bool) -> None:
    assert built.build().ready is ready


def test_a_namespace() -> None:
    read = namespace("shop").label("team", "blue").build()
    assert read.name == "shop"
    assert read.labels == {"kubernetes.io/metadata.name": "shop", "team": "blue"}


@pytest.mark.parametrize(
    "odd",
    [
        pytest.param(node("a").without("status"), id="a node that reports nothing yet"),
        pytest.param(node("a").field("status", "allocatable", value=None), id="null resources"),
        pytest.param(node("a").field("status", value=None).field("spec", value=None), id="null parts"),
    ],
)
def test_a_node_without_resources_has_none(odd: NodeBuilder) -> None:
    assert odd.build().allocatable == {}


@pytest.mark.parametrize(
    "odd",
    [
        pytest.param(pod("a").field("spec", value=None).field("status", value=None), id="null parts"),
        pytest.param(pod("a").without("spec").without("status"), id="missing parts"),
        pytest.param(pod("a").field("spec", "containers", value=None), id="null containers"),
        pytest.param(pod("a").field("spec", "containers", 0, "resources", value=None), id="null resources"),
        pytest.param(pod("a").field("spec", "initContainers", value=None), id="null init containers"),
        pytest.param(
            pod("a").field("spec", "overhead", value=None).field("spec", "priority", value=None),
            id="null wishes",
        ),
        pytest.param(
            pod("a").field("status", "conditions", value=None).field("status", "phase", value=None),
            id="null state",
        ),
        pytest.param(
            pod("a").field("metadata", "labels", value=None).field("metadata", "annotations", value=None),
            id="null labels",
        ),
    ],
)
def test_what_a_pod_leaves_out_is_nothing(odd: PodBuilder) -> None:
    assert odd.build() == pod("a").build()


def test_null_is_a_quantity_of_zero() -> None:
    odd = pod("a").field("spec", "containers", 0, "resources", "requests", value={"cpu": None})
    assert odd.build().requests == {"cpu": 0, "pods": 1}


def test_bare_numbers_are_quantities() -> None:
    assert node("a").cpu(2).memory(1e21).pods(0.5).build().allocatable == {
        "cpu": 2000,
        "memory": 2**53,
        "pods": 1,
    }


def test_pods_of_one_workload_share_what_they_have_alike() -> None:
    web = pod("web-0").label("app", "web").requests(cpu=1).limits(cpu=2).owner("ReplicaSet", "web", "1")
    web = web.anti_affinity("zone", {"app": "web"}).node_selector("disk", "ssd")
    web = web.field("spec", "tolerations", value=[{"operator": "Exists"}])
    first = web.on("a").build()
    second = web.on("b").uid("other").field("metadata", "name", value="web-1").build()
    for part in ("labels", "requests", "limits", "owner", "anti_affinity", "node_selector", "tolerations"):
        assert getattr(first, part)
        assert getattr(first, part) is getattr(second, part), part
    assert (second.name, second.uid, second.node_name) == ("web-1", "other", "b")


def test_names_and_labels_in_any_script() -> None:
    read = pod("a").label("größe", "大").annotation("tradewind.dev/node", "🐳").build()
    assert read.labels == {"größe": "大"}
    assert read.annotations == {"tradewind.dev/node": "🐳"}


def test_a_pod_without_uid_and_namespace_is_still_one_of_its_kind() -> None:
    read = pod("a").without("metadata", "uid").without("metadata", "namespace").build()
    assert (read.namespace, read.uid) == ("default", "default/a")


@pytest.mark.parametrize(
    ("odd", "message"),
    [
        (pod("a").label("k", "v").field("metadata", "labels", "k", value=1), "labels[...]` in pod default/a"),
        (pod("a").field("spec", "containers", value={}), "got `object` - at `$.spec.containers` in pod "),
        (pod("a").field("spec", "priority", value="high"), "$.spec.priority` in pod default/a"),
        (
            pod("a").requests(cpu=True),
            '`$.requests[...]` of the resources of container "main" in pod default/a',
        ),
        (pod("a").field("spec", "overhead", value=[]), "got `array` of the overhead in pod default/a"),
        (pod("a").field("spec", "tolerations", value={}), "$.spec.tolerations` in pod default/a"),
        (
            pod("a").field("spec", "affinity", value={"nodeAffinity": 1}),
            "$.spec.affinity.nodeAffinity` in pod",
        ),
        (pod("a").field("metadata", "name", value=""), "a pod without metadata.name"),
        (pod("a").field("metadata", "name", value=3), "$.metadata.name` in a pod without readable metadata"),
        (pod("a").without("metadata"), "missing required field `metadata` in a pod"),
        (node("a").cpu("4Gb"), 'quantity "4Gb" (cpu) of the allocatable resources in node a'),
        (node("a").field("spec", "taints", value="spot"), "$.spec.taints` in node a"),
        (namespace("a").field("metadata", "labels", value=[]), "$.metadata.labels` in namespace a"),
    ],
)
def test_a_message_says_what_is_wrong_and_where(odd: PodBuilder | NodeBuilder, message: str) -> None:
    with pytest.raises(UnreadableObjectError) as caught:
        odd.build()
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"null", id="null"),
        pytest.param(b"[]", id="a list"),
        pytest.param(b'{"metadata":{"name":"a"}', id="cut off"),
        pytest.param(b'{"metadata":{"name":"\xff"}}', id="not UTF-8"),
        pytest.param(b'{"metadata":{"name":"a"},"other":' + b"[" * 100_000, id="nested too deep"),
    ],
)
def test_bytes_that_are_no_object(data: bytes) -> None:
    for read in (read_node, read_pod, read_namespace, read_identity):
        with pytest.raises(UnreadableObjectError):
            read(data)


def test_an_identity_needs_nothing_but_metadata() -> None:
    odd = pod("a").uid("u-1").version(42).field("spec", value="nonsense")
    identity = read_identity(odd.json())
    assert (identity.name, identity.uid, identity.resource_version) == ("a", "u-1", "42")


@given(st.binary(max_size=60) | st.from_regex(rb'\{"metadata":\{"name":"a".*', fullmatch=True))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    for read in (read_node, read_pod, read_namespace):
        try:
            read(data)
        except UnreadableObjectError as error:
            assert str(error)  # noqa: PT017 (either outcome is right)


def test_what_holds_a_pod_and_who_schedules_it() -> None:
    gates = [{"name": "tradewind.dev/planning"}, {"name": "example.com/quota"}]
    held = pod("x").field("spec", "schedulingGates", value=gates).field("spec", "schedulerName", value="mine")
    nominated = held.field("status", "nominatedNodeName", value="a")
    assert nominated.build().gates == ("tradewind.dev/planning", "example.com/quota")
    assert (nominated.build().scheduler_name, nominated.build().nominated) == ("mine", "a")
    assert pod("y").build().scheduler_name == "default-scheduler"
    assert pod("y").build().gates == ()
    assert nominated.on("b").build().nominated == "", "kube-scheduler leaves it there, and it says nothing"


@pytest.mark.parametrize(
    ("built", "gang", "pod_group"),
    [
        pytest.param(pod("x"), "", "", id="none"),
        pytest.param(pod("x").annotation("tradewind.dev/gang", "a"), "a", "", id="annotation"),
        pytest.param(pod("x").label("scheduling.x-k8s.io/pod-group", "b"), "b", "", id="label"),
        pytest.param(
            pod("x")
            .annotation("tradewind.dev/gang", "a")
            .label("scheduling.x-k8s.io/pod-group", "b")
            .field("spec", "schedulingGroup", "podGroupName", value="c"),
            "",
            "c",
            id="kube-scheduler's own",
        ),
    ],
)
def test_who_places_a_gang(built: PodBuilder, gang: str, pod_group: str) -> None:
    assert (built.build().gang, built.build().pod_group) == (gang, pod_group)


# Each changes one thing that two pods of a workload may have alike, or not.
_CHANGES: list[Callable[[PodBuilder], PodBuilder]] = [
    lambda built: built.namespace("shop"),
    lambda built: built.label("app", "db"),
    lambda built: built.label("scheduling.x-k8s.io/pod-group", "by-label"),
    lambda built: built.annotation("tradewind.dev/gang", "by-annotation"),
    lambda built: built.field("spec", "schedulingGroup", value={"podGroupName": "by-field"}),
    lambda built: built.owner("ReplicaSet", "web", "owner-1"),
    lambda built: built.uid("other"),
    lambda built: built.field("metadata", "creationTimestamp", value="2026-01-01T00:00:00Z"),
    lambda built: built.deleting(),
    lambda built: built.on("a"),
    lambda built: built.phase("Succeeded"),
    lambda built: built.field("status", "nominatedNodeName", value="b"),
    lambda built: built.field("spec", "schedulingGates", value=[{"name": "held"}]),
    lambda built: built.requests(cpu=2),
    lambda built: built.limits(cpu=3),
    lambda built: built.sidecar(cpu=1),
    lambda built: built.overhead(cpu=1),
    lambda built: built.host_port(80),
    lambda built: built.sidecar(cpu=1).field(
        "spec", "initContainers", 0, "ports", value=[{"containerPort": 81, "hostPort": 81}]
    ),
    lambda built: built.init(cpu=1).field(
        "spec", "initContainers", 0, "ports", value=[{"containerPort": 81, "hostPort": 81}]
    ),
    lambda built: built.priority(7),
    lambda built: built.field("spec", "priorityClassName", value="high"),
    lambda built: built.field("spec", "schedulerName", value="other"),
    lambda built: built.node_selector("zone", "a"),
    lambda built: built.affinity("zone", {"app": "web"}, matchLabelKeys=["app"]),
    lambda built: built.anti_affinity("zone", {"app": "web"}),
    lambda built: built.spread("zone", {"app": "web"}, matchLabelKeys=["app"]),
    lambda built: built.toleration(key="spot"),
]


@given(st.lists(st.lists(st.sampled_from(_CHANGES), max_size=4), min_size=2, max_size=6))
def test_what_pods_have_alike_is_not_mixed_up(drawn: list[list[Callable[[PodBuilder], PodBuilder]]]) -> None:
    built = [reduce(lambda each, change: change(each), changes, pod("web")).json() for changes in drawn]
    objects._templates.clear()
    together = [read_pod(each) for each in built]
    for each, found in zip(built, together, strict=True):
        objects._templates.clear()
        assert read_pod(each) == found


@pytest.mark.parametrize("number", range(len(_CHANGES)))
def test_a_pod_that_differs_in_one_thing_from_the_last_one(number: int) -> None:
    same = pod("web").label("rev", "1").affinity("zone", {"app": "web"}, matchLabelKeys=["rev"])
    other = _CHANGES[number](same)
    objects._templates.clear()
    expected = read_pod(other.json())
    objects._templates.clear()
    read_pod(same.json())
    assert read_pod(other.json()) == expected


def test_what_pods_have_alike_is_kept_once_and_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = (pod(name).label("app", "web").requests(cpu=1).build() for name in ("one", "other"))
    assert one.labels is other.labels
    assert one.requests is other.requests
    monkeypatch.setattr(objects, "MAX_KEPT", 8)
    for number in range(100):
        pod("web").label("app", str(number)).build()
    assert len(objects._templates) <= 8


@pytest.mark.parametrize(
    "large",
    [
        pytest.param(
            lambda name: pod(name).field(
                "metadata", "labels", value={f"{name}-{number}": "x" * 60 for number in range(2000)}
            ),
            id="labels",
        ),
        pytest.param(
            lambda name: pod(name).requests({f"example.com/{name}-{number}": 1 for number in range(4000)}),
            id="requests",
        ),
        pytest.param(
            lambda name: pod(name).field(
                "spec", "tolerations", value=[{"key": f"{name}-{number}"} for number in range(4000)]
            ),
            id="tolerations",
        ),
    ],
)
def test_what_is_large_is_kept_no_longer_than_its_pod(large: Callable[[str], PodBuilder]) -> None:
    """A pod of each is a hundred kilobytes of JSON."""
    large("first").build()  # whatever is kept of any pod
    tracemalloc.start()
    try:
        for number in range(5):
            large(f"p{number}").build()
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] < 100_000
    finally:
        tracemalloc.stop()
