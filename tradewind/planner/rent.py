"""What room costs a pod beside the node that it is on, because pods to come will need it."""

from typing import NamedTuple


class Rent(NamedTuple):
    """In shares of the node's price."""

    room: float = 0.0  # on every node
    durable: float = 0.0  # on durable nodes, beside that, from pods that are not of high priority
    opening: float = 1.0  # what opening a node counts for
    at_median: float = 0.0  # the part of that which is the median node's price instead of its own


NO_RENT = Rent()  # no more pods are to come
