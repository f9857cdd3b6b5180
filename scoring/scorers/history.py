from dataclasses import dataclass
from typing import ClassVar

from scoring.rules import Scores, uniform
from tradewind.cluster import lazy_numpy as np
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Nodes, Troubles, frozen
from tradewind.cluster.table import NodeTable

_NEUTRAL = 1.0


@dataclass(frozen=True)
class History:
    """Favours nodes on which pods have started without trouble.

    1 / (1 + share), where the share is that of starts that failed or, counted by half, were slow. A node of
    which nothing is known has none.
    """

    name: ClassVar[str] = "history"

    def score(self, _pod: Pod, nodes: Nodes) -> Scores:
        troubles = nodes.cluster.troubles
        if not troubles.shares:
            return uniform(len(nodes), _NEUTRAL)
        return nodes.cluster.table.derived(_column, troubles)[nodes.rows]


def _column(table: NodeTable, troubles: Troubles) -> Scores:
    shares = np.array([troubles.shares.get(name, 0.0) for name in table.names], np.float64)
    return frozen(1 / (1 + shares))
