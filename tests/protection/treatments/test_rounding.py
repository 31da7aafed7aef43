"""Rounding: exact decimals, nearest multiples, no bias."""

from decimal import ROUND_HALF_EVEN, Decimal

import numpy as np
import pytest

from riskcore.protection.records.treated import treated_columns
from riskcore.protection.treatments.rules import Treatment
from tests.secret_of import secret_of


def treated(words, values, secret=None):
    rule = Treatment.of("x", words)
    values = np.asarray(values, float)
    return treated_columns({"x": values}, {("x",): [rule]}, secret=secret)["x"]


def test_nearest_multiples_halves_to_the_even_one():
    values = [0, 49, 50, 51, 150, 250, -50, -151]
    assert treated("round:100", values).tolist() == [0, 0, 0, 100, 200, 200, 0, -200]


def test_multiples_of_decimals_are_the_doubles_of_their_decimals():
    for words, base in (
        ("round:0.1", "0.1"),
        ("round:0.05", "0.05"),
        ("round:2.5", "2.5"),
    ):
        whole = np.arange(-300, 300)
        expected = [float(Decimal(base) * int(i)) for i in whole]
        assert treated(words, np.array(expected) + 1e-9).tolist() == expected
        assert treated(words, expected).tolist() == expected


@pytest.mark.parametrize("digits", [1, 2, 3, 7])
def test_digits_against_decimal_arithmetic(digits):
    rng = np.random.default_rng(digits)
    values = rng.normal(size=500) * 10.0 ** rng.integers(-9, 12, 500)
    powers = [float(f"1e{power}") for power in range(-12, 20)]
    values = np.concatenate([values, powers, np.nextafter(powers, 0), [0.0]])

    def rounded(value):
        exact = Decimal(float(value))
        if not exact:
            return 0.0
        last = Decimal(1).scaleb(exact.adjusted() - digits + 1)
        return float(exact.quantize(last, ROUND_HALF_EVEN))

    expected = [rounded(value) for value in values]
    assert treated(f"round:{digits}digits", values).tolist() == expected


def test_values_that_cannot_be_rounded_are_refused():
    for value in (1e22, 1e-22):
        with pytest.raises(ValueError, match="treat x=round:2digits: 1 of 2 values"):
            treated("round:2digits", [1.0, value])


def test_unbiased_rounding_keeps_the_mean_and_goes_to_a_neighbor():
    secret = secret_of(1)
    values = np.full(40_000, 130.0)
    result = treated("round:100:unbiased", values, secret)
    assert set(result) == {100.0, 200.0}
    # 0.3 of them go up; four standard deviations of the share.
    assert abs((result == 200).mean() - 0.3) < 4 * np.sqrt(0.3 * 0.7 / values.size)
    negative = treated("round:100:unbiased", -values, secret)
    assert abs((negative == -100).mean() - 0.7) < 4 * np.sqrt(0.3 * 0.7 / values.size)


def test_multiples_stay_in_unbiased_rounding():
    secret = secret_of(1)
    values = np.arange(-5000, 5000) / 10
    assert np.array_equal(treated("round:0.1:unbiased", values, secret), values)


def test_missing_values_stay_missing():
    result = treated("round:2digits", [np.nan, 123])
    assert np.array_equal(result, [np.nan, 120], equal_nan=True)


def test_no_negative_zero():
    assert not np.signbit(treated("round:100", [-3.0]))[0]
