import math

import mpmath
import numpy as np
import pytest

from riskcore.intruder import betas_for_unique_fraction, unique_fraction
from riskcore.intruder.uniques import peak_beta


def exact(N, K, beta):
    N, K, beta = (mpmath.mpf(float(x)) for x in (N, K, beta))
    with mpmath.workprec(500):
        if beta == 0:
            return mpmath.exp(-N / K)
        return mpmath.exp(-(1 + 1 / (K * beta)) * mpmath.log1p(N * beta))


@pytest.fixture(scope="module")
def models():
    """Return N, K, beta over many orders of magnitude."""
    rng = np.random.default_rng(1)
    N = np.floor(10 ** rng.uniform(0, 10, 600))
    K = np.maximum(np.floor(N * 10 ** rng.uniform(-2.5, 4, 600)), 1.0)
    beta = 10 ** -rng.uniform(-5, 30, 600)
    return N, K, np.where(rng.random(600) < 0.1, 0.0, beta)


def test_fraction_is_right_to_an_ulp(models, ulps):
    found = unique_fraction(*models)
    rows = zip(found, *models, strict=True)
    assert max(ulps(f, exact(*row)) for f, *row in rows) < 0.7
    assert 0 < found.min() < 1e-100


@pytest.mark.parametrize(
    ("N", "K", "beta"),
    [
        (1e10, 1e12, 1e-30), (1e10, 1e12, 1e-24), (1e6, 1108, 1e-12),
        (1e15, 1.5e12, 5e-324), (2**53, 2**53, 1e280), (1, 1, 1e280),
        (1e9, 1, 1e3), (0.5, 1, 0.25),
    ],
)  # fmt: skip
def test_where_the_textbook_form_loses_digits(N, K, beta, ulps):
    assert ulps(unique_fraction(N, K, beta), exact(N, K, beta)) < 0.7


def test_underflow_is_gradual(ulps):
    assert ulps(unique_fraction(740, 1, 0), exact(740, 1, 0)) <= 1
    assert unique_fraction(800, 1, 0) == 0.0


def test_the_two_betas_of_the_illustration():
    smaller, larger = betas_for_unique_fraction(0.001, 63_624, 1108)
    assert larger == pytest.approx(0.0074057310216, rel=1e-11)
    assert round(float(smaller), 7) == 0.0025006
    other = unique_fraction([31_812, 127_248], 1108, smaller)
    assert (1000 * other).round(3).tolist() == [2.547, 0.391]


def test_the_fraction_rises_only_below_its_peak():
    for N, K in [(63_624, 1108), (2.001e6, 1e6), (1e10, 3.0)]:
        peak = peak_beta(N, K)
        beta = peak * np.array([0.1, 0.5, 1.0, 2.0, 10.0])
        found = unique_fraction(N, K, beta)
        assert np.all(np.diff(found[:3]) > 0)
        assert np.all(np.diff(found[2:]) < 0)
    assert peak_beta(2e6, 1e6) == 0.0


def test_roots_give_the_fraction_back(models):
    N, K, _ = (x[:100] for x in models)
    peaks = [peak_beta(n, k) for n, k in zip(N.tolist(), K.tolist(), strict=True)]
    highest = unique_fraction(N, K, peaks)
    share = np.random.default_rng(2).uniform(0.001, 0.999, len(N))
    fraction = highest * share
    some = fraction > 0
    N, K, fraction, highest = N[some], K[some], fraction[some], highest[some]
    smaller, larger = betas_for_unique_fraction(fraction, N, K)
    assert np.isfinite(larger).all()
    poisson = unique_fraction(N, K, 0.0)
    assert np.array_equal(np.isfinite(smaller), (N > 2 * K) & (fraction >= poisson))
    assert np.isfinite(smaller).sum() > 10
    for root in (smaller, larger):
        is_root = np.isfinite(root)
        back = unique_fraction(N, K, np.where(is_root, root, 0.0))
        # Where f_u depends on beta steeply, the nearest double beta is not near.
        assert abs(back / fraction - 1)[is_root].max() < 1e-13
    assert np.all(larger[np.isfinite(smaller)] >= smaller[np.isfinite(smaller)])


def test_where_there_is_no_root():
    for fraction in (0.00113, 0.5, 1.0):
        found = betas_for_unique_fraction(fraction, 63_624, 1108)
        assert np.isnan(found).all()
    smaller, larger = betas_for_unique_fraction(math.exp(-0.5) * 1.001, 10, 20)
    assert math.isnan(smaller)
    assert math.isnan(larger)


def test_the_poisson_model_is_a_root():
    assert betas_for_unique_fraction(unique_fraction(10, 20, 0), 10, 20)[1] == 0.0
    assert betas_for_unique_fraction(unique_fraction(50, 20, 0), 50, 20)[0] == 0.0
