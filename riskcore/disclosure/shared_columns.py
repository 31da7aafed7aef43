"""Columns of several files, coded alike: equal values have one code everywhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from riskcore.data.columns import CodedColumn, Records, comparable, with_columns
from riskcore.data.count import count
from riskcore.data.engines.registry import engine_of
from riskcore.data.source import Source

Codes = NDArray[np.uint32]
BANDS = 10
_FEW = 5  # numbers with fewer records a value than this are guessed in bands


class SharedColumn(NamedTuple):
    """One column of several files; missing is a value of its own."""

    codes: tuple[Codes, ...]  # by file
    levels: int

    @classmethod
    def of(cls, columns: Sequence[CodedColumn]) -> SharedColumn:
        """Code a column of several files; refuse one without equal values."""
        new, labels = numbered_alike(columns)
        codes = tuple(
            np.array([*new_codes, len(labels)], np.uint32)[column.codes]
            for column, new_codes in zip(columns, new, strict=True)
        )
        return cls(codes, len(labels) + 1)

    def at(self, rows: Sequence[NDArray[np.intp]]) -> SharedColumn:
        """Return some records of each file."""
        pairs = zip(self.codes, rows, strict=True)
        return self._replace(codes=tuple(codes[which] for codes, which in pairs))


def numbered_alike(columns: Sequence[CodedColumn]) -> tuple[list[list[int]], list[Any]]:
    """Return the number of each label of columns of several files, and all labels."""
    refuse_other_kinds(columns)
    place: dict[Any, int] = {}
    new = [
        [place.setdefault(value, len(place)) for value in values_of(column)]
        for column in columns
    ]
    return new, [*place]


def values_of(column: CodedColumn) -> list[Any]:
    """Return the values of a column, to be found by those of another file."""
    labels = column.labels
    return [*map(comparable, labels)] if labels.dtype.kind in "mMO" else labels.tolist()


def in_bands(columns: Sequence[CodedColumn]) -> Sequence[CodedColumn] | None:
    """Return numbers in bands of equally many records of the first file."""
    # Only of values that most records do not share: an exact income is hardly ever
    # guessed, and need not be.
    numbers = [as_numbers(column.labels) for column in columns]
    first = columns[0]
    mask = first.codes < len(first.labels)
    few = _FEW * len(first.labels) > np.count_nonzero(mask)
    if not few or any(column_numbers is None for column_numbers in numbers):
        return None
    values = np.asarray(numbers[0])[first.codes[mask]]
    shares = np.arange(1, BANDS) / BANDS
    edges = np.unique(np.quantile(values, shares, method="inverted_cdf"))
    edges = edges[edges < values.max()]
    labels = np.arange(len(edges) + 1)
    bands = []
    for column, column_numbers in zip(columns, numbers, strict=True):
        band = np.append(
            np.searchsorted(edges, np.asarray(column_numbers)), len(labels)
        )
        codes = band.astype(np.uint32)[column.codes]
        bands.append(replace(column, codes=codes, labels=labels))
    return bands


def coded_numbers(
    column: CodedColumn, decimal: str = "."
) -> NDArray[np.float64] | None:
    """Return a column as numbers, nan for missing; None if it has other values."""
    labels = column.labels
    if decimal != ".":
        labels = np.char.replace(labels.astype(str), decimal, ".")
    numbers = as_numbers(labels)
    return None if numbers is None else np.append(numbers, np.nan)[column.codes]


def as_numbers(labels: NDArray[Any]) -> NDArray[np.float64] | None:
    """Return values as finite numbers, None if they are not."""
    if labels.dtype.kind in "mM":
        return None
    try:
        numbers = labels.astype(np.float64)
    except (TypeError, ValueError):
        return None
    return numbers if np.isfinite(numbers).all() else None


def in_shared_types(sources: Iterable[Source], data: list[Any]) -> list[Any]:
    """Return data of files, text of a CSV file as numbers where another has numbers."""
    datasets = [*data]
    for i, source in enumerate(sources):
        for other in data[:i] + data[i + 1 :]:
            if engine_of(other) is None:
                columns = Records.of(other).columns
                numbers = source.numbers_beside(columns, datasets[i])
                datasets[i] = (
                    with_columns(datasets[i], numbers) if numbers else datasets[i]
                )
    return datasets


def refuse_other_kinds(columns: Sequence[CodedColumn]) -> None:
    """Refuse a column that is text in one file and numbers in another, or the like."""
    kinds = sorted({_kind(x.labels[0]) for x in columns if len(x.labels)})
    if len(kinds) > 1:
        raise TypeError(
            f"column {columns[0].name!r}: {kinds[0]} in one file and {kinds[1]} in "
            "another, so no value would be equal; give the same type in all files (a "
            "CSV file gives numbers if all values are numbers)"
        )


def _kind(value: object) -> str:
    """Return what kind of value it is, in words."""
    if isinstance(value, str):
        return "text"
    number = isinstance(value, int | float | np.number | np.bool_ | Decimal)
    return "numbers" if number else type(value).__name__


def number_together(columns: Sequence[SharedColumn]) -> list[NDArray[np.int64]]:
    """Return, for each file, the number of each record's combination of values."""
    sizes = [len(codes) for codes in columns[0].codes]
    if not any(sizes):
        return [np.zeros(0, np.int64) for _ in sizes]
    numbers = count(
        [np.concatenate(column.codes) for column in columns],
        [column.levels for column in columns],
    ).inverse
    return np.split(numbers.astype(np.int64), np.cumsum(sizes)[:-1])
