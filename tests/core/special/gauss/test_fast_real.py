"""The pairs of the risk for real f below 16, against enclosures and mpmath."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from riskcore.core.special.gauss import fast_real as real_pairs
from riskcore.core.special.gauss.enclosure import risk_midpoint
from riskcore.core.special.gauss.fast_integer import (
    BACKWARD_REAL,
    FORWARD_REAL,
    P_FORWARD,
    region,
)

METHODS = {
    FORWARD_REAL: real_pairs.forward_real,
    BACKWARD_REAL: real_pairs.backward_real,
}
MARGIN = 4  # a bound is at least so many times what was ever found


def errors(f, p):
    """Return the error of r relative to r, and as a share of its bound."""
    high, low, error = METHODS[region(f, p)](f, p)
    mid, mid_low, n = risk_midpoint(f, p)
    r = (Fraction(mid) + Fraction(mid_low)) / Fraction(2) ** (600 * n)
    found = abs(Fraction(high) + Fraction(low) - r)
    return float(found / r), float(found / Fraction(error))


def points(where, n, seed):
    """Return points of a region: anywhere, next to integers, at the cuts."""
    rng = np.random.default_rng([seed, where])
    small = where == FORWARD_REAL
    p = 0.3 * 2.0 ** -rng.uniform(0, 5, n) if small else rng.uniform(0.3, 1, n)
    if small:
        p[::4] = 2.0 ** -rng.uniform(2, 899, len(p[::4]))
        p[1::4] = 0.3 - 2.0 ** -rng.uniform(5, 53, len(p[1::4]))
    else:
        p[::4] = rng.uniform(0.3, 0.31, len(p[::4]))
        p[1::4] = 1 - 2.0 ** -rng.uniform(1, 53, len(p[1::4]))
    f = rng.uniform(0, np.where(p < P_FORWARD, 16, np.where(p < 0.5, 4, 2)))
    near = np.rint(f[2::3]) + rng.choice([-1, 1], len(f[2::3])) * 2.0 ** -rng.uniform(
        2, 53, len(f[2::3])
    )
    f[2::3] = near
    found = [(float(x), float(y)) for x, y in zip(f, p, strict=True)]
    found += [(x, float(y)) for x in (0.5, 1.5, 2.5, 14.5, 15.5) for y in p[:5]]
    found += [(2.0**-900, float(p[0])), (1e-200, 2.0**-900), (1e-30, float(p[1]))]
    return [(x, y) for x, y in found if region(x, y) == where]


@pytest.mark.parametrize("where", METHODS)
def test_errors_are_a_quarter_of_their_bounds(where):
    cells = points(where, 600, 1)
    assert len(cells) > 400
    relative, share = np.array([errors(f, p) for f, p in cells]).T
    assert share.max() <= 1 / MARGIN, cells[share.argmax()]
    assert relative.max() > 2.0**-80  # or the measure sees nothing


@pytest.mark.parametrize("d", [0.0, 1e-9, 0.2, 0.5])
def test_sine(d):
    high, low = real_pairs.sine_deficit(d)
    with mpmath.workprec(300):
        x = mpmath.mpf(d)
        limit = mpmath.pi**2 / 6
        exact = (1 - mpmath.sincpi(x)) / x**2 if d else limit
        assert abs((mpmath.mpf(high) + low) / exact - 1) < 2.0**-70


@pytest.mark.parametrize("p", [0.3, 0.31, 0.5, 0.9, 1 - 2.0**-53])
@pytest.mark.parametrize("f", [4.0, 4.37, 4.99])
def test_fraction_of_positive_terms(f, p):
    x, y = real_pairs.doubles_38(f, p, p, 1.0)
    x, y = real_pairs.doubles_22(f, p, x, y)
    x, y = real_pairs.positive(4, 1)(f, p, x, y)
    with mpmath.workprec(300):
        E = mpmath.mpf(x) / (mpmath.mpf(f) * y + x)
        g, q = mpmath.mpf(f), 1 - mpmath.mpf(p)
        D = g / mpmath.hyp2f1(1, 1, g + 1, q)
        assert abs(E / ((D - (g - 1 + p)) / q) - 1) < 2.0**-51
