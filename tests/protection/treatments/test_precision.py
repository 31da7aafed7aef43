"""Decimals of a column."""

import numpy as np

from riskcore.protection.treatments.rules import decimals_of, rounded_as


def test_decimals_of_a_column():
    assert decimals_of(np.array([1.0, np.nan, 1e300])) == 0
    assert decimals_of(np.array([0.25, 3.0])) == 2
    assert decimals_of(np.arange(1000) / 1000) == 3
    assert decimals_of(np.array([0.1 + 0.2])) is None
    assert decimals_of(np.array([1e-7])) is None
    assert decimals_of(np.array([np.nan])) == 0


def test_values_are_rounded_as_the_original_ones():
    assert rounded_as(np.array([0.126, -0.001]), np.array([0.25])).tolist() == [0.13, 0]
    odd = np.array([1 / 3])
    assert rounded_as(odd, odd) is odd
