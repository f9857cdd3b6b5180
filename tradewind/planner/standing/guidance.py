"""From the solution of the whole cluster to a guide: whole nodes, steady roles, bid prices."""

from collections.abc import Hashable, Iterable, Mapping, Sequence

import numpy as np

from tradewind.cluster.guide import VERSION, Guide, GuidedKind, Role
from tradewind.cluster.snapshot import Nodes
from tradewind.planner.problem import Mask
from tradewind.planner.standing.classes import Demand, StandingClass
from tradewind.planner.standing.kinds import NodeKind
from tradewind.planner.standing.network import Solution, unit

# A hundredth of a node is none: it is what rounding leaves.
_ROUNDING = 0.01


class Guidance:
    """Remembers which nodes were needed, so that a tie does not change roles."""

    def __init__(self, needed: Iterable[str] = ()) -> None:
        """`needed` by a guide that others have made."""
        self._needed = frozenset(needed)

    def steady(self, nodes: Nodes, kinds: Sequence[NodeKind]) -> Mapping[Hashable, int]:
        """How many nodes of each kind the last guide needed."""
        names = nodes.cluster.table.names
        return {kind.key: sum(names[row] in self._needed for row in kind.rows) for kind in kinds}

    def guide(
        self,
        nodes: Nodes,
        kinds: Sequence[NodeKind],
        demands: Mapping[StandingClass, Demand],
        solution: Solution,
        *,
        now: float,
        seconds: float,
    ) -> Guide:
        """`now` since 1970; it is not to be followed for more than `seconds`."""
        in_use = _in_use(nodes, demands)
        guided = []
        for at, kind in enumerate(kinds):
            if kind.new:
                continue
            needed = min(int(np.ceil(solution.opened[at] - _ROUNDING)), len(kind.rows))
            bids = zip(nodes.resource_rows, solution.bids[:, at].tolist(), strict=True)
            pods = zip(demands, solution.flow[:, at].tolist(), strict=True)
            guided.append(
                GuidedKind(
                    bids={
                        resource: float(f"{bid / unit(resource):.6g}") for resource, bid in bids if bid > 0
                    },
                    needed=needed,
                    own_pods=kind.own_pods,
                    roles=self._roles(nodes, kind, needed, in_use),
                    targets={each.name: round(flow, 2) for each, flow in pods if flow > _ROUNDING},
                )
            )
        guide = Guide(version=VERSION, solved_at=now, until=now + seconds, kinds=guided)
        self._needed = frozenset(guide.needed())
        return guide

    def _roles(self, nodes: Nodes, kind: NodeKind, needed: int, in_use: Mask) -> dict[Role, list[str]]:
        """Those in use first, of these those that were needed before, then the fullest."""
        names = nodes.cluster.table.names
        had = kind.capacity > 0
        free = nodes.free[:, list(kind.rows)][had] / kind.capacity[had, None]
        emptiness = dict(zip(kind.rows, free.min(axis=0, initial=1.0).tolist(), strict=True))
        order = sorted(
            kind.rows,
            key=lambda row: (not in_use[row], names[row] not in self._needed, emptiness[row], names[row]),
        )
        roles: dict[Role, list[str]] = {role: [] for role in Role}
        for rank, row in enumerate(order):
            role = Role.DRAIN if rank >= needed else Role.FILL if in_use[row] else Role.KEEP
            roles[role].append(names[row])
        return roles


def _in_use(nodes: Nodes, demands: Mapping[StandingClass, Demand]) -> Mask:
    mask = np.zeros(len(nodes), np.bool_)
    for demand in demands.values():
        mask[nodes.cluster.table.rows(demand.running)] = True
    return mask
