"""What a pod would rather have and can do without, scored as kube-scheduler's own plugins score it.

On the request path kube-scheduler adds these scores itself. A plan nominates one node, which kube-scheduler
then takes without scoring any: so a plan has to weigh them.
"""

from collections.abc import Iterator

from scoring.filters.node_affinity import matching_nodes
from scoring.filters.taints import tolerated
from scoring.filters.topology_spread import spread_domains
from scoring.rules import Scores
from scoring.topology import matching, tally, widened
from tradewind.cluster import lazy_numpy as np
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Cluster, Nodes

# Of the plugins in kube-scheduler's default profile.
TAINT_TOLERATION, NODE_AFFINITY, TOPOLOGY_SPREAD, INTER_POD_AFFINITY = 3, 2, 2, 2

# A taint that is better avoided, in weights of preferred node affinity: the plugins' weights are 3 to 2.
_TAINT = 150.0


def missed(pod: Pod, nodes: Nodes) -> Scores | None:
    """(N,) what each node lacks of the best, in points of the default profile's weights; None: no preference.

    Not in it: preferred terms of the pods that are placed already, and the default spreading of pods that
    name no constraint.
    """
    terms = [(weight, score) for weight, score in _scored(pod, nodes) if np.ptp(score) > 0]
    if not terms:
        return None
    lacking = np.zeros(len(nodes))
    for weight, score in terms:
        lacking += weight * (score.max() - score)
    return lacking


def missed_weight(pod: Pod, nodes: Nodes) -> Scores | None:
    """(N,) what each node lacks of the best, in weights of preferred node affinity; None: no preference.

    These are not normalised, so that the wishes of two pods can be compared. Preferences about other pods are
    not in it.
    """
    cluster = nodes.cluster
    offered = np.zeros(len(nodes))
    if pod.preferred_nodes:
        offered += _node_affinity(pod, cluster)[nodes.rows]
    if _soft_tainted(cluster):
        offered -= _TAINT * _intolerable(pod, cluster)[nodes.rows]
    return offered.max() - offered if len(nodes) and np.ptp(offered) > 0 else None


def _soft_tainted(cluster: Cluster) -> bool:
    return any(
        taint.effect == "PreferNoSchedule" for taints in cluster.table.taints.values for taint in taints
    )


def _scored(pod: Pod, nodes: Nodes) -> Iterator[tuple[int, Scores]]:
    if not len(nodes):
        return
    cluster = nodes.cluster
    if pod.preferred_nodes:
        yield NODE_AFFINITY, _of_highest(_node_affinity(pod, cluster)[nodes.rows])
    if _soft_tainted(cluster):
        yield TAINT_TOLERATION, 1 - _of_highest(_intolerable(pod, cluster)[nodes.rows])
    if pod.preferred_pods:
        yield INTER_POD_AFFINITY, _of_range(_inter_pod_affinity(pod, cluster)[nodes.rows])
    if pod.preferred_spreads:
        yield TOPOLOGY_SPREAD, _spread_score(pod, nodes)


def _of_highest(values: Scores) -> Scores:
    return values / values.max() if values.max() > 0 else values


def _of_range(values: Scores) -> Scores:
    return (values - values.min()) / np.ptp(values) if np.ptp(values) > 0 else np.zeros_like(values)


def _node_affinity(pod: Pod, cluster: Cluster) -> Scores:
    """An empty term, which as a required one would match nothing, is left out."""
    total = np.zeros(len(cluster.table))
    for each in pod.preferred_nodes:
        total += each.weight * matching_nodes(each.preference, cluster.table)
    return total


def _intolerable(pod: Pod, cluster: Cluster) -> Scores:
    counts = [
        sum(
            taint.effect == "PreferNoSchedule" and not tolerated(pod.tolerations, taint, comparisons=False)
            for taint in taints
        )
        for taints in cluster.table.taints.values
    ]
    return np.array([*counts, 0], np.float64)[cluster.table.taints.codes]


def _inter_pod_affinity(pod: Pod, cluster: Cluster) -> Scores:
    """Each pod in the domain counts once more."""
    total = np.zeros(len(cluster.table))
    for each in pod.preferred_pods:
        domains = cluster.table.domains(each.term.topology_key)
        pods = tally(cluster, matching(cluster, widened(each.term)), domains.codes, len(domains.values))
        total += each.weight * np.append(pods, 0)[domains.codes]
    return total


def _spread_score(pod: Pod, nodes: Nodes) -> Scores:
    """Fewer pods in the domain are better; a node without one of the labels is the worst."""
    cluster = nodes.cluster
    spreads = pod.preferred_spreads
    known = np.all([cluster.table.domains(each.topology_key).members for each in spreads], axis=0)[nodes.rows]
    crowding = np.zeros(len(nodes))
    for spread, domains in spread_domains(spreads, pod, cluster, comparisons=False):
        codes = domains.codes[nodes.rows]
        weight = np.log(len(np.unique(codes[known])) + 2)  # with more domains each of them has fewer pods
        crowding += np.append(domains.existing, 0)[codes] * weight + (spread.max_skew - 1)
    score = np.zeros(len(nodes))
    if known.any():
        counted = np.round(crowding)[known]
        low, high = counted.min(), counted.max()
        score[known] = (high + low - counted) / high if high > 0 else 1.0
    return score
