"""What one pod costs a plan on each node, in dollars an hour, beside the price of nodes that must be opened.

The weights that rank nodes for a single pod set the exchange rates here, so that scores and plans want the
same: see docs/adr/0019. Left out are the packing scorers, because a plan packs by itself, and stability,
because the loss by interruptions is counted in dollars.
"""

import numpy as np

from scoring.policy import Policy
from scoring.preferences import missed
from scoring.scorers.price import Price
from scoring.scorers.workload_priority import WorkloadPriority
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Nodes
from tradewind.planner.problem import Floats

# What the best score is worth over the worst, as a part of what the pod costs: enough to decide between nodes
# that cost the same, too little to open one that would not be needed.
SCORE_WORTH = 0.01

# A cost c scores m/(m + c), m being the median: at the median a dollar is worth 1/(4m) of the price score.
_SLOPE = 4.0
# kube-scheduler multiplies a plugin's weight by 100 and our levels, at the extender's weight of 10, by 100 as
# well: one point of a plugin is a tenth of the way from our worst node to the best.
_LEVELS_A_POINT = 0.1


def pod_cost(pod: Pod, policy: Policy, nodes: Nodes, price: Floats, share: Floats, *, rent: float) -> Floats:
    """(N,) `share` is the pod's largest share of any resource of the node, `price` the whole node's.

    `rent` is what room costs beside the node, in shares of its price: where more pods are to come, room on a
    node that is open is not free, because somebody else will need it.
    """
    own = price * share
    cost = (nodes.interruption_rate + rent) * own
    weights = {rule.name: weight for rule, weight in policy.scorers}
    all_weights = sum(weights.values())
    if not all_weights or not len(nodes):
        return cost
    total = policy.total(pod, nodes)
    cost += SCORE_WORTH * float(own.mean()) * (1 - total / all_weights)
    dollars = _SLOPE / max(
        weights.get(Price.name, 0.0), SCORE_WORTH * all_weights
    )  # a point of score, times m
    for rule, weight in policy.scorers:
        if isinstance(rule, WorkloadPriority) and weight:
            # The choice is whether to open a durable node, so a node's price is what it is weighed against.
            cost += weight * dollars * float(np.median(price)) * (1 - rule.score(pod, nodes))
    lacking = missed(pod, nodes)
    if lacking is not None:
        cost += dollars * float(np.median(own)) * _LEVELS_A_POINT * float(np.ptp(total)) * lacking
    return cost
