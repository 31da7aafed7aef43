"""Formats whose files are read into tables of Arrow, and written from them.

Here missing codes are replaced and text is converted to numbers, whatever the format,
and a table to be written is made from any kind of columns.
"""

from __future__ import annotations

import importlib
import itertools
import re
import sys
from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO, Any, ClassVar

import numpy as np

from riskcore.common.interrupts import uninterrupted
from riskcore.common.needs import need
from riskcore.common.progress import Parts
from riskcore.common.text_numbers import NUMBER, is_number, with_point
from riskcore.common.words import counted, quoted, sentence
from riskcore.data.files.base_format import FileFormat, Writing, suffix_of
from riskcore.data.files.intake import Accounted
from riskcore.data.files.reading import declared, numbers_among, warn_of_idle_codes
from riskcore.data.files.replace import Create

# Files in which numbers may be text, whose decimal mark is a way of reading.
_WITH_MARKS = (".csv", ".tsv", ".txt", ".xlsx")
# Whole thousands with a mark between them, and perhaps a fraction.
_THOUSANDS = re.compile(
    r"[+-]?[1-9]\d{0,2}([,.' \xa0\u2009\u202f])\d{3}(\1\d{3})*([,.]\d+)?", re.ASCII
)


class ArrowFormat(FileFormat):
    """A format whose files are read as a table of Arrow, and written from one."""

    libraries: ClassVar[tuple[str, ...]] = ("pyarrow",)

    def read_columns(
        self,
        columns: list[str],
        numeric: Collection[str],
        *,
        text: bool,
        progress: Parts | None,
    ) -> Accounted:
        """Read columns that the file has; see `FileFormat.read`."""
        table, intake = self.read_table(columns, progress)
        if columns and table.num_rows == 0:
            raise ValueError(f"{self.path}: a header, but no records")
        for position, name in enumerate(columns):
            column = table.column(position)
            common, own = self.common_codes(), self.reading.codes(name)
            if common or own:
                column = without_codes(self.path, name, column, common, own)
            if name in numeric:
                column = as_numbers(self.path, name, column, self.reading.decimal)
            if common or own or name in numeric:
                table = table.set_column(position, name, column)
        return table, intake

    @abstractmethod
    def read_table(self, columns: list[str], progress: Parts | None) -> Accounted:
        """Return columns as they are stored in the file, and their account."""

    def common_codes(self) -> tuple[str, ...]:
        """Return the missing codes of all columns that were not yet replaced."""
        return self.reading.codes()

    def numbers(self, name: str, data: Any) -> Any:
        """Return as numbers a column of the table that `read` returned."""
        return as_numbers(self.path, name, data.column(name), self.reading.decimal)

    @classmethod
    def check_target(cls, path: Path) -> None:
        """Refuse to write without the libraries."""
        need(f"{cls.title} files that are written", *cls.libraries, *cls.to_write)

    @classmethod
    def write(cls, path: Path, columns: Any, create: Create, how: Writing) -> None:
        """Write a file; see `riskcore.data.files.formats.write`."""
        tables = (table_of(part, plain=not cls.typed) for part in _parts(columns))
        first = next(tables)  # refused before there is a file
        file = create(path)
        cls.write_tables(itertools.chain([first], tables), file, path, how)
        file.flush()

    @classmethod
    def write_tables(
        cls, tables: Iterator[Any], file: IO[bytes], path: Path, how: Writing
    ) -> None:
        """Write a table into a file, in several parts if the format streams it."""
        raise NotImplementedError


def import_pyarrow(module: str = "") -> Any:
    """Return pyarrow, or a module of it."""
    name = f"pyarrow.{module}".rstrip(".")
    try:
        return sys.modules.get(name) or _imported(name)
    except ImportError:
        need("data and files", "pyarrow")
        raise


def _parts(columns: Any) -> Iterator[Any]:
    """Yield columns as given, or those of a reader of batches a batch at a time."""
    pyarrow = import_pyarrow()
    if not isinstance(columns, pyarrow.RecordBatchReader):
        yield columns
        return
    empty = True
    for batch in columns:
        empty = False
        yield pyarrow.Table.from_batches([batch])
    if empty:
        yield columns.schema.empty_table()


@contextmanager
def refused_as_value_error(path: Path) -> Iterator[None]:
    """Raise errors of Arrow on a file as `ValueError` with its name."""
    try:
        yield
    except (import_pyarrow().ArrowException, OSError) as error:
        said = str(error).rstrip(".")
        raise ValueError(
            f"{path}: {said}; if the file was cut or damaged, copy or write it again"
        ) from None


def _imported(name: str) -> Any:
    """Import a module of pyarrow, and with it pandas, while Ctrl-C is put off."""
    # In compiled modules Ctrl-C is ignored, or leaves the import lock taken for ever.
    with uninterrupted():
        module = importlib.import_module(name)
        importlib.import_module("pyarrow").scalar(1)
    return module


def in_plain_layout(column: Any) -> Any:
    """Return a column without views and runs, for which pyarrow lacks functions."""
    pyarrow, compute = import_pyarrow(), import_pyarrow("compute")
    if pyarrow.types.is_run_end_encoded(column.type):
        column = compute.run_end_decode(column)
    if pyarrow.types.is_string_view(column.type):
        kind = pyarrow.large_string()
    elif pyarrow.types.is_binary_view(column.type):
        kind = pyarrow.large_binary()
    else:
        return column
    try:
        return column.cast(kind)
    except pyarrow.ArrowNotImplementedError:  # by pyarrow 16
        return pyarrow.chunked_array([column.to_pylist()], kind)


def in_plain_layouts(table: Any) -> Any:
    """Return a table with all its columns in plain layout."""
    for i, name in enumerate(table.column_names):
        column = table.column(i)
        plain = in_plain_layout(column)
        if plain is not column:
            table = table.set_column(i, name, plain)
    return table


def decoded(column: Any) -> Any:
    """Return a column without a dictionary."""
    if import_pyarrow().types.is_dictionary(column.type):
        return column.cast(column.type.value_type)
    return column


def is_text(kind: Any) -> bool:
    """Tell whether a type of Arrow is text."""
    types = import_pyarrow().types
    texts = types.is_string, types.is_large_string, types.is_string_view
    return any(is_kind(kind) for is_kind in texts)


def without_codes(
    path: Path, name: str, column: Any, common: Sequence[str], own: Sequence[str]
) -> Any:
    """Return a column with missing codes replaced; warn if ``own`` codes are absent."""
    pyarrow, compute = import_pyarrow(), import_pyarrow("compute")
    column = decoded(column)
    values = _as_values((*common, *own), column.type)
    compared = column
    if pyarrow.types.is_float16(column.type):  # for which Arrow has no is_in
        single = pyarrow.float32()
        compared, values = column.cast(single), values.cast(single)
    mask = compute.is_in(compared, values) if len(values) else None
    occur = mask is not None and compute.any(mask).as_py()
    others = _written_otherwise(column, own) if own and is_text(column.type) else ()
    if own and (others or not occur):
        warn_of_idle_codes(path, name, own, others)
    if not occur:
        return column
    return compute.if_else(mask, pyarrow.scalar(None, column.type), column)


def _written_otherwise(column: Any, codes: Sequence[str]) -> list[str]:
    """Return the texts that are the number of a code, but are not that code."""
    numbers = {number for code in codes for number in _numbers_of(code)}
    texts = import_pyarrow("compute").unique(column.drop_null()).to_pylist()
    others = {*texts} - {*codes}
    return sorted(text for text in others if not numbers.isdisjoint(_numbers_of(text)))


def _numbers_of(text: str) -> list[float]:
    """Return the numbers that a text may be, with a mark between thousands or not."""
    text = text.strip()
    thousands = _THOUSANDS.fullmatch(text)
    whole = text.replace(thousands[1], "") if thousands else text
    return numbers_among(number.replace(",", ".") for number in (text, whole))


def _as_values(codes: Sequence[str], kind: Any) -> Any:
    """Return an array of the codes that are values of a type; none for booleans."""
    pyarrow = import_pyarrow()
    values = [pyarrow.array([], kind)]
    for code in codes:
        if pyarrow.types.is_boolean(kind):
            break
        value = pyarrow.array([code if is_text(kind) else code.strip()])
        with suppress(pyarrow.ArrowException):
            if pyarrow.types.is_integer(kind):  # 9.0 is 9
                value = value.cast(pyarrow.decimal128(38, 0))
            values.append(value.cast(kind))
            if pyarrow.types.is_float64(kind):  # Stata keeps 99.9 in 32 bits
                values.append(value.cast(pyarrow.float32()).cast(kind))
    return pyarrow.concat_arrays(values)


def as_numbers(path: Path, name: str, column: Any, decimal: str = ".") -> Any:
    """Return text as float64; other types as they are."""
    pyarrow, compute = import_pyarrow(), import_pyarrow("compute")
    column = decoded(column)
    if not is_text(column.type):
        return column
    text = compute.utf8_trim_whitespace(column)
    mark, unlike = "", False
    if decimal == ",":
        text, mark, unlike = _without_marks(text)
        text = compute.replace_substring(text, ",", ".")
    try:
        numbers = text.cast(pyarrow.float64())
        wrong = compute.invert(compute.is_finite(numbers))
    except pyarrow.ArrowInvalid:
        wrong = compute.invert(compute.match_substring_regex(text, NUMBER))
    wrong = compute.or_(wrong, unlike)
    count = compute.sum(wrong).as_py()
    if count:
        first = compute.index(wrong, True).as_py()
        value = column[first].as_py()
        hint: str = sentence(
            "; others have {mark} between thousands: write all numbers alike",
            quoted(mark),
        )
        if not mark or mark in value or not is_number(with_point(value, decimal)):
            hint = _about_text(name, value, decimal, path)
        raise ValueError(
            sentence(
                "{path}: {column} is not a number in {records}, first in record "
                "{first}: {value}{hint}",
                *(path, name, counted(count, "record"), first + 1, quoted(value), hint),
            )
        )
    _refuse_thousands(path, name, column, text, numbers, decimal)
    return numbers


def _refuse_thousands(
    path: Path, name: str, column: Any, text: Any, numbers: Any, decimal: str
) -> None:
    """Refuse 1.682 beside 749, where all below 1,000 are whole: it is 1682."""
    compute = import_pyarrow("compute")
    grouped = compute.match_substring_regex(text, r"^[1-9]\d{0,2}\.\d{3}$")
    whole = compute.match_substring_regex(text, r"^[1-9]\d\d$")
    most = compute.max(numbers.filter(grouped)).as_py()
    least = compute.min(numbers.filter(whole)).as_py()
    if most is None or least is None or most >= least:
        return
    if compute.all(compute.or_(grouped, whole)).as_py():
        value = column[compute.index(grouped, True).as_py()].as_py()
        how = "" if decimal == "," else sentence(", or give decimal=','")
        raise ValueError(
            sentence(
                "{path}: {column} has {value} beside {number}, so its mark is probably "
                "one of thousands: write it without marks{how}",
                *(path, name, quoted(value), f"{least:.0f}", how),
            )
        )


def _without_marks(text: Any) -> tuple[Any, str, Any]:
    """Return text without the mark of its thousands, the mark, and where it is wrong.

    One mark holds for all numbers of a column: 1050 beside 1.050 may be 1000 times it.
    """
    compute = import_pyarrow("compute")
    text = compute.replace_substring_regex(text, "[\u00a0\u202f]", " ")
    grouped = compute.match_substring_regex(text, r"^[+-]?[1-9]\d{0,2}[. ]\d{3}\b")
    first = compute.index(grouped, True).as_py()
    if first < 0:
        return text, "", compute.match_substring(text, ".")
    mark = "." if "." in text[first].as_py() else " "
    whole = rf"([0-9]{{1,3}}|[1-9][0-9]{{0,2}}([{mark}][0-9]{{3}})+)"
    alike = compute.match_substring_regex(text, rf"^[+-]?{whole}(,[0-9]+)?$")
    plain = compute.replace_substring(text, mark, "")
    return compute.if_else(alike, plain, text), mark, compute.invert(alike)


def _about_text(name: str, text: str, decimal: str, path: Any) -> str:
    """Return a hint for text among numbers: other marks, or a missing code."""
    other, word = (",", "comma") if decimal == "." else (".", "point")
    hint: str = ""
    if _THOUSANDS.fullmatch(text.strip()):
        hint = sentence("; write it without marks between thousands")
    if decimal in text or not is_number(text.strip().replace(other, ".")):
        code = text.strip()
        if hint or not code or not code.isprintable():
            return hint
        how = declared(name, [code])
        return sentence("; if it stands for a missing value: {how}", how)
    if suffix_of(Path(path))[0] not in _WITH_MARKS:
        return f"; it is text with a decimal {word}: make it a number in the file"
    if hint:
        return sentence(
            "{hint}, or if the comma is the decimal mark, give decimal=','"
            if other == ","
            else "{hint}, or if the point is the decimal mark, give decimal='.'",
            hint,
        )
    return sentence(
        "; the decimal mark may be a comma (decimal=',')"
        if other == ","
        else "; the decimal mark may be a point (decimal='.')"
    )


def table_of(columns: Any, *, plain: bool) -> Any:
    """Return an Arrow table, nan as missing; if ``plain``, of types that CSV has."""
    pyarrow = import_pyarrow()
    if not isinstance(columns, Mapping):
        columns = dict(zip(columns.column_names, columns.columns, strict=True))
    if not columns:
        raise ValueError("no columns to write")
    arrays = {}
    for name, values in columns.items():
        try:
            arrays[str(name)] = array_of(values)
        except (TypeError, pyarrow.ArrowException) as error:
            raise TypeError(f"column {name!r} cannot be written: {error}") from None
    lengths = {name: len(values) for name, values in arrays.items()}
    if len(arrays) < len(columns):
        raise ValueError("two columns have the same name")
    if len(set(lengths.values())) > 1:
        raise ValueError(f"columns of different length: {lengths}")
    if plain:
        arrays = {name: _for_csv(name, values) for name, values in arrays.items()}
    return pyarrow.table(arrays)


def array_of(values: Any) -> Any:
    """Return any kind of column as an Arrow array; nan of NumPy is missing."""
    import narwhals.stable.v2 as nw

    values = nw.from_native(values, allow_series=True, pass_through=True)
    if isinstance(values, nw.Series):
        if values.dtype == nw.Object and values.implementation.is_polars():
            raise TypeError("it holds Python objects")
        return in_plain_layout(values.to_arrow())
    mask = None
    if isinstance(values, np.ndarray):
        mask = np.ma.getmaskarray(values) if np.ma.isMA(values) else None
        values = np.ma.getdata(values)
        if not values.dtype.isnative:
            values = values.astype(values.dtype.newbyteorder("="))
    return import_pyarrow().array(values, mask=mask, from_pandas=True)


def with_sorted_dictionaries(table: Any) -> Any:
    """Return a table with sorted dictionaries: others show the order of the records."""
    types = import_pyarrow().types
    for i, field in enumerate(table.schema):
        if types.is_dictionary(field.type):
            table = table.set_column(i, field.name, _sorted_dictionary(table.column(i)))
    return table


def _sorted_dictionary(column: Any) -> Any:
    """Return a column with a sorted dictionary; decoded if its values have no order."""
    pyarrow, compute = import_pyarrow(), import_pyarrow("compute")
    plain = decoded(column)
    values = compute.unique(plain.drop_null())
    if column.type.ordered and column.num_chunks:
        # All chunks have the dictionary of the first.
        column = column.unify_dictionaries()
        order = column.chunk(0).dictionary
        values = order.filter(compute.is_in(order, values))
    else:
        try:
            values = values.take(compute.array_sort_indices(values))
        except pyarrow.ArrowNotImplementedError:
            return plain
    codes = compute.index_in(plain, values).cast(column.type.index_type)
    ordered = column.type.ordered
    make = partial(pyarrow.DictionaryArray.from_arrays, ordered=ordered)
    chunks = [make(chunk, values) for chunk in codes.chunks]
    return pyarrow.chunked_array(chunks, column.type)


def _for_csv(name: str, values: Any) -> Any:
    """Return a column of a type that CSV can hold, nan as missing."""
    pyarrow, compute = import_pyarrow(), import_pyarrow("compute")
    values = decoded(values)
    if pyarrow.types.is_nested(values.type):
        raise TypeError(f"column {name!r} of {values.type} cannot be written as CSV")
    if pyarrow.types.is_floating(values.type):
        null = pyarrow.scalar(None, values.type)
        return compute.if_else(compute.is_nan(values), null, values)
    return values
