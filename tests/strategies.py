"""What hypothesis draws: Kubernetes objects as builders, so that drawn objects cross the real decoder too."""

from hypothesis import strategies as st

from tests.builders import NodeBuilder, PodBuilder, Quantity, node, pod

# A slow machine is no defect.

RESOURCES = ("cpu", "memory", "ephemeral-storage", "hugepages-2Mi", "nvidia.com/gpu")

NODE_NAMES = ("a", "b", "c", "d", "e")

_SUFFIXES = ("", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


@st.composite
def quantities(draw: st.DrawFn) -> str:
    """Anything that Kubernetes accepts, the odd forms too: signs, leading zeros, bare points, exponents."""
    digits = st.text("0123456789", max_size=12)
    whole, fraction = draw(st.tuples(digits, digits).filter(any))
    point = "." if fraction else draw(st.sampled_from(["", "."]))
    exponents = st.builds("{}{}".format, st.sampled_from(["e", "E", "e+", "E-"]), st.integers(0, 12))
    ending = draw(st.sampled_from(_SUFFIXES) | exponents)
    return f"{draw(st.sampled_from(['', '+', '-']))}{whole}{point}{fraction}{ending}"


def usual_quantities() -> st.SearchStrategy[Quantity]:
    """What stands in real objects: never negative, and small enough that sums stay exact everywhere."""
    numbers = st.integers(0, 999)
    suffixes = st.sampled_from(["", "m", "k", "M", "G", "Ki", "Mi", "Gi"])
    fractions = st.builds("{}.{}{}".format, numbers, numbers, suffixes)
    return st.builds("{}{}".format, numbers, suffixes) | fractions | numbers


def resource_lists() -> st.SearchStrategy[dict[str, Quantity]]:
    return st.dictionaries(st.sampled_from(RESOURCES), usual_quantities(), max_size=3)


@st.composite
def plain_pods(draw: st.DrawFn) -> PodBuilder:
    """One container; on a node, on none yet, or finished."""
    drawn = pod(f"pod-{draw(st.integers(0, 9))}").requests(draw(resource_lists()))
    node_name = draw(st.sampled_from(["", *NODE_NAMES]))
    if not node_name:
        return drawn
    return drawn.on(node_name).phase(draw(st.sampled_from(["Pending", "Running", "Succeeded"])))


@st.composite
def pods(draw: st.DrawFn) -> PodBuilder:
    """Every kind of container, overhead, requests at pod level, and some pods in the midst of a resize."""
    drawn = pod(f"pod-{draw(st.integers(0, 9))}").requests(draw(resource_lists()))
    for _ in range(draw(st.integers(0, 2))):
        drawn = drawn.container(draw(resource_lists()))
    for sidecar in draw(st.lists(st.booleans(), max_size=4)):
        requests = draw(resource_lists())
        drawn = drawn.sidecar(requests) if sidecar else drawn.init(requests)
    if draw(st.booleans()):
        drawn = drawn.overhead(draw(resource_lists()))
    if draw(st.booleans()):
        drawn = drawn.pod_level(draw(resource_lists()))
    node_name = draw(st.sampled_from(["", *NODE_NAMES]))
    if not node_name:
        return drawn
    drawn = drawn.on(node_name).phase(draw(st.sampled_from(["Pending", "Running", "Running", "Succeeded"])))
    return _resized(draw, drawn) if draw(st.booleans()) else drawn


def _resized(draw: st.DrawFn, drawn: PodBuilder) -> PodBuilder:
    for key, status_key in (
        ("containers", "containerStatuses"),
        ("initContainers", "initContainerStatuses"),
    ):
        names = [container["name"] for container in drawn.document["spec"].get(key, [])]
        statuses = [{"name": name, **_amounts(draw)} for name in names if draw(st.booleans())]
        drawn = drawn.field("status", status_key, value=statuses)
    for key, value in _amounts(draw).items():
        drawn = drawn.field("status", key, value=value)
    reason = draw(st.sampled_from(["", "Deferred", "Infeasible"]))
    pending = [{"type": "PodResizePending", "reason": reason, "status": "True"}] if reason else []
    return drawn.field("status", "conditions", value=pending)


def _amounts(draw: st.DrawFn) -> dict[str, object]:
    """Actual and allocated resources, each of which may be missing."""
    drawn: dict[str, object] = {}
    if draw(st.booleans()):
        drawn["resources"] = {"requests": draw(resource_lists())}
    if draw(st.booleans()):
        drawn["allocatedResources"] = draw(resource_lists())
    return drawn


@st.composite
def nodes(draw: st.DrawFn) -> NodeBuilder:
    drawn = node(draw(st.sampled_from(NODE_NAMES)))
    for resource, quantity in draw(resource_lists()).items():
        drawn = drawn.resource(resource, quantity)
    price = draw(st.none() | st.floats(0, 100))
    return drawn if price is None else drawn.price(price)
