"""The scheduling gate that holds a pod until it is planned."""

from tradewind.cluster.objects import ANNOTATION_PREFIX, Pod

GATE = ANNOTATION_PREFIX + "planning"
# Its first name, which the annotation has too. Pods behind it are still planned and ungated, for one version.
OLD_GATE = ANNOTATION_PREFIX + "plan"
GATES = frozenset({GATE, OLD_GATE})


def held(pod: Pod) -> bool:
    """Whether we hold the pod, and nobody else does."""
    return bool(pod.gates) and GATES.issuperset(pod.gates)
