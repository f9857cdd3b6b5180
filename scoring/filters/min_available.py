from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from scoring.eligible import can_satisfy
from scoring.filters.durable_floor import movable, number, reaching_durable
from scoring.pod_filter import PodFilter, Relations, Waiting
from scoring.rules import Mask, all_nodes
from tradewind.cluster import lazy_numpy as np
from tradewind.cluster.names import ANNOTATION_PREFIX, MAX_PODS
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Floats, Nodes, Supply, frozen
from tradewind.cluster.table import NodeTable, Rows

REPLICAS = ANNOTATION_PREFIX + "min-available"
PROBABILITY = ANNOTATION_PREFIX + "min-available-probability"

# Nodes of one instance type in one zone are taken back together, as far as anybody can promise.
_TOGETHER = ("node.kubernetes.io/instance-type", "topology.kubernetes.io/zone")
_HOURS_OF_A_RATE = 730.0
_ROUNDING = 1e-12


class Asked(NamedTuple):
    replicas: int
    probability: float

    def __bool__(self) -> bool:
        return self.replicas > 0 and self.probability > 0


_NOTHING = Asked(0, 0.0)


@dataclass(frozen=True)
class MinAvailable(PodFilter):
    """With the given probability, `replicas` of a workload survive the next hour.

    Each kind of spot node, an instance type in a zone, fails as a whole with the chance that its interruption
    rate gives for an hour; kinds fail independently of each other. While the workload has fewer replicas than
    that, all that it has must survive. The pod's annotations override the parameters.

    It gives way where no node that is eligible for the pod could keep the promise, and has nothing to say of
    pods whose node is fixed.
    """

    name: ClassVar[str] = "min_available"
    reason: ClassVar[str] = "node(s) were too likely to be lost for the workload's minimum of replicas"
    resolvable: ClassVar[bool] = False

    replicas: int = 0
    probability: float = 0.0

    def __post_init__(self) -> None:
        if self.replicas < 0:
            raise ValueError(f"replicas: {self.replicas} is negative")
        if not 0 <= self.probability < 1:
            raise ValueError(f"probability: {self.probability} is not within 0 and 1")

    def feasible(self, pod: Pod, nodes: Nodes) -> Mask:
        asked = self.asked(pod)
        if not asked:
            return all_nodes(len(nodes))
        kept = self.chances(pod, nodes) >= asked.probability - _ROUNDING
        return kept.take(nodes.rows) if can_satisfy(pod, nodes, kept) else all_nodes(len(nodes))

    def chances(self, pod: Pod, nodes: Nodes) -> Floats:
        """By each node of the cluster, how likely the minimum survives an hour with the pod there."""
        kinds, loss = _kinds(nodes), nodes.columns.supply.derived(hourly_loss)
        placed = list(_placed(pod, nodes))
        minimum = min(self.asked(pod).replicas, 1 + sum(count for _, count in placed))
        lots: dict[int, Lot] = {}
        for row, count in placed:
            before = lots.get(int(kinds[row]), Lot(0, 0.0))
            lots[int(kinds[row])] = Lot(before.replicas + count, max(before.loss, float(loss[row])))
        of_all = survivors(lots.values(), minimum)
        of_others = dict(zip(lots, _without_each(list(lots.values()), survivors((), minimum)), strict=True))
        chances = np.empty(len(loss))
        for kind, at in _distinct(kinds, loss):
            there = lots.get(kind, Lot(0, 0.0))
            lot = Lot(there.replicas + 1, max(there.loss, float(loss[at[0]])))
            chances[at] = _with_lots(of_others.get(kind, of_all), [lot])[minimum]
        return chances

    def shortfall(self, pod: Pod, nodes: Nodes, rows: Rows) -> str:
        """How far the best of these nodes, which were rejected, is from the promise."""
        best = float(self.chances(pod, nodes).take(nodes.rows[rows]).max())
        asked = self.asked(pod)
        minimum = min(asked.replicas, 1 + sum(count for _, count in _placed(pod, nodes)))
        chance = f"{100 * best:.6g}%, {100 * asked.probability:.6g}% is asked for"
        return f"{minimum} of its replicas would survive an hour with {chance}"

    def attainable(self, pod: Pod, nodes: Nodes) -> Mask:
        if not self.asked(pod) or can_satisfy(pod, nodes, nodes.cluster.durable):
            return all_nodes(len(nodes))
        return self.feasible(pod, nodes)

    def relate(self, waiting: Waiting, nodes: Nodes, relations: Relations) -> None:
        """As replicas on durable nodes, on the safe side: all kinds of spot node in use may be needed."""
        spot = ~nodes.durable
        if not spot.any():
            return
        worst = float(nodes.columns.supply.derived(hourly_loss).take(nodes.rows)[spot].max())
        kinds = len(set(_kinds(nodes).take(nodes.rows)[spot].tolist()))
        seen: set[str] = set()
        for index in sorted(waiting.subject):
            pod, asked = waiting.pods[index], self.asked(waiting.pods[index])
            if not asked or pod.workload in seen:
                continue
            seen.add(pod.workload)
            classes = frozenset(i for i, each in enumerate(waiting.pods) if each.workload == pod.workload)
            placed = list(_placed(pod, nodes))
            total = sum(count for _, count in placed)
            durable = sum(count for row, count in placed if nodes.cluster.durable[row])
            pods = total + sum(waiting.counts[i] for i in classes)
            required = [
                0 if 1 - min(kinds, n) * worst >= asked.probability else min(asked.replicas, n)
                for n in range(pods + 1)
            ]
            reaching, others = reaching_durable(classes, waiting, nodes)
            if reaching:
                relations.keep_durable(reaching, durable=durable, total=total + others, required=required)

    def counts_workload(self, pod: Pod) -> bool:
        return bool(self.asked(pod))

    def asked(self, pod: Pod) -> Asked:
        """Nothing of a pod whose node is fixed."""
        own = pod.annotations
        if not (own or self.replicas) or not movable(pod):
            return _NOTHING
        return Asked(
            int(number(own.get(REPLICAS), self.replicas, MAX_PODS)),
            number(own.get(PROBABILITY), self.probability, 1 - _ROUNDING),
        )


class Lot(NamedTuple):
    """Replicas that are lost together."""

    replicas: int
    loss: float  # how likely


def survivors(lots: Iterable[Lot], most: int) -> Floats:
    """(most + 1,) how likely so many replicas survive; the last is for as many or more."""
    none = np.zeros(most + 1)
    none[0] = 1.0
    return _with_lots(none, lots)


def _with_lots(chances: Floats, lots: Iterable[Lot]) -> Floats:
    most = len(chances) - 1
    for lot in lots:
        after = chances * lot.loss
        shifted = min(lot.replicas, most)
        after[shifted:] += chances[: most + 1 - shifted] * (1 - lot.loss)
        after[most] += chances[most + 1 - shifted :].sum() * (1 - lot.loss)
        chances = after
    return chances


def _without_each(lots: Sequence[Lot], chances: Floats) -> Iterator[Floats]:
    """For each of the lots, the chances with all others added: by halves, so that each is added rarely."""
    if len(lots) == 1:
        yield chances
    elif lots:
        half = len(lots) // 2
        yield from _without_each(lots[:half], _with_lots(chances, lots[half:]))
        yield from _without_each(lots[half:], _with_lots(chances, lots[:half]))


def hourly_loss(supply: Supply) -> Floats:
    """(N,) the chance to be interrupted within an hour; the rate is that of a month."""
    return frozen(-np.expm1(np.log1p(-np.minimum(supply.interruption_rate, 0.999)) / _HOURS_OF_A_RATE))


def _kinds(nodes: Nodes) -> Rows:
    return nodes.cluster.table.derived(_kinds_of)


def _kinds_of(table: NodeTable) -> Rows:
    """(N,) the kind of each node of the cluster; one without the labels is a kind of its own."""
    codes: dict[tuple[str, ...], int] = {}
    keys = [tuple(node.labels.get(label, "") for label in _TOGETHER) for node in table.nodes]
    rows = [
        codes.setdefault(key if all(key) else (node.name,), len(codes))
        for key, node in zip(keys, table.nodes, strict=True)
    ]
    return frozen(np.array(rows, np.intp))


def _distinct(kinds: Rows, loss: Floats) -> Iterator[tuple[int, Rows]]:
    """Each kind and rate once, with the rows of its nodes."""
    rows_of: dict[tuple[int, float], list[int]] = {}
    for row, key in enumerate(zip(kinds.tolist(), loss.tolist(), strict=True)):
        rows_of.setdefault(key, []).append(row)
    for (kind, _), rows in rows_of.items():
        yield kind, np.array(rows, np.intp)


def _placed(pod: Pod, nodes: Nodes) -> Iterator[tuple[int, int]]:
    """(row, replicas) of the pod's workload; pods that are being deleted don't count."""
    for group in nodes.cluster.groups_of_workload(pod.workload):
        if not group.deleting:
            rows, counts = nodes.cluster.counts(group)
            yield from zip(rows.tolist(), counts.tolist(), strict=True)
