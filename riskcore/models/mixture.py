"""Kernels of the latent class model: a mixture of products, cell by cell.

A cell is a row of positions in ``theta``, one for each key; theta has a row for every
category of every key and a column for every class. The caller adds the sums of parts
of the cells in a fixed order, so threads do not change any bit.
"""

from __future__ import annotations

from typing import Any

from riskcore.core.compiled.jit import kernel, native
from riskcore.core.special.elementary import log
from riskcore.core.special.floats import stack, two_sum

MOST_CLASSES = 256  # fit in one stack buffer of the kernels
# A product of many small factors is scaled before it can underflow.
_SMALL, _SCALE, _BITS = 2.0**-400, 2.0**400, 400
_LOG_SCALE = 277.25887222397812  # 400 log 2
_EACH = 4  # keys between two checks: theta >= 2^-106 in every fit


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


@native(
    "int32*, float64*, int64, int64, int64, int64, float64*, float64*, float64*, "
    "float64*"
)
def add_expectations(
    codes: Any,
    records: Any,
    start: int,
    stop: int,
    keys: int,
    classes: int,
    share: Any,
    theta: Any,
    sums: Any,
    likelihood: Any,
) -> None:
    """Add the expected records of each category and class, and f log pi, of some cells.

    A cell of probability 0 is counted in ``likelihood[2]``; its records are in no
    class.
    """
    joint = stack()
    for k in range(start, stop):
        total, scaled = _joint(k, codes, keys, classes, share, theta, joint)
        f = records[k]
        if f == 0.0:
            continue
        if not total > 0.0:
            likelihood[2] += 1.0
            continue
        likelihood[0], rest = two_sum(likelihood[0], f * (log(total) - scaled))
        likelihood[1] += rest
        weight = f / total
        for c in range(classes):
            joint[c] *= weight
        for j in range(keys):
            row = codes[k * keys + j] * classes
            for c in range(classes):
                sums[row + c] += joint[c]


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
        while scaled > 0.0:
            total /= _SCALE
            scaled -= _LOG_SCALE
        probability[k] = total


@native(
    "int32*, float64, int64, int64, int64, int64, float64*, float64*, float64, "
    "float64, float64*, float64*"
)
def write_without(
    codes: Any,
    part: float,
    start: int,
    stop: int,
    keys: int,
    classes: int,
    share: Any,
    theta: Any,
    n: float,
    pseudo: float,
    prior: Any,
    probability: Any,
) -> None:
    """Write pi of some cells after an EM step without a part of one record of each.

    The part is taken off the sums of each class by the chance that the record is in it.
    ``prior`` is the share of the prior in each category, ``pseudo`` its total in a
    class.
    """
    joint = stack()
    for k in range(start, stop):
        total, _ = _joint(k, codes, keys, classes, share, theta, joint)
        pi = 0.0
        for c in range(classes):
            gone = part * joint[c] / total if total > 0.0 else 0.0
            size = n * share[c]
            left = size - gone if size > gone else 0.0
            one = left / (n - part)
            for j in range(keys):
                at = codes[k * keys + j]
                seen = theta[at * classes + c] * (size + pseudo) - gone
                seen = seen if seen > prior[at] else prior[at]
                one *= seen / (left + pseudo)
            pi += one
        probability[k] = pi
