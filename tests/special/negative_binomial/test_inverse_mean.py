"""The fractions of E[1/(f + X)]: their identities, what they leave out, their steps."""

import mpmath
import numpy as np
import pytest

from riskcore.accuracy import reference
from riskcore.special.negative_binomial import inverse_mean as regions
from riskcore.special.negative_binomial import inverse_mean_pairs as pairs

BITS = 400


def tail(f, a, p, k):
    """Return V(k) = k I(k-1)/I(k), as a quotient of hypergeometric functions."""
    q = 1 - p
    above = mpmath.hyp2f1(k, k - a, f + k, q)
    return (f + k) * above / mpmath.hyp2f1(k + 1, k + 1 - a, f + k + 1, q)


CELLS = [(1, 20, 0.3), (1, 33.5, 0.49), (2.5, 25, 0.01), (1, 60, 0.6), (1, 90, 0.75),
         (1, 400, 0.9), (31, 0.25, 0.2), (40, -0.5, 0.7), (3, 150, 0.4),
         (300, -200, 0.9), (0.5, 200, 0.6), (1, 20, 0.5), (1, 27, 2.0**-14),
         (1e3, 0.1, 1e-6)]  # fmt: skip


@pytest.mark.parametrize(("f", "a", "p"), CELLS)
def test_what_noerlunds_levels_leave_out(f, a, p):
    """Equation (d) of notes/prior.md, with the true tails."""
    with mpmath.workprec(BITS):
        f, a, p = mpmath.mpf(f), mpmath.mpf(a), mpmath.mpf(p)
        q = 1 - p
        s, b = f + a, f * p + (f + a - 1) * q
        where = regions.region(float(f), float(a), float(p), float(b))
        assert regions.NOERLUND_3 <= where <= regions.NOERLUND_52
        levels = regions.levels_of(where)
        true = [tail(f, a, p, k) for k in range(levels + 1)]
        assert all(v >= k * p for k, v in enumerate(true))
        guess = [max(b + levels * (p - q), b / 2)]
        for k in range(levels - 1, -1, -1):
            c = (k + 1) * (k + 1 - a) * p * q
            guess.append(max(b + k * (p - q) + c / guess[-1], k * p))
        guess.reverse()
        assert abs(guess[0] / true[0] - 1) < 2.0**-53
        r = reference.individual_risk_with_prior(f, s, p)
        assert abs(true[0] * r / p - 1) < 2.0**-100
        for k in range(levels):
            c = (k + 1) * (k + 1 - a) * p * q
            assert abs(b + k * (p - q) + c / true[k + 1] - true[k]) < 1e-60 * true[k]


@pytest.mark.parametrize(
    ("f", "a", "p"),
    [(1.25, -0.5, 0.5), (1.9, 3.9, 0.5), (2.1, 19.9, 0.3), (2.1, 3.9, 0.3),
     (29, 0.1, 0.3), (6, 0.001, 0.31), (2, 12.5, 0.5)],
)  # fmt: skip
def test_what_gauss_levels_leave_out(f, a, p):
    with mpmath.workprec(BITS):
        s, q = f + mpmath.mpf(a), 1 - mpmath.mpf(p)
        b = f * p + (s - 1) * q
        where = regions.region(f, a, p, float(b))
        assert where in (regions.GAUSS_31, regions.GAUSS_41)
        x, y = gauss_in_mpmath(f, s, mpmath.mpf(a), q, regions.pairs_of(where))
        D = b + (1 - a) * q * x / y
        r = reference.individual_risk_with_prior(f, s, p)
        assert abs(D * r / p - 1) < 2.0**-55


def gauss_in_mpmath(f, s, a, q, m):
    y = f + 2 * m + 1 - (m + 1) * q
    x = (f + 2 * m) * y - (m + 1 - a) * q * (f + m)
    for k in range(m, 1, -1):
        z = (f + 2 * k - 1) * x - k * q * (s + k - 1) * y
        x, y = (f + 2 * (k - 1)) * z - (k - a) * q * (f + k - 1) * x, z
    above = x - s * q * y
    return above, f * x + above


def test_steps_of_gauss_fraction():
    f, s, a, q = 3.0, 4.5, 1.5, 0.375
    found = regions._gauss(f, s, a, q, 15)
    above, below = gauss_in_mpmath(*map(mpmath.mpf, (f, s, a, q)), 15)
    assert found[0] / found[1] == pytest.approx(float(above / below), rel=1e-15)


@pytest.mark.parametrize(
    ("f", "s", "p"),
    [(1.25, 0.5, 0.4), (2.2e8, 1.2337, 5.7e-9), (1e9, 0.3, 1.01e-9), (0.01, 0.6, 0.51),
     (20.5, 21.2, 0.06), (1e4, 0.9, 1.5e-4), (40.0, 40.9, 0.03)],
)  # fmt: skip
def test_what_gauss_levels_in_pairs_leave_out(f, s, p):
    D, D_low = pairs._gauss(f, s, p)
    with mpmath.workprec(BITS):
        r = reference.individual_risk_with_prior(f, s, p)
        assert abs((mpmath.mpf(D) + D_low) * r / p - 1) < 2.0**-56


@pytest.mark.parametrize("e", [-0.9, -0.5, -1e-9, 0.0, 2.0**-52, 1e-3, 0.4999])
@pytest.mark.parametrize(
    ("f", "p"), [(0.6, 0.45), (1.7, 0.2), (1e6, 9e-7), (3.0, 1e-9)]
)
def test_reflection(f, p, e):
    s = 1.0 + e
    r, r_low = pairs.reflected(f, s, p)
    with mpmath.workprec(BITS):
        exact = reference.individual_risk_with_prior(f, s, p)
        assert abs((mpmath.mpf(r) + r_low) / exact - 1) < 2.0**-55


def test_every_region_is_met():
    rng = np.random.default_rng(1)
    found = set()
    for _ in range(20_000):
        f = float(rng.integers(1, 40)) if rng.random() < 0.5 else rng.uniform(0.1, 99)
        s, p = f + 10 ** rng.uniform(-3, 11) - 0.6, rng.uniform(0, 1)
        b, _ = regions.base(f, abs(s), p)
        found.add(regions.region(f, abs(s) - f, p, b))
    assert found == set(range(regions.REGIONS))
