"""Our own rules against kube-scheduler's: what it offers to an extender are the nodes that passed its own.

Random clusters, at rest: the extender rejects every node, so that no pod is ever placed. The environment
variable TRADEWIND_ORACLE_CASES says how many pods are judged, TRADEWIND_ORACLE_SEED the first cluster's seed.
"""

import math
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pytest
from kubernetes.config import new_client_from_config

from e2e import binaries, fake, outcomes, scheduler
from e2e.api import MERGE_PATCH, Api
from e2e.device_cluster import device_cluster
from e2e.objects import Object
from e2e.odd_cluster import odd_cluster
from e2e.plane import ControlPlane
from e2e.processes import Process
from e2e.random_cluster import ClusterObjects, random_cluster
from e2e.recorder import Recorder, node_names
from scoring.filters.pod_affinity import PodAffinity
from scoring.filters.pod_anti_affinity import PodAntiAffinity
from scoring.filters.resources import KubeResources, Resources
from scoring.filters.taints import Taints
from scoring.filters.topology_spread import TopologySpread
from scoring.in_tree import IN_TREE
from scoring.policy import Policy
from scoring.rules import Filter
from tests.synced import wait_synced
from tradewind.cluster.cache import Cache
from tradewind.cluster.objects import read_pod
from tradewind.cluster.reflector import Reflector, cluster_resources
from tradewind.cluster.snapshot import Nodes
from tradewind.market.market import Market

_CASES = int(os.environ.get("TRADEWIND_ORACLE_CASES", "60"))
_FIRST_SEED = int(os.environ.get("TRADEWIND_ORACLE_SEED", "1"))
_CASES_A_CLUSTER = 20
_CASES_A_GATED_CLUSTER = 50  # of the cases without gates
_SECONDS = 60.0

# What kube-scheduler says in a pod's condition, in the words of its plugins. A node that lacks resources is
# counted once for each of them, so those numbers say less than the others.
_RULES = {
    "node(s) were unschedulable": "unschedulable",
    "node(s) had untolerated taint(s)": "taints",
    "node(s) didn't match Pod's node affinity/selector": "node_affinity",
    "node(s) didn't have free ports for the requested pod ports": "host_ports",
    "node(s) didn't match pod topology spread constraints": "topology_spread",
    "node(s) didn't match pod topology spread constraints (missing required label)": "topology_spread",
    "node(s) didn't match pod affinity rules": "pod_affinity",
    "node(s) didn't match pod anti-affinity rules": "pod_anti_affinity",
    "node(s) didn't satisfy existing pods anti-affinity rules": "pod_anti_affinity",
}
# Where a pod names its nodes kube-scheduler does not look at any other, and does not say what else they lack.
_NAMED_NODES_ONLY = ("didn't satisfy plugin(s) [NodeAffinity]", "pod affinity terms conflict")

_GATES = "TaintTolerationComparisonOperators=true"
_GATES_SINCE = 35  # minor version
_DEVICE_CLASSES_SINCE = 36


def _policy(*, comparisons: bool) -> Policy:
    return Policy(
        filters=tuple(_as_in_this_version(rule, comparisons=comparisons) for rule in IN_TREE), scorers=()
    )


def _as_in_this_version(rule: type[Filter], *, comparisons: bool) -> Filter:
    if issubclass(rule, Taints | TopologySpread):
        return rule(comparisons=comparisons)
    # This kube-scheduler reads some selectors of namespaces otherwise than documented.
    if issubclass(rule, PodAffinity | PodAntiAffinity):
        return rule(widened_namespaces=True)
    return rule()


class Judgement(NamedTuple):
    feasible: frozenset[str]
    rejected_by: Mapping[str, int] | None  # rule to how many nodes it was the first to reject; None if unsaid


@pytest.mark.parametrize("seed", range(_FIRST_SEED, _FIRST_SEED + math.ceil(_CASES / _CASES_A_CLUSTER)))
def test_our_rules_admit_the_nodes_that_kube_scheduler_admits(
    seed: int, plane: ControlPlane, api: Api
) -> None:
    _compare(plane, api, random_cluster(seed, _CASES_A_CLUSTER), _policy(comparisons=False))


def test_our_rules_are_as_odd_as_those_of_kube_scheduler(plane: ControlPlane, api: Api) -> None:
    _compare(plane, api, odd_cluster(), _policy(comparisons=False))


def test_our_rules_admit_the_same_with_the_gates_open() -> None:
    if binaries.find().minor() < _GATES_SINCE:
        pytest.skip(f"these gates came with 1.{_GATES_SINCE}")
    with _GatedPlane() as plane, closing(Api(plane.kubeconfig)) as api:
        for seed in range(_FIRST_SEED, _FIRST_SEED + math.ceil(_CASES / _CASES_A_GATED_CLUSTER)):
            drawn = random_cluster(seed, _CASES_A_CLUSTER, comparisons=True)
            _compare(plane, api, drawn, _policy(comparisons=True))


def test_what_a_device_class_provides_is_not_rejected(plane: ControlPlane, api: Api) -> None:
    """In a plan it is on no node."""
    if binaries.find().minor() < _DEVICE_CLASSES_SINCE:
        pytest.skip(f"device classes provide extended resources since 1.{_DEVICE_CLASSES_SINCE}")
    drawn = device_cluster()
    with fake.existing(api, drawn.devices), _filled(api, drawn.objects):
        nodes = _nodes(plane.kubeconfig)
        waiting = _waiting(api)
        theirs = _kube_scheduler(plane, api, set(waiting))
    offered = {name: judgement.feasible for name, judgement in theirs.items()}
    assert offered == drawn.feasible
    rechecked = {name: _judge(Policy((Resources(),), ()), pod, nodes) for name, pod in waiting.items()}
    assert {name: rechecked[name].feasible & offered[name] for name in offered} == offered
    planned = {name: _judge(Policy((KubeResources(),), ()), pod, nodes) for name, pod in waiting.items()}
    assert {name: judgement.feasible for name, judgement in planned.items()} == drawn.planned


class _GatedPlane(ControlPlane):
    """With those features that are off by default and that the rules know."""

    def _run(self, name: str, program: Path, flags: Mapping[str, Any], address: str) -> Process:
        gates = {} if name == "etcd" else {"feature-gates": _GATES}
        return super()._run(name, program, {**flags, **gates}, address)


def _compare(plane: ControlPlane, api: Api, drawn: ClusterObjects, policy: Policy) -> None:
    with _filled(api, drawn):
        nodes = _nodes(plane.kubeconfig)
        waiting = _waiting(api)
        ours = {name: _judge(policy, pod, nodes) for name, pod in waiting.items()}
        theirs = _kube_scheduler(plane, api, set(waiting))
    assert len(waiting) == len(drawn.waiting)
    differences = [_describe(waiting[name], ours[name], theirs[name]) for name in waiting]
    assert not any(differences), "\n".join(filter(None, differences))
    assert any(0 < len(judgement.feasible) < len(nodes) for judgement in ours.values())


@contextmanager
def _filled(api: Api, drawn: ClusterObjects) -> Iterator[None]:
    names = [namespace["metadata"]["name"] for namespace in drawn.namespaces]
    try:
        fake.add_nodes(api, drawn.nodes)
        for namespace in drawn.namespaces:
            fake.create_namespace(api, namespace["metadata"]["name"])
        changes = [
            (f"/api/v1/namespaces/{name}", each) for name, each in zip(names, drawn.namespaces, strict=True)
        ]
        api.concurrently("PATCH", changes, MERGE_PATCH)
        api.create_all([*drawn.placed, *drawn.waiting])
        labels = [(path, {"metadata": {"labels": labels}}) for path, labels in drawn.relabelled]
        api.concurrently("PATCH", labels, MERGE_PATCH)
        ended = [(f"{path}/status", {"status": {"phase": "Succeeded"}}) for path in drawn.finished]
        api.concurrently("PATCH", ended, MERGE_PATCH)
        api.concurrently("DELETE", [(path, None) for path in drawn.deleting])
        yield
    finally:
        for name in names:
            fake.remove_namespace(api, name)
        fake.remove_nodes(api, [node["metadata"]["name"] for node in drawn.nodes])


def _nodes(kubeconfig: Path) -> Nodes:
    """What Tradewind sees of the cluster."""
    cache = Cache(Market().offer_of)
    reflector = Reflector(new_client_from_config(str(kubeconfig)), cluster_resources(cache))
    reflector.start()
    try:
        assert wait_synced(reflector, _SECONDS)
        return cache.snapshot().nodes
    finally:
        reflector.stop()


def _waiting(api: Api) -> dict[str, Object]:
    pods = api.read("/api/v1/pods", fieldSelector="spec.nodeName=")["items"]
    return {pod["metadata"]["name"]: pod for pod in pods}


def _judge(policy: Policy, pod: Object, nodes: Nodes) -> Judgement:
    verdict = policy.filter(read_pod(msgspec.json.encode(pod)), nodes)
    feasible = frozenset(nodes.names[row] for row in np.flatnonzero(verdict.feasible).tolist())
    return Judgement(feasible, {rule.name: rows.size for rule, rows in verdict.rejections})


def _kube_scheduler(plane: ControlPlane, api: Api, waiting: set[str]) -> dict[str, Judgement]:
    """It knows all there is before it looks at the first pod, because it starts when all is there."""
    with Recorder(rejects=True) as recorder:
        entry = scheduler.extender(recorder.url)
        running = plane.start_scheduler(
            scheduler.configuration(extenders=[entry], percentage_of_nodes_to_score=100)
        )
        try:
            messages = _messages(api, waiting)
        finally:
            running.kill()
        return {name: _judged(recorder, name, message) for name, message in messages.items()}


def _messages(api: Api, waiting: set[str]) -> dict[str, str]:
    """What kube-scheduler writes on each pod when it has tried every node, whoever rejected it."""
    messages: dict[str, str] = {}
    for change in api.changes("/api/v1/pods", _SECONDS, fieldSelector="spec.nodeName="):
        for condition in change.object.get("status", {}).get("conditions", ()):
            if condition["type"] == "PodScheduled" and condition["status"] == "False":
                assert condition["reason"] == "Unschedulable", condition
                messages[change.object["metadata"]["name"]] = condition["message"]
        if messages.keys() >= waiting:
            return messages
    raise outcomes.NotSeenError(f"no verdict on {sorted(waiting - messages.keys())} within {_SECONDS:.0f} s")


def _judged(recorder: Recorder, name: str, message: str) -> Judgement:
    offers = {frozenset(node_names(seen.arguments)) for seen in recorder.requests("filter", name)}
    assert len(offers) <= 1, f"kube-scheduler changed its mind about {name}: {offers}"
    feasible = next(iter(offers), frozenset())
    if any(said in message for said in _NAMED_NODES_ONLY):
        return Judgement(feasible, None)
    rejected_by: Counter[str] = Counter()
    for count, reason in re.findall(r"(\d+) ([^,]+?)(?:,|\.(?: |$))", message.partition(": ")[2]):
        rejected_by[_RULES.get(reason, reason)] += int(count)
    return Judgement(feasible, rejected_by)


def _describe(pod: Object, ours: Judgement, theirs: Judgement) -> str:
    """Empty where both agree, on the nodes and on how many of them each rule rejected."""
    said = {} if theirs.rejected_by is None else theirs.rejected_by
    compared = set(_RULES.values()) if theirs.rejected_by is not None else set()
    differing = [
        rule for rule in sorted(compared) if (ours.rejected_by or {}).get(rule, 0) != said.get(rule, 0)
    ]
    if ours.feasible == theirs.feasible and not differing:
        return ""
    return (
        f"{pod['metadata']['name']}: only ours admit {sorted(ours.feasible - theirs.feasible)}, "
        f"only kube-scheduler's admit {sorted(theirs.feasible - ours.feasible)}, "
        f"rejected by ours {ours.rejected_by}, by kube-scheduler's {dict(said)}; "
        f"labels {pod['metadata'].get('labels')}, {msgspec.json.encode(pod['spec']).decode()}"
    )
