import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats.contingency import association

from riskcore.comparison import measures

SHARES = st.lists(st.integers(0, 50), min_size=2, max_size=8).filter(any)


def shares(counts):
    return np.array(counts, float) / sum(counts)


def test_distances_by_hand():
    p, q = np.array([0.5, 0.5, 0.0]), np.array([0.25, 0.25, 0.5])
    assert measures.total_variation(p, q) == 0.5
    assert measures.total_variation(p, p * (1 + 2e-16)) == 0.0


@given(SHARES, SHARES)
def test_distances_have_their_bounds(one, other):
    size = min(len(one), len(other))
    if not (any(one[:size]) and any(other[:size])):
        return
    p, q = shares(one[:size]), shares(other[:size])
    far = measures.total_variation(p, q)
    assert 0 <= far <= 1
    assert measures.total_variation(q, p) == far
    assert measures.total_variation(p, p) == 0.0


@pytest.mark.parametrize("shape", [(2, 2), (3, 4), (5, 2)])
def test_cramers_v_is_that_of_scipy(shape):
    table = np.random.default_rng(1).integers(1, 30, shape)
    first, second = (one.ravel() for one in np.indices(shape))
    got = measures.cramers_v(first, second, table.ravel().astype(float))
    assert got == pytest.approx(association(table, method="cramer"), rel=1e-12)


def test_cramers_v_counts_empty_cells():
    first, second = np.array([0, 1, 1]), np.array([0, 0, 1])
    table = np.array([[4, 0], [2, 3]])
    got = measures.cramers_v(first, second, np.array([4.0, 2.0, 3.0]))
    assert got == pytest.approx(association(table, method="cramer"), rel=1e-12)


def test_cramers_v_needs_two_categories_of_each():
    one = np.array([0, 0])
    assert measures.cramers_v(one, np.array([0, 1]), np.ones(2)) is None
    assert measures.cramers_v(one[:0], one[:0], np.ones(0)) is None


def test_moments_are_those_of_records_written_out():
    values, weight = np.array([2.0, 7.0, 1.0]), np.array([3.0, 1.0, 4.0])
    each = np.repeat(values, weight.astype(int))
    mean, variance = measures.mean_and_variance(values, weight)
    assert mean == pytest.approx(each.mean())
    assert variance == pytest.approx(each.var())
    got = measures.quantiles(values, weight, [0.25, 0.5, 0.75, 1.0])
    assert got == tuple(np.quantile(each, [0.25, 0.5, 0.75, 1], method="inverted_cdf"))


def test_correlation_is_that_of_records_written_out():
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(2, 20))
    weight = rng.integers(1, 5, 20)
    each = [np.repeat(one, weight) for one in (x, y)]
    got = measures.pearson(x, y, weight.astype(float))
    assert got == pytest.approx(np.corrcoef(*each)[0, 1], rel=1e-12)


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_correlation_of_any_size_of_numbers(scale):
    x = np.array([1.0, 2.0, 4.0])
    assert measures.pearson(x * scale, -x, np.ones(3)) == pytest.approx(-1.0, abs=1e-15)


def test_a_constant_has_no_correlation():
    x = np.array([0.1, 0.1, 0.1])
    assert measures.pearson(x, np.arange(3.0), np.ones(3)) is None
    assert measures.pearson(x[:0], x[:0], x[:0]) is None


def test_sums_do_not_depend_on_the_order():
    rng = np.random.default_rng(3)
    x, w = rng.lognormal(0, 9, (2, 1000))
    order = rng.permutation(1000)
    shares = [0.05, 0.5, 0.95]
    mixed = x[order], w[order]
    assert measures.mean_and_variance(x, w) == measures.mean_and_variance(*mixed)
    assert measures.quantiles(x, w, shares) == measures.quantiles(*mixed, shares)
