"""Which formula a scorer uses.

`intended` does what the scoring proposal wants, `literal` what its formula says; docs/adr/0001 has examples
where the two differ.
"""

from typing import Literal

from scoring.rules import Scores, uniform

Formula = Literal["intended", "literal"]


def scaled(values: Scores) -> Scores:
    """To 0..1, from the smallest of them to the largest; 1/2 where all are equal."""
    if not values.size:
        return values
    least, most = float(values.min()), float(values.max())
    return (values - least) / (most - least) if most > least else uniform(values.size, 0.5)
