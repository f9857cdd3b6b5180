"""Why pods are moved."""

from enum import StrEnum


class Cause(StrEnum):
    """In the order in which they are served."""

    NOTICE = "notice"  # the node has a termination notice
    FLOOR = "floor"  # too few replicas are on durable nodes
    CRITICAL = "critical"  # a pod of high priority is on a spot node
    MONEY = "money"  # a node becomes empty


CLAUSES = {
    Cause.NOTICE: "{node} has a termination notice",
    Cause.FLOOR: "too few replicas of its workload are on durable nodes",
    Cause.CRITICAL: "it has a high priority, and {node} is a spot node",
    Cause.MONEY: "{node} can become empty",
}


def because(cause: Cause, node: str) -> str:
    """The rest of a sentence, for a pod on that node."""
    return CLAUSES[cause].format(node=node)
