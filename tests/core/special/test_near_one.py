import mpmath
import numpy as np
import pytest

from riskcore.core.special.near_one import (
    LARGEST,
    SMALLEST,
    dd_expm1,
    dd_log1p,
    dd_log1pmx,
    expm1,
    expm1_pair,
    log1p,
    log1pmx,
)
from tests.core.special.pairs import relative

PRECISE = 2500  # bits


def arguments():
    rng = np.random.default_rng(11)
    tiny = rng.choice([-1, 1], 200) * 2.0 ** -rng.uniform(0, 200, 200)
    ends = [y for x in (SMALLEST, LARGEST) for y in (np.nextafter(x, 0), x)]
    near = [-1 + 2.0**-k for k in (2, 20, 53)]
    return [float(x) for x in [*tiny, *ends, *near, *2.0 ** rng.uniform(0, 1000, 50)]]


def exact(x, x_low=0.0):
    with mpmath.workprec(PRECISE):
        x = mpmath.mpf(x) + x_low
        return mpmath.log(1 + x), mpmath.log(1 + x) - x


def test_pairs():
    worst = [0.0, 0.0]
    for x in arguments():
        if x == -1.0:
            continue
        log, less = exact(x)
        worst[0] = max(worst[0], relative(dd_log1p(x, 0.0), log))
        worst[1] = max(worst[1], relative(dd_log1pmx(x, 0.0), less))
    assert 2.0**-90 < worst[0] < 2.0**-75
    assert 2.0**-90 < worst[1] < 2.0**-70


@pytest.mark.parametrize("x", [-0.25, 1e-9, 0.3, 5.0])
def test_pairs_see_the_low_word(x):
    low = 0.3 * float(np.spacing(x))
    log, less = exact(x, low)
    assert relative(dd_log1p(x, low), log) < 2.0**-75
    assert relative(dd_log1pmx(x, low), less) < 2.0**-70


def test_doubles(ulps):
    for x in arguments():
        log, less = exact(x)
        assert ulps(log1p(x), log) < 0.51
        assert ulps(log1pmx(x), less) < 0.6
        if x < 700:
            with mpmath.workprec(PRECISE):
                assert ulps(expm1(x), mpmath.exp(x) - 1) < 2


@pytest.mark.parametrize(
    ("function", "best", "limit"),
    [(dd_expm1, 2.0**-90, 2.0**-76), (expm1_pair, 2.0**-70, 2.0**-60)],
)
def test_pair_of_the_exponential_less_one(function, best, limit):
    rng = np.random.default_rng(12)
    sizes = 2.0 ** rng.uniform(-300, 6.2, 300)
    worst = 0.0
    for x in map(float, [*sizes, *-sizes, *rng.uniform(-1, 1, 200), 700.0, -79.9]):
        low = float(rng.uniform(-0.5, 0.5) * np.spacing(x))
        with mpmath.workprec(PRECISE):
            exact_value = mpmath.expm1(mpmath.mpf(x) + low)
        worst = max(worst, relative(function(x, low), exact_value))
    assert best < worst < limit


@pytest.mark.parametrize("x", [-80.1, -745.0, -1e300])
def test_pair_of_the_exponential_less_one_far_below(x):
    with mpmath.workprec(PRECISE):
        below = mpmath.expm1(max(x, -1e4))
        low = 0.4 * float(np.spacing(x))
        assert relative(dd_expm1(x, low), below) < 2.0**-113
        assert relative(expm1_pair(x, low), below) < 2.0**-113
