"""Guides of the standing plan, and the object in which they travel."""

import json
import time
from typing import Any

from tradewind.cluster.guide import JOURNAL_KEY, KEY, VERSION, Guide, GuidedKind, Role, encode


def guide(*, drain: str = "b", age: float = 0.0, lives: float = 45.0, bid: float = 0.00002) -> Guide:
    """Of one kind of two nodes, a and b, of which one is to be drained."""
    needed = "a" if drain == "b" else "b"
    kind = GuidedKind(
        bids={"cpu": bid}, needed=1, own_pods=0, roles={Role.FILL: [needed], Role.DRAIN: [drain]}
    )
    solved = time.time() - age
    return Guide(version=VERSION, solved_at=solved, until=solved + lives, kinds=[kind])


def published(text: str | Guide, version: str = "1", journal: str | None = None) -> bytes:
    """A ConfigMap that says so."""
    said = encode(text) if isinstance(text, Guide) else text
    obj: dict[str, Any] = {
        "kind": "ConfigMap",
        "metadata": {"name": "tradewind-guide", "namespace": "here", "resourceVersion": version},
        "data": {KEY: said} | ({} if journal is None else {JOURNAL_KEY: journal}),
    }
    return json.dumps(obj).encode()
