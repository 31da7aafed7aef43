"""Parts of the variance of 1/F: its last difference, and the pace of its rule."""

import math

import mpmath
import numpy as np
import pytest

from riskcore.special.negative_binomial.inverse_moments import _by_steps, _pace


def variance(f, p):
    """Return Var(1/F) and p/q: from f = 1 upwards, notes/posterior.md, section 4."""
    p = mpmath.mpf(p)
    v = p / (1 - p)
    first, second = -v * mpmath.log(p), v * mpmath.polylog(2, 1 - p)
    for g in range(1, f):
        first, second = v * (mpmath.mpf(1) / g - first), v * (first / g - second)
    return second - first**2, v


@pytest.mark.parametrize("f", range(1, 8))
def test_the_last_difference_is_rounded_once(f):
    # It cancels for p near 0.1: every low part before it counts.
    rng = np.random.default_rng(1)
    points = [math.nextafter(0.1, 0), *rng.uniform(1e-3, 0.1, 12)]
    points += [*(10 ** rng.uniform(-30, -2, 5))]
    with mpmath.workprec(600):
        for p in map(float, points):
            exact, v = variance(f, p)
            _, part = _by_steps(float(f), p)
            error = abs(part - exact / (v if f == 1 else v * v))
            assert error < 0.501 * float(np.spacing(part))


def test_the_pace_is_that_of_the_note():
    # notes/posterior.md, section 4: v = x/(f - 2) from f = 8 on, else x/(f + 1).
    for f in (0.25, 1.0, 2.0, 7.5, math.nextafter(8, 0)):
        assert _pace(f) == f + 1
    for f in (8.0, 9.5, 1e10):
        assert _pace(f) == f - 2
