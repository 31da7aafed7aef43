"""Blocks of quantiles, by blocks of tails: the bits of single cells."""

import math

import numpy as np
import pytest

import riskcore
from riskcore.core.special.negative_binomial.probability import is_branchless
from riskcore.core.special.negative_binomial.tails import SHORT, is_long, is_short


def cells(n=1200):
    """Return level, f, p of every kind: short, long, fractions, out of the domain."""
    rng = np.random.default_rng(8)
    kinds = [
        rng.integers(1, 8, n),
        rng.integers(1, 65, n),
        np.floor(10 ** rng.uniform(1.8, 9, n)),
        rng.uniform(0.01, 20, n),
        rng.uniform(16, 300, n),
    ]
    f = np.choose(rng.integers(0, len(kinds), n), kinds).astype(float)
    p = np.where(rng.random(n) < 0.7, rng.random(n), 10 ** -rng.uniform(0, 290, n))
    level = rng.random(n)
    f[::37], p[5::41], level[7::43], p[::53] = -1.0, math.nan, math.inf, 1.0
    return level, f, p


@pytest.mark.parametrize(
    "name", ["population_frequency_quantile", "individual_risk_quantile"]
)
def test_blocks_and_cells_give_the_same_bits(name):
    level, f, p = cells()
    function = getattr(riskcore, name)
    single = np.array([function(*cell) for cell in zip(level, f, p, strict=True)])
    assert 0.02 < np.isnan(single).mean() < 0.4
    for some in (slice(None), slice(1, None, 3), slice(None, None, -1)):
        found = function(level[some], f[some], p[some])
        assert np.array_equal(found, single[some], equal_nan=True)


def test_kinds_of_cells():
    assert is_short(1.0, 0.5)
    assert is_short(SHORT, 2.0**-900)
    assert is_long(SHORT + 1.0, 0.5)
    assert is_long(SHORT + 0.5, 0.5)
    assert is_branchless(16.5, 0.5)
    for f, p in ((15.5, 0.5), (-1.0, 0.5), (1.0, 1.0), (1.0, 2.0**-901)):
        assert not is_branchless(f, p)
        assert not is_short(f, p)
        assert not is_long(f, p)
    assert not is_short(16.5, 0.5)
    assert not is_long(math.nan, 0.5)
    assert not is_short(math.nan, 0.5)
