"""Expected records of windows: between rings and what is inside."""

import numpy as np
import pytest
from scipy.stats import nbinom

from riskcore.models.window_margins import NumberLine, likelihood_height, margin_of


def counted(numbers):
    values, n = np.unique(numbers, return_counts=True)
    return values.astype(float), n


def others_in(numbers, values, reach):
    numbers = np.sort(numbers)
    return np.searchsorted(numbers, values + reach, "right") - np.searchsorted(
        numbers, values - reach
    )


def test_rings_hold_what_their_width_says():
    rng = np.random.default_rng(1)
    values, n = counted(rng.integers(0, 60, 80))
    half = np.full(len(values), 1.5)  # whole numbers within 1
    line = NumberLine(values, np.append(0, np.cumsum(n)).astype(float), half)
    (ring, share), _ = line.rings([10.0, 25.0])
    low, high = values[0] - 1.5, values[-1] + 1.5
    for i, x in enumerate(values):
        far = 3.0
        while True:
            ends = max(x - 1.5 - far, low), min(x + 1.5 + far, high)
            there = (values >= ends[0]) & (values <= ends[1]) & (abs(values - x) > 1.5)
            if n[there].sum() >= 10 or ends == (low, high):
                break
            far *= 2.0
        assert ring[i] == n[there].sum() + 0.5
        assert share[i] == pytest.approx(min(3.0 / (ends[1] - ends[0] - 3.0), 1.0))


def test_the_likelihood_is_negative_binomial():
    rng = np.random.default_rng(2)
    k, mean = rng.integers(0, 9, 50).astype(float), rng.gamma(2.0, 1.0, 50)
    n = rng.integers(1, 4, 50)
    logs = [
        (n * nbinom.logpmf(k, s, s / (s + mean))).sum()
        - likelihood_height(k, mean, s, n)
        for s in (0.1, 1.0, 30.0)
    ]
    np.testing.assert_allclose(logs, logs[0], rtol=1e-9)  # log k! alone


@pytest.mark.parametrize("reach", [0.0, 0.002, 0.02])
def test_numbers_spread_evenly_follow_their_rings(reach):
    rng = np.random.default_rng(3)
    values, n = counted(rng.random(2000))
    margin = margin_of(values, np.full(len(values), reach), n)
    inner = (values > 0.1) & (values < 0.9)
    expected = 2.0 * reach * 2000
    assert margin.others[inner].mean() == pytest.approx(expected, rel=0.1, abs=0.02)
    assert margin.own[inner].mean() < 0.5
    if expected:
        noise = np.abs(others_in(values, values, reach) - 1 - expected)[inner].mean()
        assert np.abs(margin.others - expected)[inner].mean() < 0.6 * noise


def test_heaps_follow_what_is_inside():
    rng = np.random.default_rng(4)
    heap = rng.random(3000) < 0.7
    even, tens = rng.integers(0, 2000, 3000), rng.integers(0, 20, 3000) * 100
    values, n = counted(np.where(heap, tens, even))
    margin = margin_of(values, np.zeros(len(values)), n)
    heaps = values % 100 == 0
    assert margin.others[heaps] == pytest.approx(n[heaps], rel=0.1)
    assert (margin.own[heaps] > 0.5).all()
    assert margin.others[~heaps].max() < 0.1 * margin.others[heaps].min()


def test_smoothed_windows_predict_another_sample():
    """Sums are right, and squares of errors less than of what is inside."""
    rng = np.random.default_rng(5)
    values, n = counted(np.round(rng.lognormal(8, 0.7, 800)))
    reach = 0.01 * values
    margin = margin_of(values, reach, n)
    truth = np.mean(
        [
            others_in(np.round(rng.lognormal(8, 0.7, 800)), values, reach)
            for _ in range(200)
        ],
        axis=0,
    )
    inside = others_in(np.repeat(values, n), values, reach) - 1
    assert (n * margin.others).sum() == pytest.approx((n * truth).sum(), rel=0.1)
    spread = (n * (margin.others - truth) ** 2).sum()
    assert spread < 0.5 * (n * (inside - truth) ** 2).sum()
    assert ((margin.own >= 0.0) & (margin.own <= 1.0) & (margin.error > 0.0)).all()


def test_two_numbers():
    margin = margin_of(np.array([1.0, 9.0]), np.array([0.5, 0.5]), np.array([1, 1]))
    assert np.isfinite(margin.others).all()
    assert (margin.others >= 0.0).all()
