"""Where pods most likely are that kube-scheduler is about to bind.

kube-scheduler asks about the next pod before our watch brings the binding of the last: in a burst we are some
pods behind, and hundreds where its client may send 50 requests a second. To scores that do not know of these
a node that was just opened is still empty, and the next pod opens another. So a pod counts as being on the
node that was ranked first, which is where it goes nearly always, until the watch says where it is.

It is a guess, so it counts for scores alone: no node is rejected because of it.

It is known to this process alone, as what a ledger keeps.
"""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import msgspec

from extender.metrics import ExtenderMetrics
from tradewind.cluster.objects import Pod
from tradewind.cluster.roster import Roster
from tradewind.cluster.snapshot import Nodes

# By then it was bound, or kube-scheduler found another reason not to, which it says to nobody.
_SECONDS = 10.0
# Each takes a microsecond or two of a request.
_MOST = 512


class _Expectation(NamedTuple):
    pod: Pod  # as on the node
    until: float


class Expected:
    def __init__(self, metrics: ExtenderMetrics, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._pods: dict[str, _Expectation] = {}  # by namespace/name, the newest last
        self._right = metrics.expected.labels("as_expected")
        self._wrong = metrics.expected.labels("elsewhere")
        self._unseen = metrics.expected.labels("not_seen")

    def expect(self, pod: Pod, node_name: str) -> None:
        """Asked about again, or made anew under the same name, it counts once."""
        name = str(pod)
        self._pods.pop(name, None)
        placed = msgspec.structs.replace(pod, node_name=node_name)
        self._pods[name] = _Expectation(placed, self._clock() + _SECONDS)
        if len(self._pods) > _MOST:
            self._unseen.inc()
            del self._pods[next(iter(self._pods))]

    def counted(self, pod: Pod, nodes: Nodes) -> Nodes:
        """As the pod is to see them: with all others on the nodes where they are expected.

        Neither they nor the pod itself are among those to come. If the watch has not brought one of them yet,
        they have only begun to come, and how many will is not known.
        """
        self._settle(nodes.cluster.roster)
        own = str(pod)
        others = [each.pod for name, each in self._pods.items() if name != own]
        nodes = nodes.taken(others)
        if nodes.cluster.to_come is None:
            return nodes
        to_come = Counter(nodes.cluster.to_come)
        for each in (pod, *others):
            to_come.subtract(each.requests)
        known = +to_come if min(to_come.values()) >= 0 else None
        return replace(nodes, cluster=replace(nodes.cluster, to_come=known))

    def _settle(self, roster: Roster) -> None:
        """Forget whom the watch has brought, and who took too long."""
        now = self._clock()
        for name, each in list(self._pods.items()):
            known = roster.find(name)
            if known is not None and known.uid == each.pod.uid:
                (self._right if known.node_name == each.pod.node_name else self._wrong).inc()
            elif each.until <= now:
                self._unseen.inc()
            else:
                continue
            del self._pods[name]
