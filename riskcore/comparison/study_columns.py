"""The variables of models and tables in both files: numbers, or shared categories."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.common.arrays import Mask
from riskcore.common.text_numbers import is_number
from riskcore.comparison.formula import Variable
from riskcore.comparison.measures import Floats, Ints
from riskcore.comparison.statistics import File
from riskcore.comparison.tables import SharedColumn
from riskcore.data.columns import CodedColumn
from riskcore.data.files.labels import Labels, code_text
from riskcore.data.recode import Recoding

# Numbers of at most so many values are codes of categories, unless a formula says
# otherwise.
MOST_CODES = 10
LARGEST = 1e150  # its square, times any weight, is a double


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """The columns of both files that models and tables use."""

    files: tuple[File, File]
    keys: Collection[Hashable]
    recodings: Mapping[Any, Recoding]
    labels: Labels | None

    def shared(self, name: Hashable) -> SharedColumn:
        """Return a column of both files as codes of the same categories."""
        before, after = (file.coded.columns[name] for file in self.files)
        return SharedColumn.of(before, after, self.recodings.get(name), self.labels)

    def is_coded(self, name: Hashable) -> bool:
        """Return whether the values of a column are known to be codes."""
        if name in self.keys or name in self.recodings:
            return True
        codes = self.files[0].coded.columns[name].labels.tolist()
        labels = {} if self.labels is None else self.labels.occurring(str(name), codes)
        return 0 < len(codes) <= 2 * len(labels)


@dataclass(frozen=True, slots=True, eq=False)
class Studied:
    """A variable of a model in both files: numbers, or codes of the same categories."""

    name: str
    categories: tuple[str, ...] | None  # as text; None for numbers
    values: tuple[NDArray[Any], NDArray[Any]]
    reason: str = ""  # why the files have no categories in common

    def present(self, side: int) -> Mask:
        """Return the mask of the records with a value in one of the files."""
        if self.categories is None:
            return np.asarray(~np.isnan(self.values[side]))
        return np.asarray(self.values[side] != len(self.categories))

    def occurring(self) -> Ints:
        """Return the categories that occur in a file."""
        assert self.categories is not None
        sizes = len(self.categories) + 1
        counts = sum(np.bincount(codes, minlength=sizes) for codes in self.values)
        return np.flatnonzero(np.asarray(counts)[:-1])


def studied(variable: Variable, columns: Columns, *, response: bool) -> Studied:
    """Return a variable as the formula uses it, or as its values suggest."""
    name = variable.name
    numbers = [side.numbers.get(name) for side in columns.files]
    if variable.use != "category" and numbers[0] is not None and numbers[1] is not None:
        return Studied(name, None, (numbers[0], numbers[1]))
    coded = [side.coded.columns[name] for side in columns.files]
    values = [_numbers(side.labels) for side in coded]
    use = variable.use or _usual_use(values, columns.is_coded(name), response=response)
    if use == "number":
        before, after = (
            _spread(side, labels, name)
            for side, labels in zip(coded, values, strict=True)
        )
        return Studied(name, None, (before, after))
    shared = columns.shared(name)
    shown = tuple(map(code_text, shared.shown))
    return Studied(name, shown, (shared.before, shared.after), shared.reason)


def _numbers(labels: NDArray[Any]) -> Floats | None:
    """Return the values of a column as numbers, None if one is not a number."""
    if labels.dtype.kind in "iuf":
        return labels.astype(np.float64)
    numbers = [_number(label) for label in labels.tolist()]
    return None if None in numbers else np.array(numbers, np.float64)


def _number(label: Any) -> float | None:
    """Return a value as a number, None if it is not one."""
    if isinstance(label, str):
        return float(label) if is_number(label.strip(" ")) else None
    real = isinstance(label, Real | Decimal) and not isinstance(label, bool)
    return float(label) if real else None


def _usual_use(values: Sequence[Floats | None], coded: bool, *, response: bool) -> str:
    """Return whether a variable is a number or a category if no formula says so."""
    if coded or values[0] is None or values[1] is None:
        return "category"
    distinct = len(np.union1d(values[0], values[1]))
    return "number" if distinct > (2 if response else MOST_CODES) else "category"


def _spread(column: CodedColumn, labels: Floats | None, name: str) -> Floats:
    """Return the numbers of all records, nan for missing."""
    if labels is None:
        raise ValueError(
            f"number({name}): some values of {name!r} are not numbers, or no longer; "
            f"write category({name})"
        )
    if np.abs(labels).max(initial=0) > LARGEST:
        raise ValueError(f"column {name!r}: beyond {LARGEST:g}; give another unit")
    return np.append(labels, np.nan)[column.codes]
