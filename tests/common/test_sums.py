"""Sums rounded once: the same doubles as those of `math.fsum`."""

import math

import numpy as np
import pytest

from riskcore.common.sums import exact_parts, rounded_sum

DRAW = np.random.default_rng(5)
N = 40_001
MAKE = {
    "money": lambda: np.round(DRAW.lognormal(9, 1, N), 2),
    "any size": lambda: DRAW.normal(size=N) * 10.0 ** DRAW.integers(-300, 300, N),
    "near": lambda: DRAW.normal(size=N) * 10.0 ** DRAW.integers(-9, 9, N),
    "canceled": lambda: _canceled(DRAW.normal(size=N)),
    "tiny": lambda: DRAW.normal(size=N) * 2.0**-1060,
    "halves of the last bit": lambda: np.append(np.full(N, 2.0**-53), 1.0),
    "zeros": lambda: np.zeros(N),
    "few": lambda: np.array([1e100, 1.0, -1e100]),
    "empty": lambda: np.zeros(0),
    "huge": lambda: np.full(N, 1e300),
    "nan": lambda: np.append(np.ones(N), np.nan),
    "infinite": lambda: np.append(np.ones(N), np.inf),
}


def _canceled(values):
    return np.concatenate([values, -DRAW.permutation(values), [1e-18]])


@pytest.mark.parametrize("kind", MAKE)
def test_sums_are_rounded_once(kind):
    values = MAKE[kind]()
    expected = math.fsum(values.tolist())
    assert repr(rounded_sum(values)) == repr(expected)
    assert repr(rounded_sum(np.repeat(values, 2)[::2])) == repr(expected)


@pytest.mark.parametrize("low", [-1070, -300, 0, 900])
def test_parts_of_batches_add_up_exactly(low):
    rng = np.random.default_rng(4)
    values = np.ldexp(rng.random(3000) + 0.5, rng.integers(low, low + 100, 3000))
    parts = [exact_parts(batch) for batch in np.array_split(values, 7)]
    assert math.fsum(x for part in parts for x in part) == math.fsum(values)


@pytest.mark.parametrize(
    ("last", "error"), [([np.inf, -np.inf], ValueError), ([1.7e308] * 2, OverflowError)]
)
def test_what_has_no_sum_is_refused(last, error):
    with pytest.raises(error, match="fsum"):
        rounded_sum(np.append(np.ones(N), last))
