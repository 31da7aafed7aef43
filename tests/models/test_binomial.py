import math

import numpy as np
import pytest
from scipy import stats

from riskcore.models.binomial import interval


@pytest.mark.parametrize("m", [0, 1, 7, 300, 10**6])
@pytest.mark.parametrize("p", [1e-320, 1e-9, 0.001, 0.3, 0.5, 0.97, 1 - 2.0**-53])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_equal_tails(m, p, level):
    low, high = interval(m, p, level)
    law = stats.binom(m, p)
    tail = (1 - level) / 2
    assert 0 <= low <= high <= m
    assert law.cdf(low) >= tail * (1 - 1e-9)
    assert low == 0 or law.cdf(low - 1) < tail * (1 + 1e-9)
    assert law.sf(high) <= tail * (1 + 1e-9)
    assert high == 0 or law.sf(high - 1) > tail * (1 - 1e-9)


def test_certain_and_unknown():
    assert interval(9, 0.0, 0.95) == (0, 0)
    assert interval(9, 1.0, 0.95) == (9, 9)
    assert np.isnan(interval(9, math.nan, 0.95)).all()


@pytest.mark.parametrize("level", [0.0, 1.0, math.nan, 95])
def test_level_is_checked(level):
    with pytest.raises(ValueError, match=r"level=.*: need a number in \(0, 1\)"):
        interval(9, 0.5, level)
