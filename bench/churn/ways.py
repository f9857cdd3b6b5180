"""Who places the pods: the rows of the table."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

PRESETS = ("balanced", "cost", "availability")

# For a replay that is an hour, in which a pod lives for a quarter of an hour in the mean, and each is of a
# workload of its own.
MOVES = {
    "mode": "act",
    "everySeconds": 60,
    "budget": {"evictions": 100, "perWorkload": 1, "perNamespace": 100},
    "minAgeSeconds": 60,
    "podCooldownSeconds": 3600,
    "nodeCooldownSeconds": 1800,
    "move": ["single-replica", "job"],
    "minDollars": 0.0,
}


@dataclass(frozen=True, kw_only=True)
class Way:
    name: str
    settings: Mapping[str, Any] | None = None  # of Tradewind; None: kube-scheduler alone
    guided: bool = False  # the standing plan guides the scores
    planned: bool = False  # pods are held and planned
    moved: bool = False  # and moved while they run
    weight: int = 10  # of the extender


def _presets(name: str, **kinds: bool) -> tuple[Way, ...]:
    return tuple(
        Way(
            name=f"{name}, {each}",
            settings={"preset": each, **(_moving(each) if kinds.get("moved") else {})},
            **kinds,
        )
        for each in PRESETS
    )


# For whom dollars come first: room has its price, that of durable nodes most, a node to be opened counts in
# full, half of it whatever its size, and pods wait for each other for longer.
_DOLLARS_FIRST = {
    "rent": 4,
    "durableRent": 1,
    "opening": 1,
    "openingAtMedian": 0.5,
    "batch": {"pauseSeconds": 0.2, "waitSeconds": 0.3, "burstSeconds": 1},
}


def _moving(preset: str) -> dict[str, Any]:
    """Not so where stability is what is paid for."""
    return {"planner": {"moves": MOVES, **({} if preset == "availability" else _DOLLARS_FIRST)}}


WAYS = (
    Way(name="kube-scheduler"),
    *_presets("scores"),
    *_presets("guide", guided=True),
    *_presets("planned", planned=True),
    *_presets("planned + moves", planned=True, moved=True),
)
