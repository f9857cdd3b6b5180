"""Clusters, plans and the cluster of the Boreas thesis, shared by the planner's tests."""

from collections.abc import Iterable

from tests.builders import NodeBuilder, PodBuilder, node, offer_of, pod
from tests.planner.check import gangs_kept, violations
from tradewind.cluster.cache import Cache
from tradewind.config import document as config
from tradewind.planner.batch import Batch, make_batch
from tradewind.planner.binding import valid_order
from tradewind.planner.engine import optimise
from tradewind.planner.greedy import greedy
from tradewind.planner.plan import Plan, make_plan
from tradewind.planner.problem import Outcome
from tradewind.planner.reasons import reasons
from tradewind.planner.rent import NO_RENT, Rent
from tradewind.planner.settings import Engine

HOST = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"

_DOCUMENT = """
apiVersion: tradewind.dev/v1alpha1
kind: TradewindConfiguration
rules: {limits: {overcommit: {memory: 1}}}
"""
policy_of = config.parse(_DOCUMENT).policies().of


def filled(nodes: Iterable[NodeBuilder], pods: Iterable[PodBuilder]) -> Cache:
    cache = Cache(offer_of)
    for each_node in nodes:
        cache.apply_node(each_node.build())
    for each_pod in pods:
        cache.apply_pod(each_pod.build())
    return cache


def batch_of(cache: Cache, rent: Rent = NO_RENT) -> Batch:
    return make_batch(cache.snapshot(), cache.all_pods(), policy_of, rent=rent)


def planned(
    nodes: Iterable[NodeBuilder],
    pods: Iterable[PodBuilder],
    *,
    solve: bool = True,
    seconds: float = 5,
    engine: Engine = "auto",
) -> Plan:
    """The plan, which kube-scheduler's rules were seen to allow; without `solve` the greedy floor."""
    cache = filled(nodes, pods)
    batch = batch_of(cache)
    found = [Outcome(greedy(batch.problem), "greedy")]
    if solve:
        optimise(batch.problem, found[0].assignment, seconds, found.append, engine=engine)
    unplaced = {**batch.refused, **reasons(batch, found[-1].assignment)}
    plan = make_plan(batch, valid_order(batch.problem, found[-1].assignment), unplaced, found[-1].engine)
    assert list(gangs_kept(cache.all_pods(), plan)) == []
    assert violations(cache, policy_of, plan) == []
    return plan


def where(plan: Plan) -> dict[str, str]:
    """The pod's name, without its namespace, to its node."""
    return {each.pod.partition("/")[2]: each.node for each in plan.placements}


def boreas_nodes() -> list[NodeBuilder]:
    return [node(f"worker-{number}").cpu("900m").memory("3931M") for number in range(1, 7)]


def replicas(name: str, count: int, cpu: str, memory: str) -> list[PodBuilder]:
    start = pod(name).label("app", name).requests(cpu=cpu, memory=memory)
    return copies(start, name, count)


def copies(start: PodBuilder, name: str, count: int) -> list[PodBuilder]:
    return [
        start.field("metadata", "name", value=f"{name}-{number}").uid(f"default/{name}-{number}")
        for number in range(1, count + 1)
    ]


def apart(pods: Iterable[PodBuilder], *apps: str) -> list[PodBuilder]:
    found = list(pods)
    for app in apps:
        found = [each.anti_affinity(HOST, {"app": app}) for each in found]
    return found


def near(pods: Iterable[PodBuilder], app: str) -> list[PodBuilder]:
    return [each.affinity(HOST, {"app": app}) for each in pods]
