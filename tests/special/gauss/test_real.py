"""The parts of the risk for real f below 16, against enclosures and mpmath."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from riskcore.special.gauss import real
from riskcore.special.gauss.enclosure import risk_midpoint
from riskcore.special.gauss.regions import BACKWARD_REAL, FORWARD_REAL, region

METHODS = {FORWARD_REAL: real.forward_real, BACKWARD_REAL: real.backward_real}


def exact(f, p):
    """Return r, and dr/dp, which loses what f r and p have in common."""
    high, low, n = risk_midpoint(f, p)
    r = (Fraction(high) + Fraction(low)) / Fraction(2) ** (600 * n)
    x, y = Fraction(f), Fraction(p)
    return r, (x * r / y - 1) / (1 - y)


def relative(found, value):
    return abs(float(found / value - 1))


def errors(f, p):
    """Return the relative errors of N/M and H/M."""
    N, N_low, M, M_low, H, H_low = map(Fraction, METHODS[region(f, p)](f, p))
    r, gradient = exact(f, p)
    below = M + M_low
    return relative((N + N_low) / below, r), relative((H + H_low) / below, gradient)


def points(where, n, seed):
    """Return points of a region: anywhere, next to integers, at the cuts."""
    rng = np.random.default_rng([seed, where])
    small = where == FORWARD_REAL
    p = 0.3 * 2.0 ** -rng.uniform(0, 5, n) if small else rng.uniform(0.3, 1, n)
    if small:
        p[::4] = 2.0 ** -rng.uniform(2, 959, len(p[::4]))
        p[1::4] = 0.3 - 2.0 ** -rng.uniform(5, 53, len(p[1::4]))
    else:
        p[::4] = rng.uniform(0.3, 0.31, len(p[::4]))
        p[1::4] = 1 - 2.0 ** -rng.uniform(1, 53, len(p[1::4]))
    f = rng.uniform(0, np.where(p < 0.3, 16, np.where(p < 0.5, 4, 2)))
    near = np.rint(f[2::3]) + rng.choice([-1, 1], len(f[2::3])) * 2.0 ** -rng.uniform(
        2, 53, len(f[2::3])
    )
    f[2::3] = near
    found = [(float(x), float(y)) for x, y in zip(f, p, strict=True)]
    found += [(x, float(y)) for x in (0.5, 1.5, 2.5, 14.5, 15.5) for y in p[:5]]
    found += [(2.0**-900, float(p[0])), (1e-200, 2.0**-900), (1e-30, float(p[1]))]
    return [(x, y) for x, y in found if region(x, y) == where]


@pytest.mark.parametrize("where", METHODS)
def test_parts(where):
    cells = points(where, 300, 1)
    assert len(cells) > 200
    found = np.array([errors(f, p) for f, p in cells])
    # An eighth of u = 2^-53, and half of it.
    assert found[:, 0].max() < 0.125 * 2.0**-53
    far = np.array([p < 1 - 2.0**-30 for _, p in cells])
    assert found[far, 1].max() < 2.0**-54
    assert found[:, 0].max() > 2.0**-62  # or the measure sees nothing


@pytest.mark.parametrize("d", [2.0**-53, 1e-9, 1e-3, 0.1, 0.3, 0.49, 0.5])
@pytest.mark.parametrize("p", [2.0**-960, 1e-30, 1e-3, 0.1, 0.29999])
def test_reflection_on_both_sides(d, p):
    q = 1 - p
    q_low = (1 - q) - p
    for e in (d, -d):
        K, K_low, R, R_low = real._reflected(e, p, q, q_low)
        with mpmath.workprec(1200):
            x, y = mpmath.mpf(e), mpmath.mpf(p)
            v = y / (1 - y)
            # r(1+e) and e r(e); R is for positive e.
            r = mpmath.hyp2f1(1, 1 + x, 2 + x, -1 / v) / (1 + x)
            assert abs((mpmath.mpf(K) + K_low) * v / r - 1) < 2.0**-58
            if e > 0:
                r = mpmath.hyp2f1(1, x, 1 + x, -1 / v)
                assert abs((mpmath.mpf(R) + R_low) / r - 1) < 2.0**-59


@pytest.mark.parametrize("d", [0.0, 1e-9, 0.2, 0.5])
def test_sine(d):
    high, low = real.sine_deficit(d)
    with mpmath.workprec(300):
        x = mpmath.mpf(d)
        limit = mpmath.pi**2 / 6
        exact = (1 - mpmath.sincpi(x)) / x**2 if d else limit
        assert abs((mpmath.mpf(high) + low) / exact - 1) < 2.0**-70


@pytest.mark.parametrize("p", [0.3, 0.31, 0.5, 0.9, 1 - 2.0**-53])
@pytest.mark.parametrize("f", [4.0, 4.37, 4.99])
def test_fraction_of_positive_terms(f, p):
    above, below = real._e_positive(f, p)
    with mpmath.workprec(300):
        x, y = mpmath.mpf(f), mpmath.mpf(p)
        D = x / mpmath.hyp2f1(1, 1, x + 1, 1 - y)
        E = (D - (x - 1 + y)) / (1 - y)
        assert abs(mpmath.mpf(above) / below / E - 1) < 2.0**-52
