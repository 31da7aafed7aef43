import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import riskcore
from riskcore.core import published_forms as forms
from riskcore.core.risk import individual
from riskcore.core.special.floats import BLOCK
from tests import reference

NAMES = [
    "individual_risk",
    "individual_risk_from_frequencies",
    "log_individual_risk",
    "individual_risk_gradient",
]
CONTRACT = {
    "individual_risk": 0.5,
    "individual_risk_from_frequencies": 0.5,
    "log_individual_risk": 1,
    "individual_risk_gradient": 1,
}  # ulp

named = pytest.mark.parametrize("name", NAMES)


@pytest.fixture
def function(name):
    return getattr(riskcore, name)


def second_argument(name, f, p):
    """Return p, or F at about f/p: always a finite double that is not below f."""
    if not name.endswith("frequencies"):
        return p
    with np.errstate(over="ignore"):
        F = np.minimum(f / p, np.finfo(float).max)
    return np.maximum(F, f)


# --- accuracy --------------------------------------------------------------------


@pytest.fixture
def errors(name, function, exact, ulps):
    """Return the errors of a function in ulp."""

    def measure(f, p):
        seconds = second_argument(name, f, p)
        result = []
        for x, y, got in zip(f, seconds, function(f, seconds), strict=True):
            result.append(ulps(got, exact(name, x, y)))
        return np.array(result)

    return measure


def assert_within_contract(name, errors, f, p):
    bad = ~(errors <= CONTRACT[name])
    points = [(x.hex(), y.hex()) for x, y in zip(f[bad], p[bad], strict=True)]
    assert not points, (points, errors[bad])


@named
def test_error_in_every_region(name, method, cells, errors):
    f, p = cells(15, method)
    found = errors(f, p)
    assert_within_contract(name, found, f, p)
    # Half an ulp of rounding must show, or the measure sees nothing.
    assert found.max() > 0.3


@named
def test_error_on_both_sides_of_every_border(name, borders, errors):
    f, p = borders
    found = errors(f, p)
    assert_within_contract(name, found, f, p)
    assert found.max() > 0.3


EXTREME_F = [1e-30, 1e-8, 0.5, 1.0, 1 + 2.0**-52, 2.5, 7.0, 20.0, 700.0]
EXTREME_P = [5e-324, 1.5e-322, 2.0**-1030, 2.0**-1022, 1 - 2.0**-53, 1.0]


@named
def test_error_at_the_extremes(name, errors):
    f, p = (grid.ravel() for grid in np.meshgrid(EXTREME_F, EXTREME_P))
    assert_within_contract(name, errors(f, p), f, p)


@named
@pytest.mark.parametrize("f", [1e15, 2.0**60, 1e18, 1e300])
def test_error_for_huge_frequencies(name, f, errors):
    p = np.array([2.0**-40, 1e-3, 0.3, 0.77, 1 - 2.0**-53, 1.0])
    assert_within_contract(name, errors(np.full(6, f), p), np.full(6, f), p)


def test_error_of_subnormal_risks(ulps):
    f, p = (
        np.array([1e8, 3e9, 1e15, 2.0**52 + 1]),
        np.array([1e-302, 1e-301, 1e-300, 0]),
    )
    p[3] = 1e-307
    r = riskcore.individual_risk(f, p)
    assert (r > 0).all()
    assert (r < 2.0**-1022).all()
    for x, y, got in zip(f, p, r, strict=True):
        with mpmath.workprec(200):
            # At this p the risk is p/(f-1) up to a factor 1 + O(p log p).
            assert ulps(got, mpmath.mpf(y) / (mpmath.mpf(x) - 1)) < 1


def test_log_error_near_one(ulps):
    for k in range(20, 54, 3):
        p = 1 - 2.0**-k
        got = riskcore.log_individual_risk(1.0, p)
        assert -(2.0 ** -(k - 1)) < got < 0
        assert ulps(got, reference.log_individual_risk(1.0, p)) < 1


def test_log_error_where_it_crosses_zero(ulps):
    for f in (0.3, 0.6, 0.9):
        with mpmath.workprec(100):
            p = float(
                mpmath.findroot(
                    lambda p, f=f: reference.log_individual_risk(f, p), (0.01, 0.9),
                    solver="anderson",
                )
            )  # fmt: skip
        got = riskcore.log_individual_risk(f, p)
        assert abs(reference.log_individual_risk(f, p)) < 2.0**-50
        # Next to the zero, too, in units of its own last place.
        assert ulps(got, reference.log_individual_risk(f, p)) < 1


RARE = [
    (1.0, 2.0**1023),
    (3.0, 1e300),
    (0.2, 1.7e308),
    (0.75, 1e308),
    (17.5, 1.7e308),
    (1e-17, 1.7e308),  # f/F rounds to 0
    (1e-25, 1e290),
]


@pytest.mark.parametrize(("f", "F"), RARE)
def test_quotient_below_the_normal_numbers(f, F, exact, ulps):
    value = exact("individual_risk_from_frequencies", f, F)
    assert ulps(riskcore.individual_risk_from_frequencies(f, F), value) < 1


def test_quotient_is_not_rounded_first(exact):
    """The error follows the rounding of f/F less than that of r(f, fl(f/F)) does."""
    name, f = "individual_risk_from_frequencies", 50.0
    F = f / np.random.default_rng(4).uniform(0.1, 1, 400)
    quotient = [Fraction(f) / Fraction(x) for x in F.tolist()]
    pairs = zip((f / F).tolist(), quotient, strict=True)
    rounding = [float(Fraction(p) / exact_p - 1) for p, exact_p in pairs]
    values = [exact(name, f, x) for x in F]

    def follows(got):
        pairs = zip(got.tolist(), values, strict=True)
        errors = [float((mpmath.mpf(r) - value) / value) for r, value in pairs]
        return np.dot(errors, rounding) / np.dot(rounding, rounding)

    rounded = follows(riskcore.individual_risk(f, f / F))
    assert rounded > 0.7
    assert follows(riskcore.individual_risk_from_frequencies(f, F)) < rounded - 0.3


# --- facts -----------------------------------------------------------------------


def test_published_value():
    assert riskcore.individual_risk(4, 4 / 1063.1) == pytest.approx(
        0.0012518512, abs=5e-11
    )
    assert riskcore.individual_risk_from_frequencies(4, 1063.1) == pytest.approx(
        0.0012518512, abs=5e-11
    )


@pytest.mark.parametrize("p", [1e-300, 1e-9, 0.01, 0.25])
def test_closed_forms(p):
    q, log_p = 1 - p, math.log(p)
    assert riskcore.individual_risk(1, p) == pytest.approx(-p / q * log_p, rel=1e-14)
    assert riskcore.individual_risk(2, p) == pytest.approx(
        p / q**2 * (p * log_p + q), rel=1e-14
    )
    assert riskcore.individual_risk(3, p) == pytest.approx(
        p / (2 * q**3) * (q * (3 * q - 2) - 2 * p**2 * log_p), rel=1e-13
    )


def test_sum_over_population_frequencies():
    """r = sum_h C(h-1, f-1) p^f q^(h-f)/h, the mean of 1/F itself."""
    for f, p in [(1, Fraction(1, 2)), (2, Fraction(1, 2)), (5, Fraction(3, 4))]:
        total = sum(
            Fraction(math.comb(h - 1, f - 1), h) * p**f * (1 - p) ** (h - f)
            for h in range(f, f + 120)
        )
        assert riskcore.individual_risk(f, float(p)) == pytest.approx(float(total))


@given(st.floats(1e-290, 1e300))
@example(3.0)
@example(0.1)
@example(49.0)
def test_whole_population_in_the_sample(f):
    assert riskcore.individual_risk(f, 1.0) == 1 / f
    assert riskcore.individual_risk_from_frequencies(f, f) == 1 / f


def test_whole_population_log_and_gradient(ulps):
    for f in [0.01, 0.5, 1.5, 3.0, 1e6]:
        assert ulps(riskcore.log_individual_risk(f, 1.0), -mpmath.log(f)) < 1
        assert ulps(
            riskcore.individual_risk_gradient(f, 1.0), 1 / (1 + mpmath.mpf(f))
        ) < 2  # fmt: skip
    assert riskcore.log_individual_risk(1.0, 1.0) == 0


# --- properties ------------------------------------------------------------------

# Relative error that the contract allows in one risk, and in a comparison of two.
ONE, TWO = 2.0**-52, 2.0**-51

frequencies = st.one_of(
    st.integers(1, 100).map(float), st.floats(0.01, 16), st.floats(0.01, 1e9)
)
fractions = st.one_of(
    st.floats(0.0, 1.0, exclude_min=True),
    st.floats(-1000, 0).map(lambda k: 2.0**k),
    st.integers(1, 53).map(lambda k: 1 - 2.0**-k),
)


@given(frequencies, fractions)
def test_bounds(f, p):
    assume(p / f > 1e-300)
    r = riskcore.individual_risk(f, p)
    x, y = Fraction(f), Fraction(p)
    r, slack = Fraction(float(r)), Fraction(ONE)
    assert r * x * (x + y) >= y * (x + 1) * (1 - slack)
    if x - 1 + y > 0:
        assert r * (x - 1 + y) <= y * (1 + slack)


@given(frequencies, fractions, fractions)
def test_risk_rises_with_the_sampling_fraction(f, p1, p2):
    assume(min(p1, p2) / f > 1e-300)
    low, high = riskcore.individual_risk(f, sorted([p1, p2]))
    assert low <= high * (1 + TWO)
    if max(p1, p2) > min(p1, p2) * (1 + 1e-9) and f > 1.5:
        assert low < high  # there r rises at least like a tenth of p's own growth


@given(frequencies, frequencies, fractions)
def test_risk_falls_with_the_sample_frequency(f1, f2, p):
    assume(p / max(f1, f2) > 1e-300)
    high, low = riskcore.individual_risk(sorted([f1, f2]), p)
    assert low <= high * (1 + TWO)
    if max(f1, f2) >= min(f1, f2) + 1:
        assert low < high


@given(frequencies, st.floats(1, 1e200), st.floats(1, 1e200))
def test_risk_falls_with_the_population_frequency(f, a, b):
    F = f * np.sort([a, b])
    high, low = riskcore.individual_risk_from_frequencies(f, F)
    assert low <= high * (1 + TWO)


@given(frequencies.filter(lambda f: f < 1e6), fractions)
def test_contiguity(f, p):
    """p r'/p + q r(f+1) = p (1/f - r(f)) + ...: r(f+1) q + r(f) p = p/f."""
    assume(p / f > 1e-290)
    r, r_next = riskcore.individual_risk([f, f + 1], p)
    rounding = abs(Fraction(f + 1) - Fraction(f) - 1) / Fraction(f)  # of f + 1
    q = 1 - Fraction(p)
    left = q * Fraction(float(r_next)) + Fraction(p) * Fraction(float(r))
    right = Fraction(p) / Fraction(f)
    assert abs(left - right) <= (Fraction(ONE) + 2 * rounding) * right


@given(frequencies, fractions)
def test_logarithm_and_gradient_belong_to_the_risk(f, p):
    assume(p / f > 1e-300)
    r = riskcore.individual_risk(f, p)
    log_r = riskcore.log_individual_risk(f, p)
    assert math.exp(log_r) == pytest.approx(r, rel=2e-13)
    # p dr/dp = C r, and C = 1 - E lies between 0 and 1.
    assert 0 < p * riskcore.individual_risk_gradient(f, p) <= r * (1 + 2 * TWO)


@given(st.integers(1, 60), st.floats(1e-3, 1, exclude_max=True))
def test_truncations_rise_to_the_risk(f, p):
    r = riskcore.individual_risk(f, p)
    partial = forms.truncated(f, p, np.arange(40))
    rounding = 50 * 2.0**-52  # of 40 terms added
    assert (np.diff(partial) >= -rounding * r).all()
    assert (partial <= r * (1 + rounding)).all()
    assert partial[0] == pytest.approx(p / f)


# --- the same bits ---------------------------------------------------------------


def same_bits(a, b):
    a, b = np.asarray(a, float), np.asarray(b, float)
    return a.shape == b.shape and a.tobytes() == b.tobytes()


@pytest.fixture
def mixed(name, cells):
    """Cells of every method in one array, some outside the domain."""
    f, p = cells(3 * BLOCK + 77)
    f[::50], p[7::50] = -1.0, np.nan
    return f, np.where(f > 0, second_argument(name, np.abs(f), p), p)


@named
def test_cells_of_one_region_alone(name, function, method, cells):
    # A block of one region takes a way of its own.
    f, p = cells(BLOCK, method)
    second = second_argument(name, f, p)
    one_by_one = [function(x, y) for x, y in zip(f, second, strict=True)]
    assert same_bits(function(f, second), one_by_one)


def computable(cells, n):
    """Return n cells for which no discarded branch divides by zero (Python raises)."""
    f, second = cells
    chosen = (f > 1e-3) & (f < 1e100) & (second > 1e-200) & (second < 1e100)
    return f[chosen][:n], second[chosen][:n]


@named
def test_interpreted_loop(name, function, method, cells):
    # One region at a time: another's method may divide by zero, and Python raises.
    f, p = computable(cells(60, method), 20)
    second = second_argument(name, f, p)
    out = np.zeros(len(f))
    columns = [f.tolist(), second.tolist(), out]
    individual.UFUNCS[name].loop(columns, [len(f)], [8, 8, 8], None)
    assert same_bits(out, function(f, second))


# --- domain ----------------------------------------------------------------------

NOTHING = [-1.0, -0.0, 0.0, -5e-324, math.nan, math.inf, -math.inf]


@named
def test_nan_outside_the_domain(name, function):
    f = np.array([*NOTHING, *[3.0] * 9, math.nan, 0.0])
    if name.endswith("frequencies"):
        inside, beyond = 50.0, [np.nextafter(3, 0), 1.0]
    else:
        inside, beyond = 0.5, [1 + 2.0**-52, 2.0]
    second = np.array([*[inside] * 7, *NOTHING, *beyond, math.nan, 0.0])
    with np.errstate(all="raise"):
        assert np.isnan(function(f, second)).all()
        assert all(np.isnan(function(x, y)) for x, y in zip(f, second, strict=True))


@named
def test_bad_cells_leave_the_others_alone(function, mixed):
    f, second = mixed
    with np.errstate(all="raise"):
        result = function(f, second)
    inside = (f > 0) & (second > 0)
    assert np.isnan(result[~inside]).all()
    assert not np.isnan(result[inside]).any()


@named
def test_no_floating_point_flag_is_raised(name, function, borders):
    f, p = borders
    with np.errstate(all="raise"):
        function(f, second_argument(name, f, p))
        function(f[:, None], second_argument(name, f, p)[0])
