import numpy as np
import pytest

from tradewind.cluster import lazy_numpy


def test_its_names_are_those_of_numpy() -> None:
    assert lazy_numpy.zeros is np.zeros
    assert lazy_numpy.bool_ is np.bool_


def test_what_numpy_does_not_have_it_does_not_have_either() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        getattr(lazy_numpy, "no_such_name")  # noqa: B009  mypy knows that there is none


def test_it_is_no_package_though_numpy_is_one() -> None:
    assert not hasattr(lazy_numpy, "__path__")
