"""What one pod costs a plan on each node, in dollars an hour, beside the price of nodes that must be opened.

The weights that rank nodes for a single pod set the exchange rates here, so that scores and plans want the
same: see docs/adr/0019. Left out are the packing scorers, because a plan packs by itself.
"""

from typing import NamedTuple

import numpy as np

from scoring.policy import Policy
from scoring.preferences import missed, missed_weight
from scoring.rules import Scorer
from scoring.scorers.equivalence import Equivalence
from scoring.scorers.price import Price
from scoring.scorers.resource_fit import ResourceFit
from scoring.scorers.stability import Stability
from scoring.scorers.workload_priority import WorkloadPriority
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Nodes
from tradewind.planner.problem import Floats, Mask
from tradewind.planner.rent import Rent

# What the scores that are left out are still worth: enough to decide between nodes that cost the same, too
# little to open one that would not be needed.
SCORE_WORTH = 0.01
# Dollars stay worth something where price has no weight.
_LEAST_PRICE_WEIGHT = 0.01  # of all weights

# A cost c scores m/(m + c), m being the median: at the median a dollar is worth 1/(4m) of the price score.
_SLOPE = 4.0
# The largest weight that Kubernetes lets a preference have.
FULL_WEIGHT = 100
# A pod that requests next to nothing prefers as if it took this share of a node.
_LEAST_SHARE = 0.01

# At this rent the price score is what room costs; where it costs more, so does what priority is weighed in.
_PRICE_SCORE_RENT = 2.0

# How many times more what comes first is worth than all that comes after it.
_CERTAIN = 2.0

# A plan counts the price of nodes that it opens on top of the rent, so that price outweighs stability more
# than it does in the scores: with this, pods are interrupted no more often than with scores alone.
_STABILITY = 1.3

_HIGH = WorkloadPriority().high

_LEFT_OUT: tuple[type[Scorer], ...] = (Price, ResourceFit, Equivalence)


def pod_cost(pod: Pod, policy: Policy, nodes: Nodes, price: Floats, share: Floats, *, rent: Rent) -> Floats:
    """(N,) `share` is the pod's largest share of any resource of the node, `price` the whole node's.

    `nodes` are those that the pod may go to, as for the scores. Where more pods are to come, room on a
    node that is open is not free: `rent` is what it costs.
    """
    if not len(nodes):
        return np.zeros(0)
    own = price * share
    median = float(np.median(own))
    cost = nodes.interruption_rate * own + rent.room * _harmonic_mean(own, median)
    if rent.durable and pod.priority < _high(policy):
        cost += rent.durable * own * nodes.durable
    rate = _rate(policy)
    if not rate:
        return cost
    for rule, weight, scores in policy.terms(pod, nodes):
        lacking = weight * (scores.max() - scores)
        if isinstance(rule, _LEFT_OUT):
            cost += SCORE_WORTH * rate * median * lacking
        elif isinstance(rule, WorkloadPriority):
            # The choice is whether to open a durable node, so a node's price is what it is weighed against.
            node = max(1.0, rent.room / _PRICE_SCORE_RENT) * float(np.median(price))
            cost += _SLOPE * rate * node * lacking
        elif isinstance(rule, Stability):
            cost += _STABILITY * _SLOPE * rate * median * lacking
        else:
            cost += _SLOPE * rate * median * lacking
    lacking_weight = missed_weight(pod, nodes)
    if lacking_weight is not None:
        cost += wish(policy, price, share) * lacking_weight / FULL_WEIGHT
    return cost


def wish(policy: Policy, price: Floats, share: Floats) -> float:
    """Dollars an hour that a missed preference of weight 100 costs a pod, by `price` and `share` as above."""
    if not price.size:
        return 0.0
    least = _LEAST_SHARE * float(np.median(price))
    return _SLOPE * _rate(policy) * policy.preferences * max(float(np.median(price * share)), least)


def _rate(policy: Policy) -> float:
    """What a point of score is worth, for each dollar of the median; 0 where nothing is scored."""
    weights = {rule.name: weight for rule, weight in policy.scorers}
    all_weights = sum(weights.values())
    if not all_weights:
        return 0.0
    return 1 / max(weights.get(Price.name, 0.0), _LEAST_PRICE_WEIGHT * all_weights)


class Spread(NamedTuple):
    cost: Floats  # (N,) of the first pod of the class on each node
    step: float  # what each further one costs beyond the one before, for each share of the node that it takes


def spread(pod: Pod, nodes: Nodes, price: Floats, share: Floats, *, cost: Floats, allowed: Mask) -> Spread:
    """Costs by which the pods of a class fill nodes to the same share, the freest node first.

    A pod costs the share of the node that is taken with it, of the resource of which it takes the largest
    share there. A share of one pod on the largest node is worth any price; a node that lacks what the pod
    prefers costs more than all others however full.
    """
    rows = np.flatnonzero(allowed)
    if not rows.size:
        return Spread(cost, 0.0)
    candidates = nodes.take(rows)
    unit = float(price[rows].max() + np.ptp(cost[rows])) or 1.0
    full = _CERTAIN * unit / float(share[rows].min())
    first = cost.copy()
    first[rows] += full * _taken_with(pod, candidates)
    preferred = missed(pod, candidates)
    if preferred is not None:
        first[rows] += _CERTAIN * full * preferred
    return Spread(first, full)


def _taken_with(pod: Pod, nodes: Nodes) -> Floats:
    """(N,) the share of the node that is taken with the pod, of what it takes the largest share of."""
    taken, largest = np.zeros(len(nodes)), np.full(len(nodes), -1.0)
    for resource, request in pod.requests.items():
        row = nodes.resource_rows.get(resource)
        if row is None:
            continue
        total = np.maximum(nodes.allocatable[row], 1)
        share = request / total
        taken = np.where(share > largest, 1 - (nodes.free[row] - request) / total, taken)
        largest = np.maximum(largest, share)
    return taken


def _high(policy: Policy) -> int:
    """The priority from which on durable nodes are for the pod."""
    return next((rule.high for rule, _ in policy.scorers if isinstance(rule, WorkloadPriority)), _HIGH)


def _harmonic_mean(own: Floats, median: float) -> Floats:
    """Half of what the price score says, in dollars: 2m(1 - m/(m + c)) is 2mc/(m + c), which at m is m."""
    return np.divide(2 * median * own, own + median, out=np.zeros_like(own), where=own + median > 0)
