"""Each form is right where it says so, and as wrong as it says elsewhere."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import riskcore
from riskcore.accuracy import reference
from riskcore.core import published_forms as forms

EXACT = {
    "closed_form": [(1, 0.01), (2, 0.3), (3, 0.1), (3, 1e-12)],
    "binomial_sum": [(1, 0.5), (4, 1e-10), (10, 0.01), (20, 1e-3)],
    "log_form": [(1, 0.4), (2, 0.01), (15, 0.1), (300, 0.2), (1, 0.999)],
    "gauss_series": [(0.5, 0.3), (1, 0.01), (5, 0.5), (80.5, 1e-9), (3, 1 - 2**-53)],
    "continued_fraction": [(0.5, 0.3), (1, 1e-4), (5, 0.5), (80.5, 1e-9), (3, 0.999)],
    "series7": [(1, 0.1), (2, 0.1), (3, 0.1), (100, 0.9), (5, 0.9999)],
    "franconi": [(1, 0.1), (2, 0.1), (7, 1)],
}
CASES = [(name, f, p) for name, pairs in EXACT.items() for f, p in pairs]


def relative_error(value, f, p):
    r = reference.individual_risk(f, p)
    return float((mpmath.mpf(float(value)) - r) / r)


@pytest.mark.parametrize(("name", "f", "p"), CASES)
def test_right_where_it_holds(name, f, p):
    value = getattr(forms, name)(f, p)
    assert abs(relative_error(value, f, p)) < 2e-13


# (form, f, p): the relative error is between the two bounds.
LOSSES = [
    ("binomial_sum", 10, 0.9, 1e-6, 1e-3),
    ("binomial_sum", 40, 0.5, 0.1, math.inf),
    ("closed_form", 3, 1 - 1e-8, 0.1, math.inf),
    ("closed_form", 3, 1 - 1e-6, 1e-6, 1e-2),
    ("closed_form", 2, 1 - 1e-8, 1e-10, math.inf),
    ("log_form", 10, 0.9, 1e-9, 1e-5),
    ("log_form", 20, 0.9, 1, math.inf),
]


@pytest.mark.parametrize(("name", "f", "p", "low", "high"), LOSSES)
def test_documented_cancellation(name, f, p, low, high):
    assert low < abs(relative_error(getattr(forms, name)(f, p), f, p)) < high


def test_closed_form_for_tiny_fractions():
    value = riskcore.individual_risk(1, 1e-305)
    assert forms.closed_form(1, 1e-305) == pytest.approx(value, rel=1e-15)


def test_binomial_sum_overflows():
    assert not np.isfinite(forms.binomial_sum(10, 1e-40))


@pytest.mark.parametrize(
    ("f", "percent"), [(4, -0.606), (5, -0.202), (6, -0.078), (10, -0.0041)]
)
def test_series7_is_low(f, percent):
    error = relative_error(forms.series7(f, 1e-9), f, 1e-9)
    assert 100 * error == pytest.approx(percent, rel=0.02)


@pytest.mark.parametrize(("f", "percent"), [(3, 4.0), (4, 2.0), (10, 0.3)])
def test_franconi_is_high(f, percent):
    p = np.linspace(0.01, 1, 500)
    error = 100 * (forms.franconi(f, p) / riskcore.individual_risk(f, p) - 1)
    assert error.min() >= -1e-12
    assert error.max() == pytest.approx(percent, abs=0.06)


def test_franconi_as_programmed():
    assert forms.franconi([0.5, 1.5], 0.5).tolist() == [0.0, 0.0]
    assert forms.franconi(1.5, 1) == 1 / 1.5


# formulas.md: (r - r_J)/r at q = 0.1, 0.5, 0.9, 0.99.
FIGURE = {
    (4, 1): [6.83e-4, 1.92e-2, 7.48e-2, 9.71e-2],
    (4, 2): [2.95e-5, 4.30e-3, 3.25e-2, 4.78e-2],
    (4, 4): [8.27e-8, 3.20e-4, 8.78e-3, 1.66e-2],
    (4, 7): [2.13e-11, 1.09e-5, 1.99e-3, 5.39e-3],
    (50, 1): [7.57e-6, 1.92e-4, 6.33e-4, 7.68e-4],
    (50, 3): [3.19e-10, 2.05e-7, 2.22e-6, 3.28e-6],
    (50, 5): [3.11e-14, 5.08e-10, 1.81e-8, 3.24e-8],
}


@pytest.mark.parametrize(("f", "order"), FIGURE)
def test_truncation_errors_of_the_figure(f, order):
    for q, printed in zip([0.1, 0.5, 0.9, 0.99], FIGURE[f, order], strict=True):
        error = -relative_error(forms.truncated(f, 1 - q, order), f, 1 - q)
        assert error == pytest.approx(printed, rel=0.006, abs=1e-15)


def test_truncation_limit_is_a_binomial_coefficient():
    for f, order in [(4, 1), (4, 7), (10, 3), (50, 2)]:
        error = -relative_error(forms.truncated(f, 1e-12, order), f, 1e-12)
        assert error == pytest.approx(1 / math.comb(f + order, order + 1), rel=1e-6)


def test_truncated_needs_a_whole_order():
    assert np.isnan(forms.truncated(4, 0.5, [-1, 0.5, math.nan, math.inf, 1e9])).all()
    assert forms.truncated(4, 0.5, 0) == 0.125
    assert forms.truncated(4, 1, 9) == 0.25


# The least J with C(f+J, J+1) >= 1/epsilon, the supremum over p; in formulas.md's
# brackets the published order.
FREQUENCIES = [2, 4, 5, 10, 20, 50, 100, 1000]
ORDERS = {
    1e-3: ([998, 16, 9, 4, 2, 1, 1, 0], [10, 5, 5, 4, 3, 2, 2, 2]),
    1e-6: ([999998, 179, 67, 14, 7, 4, 3, 2], [20, 10, 9, 7, 5, 4, 4, 3]),
    1e-10: ([None, 3912, 697, 48, 17, 8, 6, 3], [34, 17, 15, 11, 8, 6, 6, 4]),
    1e-15: ([None, 181710, 12444, 187, 39, 16, 11, 5], [50, 25, 22, 16, 12, 9, 8, 6]),
}


@pytest.mark.parametrize("epsilon", ORDERS)
def test_table_of_orders(epsilon):
    sufficient, published = ORDERS[epsilon]
    assert forms.published_order(FREQUENCIES, epsilon).tolist() == published
    for f, order in zip(FREQUENCIES, sufficient, strict=True):
        if order is not None:
            assert forms.sufficient_order(f, 1e-30, epsilon) == order, f


def relative_remainder(f, p, order):
    """Return R_J/G with all terms exact to 60 digits."""
    with mpmath.workdps(60):
        f, q = mpmath.mpf(f), 1 - mpmath.mpf(p)
        total = term = mpmath.mpf(1)
        for j in range(1, int(order) + 1):
            term *= j * q / (f + j)
            total += term
        return 1 - total / reference.gauss(f, p)


@settings(max_examples=60)
@given(
    st.one_of(st.integers(2, 60).map(float), st.floats(0.3, 200)),
    st.floats(0.02, 0.999),
    st.integers(1, 13).map(lambda k: 10.0**-k),
)
def test_sufficient_order_is_the_smallest(f, p, epsilon):
    order = forms.sufficient_order(f, p, epsilon)
    assert relative_remainder(f, p, order) <= epsilon * (1 + 1e-15)
    if order > 0:
        assert relative_remainder(f, p, order - 1) > epsilon * (1 - 1e-15)


def test_orders_without_end():
    assert forms.sufficient_order(1, 5e-324, 0.001) == math.inf
    assert np.isnan(forms.sufficient_order(3, 0.5, [0, 1, -1, math.nan])).all()
    assert forms.published_order(1, 1e-3) == math.inf
    assert np.isnan(forms.published_order([0.5, 4, 4], [0.1, 0, 1])).all()


@pytest.mark.parametrize("epsilon", [1e-2, 1e-5, 1e-10])
def test_adaptive_keeps_its_word(epsilon):
    f = np.array([1.5, 2, 4, 10, 300])[:, None]
    p = np.array([0.05, 0.3, 0.9, 1])
    value, r = forms.adaptive(f, p, epsilon), riskcore.individual_risk(f, p)
    assert (np.abs(value - r) <= epsilon * r * (1 + 1e-15) + 1e-14 * r).all()
    assert np.array_equal(
        value, forms.truncated(f, p, forms.sufficient_order(f, p, epsilon))
    )


def test_adaptive_by_the_published_rule_does_not():
    value = forms.adaptive(2, 0.03, 1e-6, rule="published")
    assert value == forms.truncated(2, 0.03, 20)
    assert abs(value - riskcore.individual_risk(2, 0.03)) > 100e-6
    assert np.isnan(forms.adaptive(1, 0.5, 1e-3, rule="published"))


def test_unknown_rule():
    with pytest.raises(
        ValueError, match="rule='other': use 'sufficient' or 'published'"
    ):
        forms.adaptive(2, 0.5, 1e-3, rule="other")


TWO_ARGUMENTS = [*EXACT]


@pytest.mark.parametrize("name", TWO_ARGUMENTS)
def test_nan_outside_the_domain(name):
    function = getattr(forms, name)
    f = [0.0, -1.0, math.nan, math.inf, 3, 3, 3, 3]
    p = [0.5, 0.5, 0.5, 0.5, 0.0, -0.1, math.nan, 1.1]
    with np.errstate(all="raise"):
        assert np.isnan(function(f, p)).all()


def test_forms_for_whole_frequencies_alone():
    for function in (forms.closed_form, forms.binomial_sum, forms.log_form):
        assert np.isnan(function(2.5, 0.5))
    assert np.isnan(forms.closed_form([4, 4], [0.5, 1])).all()


@pytest.mark.parametrize("name", [name for name in EXACT if name != "closed_form"])
def test_whole_population_in_the_sample(name):
    assert getattr(forms, name)(3, 1.0) == 1 / 3
