"""The individual risk as a function of queries, on arrays of Arrow."""

from __future__ import annotations

from typing import Any

import numpy as np

from riskcore.core.risk import individual
from riskcore.data.files.arrow import import_pyarrow

NAME = "individual_risk"


def individual_risk(frequency: Any, weight_sum: Any) -> Any:
    """Return the individual risk of cells with the bits of the ufunc.

    It is null where either argument is null, nan outside the domain, 0 < f <= F.
    """
    # duckdb calls this for 2,048 cells at a time, so each step costs time.
    columns = frequency, weight_sum
    values = individual.individual_risk_from_frequencies(*map(_doubles, columns))
    validity = None
    for column in columns:
        if column.null_count:
            valid = column.is_valid().to_numpy(zero_copy_only=False)
            validity = valid if validity is None else validity & valid
    pyarrow = import_pyarrow()
    return pyarrow.array(values, mask=None if validity is None else ~validity)


def _doubles(column: Any) -> Any:
    """Return a column of Arrow as doubles, nan for null."""
    return np.asarray(column.to_numpy(zero_copy_only=False), np.float64)
