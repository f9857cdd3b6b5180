"""Karmada's spread constraints: between so many and so many clusters, regions, zones or providers."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from tradewind.fleet.division import Option
from tradewind.fleet.placement import SpreadConstraint


class Allowed(NamedTuple):
    options: Sequence[Option]  # that together keep within every maximum
    required: Sequence[str]  # that must get a replica, so that every minimum is reached


def within(
    options: Sequence[Option], constraints: Sequence[SpreadConstraint], replicas: int
) -> Allowed | None:
    """None where the minima cannot be reached; `options` come with the best first.

    Sites that have replicas come in first, then the best, as long as no maximum is passed. Where that leaves
    too little room, those with most room come first instead.
    """
    if not constraints:
        return Allowed(options, ())
    here_first = sorted(options, key=lambda option: not option.here)
    by_room = sorted(options, key=lambda option: -option.room)
    found = None
    for order in (here_first, by_room):
        chosen = _capped(order, constraints)
        allowed = [option for option in options if option.name in chosen]
        required = _minimal([option for option in order if option.name in chosen], constraints)
        if required is None:
            continue
        found = Allowed(allowed, required)
        if sum(option.room for option in allowed) >= replicas:
            return found
    return found


def _groups(option: Option, by: str) -> tuple[str, ...]:
    return (option.groups or {}).get(by, ())


def _capped(options: Sequence[Option], constraints: Sequence[SpreadConstraint]) -> Collection[str]:
    """Best first, whoever brings a group to every minimum that lacks one, then to any; then all that fit."""
    used: Mapping[str, set[str]] = {each.spread_by_field: set() for each in constraints}
    chosen: dict[str, None] = {}
    for enough in (all, any, lambda _: True):
        for option in options:
            if option.name in chosen or not _may(option, constraints, used):
                continue
            lacking = [each.spread_by_field for each in constraints if _lacks(each, used)]
            if enough(set(_groups(option, by)) - used[by] for by in lacking):
                chosen[option.name] = None
                for by, groups in used.items():
                    groups.update(_groups(option, by))
    return chosen


def _lacks(constraint: SpreadConstraint, used: Mapping[str, set[str]]) -> bool:
    return len(used[constraint.spread_by_field]) < constraint.min_groups


def _may(option: Option, constraints: Sequence[SpreadConstraint], used: Mapping[str, set[str]]) -> bool:
    for each in constraints:
        groups = _groups(option, each.spread_by_field)
        if not groups:
            return False  # as Karmada: a cluster without a region is in none
        after = used[each.spread_by_field].union(groups)
        if each.max_groups and len(after) > each.max_groups:
            return False
    return True


def _minimal(options: Sequence[Option], constraints: Sequence[SpreadConstraint]) -> list[str] | None:
    """The sites that must get a replica so that every minimum is reached, the best of each group."""
    required: dict[str, None] = {}
    for each in constraints:
        by = each.spread_by_field
        covered = {group for option in options if option.name in required for group in _groups(option, by)}
        for option in options:
            if len(covered) >= each.min_groups:
                break
            if option.room >= 1 and set(_groups(option, by)) - covered:
                required[option.name] = None
                covered.update(_groups(option, by))
        if len(covered) < each.min_groups:
            return None
    return list(required)
