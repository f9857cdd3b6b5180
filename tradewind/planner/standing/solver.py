"""What runs in the process of `tradewind.planner.standing.worker`: changes come in, guides go out."""

import resource
import sys
from collections.abc import Collection, Mapping
from multiprocessing.connection import Connection

from tradewind.planner import solver_process
from tradewind.planner.standing.changes import Changes, Listener
from tradewind.planner.standing.programme import Programme
from tradewind.planner.standing.standing import Solved, StandingPlan

# A fifth of it is for 12,500 nodes and 50,000 pods.
# Without memory a solve fails, and another process begins.
MAX_BYTES = 2**30


class Solver:
    def __init__(self) -> None:
        self._listener = Listener()
        self._programme = Programme()
        self._plan: StandingPlan | None = None
        self._seconds = 0.0

    def solve(
        self,
        changes: Changes,
        seconds: float,
        needed: Collection[str],
        now: float,
        wanted: Mapping[str, int],
    ) -> Solved | None:
        """`needed` are nodes of a guide from before this process was; `wanted` pods, by their controllers."""
        snapshot, pods, policy_of, pools = self._listener.hear(changes)
        if self._plan is None or self._seconds != seconds:
            self._plan = StandingPlan(seconds, self._programme.solve, needed)
            self._seconds = seconds
        return self._plan.run(snapshot, pods, policy_of, now, pools, wanted=wanted)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_DATA, (MAX_BYTES, MAX_BYTES))
    parent = Connection(int(sys.argv[1]))
    solver = Solver()
    solver_process.serve(parent, lambda request: parent.send(solver.solve(*request)))
