"""Which formula a scorer uses.

`intended` does what the scoring proposal wants, `literal` what its formula says; where the two differ, a page
in docs/adr/ works out an example.
"""

from typing import Literal

Formula = Literal["intended", "literal"]
