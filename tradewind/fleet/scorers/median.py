"""m / (m + x): 1/2 at the median, towards 1 for less, towards 0 for more, the same in any unit."""

import math

import numpy as np

from tradewind.fleet.sites import Floats


def median_of(values: Floats) -> float:
    """Of those that are known; NaN where none is."""
    known = values[~np.isnan(values)]
    return float(np.median(known)) if known.size else math.nan


def against(median: float, values: Floats) -> Floats:
    """NaN, an unknown value, counts as the median."""
    if math.isnan(median):
        return np.full(values.shape, 0.5)
    filled = np.where(np.isnan(values), median, values)
    return median / (median + filled) if median > 0 else (filled <= 0).astype(np.float64)
