"""Kernels of the latent class model: a mixture of products, cell by cell.

A cell is a row of positions in ``theta``, one for each key; theta has a row for every
category of every key and a column for every class. The caller adds the sums of parts
of the cells in a fixed order, so threads do not change any bit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from riskcore.core.compiled.jit import kernel, native
from riskcore.core.special.elementary import log
from riskcore.core.special.floats import stack, two_sum
from riskcore.core.special.lanes import add_multiple, multiply, product

MOST_CLASSES = 256  # fit in one stack buffer of the kernels
# A product of many small factors is scaled before it can underflow.
_SMALL, _SCALE, _BITS = 2.0**-400, 2.0**400, 400
_LOG_SCALE = 277.25887222397812  # 400 log 2
_EACH = 4  # keys between two checks: theta >= 2^-106 in every fit
# Products of half of the keys are scaled if the squares of all classes add to less.
_SMALL_SQUARES, _ROW_SCALE = 2.0**-64, 2.0**32
ROW_LOG_SCALE = 22.18070977791825  # 32 log 2
_LEAST = 2.0**-960  # of the product of both halves; records divided by it are finite


class Mixture(NamedTuple):
    """The parameters: shares of C classes, and theta of shape (sum of levels, C)."""

    share: NDArray[np.float64]
    theta: NDArray[np.float64]


@kernel
def _joint(
    cell: int, codes: Any, keys: int, classes: int, share: Any, theta: Any, joint: Any
) -> tuple[float, float]:
    """Write nu_c prod_j theta_cj of a cell; return its sum and the log of its scale."""
    for c in range(classes):
        joint[c] = share[c]
    scaled = 0.0
    first = cell * keys
    total = 0.0
    for j in range(keys):
        row = codes[first + j] * classes
        for c in range(classes):
            joint[c] *= theta[row + c]
        if j % _EACH == _EACH - 1 or j == keys - 1:
            total = 0.0
            for c in range(classes):
                total += joint[c]
            if total < _SMALL and total > 0.0 and j < keys - 1:
                for c in range(classes):
                    joint[c] *= _SCALE
                scaled += _LOG_SCALE
    return total, scaled


@kernel
def _unscaled(total: float, scaled: float) -> float:
    """Return a sum of `_joint` as a probability."""
    while scaled > 0.0:
        total /= _SCALE
        scaled -= _LOG_SCALE
    return total


@kernel
def _write_row(
    row: int, codes: Any, keys: int, classes: int, theta: Any, out: Any, first: int
) -> float:
    """Multiply the thetas of a row into ``out``; return how often small ones grew."""
    scaled = 0.0
    for j in range(keys):
        multiply(theta, codes[row * keys + j] * classes, out, first, classes)
        if j % _EACH == _EACH - 1 or j == keys - 1:
            squares = product(out, first, out, first, classes)
            while 0.0 < squares < _SMALL_SQUARES:
                for c in range(first, first + classes):
                    out[c] *= _ROW_SCALE
                squares = product(out, first, out, first, classes)
                scaled += 1.0
    return scaled


@native("int32*, int64, int64, int64, float64*, float64*, float64*")
def write_rows(
    codes: Any, rows: int, keys: int, classes: int, theta: Any, out: Any, scaled: Any
) -> None:
    """Write the product of the thetas of each row and class, and how often it grew."""
    for row in range(rows):
        for c in range(classes):
            out[row * classes + c] = 1.0
        scaled[row] = _write_row(row, codes, keys, classes, theta, out, row * classes)


@native("int32*, int64, int64, int64, float64*, float64*")
def add_rows(
    codes: Any, rows: int, keys: int, classes: int, values: Any, sums: Any
) -> None:
    """Add the values of each row and class to the sums of its categories."""
    for row in range(rows):
        for j in range(keys):
            at = codes[row * keys + j] * classes
            add_multiple(1.0, values, row * classes, sums, at, classes)


@native(
    "int32*, int64*, int64, int32*, float64*, int64, int64, int64, float64*, float64*, "
    "float64*, float64*, float64*, float64*"
)
def add_expectations(
    codes: Any, begins: Any, keys: int, place: Any, records: Any, start: int, stop: int,
    classes: int, share: Any, theta: Any, second: Any, sums: Any, second_sums: Any,
    likelihood: Any,
) -> None:  # fmt: skip
    """Add expected records of each category and class, and f log pi, of some cells."""
    # The cells from ``begins[row]`` on share the codes of the first half of their keys,
    # for which ``sums`` has the categories. ``second`` has the products of the other
    # half, by ``place``; of ``second_sums`` its numbers are the missing factors. A cell
    # of probability 0 is counted in ``likelihood[2]``, its records in no class;
    # ``likelihood[3]`` counts how often f log pi was scaled.
    first, back = stack(), stack()
    uniques = 1.0  # the product of their probabilities
    for row in range(start, stop):
        for c in range(classes):
            first[c] = share[c]
            back[c] = 0.0
        scaled = _write_row(row, codes, keys, classes, theta, first, 0)
        for k in range(begins[row], begins[row + 1]):
            f = records[k]
            other = place[k] * classes
            total = product(first, 0, second, other, classes)
            if f == 0.0:
                continue
            if not total > _LEAST:
                likelihood[2] += 1.0
                continue
            uniques = _add_logarithm(f, total, uniques, likelihood)
            likelihood[3] += f * scaled
            weight = f / total
            add_multiple(weight, second, other, back, 0, classes)
            add_multiple(weight, first, 0, second_sums, other, classes)
        multiply(first, 0, back, 0, classes)
        for j in range(keys):
            at = codes[row * keys + j] * classes
            add_multiple(1.0, back, 0, sums, at, classes)
    _add_term(log(uniques), likelihood)


@kernel
def _add_logarithm(f: float, total: float, uniques: float, likelihood: Any) -> float:
    """Add f log(total) to a pair; return the product of uniques still to be added."""
    if f != 1.0 or total < _SMALL:
        _add_term(f * log(total), likelihood)
        return uniques
    uniques *= total
    if uniques < _SMALL:
        _add_term(log(uniques), likelihood)
        return 1.0
    return uniques


@kernel
def _add_term(term: float, sums: Any) -> int:
    """Add a number to a pair of doubles; return 0."""
    sums[0], rest = two_sum(sums[0], term)
    sums[1] += rest
    return 0


@native("int32*, int64, int64, int64, int64, float64*, float64*, float64*")
def write_probabilities(
    codes: Any,
    start: int,
    stop: int,
    keys: int,
    classes: int,
    share: Any,
    theta: Any,
    probability: Any,
) -> None:
    """Write pi of some cells."""
    joint = stack()
    for k in range(start, stop):
        total, scaled = _joint(k, codes, keys, classes, share, theta, joint)
        probability[k] = _unscaled(total, scaled)


@native(
    "int32*, float64*, int64, int64, int64, int64, float64*, float64*, float64, "
    "float64, float64*, float64*"
)
def write_without(
    codes: Any, part: Any, start: int, stop: int, keys: int, classes: int, share: Any,
    theta: Any, n: float, pseudo: float, prior: Any, probability: Any,
) -> None:  # fmt: skip
    """Write pi of some cells after an EM step without a part of one record of each."""
    # The part is taken off the sums of each class by the chance that the record is in
    # it. ``prior`` is the share of the prior in each category, ``pseudo`` its total in
    # a class.
    joint = stack()
    for k in range(start, stop):
        total, scaled = _joint(k, codes, keys, classes, share, theta, joint)
        if part[k] == 0.0:
            probability[k] = _unscaled(total, scaled)
            continue
        pi = 0.0
        for c in range(classes):
            gone = part[k] * joint[c] / total if total > 0.0 else 0.0
            size = n * share[c]
            left = size - gone if size > gone else 0.0
            term, inverse = left / (n - part[k]), 1.0 / (left + pseudo)
            for j in range(keys):
                at = codes[k * keys + j]
                seen = theta[at * classes + c] * (size + pseudo) - gone
                term *= max(seen, prior[at]) * inverse
            pi += term
        probability[k] = pi
