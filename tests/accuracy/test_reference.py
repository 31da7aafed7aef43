"""The reference itself, against the integral, the closed forms and Arb."""

import mpmath
import numpy as np
import pytest
from flint import arb, ctx

from riskcore.accuracy import reference

RISK = "individual_risk"
NAMES = [RISK, f"{RISK}_from_frequencies", f"log_{RISK}", f"{RISK}_gradient"]


def relative(a, b):
    with mpmath.workprec(400):
        return abs(mpmath.mpf(a) / b - 1)


@pytest.mark.parametrize(
    ("f", "p"),
    [(1, 0.5), (2, 0.01), (3.5, 0.9), (0.5, 0.25), (0.75, 0.03), (12, 0.3), (40, 0.6)],
)
def test_series_is_the_integral(f, p):
    series = reference.individual_risk(f, p)
    assert relative(reference.individual_risk_by_integral(f, p), series) < 1e-25


@pytest.mark.parametrize("p", [0.999, 0.5, 0.3, 1e-3, 1e-12, 2.0**-200])
def test_closed_forms(p):
    with mpmath.workprec(2000):
        p = mpmath.mpf(p)
        q = 1 - p
        closed = {
            1: -p * mpmath.log(p) / q,
            2: p * (p * mpmath.log(p) + q) / q**2,
            3: p * (q * (3 * q - 2) - 2 * p**2 * mpmath.log(p)) / (2 * q**3),
        }
    for f, value in closed.items():
        assert relative(reference.individual_risk(f, p), value) < 2.0**-110


@pytest.mark.parametrize("name", NAMES)
def test_arb_agrees(name, method, cells, enclosed):
    f, p = cells(12, method)
    with np.errstate(over="ignore"):
        second = f / p if name.endswith("frequencies") else p
    # Arb takes long for large f; mpmath seconds for an integer f and tiny p.
    chosen = np.isfinite(second) & (f < 1000) & ((p > 1e-60) | (f % 1 != 0))
    assert chosen.sum() >= 5 or method == "levels_4"
    for a, b in zip(f[chosen], second[chosen], strict=True):
        value = getattr(reference, name)(a, b)
        assert relative(value, enclosed(name, a, b)) < 2.0**-80, (a, b)


SUMS = reference.individual_risk_by_sums
TINY = [
    *(
        (reference.individual_risk, f, 2.0**-e)
        for f, e in ((1, 250), (3, 200), (200, 200))
    ),
    *(
        (SUMS, f, p)
        for f, p in ((1, 5e-324), (2, 2.0**-1000), (63, 5e-324), (2.5, 1e-300))
    ),
]


@pytest.mark.parametrize(("form", "f", "p"), TINY)
def test_arb_agrees_for_tiny_fractions(form, f, p, enclosed):
    assert relative(form(f, p), enclosed("individual_risk", float(f), p)) < 2.0**-100


@pytest.mark.parametrize("name", NAMES)
def test_series_agrees_for_large_frequencies(name, series):
    for f, p in [(1000.5, 1e-3), (5e4, 0.7), (1e9 + 0.5, 1e-9), (1e300, 0.25)]:
        second = f / p if name.endswith("frequencies") else p
        value = getattr(reference, name)(f, second)
        assert relative(value, series(name, f, second)) < 2.0**-80, (f, p)


def test_sums_are_the_definition(method, cells):
    f, p = cells(12, method)
    chosen = (p > 1e-60) | (f % 1 != 0)
    for x, y in zip(f[chosen].tolist(), p[chosen].tolist(), strict=True):
        definition = reference.individual_risk(x, y)
        assert relative(SUMS(x, y), definition) < 2.0**-115


@pytest.mark.parametrize("f", [1, 2, 5, 62, 63, 64, 64.5, 65, 300])
@pytest.mark.parametrize("p", [1e-12, 0.03, 0.2499, 0.25, 0.2501, 0.9, 1 - 2.0**-53, 1])
def test_sums_are_the_definition_at_their_borders(f, p):
    assert relative(SUMS(f, p), reference.individual_risk(f, p)) < 2.0**-115


def test_sums_agree_with_the_series_for_large_frequencies(series):
    for f, p in [(1000, 1e-300), (1e9 + 0.5, 1e-9), (1e300, 0.25)]:
        assert relative(SUMS(f, p), series("individual_risk", f, p)) < 2.0**-115


def test_quotient_is_not_rounded():
    f, F = 3.0, 1063.1
    value = reference.individual_risk_from_frequencies(f, F)
    rounded = reference.individual_risk(f, f / F)
    assert 2.0**-56 < relative(rounded, value) < 2.0**-52


def test_derivative_is_the_slope():
    with mpmath.workprec(400):
        p, h = mpmath.mpf(0.3), mpmath.mpf(2) ** -60
        rise = reference.individual_risk(5, p + h) - reference.individual_risk(5, p - h)
    slope = reference.individual_risk_gradient(5, p)
    assert relative(rise / (2 * h), slope) < 1e-15


# --- differences of log Gamma and psi ------------------------------------------------


def log_rising(x, m):
    return (x + m).lgamma() - x.lgamma()


def psi_difference(x, m):
    return (x + m).digamma() - x.digamma()


def trigamma_difference(x, m):
    return arb(2).zeta(x) - arb(2).zeta(x + m)


BY_ARB = {
    "log_gamma_ratio": lambda x, s, t: log_rising(x, s) - log_rising(x + t, s),
    "gamma_ratio": lambda x, s, t: (log_rising(x, s) - log_rising(x + t, s)).exp(),
    "log_gamma_ratio_curvature": lambda x, s, t: (
        log_rising(x, t) - 2 * log_rising(x + s, t) + log_rising(x + 2 * s, t)
    ),
    "log_rising_factorial": log_rising,
    "log_rising_excess": lambda x, m: log_rising(x, m) - m * x.log(),
    "digamma_difference": psi_difference,
    "digamma_deficit": lambda x, m: m / x - psi_difference(x, m),
    "trigamma_difference": trigamma_difference,
    "trigamma_deficit": lambda x, m: m / x**2 - trigamma_difference(x, m),
    "log1p": lambda x: x.log1p(),
    "log1pmx": lambda x: x.log1p() - x,
    "expm1": lambda x: x.expm1(),
}


@pytest.mark.parametrize("name", BY_ARB)
def test_arb_agrees_on_differences(name):
    count = BY_ARB[name].__code__.co_argcount
    rng = np.random.default_rng(9)
    points = 10.0 ** rng.uniform(-12, 12 if count > 1 else 2, (12, count))
    points[0, -1] = 1 + 2.0**-50  # next to the zeros of the deficits
    for at in points.tolist():
        ctx.prec = 1500
        ball = BY_ARB[name](*map(arb, at))
        assert ball.rel_accuracy_bits() > 150
        mantissa, exponent = ball.mid().man_exp()
        with mpmath.workprec(ctx.prec):
            exact = mpmath.ldexp(mpmath.mpf(int(mantissa)), int(exponent))
        value = getattr(reference, name)(*at)
        assert relative(value, exact) < 2.0**-110, at


def test_differences_of_integers():
    # Gamma(7)/Gamma(3) = 360, psi(7) - psi(3) = 1/3 + 1/4 + 1/5 + 1/6.
    assert relative(reference.log_rising_factorial(3, 4), mpmath.log(360)) < 1e-14
    assert relative(reference.digamma_difference(3, 4), 0.95) < 1e-15
    squares = 1 / 9 + 1 / 16 + 1 / 25 + 1 / 36
    assert relative(reference.trigamma_difference(3, 4), squares) < 1e-15
    assert relative(reference.gamma_ratio(3, 1, 4), 3 / 7) < 1e-15
