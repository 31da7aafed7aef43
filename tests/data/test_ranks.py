"""The order of codes: that which NumPy finds by sorting."""

import numpy as np
import pytest

from riskcore.data.ranks import random_order, stable_order

N = 9_000
MAKE = {
    "whole": lambda draw: np.round(draw.normal(0, 1e5, N), -1) + 0.0,
    "cents": lambda draw: np.round(draw.lognormal(4, 1, N), 2),
    "six decimals": lambda draw: np.round(draw.normal(size=N), 6) + 0.0,
    "real": lambda draw: draw.normal(size=N),
    "real among cents": lambda draw: np.append(np.round(draw.random(N), 2), 1 / 3),
    "neighbors": lambda draw: 1.0 + draw.integers(0, 3, N) * 2.0**-52,
    "too large": lambda draw: np.round(draw.normal(0, 1e15, N), 2),
    "larger": lambda draw: np.append(np.round(draw.random(N), 1), 1e308),
    "one": lambda draw: np.full(N, -2.5),
    "zeros of both signs": lambda draw: draw.choice([0.0, -0.0, 0.5], N),
    "few": lambda draw: np.array([2.5, 1.0, 2.5]),
    "empty": lambda draw: np.zeros(0),
}


@pytest.fixture(params=MAKE)
def values(request):
    return MAKE[request.param](np.random.default_rng(3))


def test_equal_codes_stay_in_their_order(values):
    labels, codes = np.unique(values, return_inverse=True)
    expected = np.argsort(values, kind="stable")
    assert stable_order(codes, len(labels)).tolist() == expected.tolist()
    small = codes.astype(np.uint16)
    assert stable_order(small, len(labels)).tolist() == expected.tolist()


@pytest.mark.parametrize("bits", [64, 3, 1])
def test_numbers_decide_between_equal_codes(values, bits):
    draw = np.random.default_rng(8)
    numbers = draw.integers(0, 2**bits - 1, len(values), np.uint64, endpoint=True)
    labels, codes = np.unique(values, return_inverse=True)
    found = random_order(codes, len(labels), numbers)
    assert found.tolist() == np.lexsort((numbers, values)).tolist()


def test_bits_that_are_cut_off_decide():
    numbers = np.arange(N, dtype=np.uint64)[::-1]
    codes = np.arange(N) % 3
    found = random_order(codes, 1 << 40, numbers)
    assert found.tolist() == np.lexsort((numbers, codes)).tolist()
