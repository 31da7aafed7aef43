"""Noise: its law, its size, what stays, and the same bits everywhere."""

import math
from statistics import NormalDist

import numpy as np
import pytest

from riskcore.protection.records.treated import treated_columns
from riskcore.protection.treatments.noise_kernels import fill_normal
from riskcore.protection.treatments.rules import Treatment
from tests.secret_of import secret_of

SECRET = secret_of(3)


def treated(words, *columns, **more):
    names = tuple("abc"[: len(columns)])
    columns = dict(zip(names, (np.asarray(x, float) for x in columns), strict=True))
    rule = Treatment.of("x", words)
    found = treated_columns(columns, {names: [rule]}, secret=SECRET, **more)
    return list(found.values())


def test_quantiles_are_those_of_the_normal_law():
    rng = np.random.default_rng(1)
    p = np.concatenate([rng.random(5000), 2.0 ** -rng.uniform(2, 53, 2000), [0.5]])
    p = np.concatenate([p, 1 - p[5000:7000]])
    p = p[(p > 0) & (p < 1)]
    x = p.copy()
    fill_normal(p.size, x)
    expected = np.array([NormalDist().inv_cdf(one) for one in p])
    assert np.allclose(x, expected, rtol=2e-15, atol=1e-16)


def test_noise_has_the_asked_standard_deviation_and_is_normal():
    rng = np.random.default_rng(2)
    x = rng.gamma(2.0, 100.0, 50_000)
    (result,) = treated("noise:10%", x)
    noise = (result - x) / np.std(x, ddof=1) / 0.1
    n = x.size
    # Four standard errors of the moments of a normal sample.
    assert abs(noise.mean()) < 4 / math.sqrt(n)
    assert abs(noise.var() - 1) < 4 * math.sqrt(2 / n)
    assert abs((noise**3).mean()) < 4 * math.sqrt(15 / n)
    assert abs((noise**4).mean() - 3) < 4 * math.sqrt(96 / n)
    assert abs(np.corrcoef(noise, x)[0, 1]) < 4 / math.sqrt(n)


def test_the_standard_deviation_is_weighted():
    x = np.array([1.5] * 500 + [2.5] * 500 + [1000.25] * 10)
    weights = np.array([1.0] * 1000 + [0.0] * 10)
    (result,) = treated("noise:10%", x + np.arange(1010) / 1e5, weights=weights)
    assert np.abs(result - x).max() < 0.5


def test_zeros_and_missing_values_stay_and_whole_numbers_stay_whole():
    x = np.arange(1000.0) % 10
    x[3] = np.nan
    (result,) = treated("noise:50%", x)
    assert (result[x == 0] == 0).all()
    assert np.array_equal(np.isnan(result), np.isnan(x))
    present = ~np.isnan(x)
    assert np.array_equal(np.rint(result[present]), result[present])
    assert (result != x).mean() > 0.5
    cents = np.round(np.random.default_rng(1).normal(50, 10, 100), 2)
    (result,) = treated("noise:50%", cents)
    assert np.array_equal(np.round(result, 2), result)


def test_correlated_noise_keeps_means_and_covariances():
    rng = np.random.default_rng(4)
    n = 40_000
    first = rng.gamma(4.0, 10.0, n)
    columns = [first, 3 * first + rng.normal(size=n) * 10, rng.normal(size=n)]
    result = treated("noise:50%:correlated", *columns)
    before, after = np.cov(columns), np.cov(result)
    scale = np.sqrt(np.outer(np.diag(before), np.diag(before)))
    assert np.abs((after - before) / scale).max() < 0.03
    apart = (np.mean(result, 1) - np.mean(columns, 1)) / np.std(columns, 1)
    assert np.abs(apart).max() < 4 * 0.5 / math.sqrt(n)
    # Noise of its own for each column would lower this correlation, 0.986, to 0.79.
    noise = np.array(result) * math.sqrt(1.25) - columns
    assert np.corrcoef(noise)[0, 1] == pytest.approx(
        np.corrcoef(columns)[0, 1], abs=0.02
    )
    assert np.corrcoef(result[0], first)[0, 1] == pytest.approx(
        1 / math.sqrt(1.25), abs=0.01
    )


def test_correlated_noise_of_columns_that_follow_from_each_other():
    first = np.random.default_rng(5).gamma(4.0, 10.0, 500)
    one, two = treated("noise:20%:correlated", first, 2 * first)
    assert np.allclose(two, 2 * one, rtol=1e-9)


def test_correlated_noise_keeps_zeros_and_missing_values():
    rng = np.random.default_rng(6)
    a, b = rng.gamma(4.0, 10.0, (2, 500))
    a[:100], b[50:150], a[200], b[201] = 0, 0, np.nan, np.nan
    one, two = treated("noise:20%:correlated", a, b)
    assert (one[:100] == 0).all()
    assert (two[50:150] == 0).all()
    assert np.flatnonzero(np.isnan(one)).tolist() == [200]
    assert np.flatnonzero(np.isnan(two)).tolist() == [201]
    assert (one[100:] != a[100:]).all()


def test_correlated_noise_needs_records():
    with pytest.raises(
        ValueError, match="treat a\\+b=noise:20%:correlated: needs at least 6"
    ):
        treated("noise:20%:correlated", [1, 2, 3, 0], [1, 2, 4, 5])


def test_a_single_value_has_no_deviation():
    assert treated("noise:20%", [5, np.nan])[0][0] == 5


def test_the_same_bits_on_every_machine():
    (result,) = treated("noise:10%", np.arange(1, 9) / 7)
    assert [one.hex() for one in result.tolist()] == BITS


BITS = [
    "0x1.6b47edfd56e9bp-3", "0x1.0d0edf0db13c4p-2", "0x1.c11f687279c6ap-2",
    "0x1.eb02dfa0f1ed9p-2", "0x1.72544f4134e1cp-1", "0x1.bee74b6e56a4cp-1",
    "0x1.f00c5b32b2d66p-1", "0x1.1fc2f39d68270p+0",
]  # fmt: skip
