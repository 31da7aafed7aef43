"""The values of a column, as pages need them: labels, numbers and counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from riskcore.app.workbench import Workbench
from riskcore.data.columns import plain_value
from riskcore.data.files.labels import code_text
from riskcore.data.likely_codes import numbers_in

if TYPE_CHECKING:
    from riskcore.data.columns import CodedColumn


def label_of(bench: Workbench, name: str) -> str:
    """Return the label of a column; empty if it has none."""
    labels = bench.source.labels
    return "" if labels is None else labels.variables.get(name) or ""


def code_of(label: Any) -> str:
    """Return a category as rules of recoding name it: 1.0 is "1"."""
    return code_text(plain_value(label))


def labels_of(bench: Workbench, name: str) -> Mapping[str, str]:
    """Return the labels of the codes of a column."""
    return bench.source.value_labels.get(name, {})


def counts_of(column: CodedColumn) -> NDArray[np.int64]:
    """Return the records of each category, without missing."""
    levels = len(column.labels)
    return np.bincount(column.codes, minlength=levels + 1)[:levels]


def numbers_of(bench: Workbench, column: CodedColumn) -> NDArray[np.float64] | None:
    """Return the categories as numbers, None if they have no scale."""

    def make() -> NDArray[np.float64] | None:
        numbers = numbers_in(column)
        with np.errstate(over="ignore"):
            span = np.ptp(numbers) if len(numbers) else np.inf
        return numbers if np.isfinite(span) else None

    return bench.keep("numbers", column.name, make)
