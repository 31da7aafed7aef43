"""Sums as whole numbers: no bit is lost, in any order."""

from fractions import Fraction

import numpy as np
import pytest

from riskcore.data.engines.sums import WholeSums


class Column(np.ndarray):
    """An array that rounds down by a method, as expressions of engines do."""

    def floor(self):
        return np.floor(self)


def added(sums, weights):
    pieces = sums.cut(np.asarray(weights).view(Column))
    return sums.join([np.array([np.asarray(p).astype(np.int64).sum()]) for p in pieces])


@pytest.mark.parametrize("n", [1, 2, 1000, 10_000])
@pytest.mark.parametrize("spread", [0.0, 1.0, 3.0])
@pytest.mark.parametrize("size", [1e-200, 1.0, 1e200])
def test_each_piece_is_exact(n, spread, size):
    rng = np.random.default_rng(n)
    weights = size * 10 ** rng.uniform(-spread, spread, n)
    sums = WholeSums.of(n, weights.min(), weights.max(), whole=False)
    unit = [Fraction(2) ** (sums.power - i * sums.bits)
            for i in range(1, sums.pieces + 1)]  # fmt: skip
    pieces = [np.asarray(p) for p in sums.cut(weights.view(Column))]
    for weight, *cut in zip(weights[:50], *pieces, strict=False):
        assert sum(int(p) * u for p, u in zip(cut, unit, strict=True)) == Fraction(
            float(weight)
        )
    for piece in pieces:
        assert abs(sum(map(int, piece.tolist()))) < 2**63
    exact = sum(map(Fraction, weights.tolist()))
    (got,) = added(sums, weights)
    assert abs(Fraction(float(got)) - exact) <= Fraction(float(np.spacing(got)))


def test_whole_weights_need_one_piece():
    weights = np.array([1.0, 3.0, 2.0**40])
    sums = WholeSums.of(3, 1.0, 2.0**40, whole=True)
    assert sums.pieces == 1
    assert added(sums, weights) == [2.0**40 + 4]


def test_large_whole_weights():
    weights = np.array([2.0**53, 2.0**53 + 2, 2.0**52 + 1])
    sums = WholeSums.of(3, weights.min(), weights.max(), whole=True)
    assert added(sums, weights) == [float(sum(map(int, weights)))]


@pytest.mark.parametrize(
    ("low", "high"), [(1e-30, 1e30), (1.0, 1.7e308), (5e-324, 1e-320), (1e-300, 1.0)]
)
def test_sizes_that_differ_too_much(low, high):
    assert WholeSums.of(1000, low, high, whole=False) is None


def test_a_sum_that_overflows_is_infinite():
    sums = WholeSums.of(4, 1e300, 1e300, whole=False)
    assert added(sums, np.full(4, 1e300)) == [4e300]
    sums = WholeSums(bits=50, power=1024, pieces=2)
    assert sums.join([np.array([2**51]), np.array([0])]) == [np.inf]
