"""Bands: which values they hold, and what these become."""

import numpy as np
import pytest

from riskcore.protection.records.treated import treated_columns
from riskcore.protection.treatments.rules import Treatment


def treated(words, values, weights=None):
    rule = Treatment.of("x", words)
    values = np.asarray(values, float)
    return treated_columns({"x": values}, {("x",): [rule]}, weights=weights)["x"]


def test_bands_begin_at_their_break():
    codes = treated("bands:0,10,20=1,2,3,4", [-1, 0, 9.9, 10, 19, 20, 99, np.nan])
    assert np.array_equal(codes, [1, 2, 2, 3, 3, 4, 4, np.nan], equal_nan=True)


def test_midpoints_of_the_breaks_and_the_breaks_of_open_bands():
    values = [-5, 0, 999.25, 1000, 1999, 2000, 99999]
    expected = [0, 500, 500, 1500, 1500, 2000, 2000]
    assert treated("bands:0,1000,2000", values).tolist() == expected
    third = [0.1 + 1 / 3, 5 / 3]
    assert treated("bands:0,1,2", third).tolist() == [0.5, 1.5]


@pytest.mark.parametrize("breaks", ["0,1,2,3", "0,3,4,9", "0.5,1.5,7.25", "-4,-3,2"])
def test_midpoints_of_whole_numbers_are_whole_and_in_the_band(breaks):
    values = np.arange(-6, 12.0)
    result = treated(f"bands:{breaks}", values)
    assert np.array_equal(result, np.rint(result))
    ends = [float(one) for one in breaks.split(",")]
    inside = values >= ends[0]
    band = np.searchsorted(ends, values, side="right")
    assert np.array_equal(np.searchsorted(ends, result[inside], "right"), band[inside])


def test_means_are_weighted():
    weights = np.array([1.0, 1, 2, 5, 5, 5])
    values = [0.5, 1.5, 3.0, 10.0, 12.0, 14.0]
    result = treated("bands:5=mean", values, weights)
    assert result.tolist() == [2.0, 2.0, 2.0, 12.0, 12.0, 12.0]


def test_means_of_few_values_are_refused():
    with pytest.raises(
        ValueError, match="treat x=bands:5=mean: a band has fewer than 3"
    ):
        treated("bands:5=mean", [1, 2, 3, 9, 10])
