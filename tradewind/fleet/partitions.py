"""Which scheduler of several a request is at home with: by the region it asks for, else by what it is like.

A home saves conflicts and is no promise: two that believe they are the home of the same request meet at the
versions of its ledgers and of its binding, and one of them is refused.
"""

from collections.abc import Collection, Mapping
from hashlib import blake2b

from tradewind.fleet.placement import Placement

_BUCKETS = 8  # of each profile, so that several schedulers share it
_GIB_A_CORE = 6  # more memory than that for a core is a profile of its own


def partition_of(placement: Placement, requests: Mapping[str, int], key: str) -> str:
    """Of one region where the placement names one alone; else of a resource profile."""
    regions = {value for affinity in placement.affinities for value in _regions(affinity.field_selector)}
    if len(regions) == 1:
        return f"region {min(regions)}"
    return f"{_profile(requests)} {_number(key) % _BUCKETS}"


def _regions(selector: object) -> tuple[str, ...]:
    expressions = getattr(selector, "match_expressions", None) or ()
    return tuple(
        value
        for each in expressions
        if each.key == "region" and each.operator == "In"
        for value in each.values or ()
    )


def _profile(requests: Mapping[str, int]) -> str:
    if any("/" in resource for resource, amount in requests.items() if amount):
        return "devices"
    cores, gib = requests.get("cpu", 0) / 1000, requests.get("memory", 0) / 2**30
    return "memory" if gib > _GIB_A_CORE * cores else "plain"


def home_of(partition: str, schedulers: Collection[str]) -> str:
    """The highest number of all pairs: when a scheduler comes or goes, only its own partitions move."""
    return max(schedulers, key=lambda scheduler: (_number(f"{partition} {scheduler}"), scheduler), default="")


def _number(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest())
