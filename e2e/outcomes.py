"""Waits for what a test wants to see, by watch and with a deadline; the error says what was seen last."""

from e2e.api import Api
from e2e.objects import Object

SECONDS = 60.0


class NotSeenError(AssertionError):
    """The outcome did not come in time."""


def bound_node(api: Api, namespace: str, pod: str, seconds: float = SECONDS) -> str:
    """The node that the pod was bound to."""
    last = "the pod was never there"
    for change in api.changes(_pods(namespace), seconds, fieldSelector=f"metadata.name={pod}"):
        if change.object and (node := bound_to(change.object)):
            return node
        last = _describe(change.object) if change.object else last
    raise NotSeenError(f"pod {namespace}/{pod} was not bound within {seconds:.0f} s; last: {last}")


def bound_nodes(
    api: Api, namespace: str, count: int, *, app: str = "", seconds: float = SECONDS
) -> dict[str, str]:
    """The node of each pod, as soon as `count` pods (of that Deployment) are bound."""
    query = {"labelSelector": f"app={app}"} if app else {}
    pods: dict[str, Object] = {}
    nodes: dict[str, str] = {}
    for change in api.changes(_pods(namespace), seconds, **query):
        if change.type == "SYNCED":
            continue
        name = change.object["metadata"]["name"]
        pods[name] = change.object
        if node := bound_to(change.object):
            nodes[name] = node
        if change.type == "DELETED":
            pods.pop(name, None)
            nodes.pop(name, None)
        if len(nodes) >= count:
            return nodes
    waiting = "; ".join(_describe(pods[name]) for name in sorted(pods.keys() - nodes.keys())[:5])
    seen = f"{len(nodes)} of {count} pods in {namespace} were bound within {seconds:.0f} s"
    raise NotSeenError(f"{seen}; still waiting: {waiting}")


def unschedulable(api: Api, namespace: str, pod: str, containing: str = "", seconds: float = SECONDS) -> str:
    """The message with which the scheduler gave up on the pod for now."""
    last = "the pod was never there"
    for change in api.changes(_pods(namespace), seconds, fieldSelector=f"metadata.name={pod}"):
        if not change.object:
            continue
        condition = _scheduled_condition(change.object)
        message: str = condition.get("message", "")
        if condition.get("status") == "False" and containing in message:
            return message
        last = _describe(change.object)
    wanted = f"pod {namespace}/{pod} unschedulable with {containing!r}"
    raise NotSeenError(f"{wanted} was not seen within {seconds:.0f} s; last: {last}")


def event(
    api: Api, namespace: str, name: str, reason: str, *, containing: str = "", seconds: float = SECONDS
) -> str:
    """The message of the first event of that reason about that object."""
    seen: list[str] = []
    selector = f"involvedObject.name={name},reason={reason}"
    for change in api.changes(f"/api/v1/namespaces/{namespace}/events", seconds, fieldSelector=selector):
        message: str = change.object.get("message", "")
        if change.object and containing in message:
            return message
        seen.append(message)
    raise NotSeenError(
        f"no event {reason} about {namespace}/{name} with {containing!r} within {seconds:.0f} s; seen: {seen}"
    )


def bound_to(pod: Object) -> str:
    """Empty while the pod waits."""
    return str(pod["spec"].get("nodeName", ""))


def _scheduled_condition(pod: Object) -> Object:
    conditions: list[Object] = pod["status"].get("conditions", [])
    return next((entry for entry in conditions if entry["type"] == "PodScheduled"), {})


def _describe(pod: Object) -> str:
    condition = _scheduled_condition(pod)
    said = f"{condition.get('reason', 'no condition yet')}: {condition.get('message', '')}"
    return f"{pod['metadata']['name']} on {bound_to(pod) or 'no node'}, {said}"


def _pods(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/pods"
