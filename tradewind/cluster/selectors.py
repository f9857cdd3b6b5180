"""Label selectors: requirements that must all hold.

An empty selector matches everything; the missing one (None) matches nothing, as in Kubernetes.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from tradewind.cluster.wire import LabelSelector, Requirement

Selector = tuple[Requirement, ...]

_INT64 = range(-(2**63), 2**63)
_MOST_DIGITS = 19  # of an int64; Python refuses to read numbers of thousands of digits


def selector_of(wire: LabelSelector | None) -> Selector | None:
    if wire is None:
        return None
    exact = (Requirement(key, "In", (value,)) for key, value in (wire.match_labels or {}).items())
    return canonical((*exact, *(wire.match_expressions or ())))


# A label key: an optional DNS prefix, then a name; and what may follow it in a selector written as text.
_KEY = r"(?:[a-z0-9]([-.a-z0-9]*[a-z0-9])?/)?[A-Za-z0-9]([-_.A-Za-z0-9]*[A-Za-z0-9])?"
_VALUE = r"(?:[A-Za-z0-9]([-_.A-Za-z0-9]*[A-Za-z0-9])?)?"
_PART = re.compile(
    rf"\s*(?:(?P<not>!\s*)?(?P<exists>{_KEY})"
    rf"|(?P<key>{_KEY})\s*(?:(?P<equal>==?|!=)\s*(?P<value>{_VALUE})|\s(?P<set>in|notin)\s*\((?P<values>[^()]*)\)))\s*"
)


@lru_cache(maxsize=256)
def parse_selector(text: str) -> Selector:
    """A selector as kubectl takes it: `app=web,tier in (a, b),!legacy`; raise ValueError where it is not."""
    parts = re.split(r",(?![^(]*\))", text)
    return canonical(_parse_part(part) for part in parts)


def _parse_part(text: str) -> Requirement:
    match = _PART.fullmatch(text)
    if match is None:
        raise ValueError(f'"{text.strip()}" is not a label requirement such as app=web or tier in (a, b)')
    if match["exists"]:
        return Requirement(match["exists"], "DoesNotExist" if match["not"] else "Exists", ())
    if match["equal"]:
        return Requirement(match["key"], "NotIn" if match["equal"] == "!=" else "In", (match["value"],))
    values = tuple(value.strip() for value in match["values"].split(","))
    bad = next((value for value in values if not re.fullmatch(_VALUE, value)), None)
    if bad is not None:
        raise ValueError(f'"{bad}" is not a label value')
    return Requirement(match["key"], "In" if match["set"] == "in" else "NotIn", values)


def canonical(requirements: Iterable[Requirement]) -> Selector:
    """In one order, so that equal selectors compare and hash equal however they were written."""
    same = {
        Requirement(each.key, each.operator, tuple(sorted(set(each.values or ())))) for each in requirements
    }
    return tuple(sorted(same, key=lambda each: (each.key, each.operator, each.values)))


def matches(selector: Selector | None, labels: Mapping[str, str]) -> bool:
    if selector is None:
        return False
    for requirement in selector:  # noqa: SIM110  runs for every group of pods: a generator doubles its time
        if not holds(requirement, labels.get(requirement.key)):
            return False
    return True


def holds(requirement: Requirement, value: str | None) -> bool:
    """Whether a label of this value, None for a missing one, satisfies the requirement."""
    match requirement.operator:
        case "In":
            return value is not None and value in (requirement.values or ())
        case "NotIn":
            return value is None or value not in (requirement.values or ())
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            return value is not None and _compares(requirement, value)
        case _:
            return False


def _compares(requirement: Requirement, value: str) -> bool:
    bounds = requirement.values or ()
    if len(bounds) != 1:
        return False
    number, bound = integer(value), integer(bounds[0])
    if number is None or bound is None:
        return False
    return number > bound if requirement.operator == "Gt" else number < bound


def integer(text: str) -> int | None:
    """As Go parses a base-10 int64: no spaces, no underscores, nothing out of range."""
    sign, digits = (text[0], text[1:]) if text[:1] in {"+", "-"} else ("", text)
    significant = digits.lstrip("0")
    if not (digits.isascii() and digits.isdigit()) or len(significant) > _MOST_DIGITS:
        return None
    number = int(f"{sign}{significant or 0}")
    return number if number in _INT64 else None
