"""The individual risk as a function of queries: arrays of Arrow in, one out."""

from __future__ import annotations

from typing import Any

import numpy as np

from riskcore.files.arrow import import_pyarrow
from riskcore.risk import individual

NAME = "individual_risk"


def individual_risk(frequency: Any, weight_sum: Any) -> Any:
    """Return the individual risk of cells, of the bits that the ufunc gives.

    Parameters
    ----------
    frequency : pyarrow.Array, shape (K,)
        f, the records of each cell in the sample.
    weight_sum : pyarrow.Array, shape (K,)
        F, the sum of their weights.

    Returns
    -------
    pyarrow.Array of doubles
        Null where either is null; nan outside the domain, 0 < f <= F.

    Examples
    --------
    >>> import pyarrow
    >>> f, F = pyarrow.array([1.0, None]), pyarrow.array([1.0, 2.0])
    >>> individual_risk(f, F).to_pylist()
    [1.0, None]
    """
    pyarrow, compute = import_pyarrow(), import_pyarrow("compute")
    f, F = (_doubles(column) for column in (frequency, weight_sum))
    known = compute.and_(frequency.is_valid(), weight_sum.is_valid())
    known = known.to_numpy(zero_copy_only=False)
    return pyarrow.array(individual.individual_risk_from_frequencies(f, F), mask=~known)


def _doubles(column: Any) -> Any:
    """Return a column of Arrow as doubles, nan for null."""
    return np.asarray(column.to_numpy(zero_copy_only=False), np.float64)
