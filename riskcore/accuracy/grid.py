"""Grids of f and p for tables of errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_MOST_IN_GRID = 10**7  # exact values for more numbers would take hours
# The range of each scale.
SCALES = {
    "linear": (-np.finfo(float).max, np.finfo(float).max),
    "log": (5e-324, np.finfo(float).max),
    "logit": (5e-324, 1.0 - 2.0**-53),
    "whole": (1.0, 2.0**53),
}


def grid(
    start: float,
    stop: float,
    count: int,
    scale: Literal["linear", "log", "logit", "whole"] = "linear",
) -> Floats:
    """
    Return numbers from ``start`` to ``stop``, both included exactly.

    Parameters
    ----------
    start, stop : float
        The ends, start < stop.
    count : int
        How many numbers, at least 2.
    scale : {"linear", "log", "logit", "whole"}
        Evenly in x, in log x, in log(x/(1-x)), which is as fine near 1 as near 0; or
        in log x and then rounded to whole numbers, each taken once.

    Returns
    -------
    ndarray

    Raises
    ------
    ValueError
        If the ends are not on the scale, or ``count`` is below 2.

    Examples
    --------
    >>> from riskcore import accuracy
    >>> accuracy.grid(1, 1000, 10, "whole")
    array([   1.,    2.,    5.,   10.,   22.,   46.,  100.,  215.,  464., 1000.])
    >>> accuracy.grid(0.001, 0.999, 3, "logit")
    array([0.001, 0.5  , 0.999])
    """
    if scale not in SCALES:
        raise ValueError(f"unknown scale {scale!r}; known are {', '.join(SCALES)}")
    low, high = SCALES[scale]
    if not start < stop:
        raise ValueError(
            f"grid from {start:g} to {stop:g}: the stop must be above the start"
        )
    if not low <= start < stop <= high:
        raise ValueError(
            f"grid from {start:g} to {stop:g}: a {scale} grid must lie in "
            f"[{low:g}, {high:.16g}]"
        )
    if count < 2:
        raise ValueError(f"a grid has at least 2 numbers, not {count}")
    if count > _MOST_IN_GRID:
        raise ValueError(f"a grid has at most {_MOST_IN_GRID:,} numbers, not {count}")
    there, back = transforms(scale)
    low, high = there(np.array([start, stop]))
    points = np.asarray(back(np.linspace(low, high, count)), float)
    points[0], points[-1] = start, stop
    if scale == "whole":
        return np.unique(np.rint(points))
    return points


def transforms(scale: str) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """Return the transform that makes a scale linear, and its inverse."""
    if scale == "linear":
        return np.asarray, np.asarray
    if scale == "logit":
        return lambda x: np.log(x) - np.log1p(-x), _logistic
    return np.log, np.exp


def _logistic(u: Floats) -> Floats:
    small = np.exp(-np.abs(u))
    return np.asarray(np.where(u < 0, small, 1.0) / (1.0 + small))
