"""Sums as whole numbers: no bit is lost, in any order."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from riskcore.data.engines.sums import Squares, WholeSums


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


def sums_of(cell, weights):
    """Return the sums of weights by cell, correctly rounded."""
    groups = [weights[cell == k].tolist() for k in range(cell.max() + 1)]
    return np.array([math.fsum(group) for group in groups])


def in_parts(squares, weights, row, rows):
    """Return the squares of weights by row, added as an engine adds them."""
    total = np.zeros((squares.whole.pieces, rows), np.int64)
    for part, piece in zip(total, squares.cut(weights.view(Column)), strict=True):
        np.add.at(part, row, np.asarray(piece).astype(np.int64))
    return replace(squares, parts=[*total])


@pytest.mark.parametrize("size", [1e-290, 1.0, 1e290])
@pytest.mark.parametrize(("whole", "most"), [(True, 1), (False, 2)])
def test_variances_by_squares_are_those_of_the_weights(size, whole, most):
    rng = np.random.default_rng(5)
    weights = rng.lognormal(3.0, 0.5, 3000)
    weights = np.ceil(weights) if whole else size * weights
    cell, row = rng.integers(0, 400, 3000), rng.integers(0, 5, 3000)
    number, row = np.unique(5 * cell + row, return_inverse=True)
    squares = Squares.of(3000, weights.min(), weights.max(), whole)
    squares = in_parts(squares, weights, row, len(number))
    assert squares.whole.pieces == most
    records = np.bincount(cell, minlength=400)
    sums = sums_of(cell, weights)
    found = squares.spread(number // 5, records, sums)
    mean = sums / records
    want = np.bincount(cell, (weights / mean[cell] - 1.0) ** 2, 400)
    assert np.abs(found - want).max() <= records.max() * 2.0**-49
    # In memory the bits are the same, in any order.
    order = rng.permutation(3000)
    again = Squares.of_rows(weights[order], 1)
    assert again.spread(cell[order], records, sums).tobytes() == found.tobytes()


def test_rounding_errors_are_no_variance():
    weights = np.full(3000, 0.1)
    cell = np.arange(3000) % 7
    records = np.bincount(cell)
    squares = Squares.of_rows(weights, 1)
    assert not squares.spread(cell, records, sums_of(cell, weights)).any()
    apart = np.where(np.arange(3000) < 7, 0.1 * (1 + 1e-5), 0.1)
    found = Squares.of_rows(apart, 1).spread(cell, records, sums_of(cell, apart))
    assert found == pytest.approx(1e-10 * (1 - 1 / records), rel=1e-3)


def test_squares_of_weights_that_differ_too_much_say_no_more_than_there_is():
    weights = np.array([1e-250, 3e-250, 5e249, 2e250, 1.0, 0.0, 0.0])
    cell = np.array([0, 0, 1, 1, 2, 3, -1])
    records, sums = np.array([2, 2, 1, 1]), np.array([4e-250, 2.5e250, 1.0, 0.0])
    found = Squares.of_rows(weights, 1).spread(cell, records, sums)
    assert found.tolist() == pytest.approx([0.0, 0.72, 0.0, 0.0])
