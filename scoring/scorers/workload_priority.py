from dataclasses import dataclass
from typing import ClassVar

from scoring.formulas import Formula
from scoring.rules import Scores, uniform
from tradewind.cluster import lazy_numpy as np
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Nodes


@dataclass(frozen=True)
class WorkloadPriority:
    """Favours durable nodes for pods of high priority, and spot nodes for batch pods.

    High is a pod priority of `high` or more; batch is a negative priority, or a Job as the owner. For any
    other pod all nodes are equal. The literal formula, 1 for a pod of high priority and 0 for any other, is
    the same on all nodes too, and so decides nothing.
    """

    name: ClassVar[str] = "workload_priority"

    high: int = 1000
    formula: Formula = "intended"

    def score(self, pod: Pod, nodes: Nodes) -> Scores:
        high = pod.priority >= self.high
        if self.formula == "literal":
            return uniform(len(nodes), float(high))
        if high:
            return nodes.durable.astype(np.float64)
        if is_batch(pod):
            return (~nodes.durable).astype(np.float64)
        return uniform(len(nodes), 0.5)


def is_batch(pod: Pod) -> bool:
    return pod.priority < 0 or (pod.owner is not None and pod.owner.kind == "Job")
