"""Where the seconds went of the pods that waited longest: what the API server said of each, in order."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from bench.churn.ledger import Stay
from e2e import objects, outcomes

_Facts = dict[str, str]


class Timeline:
    """Shown every change of every pod, it keeps what has to do with where the pod is to run."""

    def __init__(self) -> None:
        self._last: dict[str, _Facts] = {}
        self._news: defaultdict[str, list[tuple[float, str]]] = defaultdict(list)

    def see(self, pod: objects.Object, at: float) -> None:
        name = pod["metadata"]["name"]
        facts, before = _facts(pod), self._last.get(name, {})
        self._last[name] = facts
        changed = [f"{what} {said or 'none'}" for what, said in facts.items() if before.get(what, "") != said]
        if changed:
            self._news[name].append((at, "; ".join(changed)))

    def slowest(self, stays: Mapping[str, Stay], count: int) -> Iterator[str]:
        """Lives without a node, then so many with the longest waits."""
        waits = {name: stay.bound - stay.created for name, stay in stays.items() if stay.bound is not None}
        yield from (self._text(name, stay) for name, stay in stays.items() if stay.bound is None)
        yield from (
            self._text(name, stays[name]) for name in sorted(waits, key=lambda each: -waits[each])[:count]
        )

    def _text(self, name: str, stay: Stay) -> str:
        fate = "never bound" if stay.bound is None else f"bound after {stay.bound - stay.created:.2f} s"
        ended = "" if stay.ended is None else f", ended after {stay.ended - stay.created:.2f} s"
        size = f"{stay.pod.cpu_milli} m, {stay.pod.memory / 2**30:.1f} GiB"
        lines = [f"{name} ({stay.pod.kind}, {size}) came at {stay.created:.2f} s, {fate}{ended}"]
        lines += [f"  {at - stay.created:+7.2f} s  {news}" for at, news in self._news[name]]
        return "\n".join(lines)


def _facts(pod: objects.Object) -> _Facts:
    spec, status = pod["spec"], pod.get("status", {})
    scheduled: dict[str, Any] = next(
        (each for each in status.get("conditions", ()) if each["type"] == "PodScheduled"), {}
    )
    refused = scheduled.get("reason") == "Unschedulable"
    return {
        "gates": ", ".join(gate["name"] for gate in spec.get("schedulingGates") or ()),
        "nominated": status.get("nominatedNodeName", ""),
        "refused": scheduled.get("message", "") if refused else "",
        "node": outcomes.bound_to(pod) or "",
        "deleted": pod["metadata"].get("deletionTimestamp", ""),
    }
