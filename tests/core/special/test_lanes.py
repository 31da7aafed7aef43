"""Rows of doubles in vectors: the sums written out, compiled and interpreted."""

import numpy as np
import pytest

from riskcore.core.compiled.jit import native
from riskcore.core.special.lanes import LANES, add_multiple, multiply, product


@native("float64*, int64, float64*, int64, int64, float64*")
def write_product(x, x_first, y, y_first, n, out):
    out[0] = product(x, x_first, y, y_first, n)


@native("float64, float64*, int64, float64*, int64, int64")
def write_multiple(factor, x, x_first, y, y_first, n):
    add_multiple(factor, x, x_first, y, y_first, n)


@native("float64*, int64, float64*, int64, int64")
def write_multiplied(x, x_first, y, y_first, n):
    multiply(x, x_first, y, y_first, n)


@pytest.fixture
def rows():
    rng = np.random.default_rng(1)
    return rng.normal(size=40) * 10.0 ** rng.integers(-8, 8, 40), rng.normal(size=40)


@pytest.mark.parametrize("n", [0, LANES, 3 * LANES, 8 * LANES])
def test_products_are_sums_in_four_lanes(rows, n):
    x, y = rows
    found = np.empty(1)
    write_product(x, 5, y, 2, n, found)
    terms = x[5 : 5 + n] * y[2 : 2 + n]
    sums = [0.0] * LANES
    for at, term in enumerate(terms.tolist()):
        sums[at % LANES] += term
    assert found[0] == (sums[0] + sums[2]) + (sums[1] + sums[3])
    assert found[0] == product(x, 5, y, 2, n)


@pytest.mark.parametrize("n", [0, LANES, 3 * LANES])
def test_rows_are_added_and_multiplied_in_place(rows, n):
    x, y = rows
    added, multiplied = y.copy(), y.copy()
    write_multiple(0.3, x, 5, added, 2, n)
    write_multiplied(x, 5, multiplied, 2, n)
    right = y.copy()
    right[2 : 2 + n] += 0.3 * x[5 : 5 + n]
    assert added.tolist() == right.tolist()  # nothing else was touched
    right = y.copy()
    right[2 : 2 + n] *= x[5 : 5 + n]
    assert multiplied.tolist() == right.tolist()
    again, more = y.copy(), y.copy()
    add_multiple(0.3, x, 5, again, 2, n)
    multiply(x, 5, more, 2, n)
    assert (again.tolist(), more.tolist()) == (added.tolist(), multiplied.tolist())
