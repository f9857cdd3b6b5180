"""A cluster of rare cases in which kube-scheduler was seen to do other than one would think."""

from typing import Any

from e2e import objects
from e2e.api import path
from e2e.objects import Object
from e2e.random_cluster import ClusterObjects
from e2e.random_terms import ZONE

_HERE, _THERE = "oracle-odd-here", "oracle-odd-there"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_WEB = {"matchLabels": {"app": "web"}}
_NOT_BLUE = {"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["blue"]}]}


def odd_cluster() -> ClusterObjects:
    old, new = {"app": "web", "rev": "1"}, {"app": "web", "rev": "2"}
    selectors = {"labelSelector": _WEB, "namespaceSelector": _NOT_BLUE}
    waiting = [
        # A selector of namespaces that accepts one without labels accepts all (kubernetes #141526).
        _pod("affine", affinity=_affinity("podAffinity", **selectors)),
        _pod("repelled", affinity=_affinity("podAntiAffinity", **selectors)),
        # What the API server made of the pod's labels stays, whatever becomes of them.
        _pod(
            "affine-to-old",
            old,
            affinity=_affinity("podAffinity", labelSelector=_WEB, matchLabelKeys=["rev"]),
        ),
        _pod("affine-to-any", affinity=_affinity("podAffinity", labelSelector=_WEB, matchLabelKeys=["rev"])),
        # But for topology spread kube-scheduler adds the labels of today: no pod has both.
        _pod("spread", old, topologySpreadConstraints=[_spread(labelSelector=_WEB, matchLabelKeys=["rev"])]),
        # An empty selector counts the pod itself and nobody else.
        _pod("spread-empty", topologySpreadConstraints=[_spread(labelSelector={})]),
    ]
    return ClusterObjects(
        namespaces=[_namespace(_HERE, "red"), _namespace(_THERE, "blue")],
        nodes=[objects.node(zone, labels={ZONE: zone}) for zone in ("z1", "z2", "z3")],
        placed=[
            objects.pod("there", _THERE, labels={"app": "web"}, nodeName="z1"),
            *(objects.pod(f"old-{number}", _HERE, labels=old, nodeName="z2") for number in range(2)),
            *(objects.pod(f"new-{number}", _HERE, labels=new, nodeName="z3") for number in range(2)),
        ],
        waiting=waiting,
        finished=[],
        deleting=[],
        relabelled=[
            (path(pod), new) for pod in waiting if pod["metadata"]["name"] not in {"affine", "repelled"}
        ],
    )


def _namespace(name: str, team: str) -> Object:
    namespace = objects.namespace(name)
    return {**namespace, "metadata": {**namespace["metadata"], "labels": {"team": team}}}


def _pod(name: str, labels: dict[str, str] | None = None, **spec: Any) -> Object:
    return objects.pod(name, _HERE, labels=labels, **spec)


def _affinity(kind: str, **term: Any) -> Object:
    return {kind: {_REQUIRED: [{"topologyKey": ZONE, **term}]}}


def _spread(**fields: Any) -> Object:
    return {"topologyKey": ZONE, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", **fields}
