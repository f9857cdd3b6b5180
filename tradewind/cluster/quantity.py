"""Kubernetes resource quantities, exact.

Kubernetes keeps quantities down to a nano unit (finer ones are rounded up), adds them exactly, and rounds up
to millicores or whole units only at the end. So quantities are integers of nano units here.
"""

import re
from functools import lru_cache

from tradewind.errors import QuantityError

NANO = 10**9

# No amount grows beyond this (8 Pi): a thousand of them still add up in an int64 column, and each is exact as
# a float64.
_MAX_AMOUNT = 2**53

# The API writes quantities in a short canonical form; what is longer is no honest quantity.
_MAX_LENGTH = 100

# With so few digits, an exponent beyond this is already past the largest or below the smallest amount.
_MAX_POWER = 128

_PATTERN = re.compile(
    r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]?)|[eE]([+-]?[0-9]{1,4}))"
)

_SUFFIX_NANOS: dict[str, int] = {
    "n": 1,
    "u": 10**3,
    "m": 10**6,
    "": NANO,
    **{suffix: NANO * 1000**power for power, suffix in enumerate("kMGTPE", start=1)},
    **{f"{suffix}i": NANO * 1024**power for power, suffix in enumerate("KMGTPE", start=1)},
}


@lru_cache(maxsize=4096)
def parse_nanos(text: str) -> int:
    """The quantity in nano units, rounded away from zero as Kubernetes does."""
    match = _PATTERN.fullmatch(text.strip()) if len(text) <= _MAX_LENGTH else None
    if match is None or not (match[2] or match[3]):
        raise QuantityError("not a quantity such as 500m, 2 or 4Gi")
    sign, whole, fraction, suffix, exponent = match.groups(default="")
    power = max(-_MAX_POWER, min(_MAX_POWER, int(exponent or "0"))) - len(fraction)
    numerator = int(whole + fraction) * _SUFFIX_NANOS[suffix] * _power_of_ten(power)
    nanos = _divide_up(numerator, _power_of_ten(-power))
    return -nanos if sign == "-" else nanos


def amount(resource: str, nanos: int) -> int:
    """Nano units in the unit of the resource's column: millicores for cpu, whole units for all else."""
    unit = NANO // 1000 if resource == "cpu" else NANO
    units = min(_MAX_AMOUNT, _divide_up(abs(nanos), unit))
    return -units if nanos < 0 else units


def _power_of_ten(power: int) -> int:
    return int(10 ** max(0, power))


def _divide_up(dividend: int, divisor: int) -> int:
    return -(-dividend // divisor)
