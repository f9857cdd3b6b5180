"""Where our own pods may go."""

from typing import Any

import pytest

from tests.builders import node
from tests.manifests.files import pod_spec, templates
from tradewind.cluster.objects import Node
from tradewind.market.pools import is_durable

_SERVICES = ("tradewind", "tradewind-planner")


@pytest.mark.parametrize("name", templates())
def test_only_nodes_that_the_image_is_built_for(name: str) -> None:
    spec = pod_spec(name)
    assert spec["nodeSelector"] == {"kubernetes.io/os": "linux"}
    (term,) = required(spec)["nodeSelectorTerms"]
    (expression,) = term["matchExpressions"]
    assert (expression["key"], expression["values"]) == ("kubernetes.io/arch", ["amd64", "arm64"])


def required(spec: Any) -> Any:
    return spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]


@pytest.mark.parametrize("name", _SERVICES)
@pytest.mark.parametrize(
    "label",
    [
        ("karpenter.sh/capacity-type", "spot"),
        ("eks.amazonaws.com/capacityType", "SPOT"),
        ("cloud.google.com/gke-spot", "true"),
        ("cloud.google.com/gke-preemptible", "true"),
        ("kubernetes.azure.com/scalesetpriority", "spot"),
        ("node.kubernetes.io/lifecycle", "spot"),
        ("node-role.kubernetes.io/spot-worker", "true"),
    ],
)
def test_nodes_that_we_take_for_spot_are_avoided(name: str, label: tuple[str, str]) -> None:
    (preferred,) = pod_spec(name)["affinity"]["nodeAffinity"][
        "preferredDuringSchedulingIgnoredDuringExecution"
    ]
    spot = node("spot").label(*label).build()
    assert not is_durable(spot)
    assert not suits(preferred["preference"], spot)
    assert suits(preferred["preference"], node("plain").build())


def suits(term: Any, node: Node) -> bool:
    """NotIn: also where the label is missing."""
    assert {each["operator"] for each in term["matchExpressions"]} == {"NotIn"}
    return all(node.labels.get(each["key"]) not in each["values"] for each in term["matchExpressions"])
