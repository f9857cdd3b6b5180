"""A decision told in sentences, the most important first."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

import numpy as np

from tradewind.cluster.guide import Role
from tradewind.cluster.objects import Pod
from tradewind.explain.comparison import advantages, decisive, outweighed
from tradewind.explain.decisions import Decision, Filtering, Ranking, Rejected
from tradewind.explain.standing import is_over, is_static, standing, unchecked
from tradewind.explain.words import counted, dollars, joined
from tradewind.planner.plan_annotation import PlanAnnotation

# A decision was answered to kube-scheduler; an evaluation is what we would answer about all nodes of a file.
Basis = Literal["decision", "evaluation"]

_MOST_NAMED = 3
_TIME = "%Y-%m-%d %H:%M:%S UTC"
_OUTWEIGHED = "its own scores or an earlier nomination outweighed Tradewind's"
_NOT_TOLD = "it was not told, for Tradewind is in the shadow"


def sentences(named: str, decision: Decision, pod: Pod | None, origin: Basis) -> Iterator[str]:
    """`named` is the pod's namespace/name, `pod` what the cluster state knows of it now."""
    filtering = decision.filtering
    if pod is not None:
        yield from standing(pod)
        if is_static(pod):
            return
    if decision.failed_open:
        yield f"Tradewind failed open for {named}: {decision.failed_open}."
        yield "Every node passed and none was preferred, as if Tradewind were not there."
    elif decision.ranking is not None:
        yield from _RankedChoice(
            named, pod, origin, decision.ranking, filtering, decision.plan, shadow=decision.shadow
        ).told()
    elif filtering is not None:
        yield from _unranked(named, pod, filtering, decision.plan)
    if filtering is not None:
        yield _counted(filtering, origin)
    if decision.shadow:
        yield "Tradewind is in the shadow: it let every node pass and preferred none."
    if pod is not None and origin == "evaluation":
        yield from unchecked(pod)


@dataclass(frozen=True)
class _RankedChoice:
    named: str
    pod: Pod | None
    origin: Basis
    ranking: Ranking
    filtering: Filtering | None
    plan: PlanAnnotation | None
    shadow: bool = False

    def told(self) -> Iterator[str]:
        node = self.pod.node_name if self.pod else ""
        row = self.ranking.row_of(node)
        if self.plan is not None and self.ranking.planned is not None:
            yield from self._planned(self.plan, self.ranking.planned, node, row)
            return
        if row is not None and self.ranking.ranks[row] == 1:
            yield f"{self.named} {_is_on(self.pod)} {self._priced(row)}{self._still()}{self._because()}."
        else:
            placed = self._priced(row) if row is not None else node
            yield f"{_where(self.named, self.pod, placed)} {self._preference()}{self._because()}."
        yield from self._second()
        if node and (row is None or self.ranking.ranks[row] > 1):
            yield from self._elsewhere(node, row)
        yield from self._cheaper()
        yield from self._drained(node)
        if self.plan is not None:
            yield self._without_effect(self.plan)

    def _planned(self, plan: PlanAnnotation, planned: int, node: str, row: int | None) -> Iterator[str]:
        """The scores had no say, but what they said tells what the plan costs."""
        if row == planned:
            yield f"{self.named} {_is_on(self.pod)} {self._priced(planned)}, as planned."
        else:
            yield _where(self.named, self.pod, self._priced(row) if row is not None else node)
        yield f"{_plan(self.named, plan)}; the planned node is preferred over the scores."
        if self.ranking.ranks[planned] > 1:
            offers = joined([each.words for each in decisive(advantages(self.ranking, 0, planned))])
            yield f"By the scores {self._priced(0)} would be better: it offers {offers}."
        if node and row != planned:
            yield f"kube-scheduler chose {node}: {_OUTWEIGHED}."

    def _without_effect(self, plan: PlanAnnotation) -> str:
        if self.ranking.count == 1 and self.ranking.names[0] == plan.node:
            return f"{_plan(self.named, plan)}."
        return f"{_plan(self.named, plan)}, but that node was not available, so the scores decided."

    def _still(self) -> str:
        count = self.ranking.best_count
        if count > 1:
            return f", one of {count:,} equally good nodes"
        return ", still the best node for it" if self.origin == "evaluation" else ""

    def _preference(self) -> str:
        count = self.ranking.best_count
        named = [self._priced(row) for row in range(min(count, len(self.ranking.names), _MOST_NAMED))]
        if count > len(named):
            named.append(f"{count - len(named):,} more")
        alike = " alike" if count > 1 else ""
        if self.origin == "evaluation":
            it = "a pod like it" if self.pod and is_over(self.pod) else "it"
            return f"Placed now, {it} would go to {joined(named, 'or')}"
        prefers = "prefers" if self.pod and not self.pod.node_name else "preferred"
        if self.shadow:
            prefers = "would prefer" if prefers == "prefers" else "would have preferred"
        return f"Tradewind {prefers} {joined(named)}{alike}"

    def _because(self) -> str:
        second = self.ranking.runner_up
        if self.ranking.count == 1 and not self._asked_about_one():
            return ", the only candidate left"
        if second is None or not self._best_for_the_same_reasons():
            return ""
        offers = joined([each.words for each in decisive(advantages(self.ranking, 0, second))])
        return f" because {'it offers' if self.ranking.best_count == 1 else 'they offer'} {offers}"

    def _best_for_the_same_reasons(self) -> bool:
        best = self.ranking.scores[:, : self.ranking.best_count]
        return bool((best == best[:, :1]).all())

    def _second(self) -> Iterator[str]:
        row = self.ranking.runner_up
        if row is None:
            return
        strongest = advantages(self.ranking, 0, row)[0]
        offers = [each.words for each in outweighed(advantages(self.ranking, row, 0), strongest)]
        rest = f"it offers {joined(offers)}, which counts for less" if offers else "it offers nothing better"
        place = "next" if self.ranking.best_count > 1 else "second"
        yield f"{self._priced(row)} is {place}: {rest}."

    def _elsewhere(self, node: str, row: int | None) -> Iterator[str]:
        rejected = next((each for each in self._rejected() if node in each.names), None)
        if self.origin == "decision":
            yield self._outvoted(node, row, rejected)
        elif row is not None:
            offers = joined([each.words for each in decisive(advantages(self.ranking, 0, row))])
            yield f"Compared with {node}, {self.ranking.names[0]} offers {offers}."
        elif rejected is not None:
            yield f"{node} itself would not take it now: {rejected.reason}."

    def _outvoted(self, node: str, row: int | None, rejected: Rejected | None) -> str:
        chose = f"kube-scheduler chose {node}"
        if rejected is not None and self.shadow:
            return f"{chose}, which Tradewind would have rejected: {rejected.reason}; {_NOT_TOLD}."
        if rejected is not None:
            return f"{chose}, although Tradewind had rejected it: {rejected.reason}."
        if row is None and self.ranking.best_count > len(self.ranking.names):
            return f"{chose}, perhaps one of the {self.ranking.best_count:,} equally good ones."
        place = (
            "which is not among the best here" if row is None else f"number {self.ranking.ranks[row]} here"
        )
        return f"{chose}, {place}: {_NOT_TOLD if self.shadow else _OUTWEIGHED}."

    def _cheaper(self) -> Iterator[str]:
        """Which node would cost less, and why it was not chosen."""
        costs = np.where(np.isnan(self.ranking.costs), np.inf, self.ranking.costs)
        row = int(costs.argmin())
        if costs[row] < costs[0] and self.ranking.ranks[row] > 1 and row != self.ranking.runner_up:
            offers = joined([each.words for each in decisive(advantages(self.ranking, 0, row))])
            cheapest = f"{self._priced(row)} is the cheapest, but number {self.ranking.ranks[row]}"
            yield f"{cheapest}: {self.ranking.names[0]} offers {offers}."
        for rejected in self._rejected():
            if rejected.costs.size and rejected.costs[0] < costs[0]:
                cost = dollars(float(rejected.costs[0]))
                yield f"{rejected.names[0]} would cost {cost}, but is rejected: {rejected.reason}."

    def _drained(self, node: str) -> Iterator[str]:
        """Of the nodes that were told of: what the standing plan has in mind for them."""
        second = self.ranking.runner_up
        told = [self.ranking.names[0], *([self.ranking.names[second]] if second is not None else []), node]
        for name in dict.fromkeys(filter(None, told)):
            found = self.ranking.guide.kind_of(name) if self.ranking.guide else None
            if found is not None and found[1] is Role.DRAIN:
                plan = (
                    f"the standing plan needs {found[0].needed:,} of these {counted(found[0].count, 'node')}"
                )
                yield f"Node {name} is to be drained: {plan}."

    def _asked_about_one(self) -> bool:
        return self.filtering is not None and self.filtering.candidates == 1

    def _rejected(self) -> Sequence[Rejected]:
        return self.filtering.rejected if self.filtering else ()

    def _priced(self, row: int) -> str:
        return f"{self.ranking.names[row]} ({dollars(float(self.ranking.costs[row]))})"


def _unranked(
    named: str, pod: Pod | None, filtering: Filtering, plan: PlanAnnotation | None
) -> Iterator[str]:
    yield _where(named, pod, pod.node_name if pod else "")
    if plan is not None:
        yield f"{_plan(named, plan)}."
    if filtering.passed:
        passed = counted(filtering.passed, "node")
        yield f"{passed} can take it; kube-scheduler did not ask here which one to prefer."
        return
    most = max(filtering.rejected, key=lambda each: each.count, default=None)
    if most is None:
        yield "There was no node to choose from."
        return
    nodes = counted(most.count, "node")
    yield f"No candidate can take it. The most frequent reason: {most.reason} ({nodes})."


def _plan(named: str, plan: PlanAnnotation) -> str:
    planned = (
        f"{named} is planned on node {plan.node} until {datetime.fromtimestamp(plan.until, UTC):{_TIME}}"
    )
    return f"{planned}, and no other node will do before then" if plan.strict else planned


def _where(named: str, pod: Pod | None, node: str) -> str:
    if pod is None:
        return f"{named} is gone, or too new to be seen."
    if not node:
        return f"{named} was never placed." if is_over(pod) else f"{named} is not placed yet."
    return f"{named} {_is_on(pod)} {node}."


def _is_on(pod: Pod | None) -> str:
    return "ran on" if pod is not None and pod.finished else "is placed on"


def _counted(filtering: Filtering, origin: Basis) -> str:
    rejected = filtering.candidates - filtering.passed
    verdict = f"{filtering.passed:,} passed, {rejected:,} {'was' if rejected == 1 else 'were'} rejected"
    if origin == "evaluation":
        nodes = counted(filtering.cluster_nodes, "node")
        return f"Considered {filtering.candidates:,} of {nodes}: {verdict}."
    asked = (
        f"kube-scheduler asked about {filtering.candidates:,} of {counted(filtering.cluster_nodes, 'node')}"
    )
    if filtering.candidates == 1 and filtering.cluster_nodes > 1:
        verdict += "; its own filters left no other, or the pod was nominated to it"
    return f"{asked}: {verdict}."
