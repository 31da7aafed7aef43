"""Profiles of columns: type, extremes, and the values that only one unit has."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from riskcore.common.progress import Lines, silent
from riskcore.common.threads import in_threads, usual_threads
from riskcore.data.coded import code_series
from riskcore.data.columns import CodedColumn, Records, code_column, plain_value
from riskcore.data.dates import dates_in, digits_of_dates, far_dates
from riskcore.data.engines.base import Engine
from riskcore.data.engines.counting import Question, records_of
from riskcore.data.files.labels import Labels
from riskcore.data.likely_codes import LikelyCode, likely_codes, numbers_of_text

Array = NDArray[Any]

Type = Literal["whole number", "number", "text", "time", "true or false", "other"]

Order = Literal["ascending", "together"]

_LEAST_DATE = 190_000
_TYPES: dict[str, Type] = {"b": "true or false", "m": "time", "M": "time"}
# With more values than this a column on an engine is not searched for codes.
_MOST = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnProfile:
    """What one column of a file holds.

    Attributes
    ----------
    name : column name
    label : str or None
        The label that a file of SPSS, Stata or SAS has for the column.
    type : str
        "whole number", "number", "text", "time", "true or false" or "other". Text is
        a number or a time if all its values are.
    records, missing, distinct : int
        Numbers of records, of missing values and of distinct values.
    single : int
        Number of records with a value that no other record has; with households, that
        no other household has.
    smallest, largest : value or None
        The extremes; None for data on an engine.
    longest : int
        Length of the longest text; 0 for other types.
    constant : bool or None
        Whether all members of each household have the same value; None without
        households.
    order : {"ascending", "together"} or None
        Whether no value is below the one before it, in the order of the records, or
        records with equal values stand together; missing values are left out. None if
        neither is so, and for data on an engine.
    codes : tuple of LikelyCode
        Numbers and dates that may be codes for a missing value.
    like : {"dates", "months", "years", ""}
        What whole numbers such as 20240131 seem to be.
    """

    name: Hashable
    label: str | None = None
    type: Type
    records: int
    missing: int
    distinct: int
    single: int
    smallest: Any = None
    largest: Any = None
    longest: int = 0
    constant: bool | None = None
    order: Order | None = None
    codes: tuple[LikelyCode, ...] = ()
    like: str = ""

    @property
    def is_number(self) -> bool:
        """Whether the values are numbers."""
        return self.type in ("whole number", "number")


def profile(
    data: Any,
    names: Iterable[Hashable],
    household: NDArray[np.int64] | None = None,
    *,
    decimal: str = ".",
    labels: Labels | None = None,
    say: Lines = silent,
) -> list[ColumnProfile]:
    """Return the profiles of columns; ``decimal`` is the mark of numbers in text."""
    records, names = Records.of(data), list(names)
    all_labels = labels or Labels()

    def profiled(i: int, name: Hashable) -> ColumnProfile:
        """Return the profile of one column."""
        say(f"looking at the columns, {i / len(names):.0%}")
        return _profile(records, name, household, decimal, all_labels)

    return in_threads(usual_threads(), profiled, list(enumerate(names)))


def _profile(
    records: Records,
    name: Hashable,
    household: NDArray[np.int64] | None,
    decimal: str,
    labels: Labels,
) -> ColumnProfile:
    label = labels.variables.get(str(name))
    try:
        column = code_column(records, name)
    except TypeError:
        return _without_order(name, records.n, label)
    values = column.labels.tolist()
    column_type, numbers = _type(column.labels, values, decimal)
    dates = dates_in(column) if column_type == "text" else None
    if dates is not None:
        column_type, numbers = "time", dates.days
    smallest, largest = _extremes(column.labels, numbers, column_type)
    constant = None
    if household is not None:
        households = int(household.max(initial=0)) + 1
        constant = not _differs(household, column.codes, households).any()
    return ColumnProfile(
        name=name,
        label=label,
        type=column_type,
        records=records.n,
        missing=column.missing,
        distinct=len(values),
        single=_single(column, household),
        smallest=smallest,
        largest=largest,
        longest=max(map(len, values), default=0) if column_type == "text" else 0,
        constant=constant,
        order=_order(column, numbers),
        codes=likely_codes(column, labels.values.get(str(name)), decimal=decimal)
        if column_type in ("whole number", "number")
        else far_dates(column, dates=dates),
        like="years"
        if labels.formats.get(str(name), "")[:3] == "%ty"
        else digits_of_dates(
            np.asarray(column.labels if numbers is None else numbers, np.float64)
        )
        if column_type == "whole number" and values and smallest > _LEAST_DATE
        else "",
    )


def _without_order(name: Hashable, n: int, label: str | None = None) -> ColumnProfile:
    """Return the profile of values such as lists: nothing is known about them."""
    return ColumnProfile(
        name=name, label=label, type="other", records=n, missing=0, distinct=n, single=n
    )


def profile_on_engine(engine: Engine, names: Iterable[Hashable]) -> list[ColumnProfile]:
    """Return the profiles of columns that an engine holds, without extremes."""
    return [_on_engine(engine, name) for name in names]


def _on_engine(engine: Engine, name: Hashable) -> ColumnProfile:
    kind = engine.schema[name]
    if kind.is_nested():
        return _without_order(name, engine.weigh(Question(())).n)
    question = Question((name,))
    weighed = engine.weigh(question)
    missing = weighed.missing_keys[0]
    distinct = single = 0
    batches: list[Any] = []
    for cells in engine.batches(question):
        records = records_of(cells)
        distinct += len(records)
        single += int(np.count_nonzero(records == 1))
        batches = [*batches, cells] if distinct <= _MOST else []
    column_type: Type = "text"
    if kind.is_integer():
        column_type = "whole number"
    elif kind.is_numeric():
        column_type = "number"
    elif kind.is_temporal():
        column_type = "time"
    elif str(kind) == "Boolean":
        column_type = "true or false"
    # Missing is one of the cells.
    return ColumnProfile(
        name=name,
        type=column_type,
        records=weighed.n,
        missing=missing,
        distinct=distinct - (missing > 0),
        single=single - (missing == 1),
        codes=_codes_of_cells(question, batches),
    )


def _codes_of_cells(question: Question, batches: list[Any]) -> tuple[LikelyCode, ...]:
    """Return the values of a column that may be codes, of batches of its cells."""
    import narwhals.stable.v2 as nw

    if not batches:
        return ()
    cells = nw.concat(batches)
    records, values = records_of(cells), cells.get_column(question.key_columns[0])
    with suppress(TypeError):  # values have no order
        column = code_series(question.keys[0], values)
        return likely_codes(column, sizes=records) or far_dates(column, records)
    return ()


def _type(labels: Array, values: list[Any], decimal: str) -> tuple[Type, Array | None]:
    """Return the type of distinct values, and the numbers that text is."""
    if labels.dtype.kind in _TYPES:
        return _TYPES[labels.dtype.kind], None
    if labels.dtype.kind in "iu" or (values and labels.dtype.kind == "f"):
        whole = np.isfinite(labels).all() and (labels % 1 == 0).all()
        return "whole number" if whole else "number", None
    if not all(issubclass(kind, str) for kind in {*map(type, values)}):
        return _type_of_objects(values), None
    numbers = numbers_of_text(values, decimal)
    if not len(numbers):
        return "text", None
    return "number" if numbers.dtype.kind == "f" else "whole number", numbers


def _type_of_objects(values: list[Any]) -> Type:
    """Return the type of values that are objects."""
    if all(isinstance(value, bool) for value in values):
        return "true or false"
    if all(isinstance(value, Integral) for value in values):
        return "whole number"
    if all(isinstance(value, Real | Decimal) for value in values):
        whole = all(float(value).is_integer() for value in values)
        return "whole number" if whole else "number"
    return "time" if all(hasattr(value, "year") for value in values) else "other"


def _extremes(labels: Array, numbers: Array | None, column_type: Type) -> list[Any]:
    """Return the smallest and the largest value; text of numbers or dates as these."""
    if not len(labels) or column_type == "other":
        return [None, None]
    if numbers is None:
        return [plain_value(labels[0]), plain_value(labels[-1])]
    ends = [plain_value(numbers[at]) for at in (numbers.argmin(), numbers.argmax())]
    return [*map(str, ends)] if column_type == "time" else ends


def _order(column: CodedColumn, numbers: Array | None) -> Order | None:
    """Return how the records are ordered by a column; text of numbers as numbers."""
    levels = len(column.labels)
    if levels < 2:
        return None
    values: Any = column.codes[column.codes < levels]
    values = values if numbers is None else numbers[values]
    before, after = values[:-1], values[1:]
    if (before <= after).all():
        return "ascending"
    return "together" if np.count_nonzero(before != after) == levels - 1 else None


def _single(column: CodedColumn, household: NDArray[np.int64] | None) -> int:
    """Return the number of records whose value only one record or household has."""
    counts = np.bincount(column.codes, minlength=column.levels)[: len(column.labels)]
    if household is None:
        return int(np.count_nonzero(counts == 1))
    shared = _differs(column.codes, household, column.levels)[: len(counts)]
    return int(counts[~shared].sum())


def _differs(group: Array, value: Array, groups: int) -> NDArray[np.bool_]:
    """Return for each group whether its records differ in a value."""
    last = np.zeros(groups, value.dtype)
    last[group] = value
    differs = np.zeros(groups, bool)
    differs[group[value != last[group]]] = True
    return differs
