import math
from dataclasses import dataclass
from typing import ClassVar

from scoring.rules import Scores, uniform
from scoring.shares import allocatable, free_shares
from tradewind.cluster import lazy_numpy as np
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Floats, Nodes, Supply, frozen

# Rounding alone must not look like a move.
STILL = 1e-12

# Vanishes in a sum with any share, so that it counts only on a node with nothing left, which is in balance.
_NEXT_TO_NOTHING = 2.0**-500


@dataclass(frozen=True)
class Equivalence:
    """Favours nodes that the pod leaves with the same ratio of free resources as when they were empty.

    So no node ends up with plenty of memory and no cpu. The balance of a node is the cosine of what is free
    of each resource, in shares of the node, and the same of the empty node. Where the pod brings some
    candidates closer to balance, those come first, the one that is most out of balance now ahead; where it
    brings none closer, the one that stays closest to balance is best.
    """

    name: ClassVar[str] = "equivalence"

    resources: tuple[str, ...] = ("cpu", "memory")

    def score(self, pod: Pod, nodes: Nodes) -> Scores:
        if len(self.resources) < 2:  # noqa: PLR2004  one alone is always in balance
            return uniform(len(nodes), 1.0)
        shares = free_shares(pod, nodes, self.resources)
        balances = balance(np.maximum(shares, nodes.of_supply(_least, self.resources)))
        now: Scores = balances[0]
        after: Scores = balances[1]
        closer = after > now + STILL
        return np.where(closer, 1 - now / 2, after / 2) if np.count_nonzero(closer) else after


def _least(supply: Supply, resources: tuple[str, ...]) -> Floats:
    """(K, N) the smallest share that counts; of what a node does not have everything counts as free."""
    return frozen(np.where(allocatable(supply, resources) > 0, _NEXT_TO_NOTHING, 1.0))


def balance(shares: Floats) -> Floats:
    """(..., N) the cosine of shares (..., K, N), 1 in balance, drawn out to 0 where only one has any left."""
    count = shares.shape[-2]
    squares: Floats = np.add.reduce(shares * shares, axis=-2)
    sums: Floats = np.add.reduce(shares, axis=-2)
    worst = 1 / math.sqrt(count)
    drawn_out: Floats = (sums / np.sqrt(count * squares) - worst) / (1 - worst)
    return drawn_out.clip(0, 1)
