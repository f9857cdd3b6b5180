"""Which nodes are alike in the market's eyes: of one instance type, in one zone, on one kind of terms."""

from typing import NamedTuple

from tradewind.cluster.names import ANNOTATION_PREFIX
from tradewind.cluster.objects import Node

CAPACITY_TYPE = ANNOTATION_PREFIX + "capacity-type"
SPOT, ON_DEMAND = "spot", "on-demand"
LINUX, WINDOWS = "linux", "windows"

INSTANCE_TYPE_LABELS = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
_ZONE_LABELS = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")
_REGION_LABELS = ("topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region")

_OS_LABELS = ("kubernetes.io/os", "beta.kubernetes.io/os")

# Labels with the model and the number of accelerators: GKE's, then those of NVIDIA's feature discovery.
_ACCELERATORS = (
    ("cloud.google.com/gke-accelerator", "cloud.google.com/gke-accelerator-count"),
    ("nvidia.com/gpu.product", "nvidia.com/gpu.count"),
)
_GPU = "nvidia.com/gpu"
_ACCELERATED = ("nvidia.com/", "amd.com/gpu", "gpu.intel.com/", "aws.amazon.com/neuron", "google.com/tpu")

# Label, and the value (in lower case) that means a node may be taken away.
_SPOT_LABELS = (
    (CAPACITY_TYPE, "spot"),
    ("karpenter.sh/capacity-type", "spot"),
    ("eks.amazonaws.com/capacitytype", "spot"),
    ("cloud.google.com/gke-spot", "true"),
    ("cloud.google.com/gke-preemptible", "true"),
    ("kubernetes.azure.com/scalesetpriority", "spot"),
    ("node.kubernetes.io/lifecycle", "spot"),
    ("node-role.kubernetes.io/spot-worker", "true"),  # kOps
)


class Pool(NamedTuple):
    """Empty strings where a node does not tell."""

    instance_type: str
    zone: str
    capacity_type: str

    @property
    def spot(self) -> bool:
        return self.capacity_type == SPOT


class Shape(NamedTuple):
    """What a node offers, whatever it is called."""

    cpu: int  # millicores
    memory: int  # bytes
    extended: tuple[tuple[str, int], ...]  # GPUs and the like


class Attached(NamedTuple):
    """Accelerators of a machine, as far as labels name them; their number is 0 where it is not known."""

    model: str
    number: int


def pool_of(node: Node) -> Pool:
    return Pool(
        _label(node, INSTANCE_TYPE_LABELS),
        _label(node, _ZONE_LABELS),
        ON_DEMAND if is_durable(node) else SPOT,
    )


def region_of(node: Node) -> str:
    return _label(node, _REGION_LABELS)


def os_of(node: Node) -> str:
    return _label(node, _OS_LABELS).lower() or LINUX


def attached_to(node: Node) -> Attached | None:
    """The number is that of the label, as a kubelet counts one that is shared several times."""
    for model_label, count_label in _ACCELERATORS:
        model = node.labels.get(model_label, "").lower()
        if model:
            count = node.labels.get(count_label, "")
            return Attached(model, int(count) if count.isdecimal() else node.allocatable.get(_GPU, 0))
    return None


def is_accelerated(shape: Shape) -> bool:
    return any(name.startswith(_ACCELERATED) and amount for name, amount in shape.extended)


def shape_of(node: Node) -> Shape:
    extended = sorted((name, amount) for name, amount in node.allocatable.items() if "/" in name)
    return Shape(node.allocatable.get("cpu", 0), node.allocatable.get("memory", 0), tuple(extended))


def is_durable(node: Node) -> bool:
    """Not known as a spot node; our own annotation has the last word."""
    own = node.annotations.get(CAPACITY_TYPE)
    if own is not None:
        return own.lower() != SPOT
    labels = {key.lower(): value.lower() for key, value in node.labels.items()}
    return not any(labels.get(key) == value for key, value in _SPOT_LABELS)


def _label(node: Node, keys: tuple[str, ...]) -> str:
    return next((node.labels[key] for key in keys if key in node.labels), "")
