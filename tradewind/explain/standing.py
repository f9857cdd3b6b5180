"""What a pod is, where that matters more than any score: not every pod is placed by whoever asks us."""

from collections.abc import Iterator

from tradewind.cluster import bonds
from tradewind.cluster.objects import DEFAULT_SCHEDULER, Pod
from tradewind.explain.words import joined
from tradewind.planner import gate

# Whose requests reach us in every overlay that is shipped.
_ASKING = frozenset({DEFAULT_SCHEDULER, "tradewind"})


def is_static(pod: Pod) -> bool:
    """A kubelet runs it from a file; the API server has a mirror of it."""
    return bonds.MIRROR in pod.bonds or (pod.owner is not None and pod.owner.kind == "Node")


def is_over(pod: Pod) -> bool:
    """Nobody will place it any more."""
    return pod.finished or pod.deleting


def standing(pod: Pod) -> Iterator[str]:
    """Sentences, none for a pod of which there is nothing to say."""
    if is_static(pod):
        yield f"{pod} is a static pod: the kubelet of {pod.node_name} runs it, and no scheduler places it."
        return
    if pod.finished:
        yield f"{pod} has finished: it takes no room any more, and no scheduler will place it again."
    elif pod.deleting:
        yield f"{pod} is being deleted."
    elif pod.gates:
        yield f"{pod} is held by {_gates(pod)}: kube-scheduler does not look at it before."
    if pod.scheduler_name not in _ASKING:
        yield f"{pod} names the scheduler {pod.scheduler_name}, which need not ask Tradewind."


def unchecked(pod: Pod) -> Iterator[str]:
    """What was left out where no kube-scheduler has looked before."""
    if pod.claims:
        yield f"{joined(pod.claims)}: zone and node not checked by Tradewind; kube-scheduler does that."


def _gates(pod: Pod) -> str:
    named = f"the scheduling gate{'s' if len(pod.gates) > 1 else ''} {joined(pod.gates)}"
    return f"{named} until it is planned" if gate.held(pod) else f"{named} until somebody removes it"
