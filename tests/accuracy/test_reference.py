"""The reference itself, against the integral, the closed forms and Arb."""

import math

import mpmath
import numpy as np
import pytest

from riskcore.accuracy.reference import individual_risk_by_sums
from tests import reference

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
    """p^f int_0^1 t^(f-1) (1 - tq)^(-f) dt, Polettini eq. 5, for t = s^(1/f)."""
    with mpmath.workprec(300):
        f, p = mpmath.mpf(f), mpmath.mpf(p)
        cuts = [0, 0.5, 0.9, 1]
        integral = mpmath.quad(lambda s: (1 - s ** (1 / f) * (1 - p)) ** -f, cuts)
        assert relative(p**f / f * integral, reference.individual_risk(f, p)) < 1e-25


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


SUMS = individual_risk_by_sums
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


def test_differences_of_integers():
    # Gamma(7)/Gamma(3) = 360, psi(7) - psi(3) = 1/3 + 1/4 + 1/5 + 1/6.
    squares = 1 / 9 + 1 / 16 + 1 / 25 + 1 / 36
    for name, at, value in (
        ("log_rising_factorial", (3, 4), math.log(360)),
        ("digamma_difference", (3, 4), 0.95),
        ("trigamma_difference", (3, 4), squares),
        ("gamma_ratio", (3, 1, 4), 3 / 7),
    ):
        assert relative(reference.by_arb(name, *at), value) < 1e-14
