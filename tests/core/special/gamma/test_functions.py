"""The ufuncs of the population models: contracts, identities, limits, domains."""

import math
from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riskcore.core.special.gamma import functions
from riskcore.core.special.gamma.functions import CONTRACTS, ZERO
from tests import reference, thin

RATIOS = ["log_gamma_ratio", "gamma_ratio", "log_gamma_ratio_curvature"]
RISING = ["log_rising_factorial", "log_rising_excess"]
PSI = [
    "digamma_difference",
    "digamma_deficit",
    "trigamma_difference",
    "trigamma_deficit",
]
NEAR_ONE = ["log1p", "log1pmx", "expm1"]
PROMISED = {contract.function: contract for contract in CONTRACTS}

arguments = st.floats(1e-12, 1e18)
steps = st.floats(1e-9, 1e10)
integers = st.integers(1, 60)


def powers(rng, low, high, n):
    return 10 ** rng.uniform(low, high, n)


def exact(name, *at):
    return reference.by_arb(name, *at)


def assert_within_contract(name, points, ulps):
    values = getattr(functions, name)(*points)
    for value, at in zip(values, np.transpose(points).tolist(), strict=True):
        expected = exact(name, *at)
        if name == "log_rising_factorial" and abs(expected) < ZERO:
            assert abs(value - expected) < 2.0**-59, at
        else:
            assert ulps(value, expected) < PROMISED[name].ulps, at


# --- accuracy ----------------------------------------------------------------------


def test_every_function_has_a_contract():
    assert set(PROMISED) == set(functions.UFUNCS)


def test_contracts_state_two_decimals():
    # As tables and docstrings print them: what is printed is what is stated.
    stated = {contract.function: contract.worst for contract in CONTRACTS}
    assert stated == {name: round(worst, 2) for name, worst in stated.items()}


@pytest.mark.parametrize("name", RATIOS)
def test_ratios_are_exact(name, ulps):
    rng = np.random.default_rng(1)
    n = 60
    models = [powers(rng, -2, 18, n), powers(rng, -6, 6, n), powers(rng, 0, 10, n)]
    small = [rng.uniform(0.01, 20, n), *powers(rng, -3, 3, (2, n))]
    any_size = list(powers(rng, -18, 18, (3, n)))
    points = np.hstack([models, small, any_size])
    if name == "gamma_ratio":
        points = points[:, functions.gamma_ratio(*points) > 1e-290]
    assert_within_contract(name, points, ulps)


@pytest.mark.parametrize(
    ("name", "n"), thin.cases(product(RISING + PSI, [20, 60]), lambda name, n: n == 20)
)
def test_differences_are_exact(name, n, ulps):
    rng = np.random.default_rng(2)
    near_one = 1 + rng.choice([-1, 1], n) * powers(rng, -14, -0.4, n)
    counts = [powers(rng, -12, 18, n), rng.integers(2, 40, n)]
    small = [rng.uniform(0.01, 20, n), powers(rng, -3, 3, n)]
    any_size = list(powers(rng, -18, 18, (2, n)))
    points = np.hstack([counts, small, any_size, [powers(rng, -3, 6, n), near_one]])
    assert_within_contract(name, points, ulps)


@pytest.mark.parametrize("name", NEAR_ONE)
def test_elementary_functions_are_exact(name, ulps):
    rng = np.random.default_rng(3)
    tiny = rng.choice([-1, 1], 100) * powers(rng, -30, 0, 100)
    ends = [-0.29, 0.41, -0.5, 0.5, 1 - 2.0**-53, -1 + 2.0**-53]
    points = [*tiny, *rng.uniform(-1, 1, 100), *powers(rng, 0, 2.8, 50), *ends]
    assert_within_contract(name, [np.array(points)], ulps)


@pytest.mark.parametrize(
    ("n", "N", "K", "alpha", "expected"),
    [
        (900_000, 3_000_000, 8640, 0.0254, 0.2910152740),
        (300_000, 1_000_000, 20_000, 1, 0.0984230500),
        (30_000, 100_000, 10_000, 0.25, 0.2379230595),
        (30_000, 100_000, 10_000, 1.97, 0.0734866958),
    ],
)
def test_population_uniques_of_the_dirichlet_multinomial(n, N, K, alpha, expected):
    p = functions.gamma_ratio((n - 1) + (K - 1) * alpha, 1 + alpha, N - n)
    assert round(float(p), 10) == expected


def test_arguments_rounded_once_cost_little():
    # n to 1e10, K to 1e12, alpha in [1e-12, 1e6]: log p to 1e-15 of itself.
    rng = np.random.default_rng(4)
    for _ in range(150):
        N = float(np.floor(10 ** rng.uniform(2, 10)))
        n = max(float(np.floor(N * 10 ** rng.uniform(-3, 0))), 2.0)
        K = float(np.floor(10 ** rng.uniform(0.4, 12)))
        alpha = float(10 ** rng.uniform(-12, 6))
        if n == N:
            continue
        x, s, t = (n - 1) + (K - 1) * alpha, 1 + alpha, N - n
        computed = float(functions.log_gamma_ratio(x, s, t))
        with mpmath.workprec(400):
            a = mpmath.mpf(alpha)
            at = (n - 1) + (K - 1) * a, 1 + a, t
            expected = reference.by_arb("log_gamma_ratio", *at)
            assert abs(computed / expected - 1) < 1e-15, (n, N, K, alpha)


# --- identities --------------------------------------------------------------------


@given(arguments, steps, steps)
def test_ratio_is_symmetric(x, s, t):
    for name in ("log_gamma_ratio", "gamma_ratio"):
        function = getattr(functions, name)
        assert function(x, s, t) == function(x, t, s)


@given(arguments, steps)
def test_ratio_of_a_step_of_one(x, t):
    # Gamma(x+1)/Gamma(x) is x: the ratio x/(x+t).
    with mpmath.workprec(200):
        expected = mpmath.mpf(x) / (mpmath.mpf(x) + t)
        logarithm = mpmath.log1p(-t / (mpmath.mpf(x) + t))
    assert functions.gamma_ratio(x, 1, t) == pytest.approx(float(expected), rel=3e-16)
    assert functions.log_gamma_ratio(x, t, 1) == pytest.approx(
        float(logarithm), rel=3e-16
    )


@given(arguments, st.integers(1, 2**30), st.integers(1, 2**30), steps)
def test_ratios_multiply_along_a_step(x, t, u, s):
    x = float(np.float32(x))
    if x + t != Fraction(x) + t:
        return
    whole = functions.log_gamma_ratio(x, s, t + u)
    parts = functions.log_gamma_ratio(x, s, t) + functions.log_gamma_ratio(x + t, s, u)
    assert parts == pytest.approx(whole, rel=5e-16)


@given(st.integers(1, 10**6), st.integers(1, 2000), integers)
def test_ratio_of_integers_is_a_product(x, t, s):
    product = Fraction(1)
    for i in range(s):
        product *= Fraction(x + i, x + t + i)
    if float(product) > 1e-300:
        assert functions.gamma_ratio(x, s, t) == pytest.approx(
            float(product), rel=3e-16
        )


@given(st.floats(0.01, 1e6), st.floats(0.01, 10), st.integers(1, 50))
def test_curvature_is_a_sum(x, s, t):
    # log p_2 - 2 log p_1 = -sum log(1 + c^2/(1-2c)), c = s/(x+2s+i).
    c = s / (x + 2 * s + np.arange(t))
    terms = np.log1p(s * s / ((x + np.arange(t)) * (x + 2 * s + np.arange(t))))
    assert terms == pytest.approx(np.log1p(c * c / (1 - 2 * c)), rel=1e-7)
    computed = functions.log_gamma_ratio_curvature(x, s, t)
    assert computed == pytest.approx(-math.fsum(terms), rel=4e-15)


@given(st.floats(0.01, 1e3), st.floats(0.01, 1e3), st.floats(0.01, 1e3))
def test_curvature_is_a_difference_of_ratios(x, s, t):
    two = functions.log_gamma_ratio(x, 2 * s, t)
    one = functions.log_gamma_ratio(x + s, s, t)
    computed = functions.log_gamma_ratio_curvature(x, s, t)
    assert computed == pytest.approx(two - 2 * one, rel=1e-13, abs=1e-14 * abs(two))


@given(st.integers(1, 10**9), integers)
def test_differences_of_integers_are_sums(x, m):
    series = {
        "digamma_difference": sum(Fraction(1, x + i) for i in range(m)),
        "digamma_deficit": sum(Fraction(i, x * (x + i)) for i in range(m)),
        "trigamma_difference": sum(Fraction(1, (x + i) ** 2) for i in range(m)),
        "trigamma_deficit": sum(
            Fraction(i * (2 * x + i), (x * (x + i)) ** 2) for i in range(m)
        ),
    }
    for name, total in series.items():
        computed = getattr(functions, name)(x, m)
        assert computed == pytest.approx(float(total), rel=5e-16), name
        assert (computed == 0) == (total == 0)
    excess = math.fsum(math.log1p(i / x) for i in range(m))
    assert functions.log_rising_excess(x, m) == pytest.approx(excess, rel=5e-16)


@given(st.floats(2.0**-20, 1e6), st.floats(0.01, 1e4))
def test_recurrence_in_the_argument(x, m):
    # (x)_m = x/(x+m) (x+1)_m, from which the differences of psi follow.
    y = float(np.float32(x))
    with mpmath.workprec(200):
        a, b = 1 / mpmath.mpf(y), 1 / (mpmath.mpf(y) + m)
        falls = {
            "log_rising_factorial": mpmath.log(b / a),
            "digamma_difference": a - b,
            "trigamma_difference": a * a - b * b,
        }
    for name, fall in falls.items():
        here, there = (float(getattr(functions, name)(z, m)) for z in (y, y + 1))
        scale = abs(here) + abs(there)
        assert here - there == pytest.approx(float(fall), rel=1e-15, abs=1e-15 * scale)


@given(arguments, steps)
def test_deficits_complete_their_differences(x, m):
    wholes = {
        ("digamma_difference", "digamma_deficit"): Fraction(m) / Fraction(x),
        ("trigamma_difference", "trigamma_deficit"): Fraction(m) / Fraction(x) ** 2,
    }
    for names, whole in wholes.items():
        parts = [float(getattr(functions, name)(x, m)) for name in names]
        rounding = 3e-16 * sum(map(abs, parts))
        assert sum(parts) == pytest.approx(float(whole), rel=3e-16, abs=rounding)
    excess, factorial = (float(getattr(functions, name)(x, m)) for name in RISING[::-1])
    power = m * math.log(x)
    rounding = 3e-16 * (abs(excess) + abs(power))
    assert excess + power == pytest.approx(factorial, rel=3e-16, abs=rounding)


@given(st.floats(1e-3, 1e9), st.floats(1e-3, 1e9))
def test_derivatives(x, m):
    # The mean slope over a short step, and the slope in its middle.
    h = x * 2.0**-9
    ends = [x - h, x + h]
    pairs = [
        ("log_rising_excess", "digamma_deficit", -1),
        ("digamma_deficit", "trigamma_deficit", -1),
        ("digamma_difference", "trigamma_difference", -1),
    ]
    for function, slope, sign in pairs:
        low, high = map(float, getattr(functions, function)(ends, m))
        middle = sign * float(getattr(functions, slope)(x, m))
        lost = 1e-15 * (abs(low) + abs(high)) / h
        assert (high - low) / (2 * h) == pytest.approx(middle, rel=1e-4, abs=lost)


# --- limits and domains ------------------------------------------------------------


def test_steps_of_zero():
    x = np.array([1e-40, 0.5, 3, 1e18])
    assert (functions.log_gamma_ratio(x, 0, [0, 1, 2, 3]) == 0).all()
    assert (functions.gamma_ratio(x, [0, 1, 2, 3], 0) == 1).all()
    assert (functions.log_gamma_ratio_curvature(x, 0, 5) == 0).all()
    for name in RISING + PSI:
        assert (getattr(functions, name)(x, 0) == 0).all()
    for name in ("log_rising_excess", "digamma_deficit", "trigamma_deficit"):
        assert (getattr(functions, name)(x, 1) == 0).all()


def test_argument_of_zero():
    # Nothing seen before, or one cell only: no sample unique stays unique.
    assert functions.log_gamma_ratio(0, 1, 5) == -math.inf
    assert functions.gamma_ratio(0, 1, 5) == 0
    assert functions.log_gamma_ratio_curvature(0, 1, 5) == -math.inf
    assert functions.log_gamma_ratio(0, 0, 5) == 0


def test_leading_terms_for_large_arguments():
    x, m = 1e30, 1000.0
    assert functions.log_gamma_ratio(x, 7, m) == pytest.approx(-7 * m / x, rel=1e-15)
    assert functions.log_gamma_ratio_curvature(x, 7, m) == pytest.approx(
        -49 * m / x**2, rel=1e-15
    )
    excess = m * (m - 1) / (2 * x)
    assert functions.log_rising_excess(x, m) == pytest.approx(excess, rel=1e-15)
    assert functions.digamma_deficit(x, m) == pytest.approx(excess / x, rel=1e-15)
    assert functions.trigamma_deficit(x, m) == pytest.approx(
        2 * excess / x**2, rel=1e-15
    )


def test_leading_terms_for_tiny_arguments():
    x, m = 1e-40, 5.0
    assert functions.digamma_difference(x, m) == pytest.approx(1 / x, rel=1e-15)
    assert functions.trigamma_difference(x, m) == pytest.approx(1 / x**2, rel=1e-15)
    expected = math.log(x) + math.log(24)  # x Gamma(5)
    assert functions.log_rising_factorial(x, m) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize("name", [*RATIOS, *RISING, *PSI])
def test_outside_the_domain(name):
    function = getattr(functions, name)
    good = [2.0] * function.nin
    assert np.isfinite(function(*good))
    for i in range(function.nin):
        for bad in (-1.0, -1e-30, math.nan, math.inf, 1e46, 1e-46):
            at = good.copy()
            at[i] = bad
            with np.errstate(all="raise"):
                assert np.isnan(function(*at)), at
    if function.nin == 2:
        assert np.isnan(function(0.0, 2.0))


def test_elementary_functions_at_their_ends():
    nan, inf = math.nan, math.inf
    with np.errstate(all="raise"):
        assert np.isnan(functions.log([0.0, -1.0, inf, nan])).all()
        assert np.isnan(functions.log1p([-1.0, -2.0, inf, nan])).all()
        assert np.isnan(functions.log1pmx([-1.0, -2.0, inf, nan])).all()
        assert np.isnan(functions.exp(nan))
        assert np.isnan(functions.expm1(nan))
        assert functions.exp([-inf, -1e9, 0, 1e9, inf]).tolist() == [0, 0, 1, inf, inf]
        found = functions.expm1([-inf, -1e9, 0, 1e9, inf]).tolist()
        assert found == [-1, -1, 0, inf, inf]
    assert functions.log1p(0.0) == 0
    assert functions.log1pmx(0.0) == 0


# --- as ufuncs ---------------------------------------------------------------------

PLACES = [1e-9, 0.3, 1.0, 4.5, 17.0, 1e6]


@pytest.mark.parametrize("name", functions.UFUNCS)
def test_compiled_and_interpreted_give_the_same_bits(name):
    function = getattr(functions, name)
    rng = np.random.default_rng(5)
    for at in rng.choice(PLACES, (4, function.nin)).tolist():
        assert float(function(*at)) == functions.UFUNCS[name](*at), at


@pytest.mark.parametrize("name", functions.UFUNCS)
def test_the_ufunc_behaves_as_one(name):
    function = getattr(functions, name)
    assert isinstance(function, np.ufunc)
    columns = np.random.default_rng(6).choice(PLACES, (function.nin, 50))
    where = columns[0] > 1
    out = np.full(50, -7.0)
    function(*columns, out=out, where=where)
    assert out.tobytes() == np.where(where, function(*columns), -7.0).tobytes()


def test_no_other_names():
    with pytest.raises(AttributeError, match="no attribute 'lgamma'"):
        functions.lgamma  # noqa: B018


IN_NUMBA = """
import numba
from riskcore.core.special.gamma import functions

log, log1pmx = functions.log, functions.log1pmx  # soon compiled

@numba.njit
def compiled(x, m):
    return log(x) + log1pmx(m)

print(compiled(2.5, 3) == log(2.5) + log1pmx(3.0))
"""


def test_in_compiled_code(python):
    assert python(IN_NUMBA) == "True"


SAME_BITS = """
import hashlib
import numpy as np
from riskcore.core.special.gamma import functions

rng = np.random.default_rng(7)
digest = hashlib.sha256()
for name in functions.UFUNCS:
    function = getattr(functions, name)
    points = rng.choice([-1, 1, 1, 1], (function.nin, 400)) * np.ldexp(
        1 + rng.random((function.nin, 400)), rng.integers(-40, 40, (function.nin, 400))
    )
    digest.update(function(*points).tobytes())
print(digest.hexdigest())
"""


@pytest.mark.slow
def test_the_same_bits_from_code_for_the_oldest_processor(python, tmp_path):
    other = python(SAME_BITS, cache=tmp_path, RISKCORE_CPU="x86-64")
    assert python(SAME_BITS) == other
