"""The histories of persons as codes that are nearly independent: a start and changes.

The keys of later waves are nearly those of the first, which no model of few classes
can say. So a later wave is coded by what has changed since the wave before: "same", or
the new category; or, of whole numbers such as the age, the difference. The cells are
the same.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from riskcore.data.columns import CodedColumn
from riskcore.data.entropy import entropy

Codes = NDArray[np.int64]


class History(NamedTuple):
    """Codes of persons, and above each the number of its levels."""

    codes: list[Codes]
    levels: list[int]


def history_of(
    keys: Sequence[CodedColumn], rows: Sequence[NDArray[np.int64]]
) -> History:
    """Return the histories of persons whose records in each wave are ``rows``.

    Keys that never change have no codes in later waves; nor has a key that is the same
    for all.
    """
    found: list[Codes] = []
    for column in keys:
        found.append(column.codes[rows[0]].astype(np.int64))
        for before, after in itertools.pairwise(rows):
            found.append(_change(column, before, after))
    numbered = [np.unique(one, return_inverse=True) for one in found]
    kept = [(len(levels), codes) for levels, codes in numbered if len(levels) > 1]
    if not kept:
        return History([numbered[0][1]], [1])
    return History([codes for _, codes in kept], [levels for levels, _ in kept])


def _change(
    column: CodedColumn, before: NDArray[np.int64], after: NDArray[np.int64]
) -> Codes:
    """Return the change of a key, in the coding that has the smaller entropy."""
    old, new = (column.codes[rows].astype(np.int64) for rows in (before, after))
    by_category: Codes = np.where(old == new, 0, new + 1)
    numbers, whole = whole_numbers(column.labels)
    both = whole[old] & whole[new]
    if not both.any():
        return by_category
    difference = np.where(both, numbers[new] - numbers[old], 0)
    # Other categories, and missing, follow all differences.
    other = int(difference.max()) + 1 + new
    difference = np.where(both | (old == new), difference, other)
    return difference if _bits(difference) < _bits(by_category) else by_category


def _bits(codes: Codes) -> float:
    return entropy(np.unique(codes, return_counts=True)[1])


def whole_numbers(labels: NDArray[Any]) -> tuple[Codes, NDArray[np.bool_]]:
    """Return labels, and then missing, as whole numbers, and which of them are.

    Text of whole numbers is taken for them: the keys of a text file are text. If two
    labels are one number, such as 1 and 01, none is.
    """
    found = [_whole(label) for label in labels.tolist()] + [None]
    whole = np.array([value is not None for value in found])
    numbers = np.array([value or 0 for value in found], np.int64)
    if len(np.unique(numbers[whole])) < np.count_nonzero(whole):
        whole[:] = False
    return numbers, whole


def _whole(label: Any) -> int | None:
    """Return a label as a whole number; None if it is not one, or a large one."""
    try:
        value = int(label)
    except (TypeError, ValueError, OverflowError):
        return None
    same = isinstance(label, str) or value == label
    return value if same and abs(value) < 2**53 else None
