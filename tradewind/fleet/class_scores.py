"""Every site's score for classes of requests: for those who place by scores of clusters, not of requests."""

from collections.abc import Mapping

from tradewind.cluster.objects import Pod
from tradewind.cluster.quantity import amount, parse_nanos
from tradewind.fleet.candidates import Candidates
from tradewind.fleet.filters.affinity import Affinity
from tradewind.fleet.policy import SitePolicy
from tradewind.fleet.request import Request
from tradewind.fleet.settings import RequestClass
from tradewind.fleet.sites import Sites

Scores = Mapping[str, float]  # by site, 0..1; a site that cannot take one replica is not there


def request_of(name: str, asked: RequestClass) -> Request:
    """One replica, wherever it may go."""
    amounts = {resource: amount(resource, parse_nanos(text)) for resource, text in asked.requests.items()}
    pod = Pod("", name, "", {}, {}, {**amounts, "pods": 1}, {}, node_selector=asked.node_selector)
    return Request(key=name, pod=pod, replicas=1, workload_class=name)


def class_scores(request: Request, sites: Sites, policy: SitePolicy, now: float) -> Scores:
    """The weighted scores as a share of the best that there could be."""
    everywhere = Candidates.all_of(request, sites, now)
    candidates = policy.filter(everywhere, Affinity()).candidates
    if not len(candidates):
        return {}
    totals = policy.total(candidates) / sum(policy.weights.values())
    return dict(zip(candidates.names, totals.tolist(), strict=True))
