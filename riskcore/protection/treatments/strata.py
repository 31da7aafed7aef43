"""Strata of treatments: those with too few values are treated together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.common.arrays import Integers
from riskcore.common.warn import warn
from riskcore.data.integers import code_integers
from riskcore.data.ranks import stable_order


class SmallStrata(UserWarning):
    """Some strata have too few values for a treatment, and are treated together."""


def strata(
    stratum: Integers | None, counts: NDArray[np.bool_], fewest: int, label: str
) -> Iterator[Integers]:
    """Yield the positions of the records of each stratum, small ones joined."""
    if np.count_nonzero(counts) < fewest:
        raise ValueError(
            f"{label}: needs at least {fewest} records with values, and there are only "
            f"{np.count_nonzero(counts)}; leave the treatment or the column out"
        )
    if stratum is None:
        yield np.arange(counts.size)
        return
    code = code_integers(stratum)[1].astype(np.int64)  # NumPy 2.0 counts no uint64
    size = np.bincount(code[counts], minlength=int(code.max()) + 1)
    small = size < fewest
    # Strata without any value need no treatment, and get none.
    number = int(np.count_nonzero(small & (size > 0)))
    if number:
        these = "stratum has" if number == 1 else "strata have"
        warn(
            f"{label}: {number} {these} fewer than {fewest} records with values; they "
            "are treated together",
            SmallStrata,
        )
    if small.any():
        if size[small].sum() < fewest:
            others = np.where(small, size.sum() + 1, size)
            small[np.argmin(others)] = True
        code = np.where(small[code], len(size), code)
    order = stable_order(code, len(size) + 1)
    ends = np.flatnonzero(np.diff(code[order])) + 1
    yield from np.split(order, ends)


def combined(columns: Sequence[NDArray[Any]], n: int) -> Integers:
    """Return one code for each combination of the values of columns of n records."""
    codes = np.zeros(n, np.int64)
    for column in columns:
        code = _codes(column)
        pair = codes * (int(code.max(initial=0)) + 1) + code
        codes = _codes(pair).astype(np.int64)
    return codes


def _codes(column: NDArray[Any]) -> NDArray[Any]:
    """Return the rank of each value among those that occur."""
    if column.dtype.kind in "iu":
        return code_integers(column)[1]
    return np.unique(column, return_inverse=True)[1]
