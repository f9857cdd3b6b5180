"""The standing plan's own process, which knows the cluster: told of changes only, it delays no batch."""

import time
from collections.abc import Collection, Mapping, Sequence

from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Snapshot
from tradewind.planner.settings import PoolTemplate
from tradewind.planner.solver_process import SolverLostError, SolverProcess
from tradewind.planner.standing.changes import PolicyOf, Told
from tradewind.planner.standing.classes import NOTHING
from tradewind.planner.standing.standing import Solved

# Beyond the time of the solver itself: a whole cluster is read, and made a network.
_GRACE_SECONDS = 15.0


class StandingWorker(SolverProcess):
    """Started with the first solve, and again, with the whole cluster, after it was lost."""

    def __init__(self) -> None:
        super().__init__("tradewind.planner.standing.solver")
        self._told = Told()

    def close(self) -> None:
        super().close()
        self._told = Told()

    def solve(
        self,
        snapshot: Snapshot,
        pods: Sequence[Pod],
        policy_of: PolicyOf,
        seconds: float,
        needed: Collection[str] = (),
        *,
        templates: Sequence[PoolTemplate] = (),
        wanted: Mapping[str, int] = NOTHING,
    ) -> Solved | None:
        """None without nodes, or if it took too long; raise SolverLostError where the process fails."""
        try:
            self.start()
            changes = self._told.changes(snapshot, pods, policy_of, templates)
            connection = self.ask(changes, seconds, needed, time.time(), dict(wanted))
            deadline = time.monotonic() + seconds + _GRACE_SECONDS
            solved: Solved | None = self.receive(connection, deadline)
            self.receive(connection, deadline)
        except (SolverLostError, OSError) as error:
            self.close()
            raise SolverLostError(str(error)) from error
        return solved
