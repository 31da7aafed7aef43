import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riskcore.models.solve import all_roots, positive_root, root


@given(st.floats(1e-6, 1e6), st.floats(1e-9, 1e6), st.floats(1e-9, 1e6))
def test_root_is_next_to_a_change_of_sign(at, left, right):
    for function in (
        lambda x: x - at,
        lambda x: (x - at) ** 3,
        lambda x: math.atan(1e9 * (x - at)),
        lambda x: 1.0 if x > at else -1.0,
    ):
        found = root(function, at - left, at + right)
        assert abs(found - at) <= 4 * math.ulp(at) or function(found) == 0.0


def test_few_evaluations():
    calls = []

    def function(x):
        calls.append(x)
        return x**3 - 2.0 * x - 5.0

    assert root(function, 2.0, 3.0) == pytest.approx(2.0945514815423265, rel=1e-15)
    assert len(calls) < 15


def test_ends_that_are_roots():
    assert root(lambda x: x, 0.0, 1.0) == 0.0
    assert root(lambda x: x - 1.0, 0.0, 1.0) == 1.0


def test_no_change_of_sign_is_refused():
    with pytest.raises(ValueError, match="no change of sign from 1 to 2"):
        root(lambda x: x, 1.0, 2.0)
    with pytest.raises(ValueError, match="no change of sign"):
        root(lambda x: math.nan, 1.0, 2.0)


@pytest.mark.parametrize("at", [1e-40, 1e-3, 1.0, 3.7, 1e12, 1e40])
@pytest.mark.parametrize("start", [1e-50, 1e-7, 1.0, 1e5, 1e60])
def test_positive_root_from_anywhere(at, start):
    assert positive_root(lambda x: at - x, start) == pytest.approx(at, rel=1e-15)


def test_positive_root_may_be_out_of_reach():
    assert math.isnan(positive_root(lambda x: 1.0, 1.0))
    assert math.isnan(positive_root(lambda x: -1.0, 1.0))
    assert math.isnan(positive_root(lambda x: 1.0 if x < 9.0 else math.nan, 1.0))


@pytest.mark.parametrize("start", [2.0**-150, 1.0, 2.0**150])
def test_positive_root_is_sought_from_2_to_the_minus_140_to_140(start):
    for exponent in (-139.5, 139.5):
        at = 2.0**exponent
        assert positive_root(lambda x, at=at: at - x, start) == pytest.approx(at)
    for exponent in (-140.5, 140.5):
        at = 2.0**exponent
        assert math.isnan(positive_root(lambda x, at=at: at - x, start))


def test_all_roots_passes_over_nan():
    def function(x):
        return math.nan if x < 2.0 else math.sin(x)

    found = all_roots(function, [1.0, 3.0, 5.0, 7.0, 8.0])
    assert found == pytest.approx([math.pi, 2 * math.pi])


def test_root_is_nan_where_the_function_is():
    assert math.isnan(root(lambda x: x if abs(x) > 0.9 else math.nan, -1.0, 1.0))
