from contextlib import suppress
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import quantities
from tradewind.cluster.quantity import NANO, amount, parse_nanos
from tradewind.errors import QuantityError

LARGEST = 2**53


@pytest.mark.parametrize(
    ("text", "nanos"),
    [
        pytest.param("0", 0, id="zero"),
        pytest.param("2", 2 * NANO, id="a bare number counts whole units"),
        pytest.param("500m", NANO // 2, id="m is a thousandth"),
        pytest.param("7n", 7, id="n is the smallest unit"),
        pytest.param("3u", 3_000, id="u is a millionth"),
        pytest.param("1k", 1_000 * NANO, id="decimal kilo is a small k"),
        pytest.param("1M", 10**6 * NANO, id="decimal mega"),
        pytest.param("1G", 10**9 * NANO, id="decimal giga"),
        pytest.param("1T", 10**12 * NANO, id="decimal tera"),
        pytest.param("1P", 10**15 * NANO, id="decimal peta"),
        pytest.param("1E", 10**18 * NANO, id="decimal exa is an E without digits"),
        pytest.param("1Ki", 2**10 * NANO, id="binary kilo"),
        pytest.param("1Mi", 2**20 * NANO, id="binary mega"),
        pytest.param("1Gi", 2**30 * NANO, id="binary giga"),
        pytest.param("1Ti", 2**40 * NANO, id="binary tera"),
        pytest.param("1Pi", 2**50 * NANO, id="binary peta"),
        pytest.param("1Ei", 2**60 * NANO, id="binary exa"),
        pytest.param("1e3", 1_000 * NANO, id="an exponent"),
        pytest.param("1E3", 1_000 * NANO, id="an E with digits is an exponent"),
        pytest.param("12e+2", 1_200 * NANO, id="an exponent with a sign"),
        pytest.param("5e-1", NANO // 2, id="a negative exponent"),
        pytest.param("1.5Gi", 3 * 2**29 * NANO, id="a fraction with a suffix"),
        pytest.param("0.1Ki", 102_400_000_000, id="a binary fraction stays exact: 102.4"),
        pytest.param(".5", NANO // 2, id="nothing before the point"),
        pytest.param("5.", 5 * NANO, id="nothing after the point"),
        pytest.param("+2", 2 * NANO, id="a plus sign"),
        pytest.param("-2", -2 * NANO, id="a minus sign"),
        pytest.param("007", 7 * NANO, id="leading zeros"),
        pytest.param(" 4Gi ", 4 * 2**30 * NANO, id="space around it is cut off"),
        pytest.param("0.1n", 1, id="less than a nano unit is rounded up"),
        pytest.param("-0.1n", -1, id="rounding goes away from zero"),
        pytest.param("1.0000000001", NANO + 1, id="digits past the ninth are rounded up"),
        pytest.param("1e-1000", 1, id="the tiniest amount is still something"),
        pytest.param("0e-1000", 0, id="zero stays zero"),
        pytest.param("9" * 40 + "e-40", NANO, id="many digits and a small exponent: 0.999... is rounded up"),
    ],
)
def test_a_quantity_is_read_as_kubernetes_reads_it(text: str, nanos: int) -> None:
    assert parse_nanos(text) == nanos


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "4Gb",
        "1.1.1",
        "1 Gi",
        "1gi",
        "1K",
        "1ki",
        "1mi",
        "1e",
        "1e+",
        "1e1.5",
        "0x10",
        "--1",
        "1-",
        "1_000",
        "1,5",
        "NaN",
        "Infinity",
        "true",
        "٣",  # a digit, but not an ASCII one
        "1Gi\n2",
        ".",  # Kubernetes takes an empty number for zero, but never writes one
        "m",
        "1" * 5_000,  # more digits than Python turns into an int
    ],
)
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(QuantityError):
        parse_nanos(text)


@pytest.mark.parametrize(
    ("resource", "text", "expected"),
    [
        pytest.param("cpu", "1", 1_000, id="cpu is counted in millicores"),
        pytest.param("cpu", "100u", 1, id="a part of a millicore is rounded up to one"),
        pytest.param("cpu", "1.0001", 1_001, id="cpu is rounded up to the next millicore"),
        pytest.param("memory", "100m", 1, id="a part of a byte is rounded up to one"),
        pytest.param("memory", "0.1Ki", 103, id="102.4 bytes are 103"),
        pytest.param("memory", "64Gi", 64 * 2**30, id="memory is counted in bytes"),
        pytest.param("nvidia.com/gpu", "2", 2, id="extended resources are counted in pieces"),
        pytest.param("memory", "-1500m", -2, id="rounding goes away from zero"),
        pytest.param("memory", "1Ei", LARGEST, id="no amount is larger than what columns add up safely"),
        pytest.param("cpu", "-1e30", -LARGEST, id="nor smaller"),
    ],
)
def test_the_unit_of_a_column(resource: str, text: str, expected: int) -> None:
    assert amount(resource, parse_nanos(text)) == expected


@given(quantities())
def test_reading_agrees_with_exact_arithmetic(text: str) -> None:
    exact = _by_hand(text) * NANO
    nanos = parse_nanos(text)
    assert abs(nanos) >= abs(exact)
    assert abs(nanos) - abs(exact) < 1
    assert nanos * exact >= 0


@given(quantities(), st.sampled_from(["cpu", "memory"]))
def test_an_amount_is_never_less_than_what_was_asked_for(text: str, resource: str) -> None:
    units = abs(parse_nanos(text)) * Fraction(1_000 if resource == "cpu" else 1, NANO)
    found = abs(amount(resource, parse_nanos(text)))
    assert found == LARGEST or 0 <= found - units < 1


@given(st.integers(0, 2**62))
def test_nanos_survive_a_round_trip(nanos: int) -> None:
    assert parse_nanos(f"{nanos}n") == nanos


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(QuantityError):
        assert isinstance(parse_nanos(text), int)


def _by_hand(text: str) -> Fraction:
    decimal = "num kMGTPE"
    for power, suffix in enumerate("KMGTPE", start=1):
        if text.endswith(f"{suffix}i"):
            return Fraction(text[:-2]) * (1 << 10 * power)
    if text[-1] in decimal:
        return Fraction(text[:-1]) * Fraction(f"1e{3 * decimal.index(text[-1]) - 9}")
    return Fraction(Decimal(text))
