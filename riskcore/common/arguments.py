"""Checks of arguments: errors that name the argument, before any work is done.

The error for a single argument shows its value and what it should be (``level=2: need a
number in (0, 1)``), for an array how many values are wrong.
"""

from __future__ import annotations

import math
import os
from collections.abc import Hashable, Iterable, Sequence
from decimal import Decimal
from numbers import Real
from operator import index
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

_LONGEST = 80


def shown(value: Any) -> str:
    """Return a value for a message; of a frame or long value only its type."""
    try:
        text = repr(value.item() if isinstance(value, np.generic) else value)
    except ValueError:  # an integer of more than 4,300 digits
        return f"a {type(value).__name__}"
    short = len(text) <= _LONGEST and text.isprintable()
    return text if short else f"a {type(value).__name__}"


def names(argument: str, value: Any) -> list[Any]:
    """Return names of columns as a list."""
    if isinstance(value, str | bytes):
        raise TypeError(f"{argument} is a list of column names: write [{value!r}]")
    if not isinstance(value, Iterable):
        raise TypeError(f"{argument} is a list of column names, not {shown(value)}")
    column_names = list(value)
    for name in column_names:
        column_name(argument, name)
    return column_names


def column_name(argument: str, value: Any) -> None:
    """Refuse a value that cannot be the name of a column, such as the column itself."""
    # A column's test for equality is not true or false.
    try:
        hash(value)
        named = isinstance(value, Hashable) and isinstance(value == value, bool)
    except TypeError:
        named = False
    if not named:
        raise TypeError(f"{argument}: give the name of a column, not {shown(value)}")


def number(argument: str, value: Any) -> float:
    """Return a real number as a double."""
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, Real | Decimal):
        raise TypeError(f"{argument}={shown(value)}: need a number")
    try:
        return float(value)
    except OverflowError:  # an integer or fraction beyond the doubles
        large: Any = value
        return math.inf if large > 0 else -math.inf


def whole(argument: str, value: Any) -> int:
    """Return a whole number."""
    try:
        if not isinstance(value, bool):
            return index(value)
    except TypeError:
        pass
    raise TypeError(f"{argument}={shown(value)}: need a whole number")


def number_in(
    argument: str, value: Any, interval: str, what: str = "a number"
) -> float:
    """Return a number that lies in an interval such as "(0, 1]" or "[0, inf)"."""
    point = number(argument, value)
    low, high = interval[1:-1].split(", ")
    inside = float(low) < point < float(high)
    inside |= interval.startswith("[") and point == float(low)
    inside |= interval.endswith("]") and point == float(high)
    if not inside:
        within = f"in {interval}"
        if high == "inf":
            within = f"{'>=' if interval.startswith('[') else '>'} {low}"
        raise ValueError(f"{argument}={shown(value)}: need {what} {within}")
    return point


def normal_reach(level: float) -> float:
    """Return how many standard deviations a normal interval reaches to either side."""
    level = number_in("level", level, "(0, 1)")
    return NormalDist().inv_cdf((1.0 + level) / 2.0)


def whole_from(
    argument: str, value: Any, low: int, high: int, what: str = "a whole number"
) -> int:
    """Return a whole number from ``low`` to ``high``."""
    integer = whole(argument, value)
    if not low <= integer <= high:
        ends = f"from {_end(low)} to {_end(high)}"
        raise ValueError(f"{argument}={shown(value)}: need {what} {ends}")
    return integer


def _end(bound: int) -> str:
    """Return a bound as text, a large power of two as a power."""
    exponent = abs(bound).bit_length() - 1
    return f"2^{exponent}" if exponent >= 20 and bound == 2**exponent else str(bound)


def file_path(argument: str, value: Any) -> Path:
    """Return the path of a file."""
    if not isinstance(value, str | os.PathLike):
        raise TypeError(f"{argument}={shown(value)}: need the path of a file")
    return Path(value)


def one_of(argument: str, value: Any, choices: Sequence[str]) -> None:
    """Refuse a value that is not one of the choices."""
    if not isinstance(value, str) or value not in choices:
        raise not_one_of(argument, value, choices)


def not_one_of(argument: str, value: Any, choices: Sequence[str]) -> ValueError:
    """Make the error for a value that is not one of the choices."""
    *first, last = map(repr, choices)
    listed = f"{', '.join(first)} or {last}" if first else last
    return ValueError(f"{argument}={shown(value)}: use {listed}")


def generator(argument: str, value: Any) -> None:
    """Refuse a value that is not a `numpy.random.Generator`."""
    if not isinstance(value, np.random.Generator):
        raise TypeError(
            f"{argument}: need a numpy.random.Generator, got {type(value).__name__}"
        )


def numbers(
    argument: str,
    values: ArrayLike,
    what: str = "numbers",
    *,
    kinds: str = "iuf",
    dimensions: int | None = None,
) -> NDArray[Any]:
    """Return numbers as an array that keeps their type."""
    try:
        array = np.asarray(values)
    except ValueError:  # NumPy's message has no name
        raise ValueError(
            f"{argument}: need {what}, got rows of several lengths"
        ) from None
    if array.dtype.kind not in kinds:
        raise TypeError(f"{argument}: need {what}, got {array.dtype}")
    if dimensions is not None and array.ndim != dimensions:
        need = "one dimension" if dimensions == 1 else f"{dimensions} dimensions"
        raise ValueError(f"{argument}: need {need}, got shape {array.shape}")
    return array


def refuse(argument: str, bad: Any, need: str) -> None:
    """Refuse an array with bad values, and report how many are bad."""
    count = np.count_nonzero(bad)
    if count:
        raise ValueError(f"{argument}: {count} of {np.size(bad)} values are not {need}")
