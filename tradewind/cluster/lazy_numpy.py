"""numpy, loaded when something of it is first used.

Rules and columns import this as `np`: a command that reads rules and computes nothing, as check-config does,
would spend a quarter of its time on loading numpy.
"""

from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from numpy import *  # noqa: F403
    from numpy.typing import *  # noqa: F403
else:
    _Scalar = TypeVar("_Scalar")

    class NDArray(Generic[_Scalar]):
        """For annotations, with the scalar in quotes: NDArray["np.bool_"]."""

    def __getattr__(name: str) -> Any:
        if name.startswith("__"):  # what import asks of any module
            raise AttributeError(name)
        import numpy as np  # noqa: PLC0415

        found = globals()[name] = getattr(np, name)
        return found
