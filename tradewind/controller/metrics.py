"""What the planner tells Prometheus."""

from collections.abc import Iterable, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from tradewind.planner.moves.mover import Advice
from tradewind.planner.planner import PlanResult
from tradewind.planner.standing.standing import Solved

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class PlanMetrics:
    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self.registry = registry = registry or CollectorRegistry()
        self.writes = Counter(
            "tradewind_plan_writes",
            "What the planner wrote on pods, by kind and outcome.",
            ["kind", "outcome"],
            registry=registry,
        )
        self.protected = Counter(
            "tradewind_floor_replicas",
            "Replicas given a deletion cost, by outcome.",
            ["outcome"],
            registry=registry,
        )
        self.evictions = Counter(
            "tradewind_evictions",
            "Pods evicted for a move, a broken gang or a successor, by outcome.",
            ["outcome"],
            registry=registry,
        )
        self.move_sets = Counter(
            "tradewind_move_sets",
            "Sets of pods that were to be moved, by cause: done, or given up.",
            ["outcome", "cause"],
            registry=registry,
        )
        self.moving = Gauge("tradewind_moving", "1 while a set of pods is being moved.", registry=registry)
        self._advised = Gauge(
            "tradewind_move_savings_dollars_per_hour",
            "Hourly price of nodes that moving pods would empty, by whether the rules allow it now.",
            ["now"],
            registry=registry,
        )
        self.leading = Gauge("tradewind_planner_leading", "1 in the replica that leads.", registry=registry)
        self.held = Gauge(
            "tradewind_held_pods", "Pods held by Tradewind's scheduling gate.", registry=registry
        )
        self._plans = Counter(
            "tradewind_plans", "Plans by the engine that found them.", ["engine"], registry=registry
        )
        self._seconds = Histogram(
            "tradewind_plan_duration_seconds",
            "Seconds from closing a batch to its plan.",
            buckets=_SECONDS,
            registry=registry,
        )
        self._pods = Counter(
            "tradewind_planned_pods",
            "Pods in batches, by what became of them in the plan.",
            ["outcome"],
            registry=registry,
        )
        self._failures = Counter(
            "tradewind_solver_failures", "Plans for which the solvers failed.", registry=registry
        )
        self._cost = Gauge(
            "tradewind_plan_cost_dollars_per_hour",
            "Hourly price of all nodes in use after the latest plan.",
            registry=registry,
        )
        self._followed = Counter(
            "tradewind_followed_plans",
            "Pods ungated with a plan, by where they are: as planned, elsewhere, nowhere, gone.",
            ["outcome"],
            registry=registry,
        )
        self.binding_seconds = Histogram(
            "tradewind_plan_binding_duration_seconds",
            "Seconds from a plan to the last of its bindings.",
            buckets=_SECONDS,
            registry=registry,
        )

    def count_followed(self, planned: Mapping[str, str], found: Mapping[str, str]) -> None:
        """The node of each pod, by UID: where the plan has it, and where it is, if there is such a pod."""
        for uid, node in planned.items():
            outcome = "planned" if found.get(uid) == node else "elsewhere"
            if not found.get(uid):
                outcome = "nowhere" if uid in found else "gone"
            self._followed.labels(outcome).inc()

    def advised(self, advice: Iterable[Advice]) -> None:
        saved = {"true": 0.0, "false": 0.0}
        for each in advice:
            saved["false" if each.trouble else "true"] += each.chosen.price
        for now, dollars in saved.items():
            self._advised.labels(now).set(dollars)

    def planned(self, planned: PlanResult, seconds: float) -> None:
        self._plans.labels(planned.plan.engine).inc()
        self._seconds.observe(seconds)
        self._pods.labels("placed").inc(len(planned.plan.placements))
        self._pods.labels("unplaced").inc(len(planned.plan.unplaced))
        self._failures.inc(bool(planned.failure))
        self._cost.set(planned.plan.hourly_cost)


class StandingMetrics:
    def __init__(self, registry: CollectorRegistry) -> None:
        self.guide_writes = Counter(
            "tradewind_guide_writes",
            "Guides of the standing plan, by what became of them.",
            ["outcome"],
            registry=registry,
        )
        self.failures = Counter(
            "tradewind_standing_failures", "Solves of the whole cluster that failed.", registry=registry
        )
        self._seconds = Histogram(
            "tradewind_standing_duration_seconds",
            "Seconds of a solve of the whole cluster.",
            buckets=_SECONDS,
            registry=registry,
        )
        self._nodes = Gauge(
            "tradewind_standing_nodes",
            "Nodes by their role in the standing plan: fill, keep, drain.",
            ["role"],
            registry=registry,
        )
        self._unplaced = Gauge(
            "tradewind_standing_unplaced_pods",
            "Pods for which the standing plan has no room, those to come included.",
            registry=registry,
        )
        self._expected = Gauge(
            "tradewind_standing_expected_pods",
            "Pods to come, as the standing plan expects them: owed by controllers, there lately.",
            ["why"],
            registry=registry,
        )
        self._left_out = Gauge(
            "tradewind_standing_left_out_pods",
            "Number of pods in classes beyond the limit of the standing plan, of which it places none.",
            registry=registry,
        )
        self._new_nodes = Gauge(
            "tradewind_standing_new_nodes",
            "Nodes of pools that the standing plan would add, in parts.",
            registry=registry,
        )
        self._arcs = Gauge(
            "tradewind_standing_arcs",
            "Arcs of the standing plan's network: all, and those rebuilt for the latest solve.",
            ["arcs"],
            registry=registry,
        )

    def solved(self, solved: Solved, seconds: float) -> None:
        self._seconds.observe(seconds)
        for role, count in solved.guide.counts().items():
            self._nodes.labels(role).set(count)
        self._unplaced.set(float(solved.solution.unplaced.sum()))
        self._expected.labels("owed").set(solved.owed)
        self._expected.labels("lately").set(solved.expected)
        self._left_out.set(solved.left_out)
        self._new_nodes.set(solved.new_nodes)
        self._arcs.labels("all").set(solved.solution.arcs)
        self._arcs.labels("rebuilt").set(solved.solution.rebuilt)
