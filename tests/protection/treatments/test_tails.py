"""Top and bottom coding, against sdcMicro's rule and against counting."""

import numpy as np
import pytest

from riskcore.protection.records.treated import treated_columns
from riskcore.protection.treatments.rules import Treatment


def treated(words, values, weights=None):
    rule = Treatment.of("x", words)
    values = np.asarray(values, float)
    return treated_columns({"x": values}, {("x",): [rule]}, weights=weights)["x"]


def test_values_beyond_a_limit_become_it():
    # topBotCoding: x[x > value] <- replacement, here with the value itself.
    assert treated("top:3", [1, 3, 4, 9]).tolist() == [1, 3, 3, 3]
    assert treated("bottom:3", [1, 3, 4, 9]).tolist() == [3, 3, 4, 9]
    assert treated("top:3=99", [1, 3, 4, 9]).tolist() == [1, 3, 99, 99]
    assert treated("bottom:3=-9", [1, 3, 4, 9]).tolist() == [-9, 3, 4, 9]


def test_missing_values_stay_missing():
    result = treated("top:50%", [1, np.nan, 4, 9, 2])
    assert np.array_equal(result, [1, np.nan, 2, 2, 2], equal_nan=True)
    assert np.isnan(treated("top:50%", [np.nan, np.nan])).all()


@pytest.mark.parametrize("share", [1, 5, 7, 10, 29, 55, 99])
@pytest.mark.parametrize("n", [1, 7, 100, 300])
def test_a_share_is_the_quantile_of_type_1(share, n):
    values = np.random.default_rng(n).permutation(n) * 10.0
    result = treated(f"top:{share}%", values)
    # At most the share of the records exceeds the limit, and of any lower one more.
    limit = np.sort(values)[n - 1 - n * share // 100]
    assert np.array_equal(result, np.minimum(values, limit))
    mirrored = treated(f"bottom:{share}%", -values)
    assert np.array_equal(mirrored, -result)


def test_ties_at_the_limit_join_the_tail():
    assert treated("top:5n", [9, 8, 8, 8, 8, 8, 2, 1]).tolist() == [8] * 6 + [2, 1]
    assert treated("top:25%", [9, 8, 8, 8]).tolist() == [8] * 4


def test_weights_make_the_share_one_of_the_population():
    values, weights = [1, 2, 3, 4], np.array([10.0, 70, 10, 10])
    assert treated("top:20%", values, weights).tolist() == [1, 2, 2, 2]
    assert treated("top:19%", values, weights).tolist() == [1, 2, 3, 3]
    # Sums of tenths are not exact.
    tenth = np.full(10, 0.1)
    assert treated("top:30%", np.arange(10), tenth).max() == 6


def test_the_mean_of_the_tail_keeps_the_total():
    values, weights = np.array([1.0, 10, 20, 40]), np.array([1.0, 1, 2, 3])
    result = treated("top:3n=mean", values * 1.0 + 0.01, weights)
    assert result[1] == result[2] == result[3]
    assert result @ weights == pytest.approx((values + 0.01) @ weights, abs=0.06)
    plain = treated("bottom:3n=mean", [5, 1, 2, 3])
    assert plain.tolist() == [5, 2, 2, 2]


def test_a_mean_of_few_values_is_refused():
    with pytest.raises(
        ValueError, match="treat x=top:8=mean: the tail has fewer than 3"
    ):
        treated("top:8=mean", [1, 2, 9, 10])
    assert treated("top:10=mean", [1, 2, 9, 10]).tolist() == [1, 2, 9, 10]


def test_more_records_than_there_are_is_refused():
    with pytest.raises(
        ValueError, match="treat x=top:4n: the column has only 4 values"
    ):
        treated("top:4n", [1, 2, 3, 4, np.nan])


def test_whole_numbers_stay_whole():
    assert treated("top:3n=mean", [0, 1, 2, 2]).tolist() == [0, 2, 2, 2]


def test_no_negative_zero():
    assert not np.signbit(treated("bottom:0", [-1, 0, 2])).any()
