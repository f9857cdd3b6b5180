"""Who places the pods: the rows of the table."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

PRESETS = ("balanced", "cost", "availability")


@dataclass(frozen=True, kw_only=True)
class Way:
    name: str
    settings: Mapping[str, Any] | None = None  # of Tradewind; None: kube-scheduler alone
    guided: bool = False  # the standing plan guides the scores
    planned: bool = False  # pods are held and planned
    weight: int = 10  # of the extender


def _presets(name: str, **kinds: bool) -> tuple[Way, ...]:
    return tuple(Way(name=f"{name}, {each}", settings={"preset": each}, **kinds) for each in PRESETS)


WAYS = (
    Way(name="kube-scheduler"),
    *_presets("scores"),
    *_presets("guide", guided=True),
    *_presets("planned", planned=True),
)
