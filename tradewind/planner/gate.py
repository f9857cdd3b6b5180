"""The scheduling gate that holds a pod until it is planned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tradewind.cluster.names import ANNOTATION_PREFIX, HOLD_OPT_OUTS

if TYPE_CHECKING:  # `release` knows the gate, and needs no objects
    from collections.abc import Mapping

    from tradewind.cluster.objects import Pod

GATE = ANNOTATION_PREFIX + "planning"
# Its first name, which the annotation has too. Pods behind it are still planned and ungated, for one version.
OLD_GATE = ANNOTATION_PREFIX + "plan"
GATES = frozenset({GATE, OLD_GATE})


def held(pod: Pod) -> bool:
    """Whether we hold the pod, and nobody else does."""
    return bool(pod.gates) and GATES.issuperset(pod.gates)


# On a namespace, and its first name.
LABEL = ANNOTATION_PREFIX + "hold"
_LABELS = (LABEL, ANNOTATION_PREFIX + "plan")


def holds(namespace_labels: Mapping[str, str], pod_annotations: Mapping[str, str]) -> bool:
    """Whether a new pod like this would be held, as the component `hold` decides."""
    return any(namespace_labels.get(key) == "enabled" for key in _LABELS) and not any(
        pod_annotations.get(key) == "false" for key in HOLD_OPT_OUTS
    )
