"""Workbooks of Excel: a sheet with a row of names, then one row for each record.

openpyxl reads them: it tells formulas, merged cells and the formats of numbers. The
writer is our own: libraries write 16 digits of a number, and the time of writing.
"""

from __future__ import annotations

import re
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, time, timedelta
from functools import cached_property, lru_cache
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from riskcore.common.progress import Parts
from riskcore.common.warn import warn
from riskcore.common.words import counted
from riskcore.data.files.arrow import ArrowFormat, import_pyarrow
from riskcore.data.files.base_format import Header, Writing, distinct
from riskcore.data.files.excel_writer import letters_of, write_workbook
from riskcore.data.files.intake import Accounted, DoubtfulDates, Intake

# Sizes that no workbook of Excel has: 2^20 rows of some 200 columns, and its texts.
_LARGEST, _LARGEST_PART, _MOST_PARTS = 1 << 32, 1 << 29, 10_000
_SHEETS = "xl/worksheets/"
_CHUNK = 1 << 20
_PROGRESS = 1 << 14  # records between two steps
# What a format shows as it stands; the letters of days, months and years.
_LITERAL, _DAYS = re.compile(r'"[^"]*"|\\.|\[[^\]]*\]'), re.compile("[dy]|mmm")
# A format that shows a whole number with leading zeros.
_ZEROS = re.compile(r"0{2,}")


class SheetsLeftOut(UserWarning):
    """A workbook has several sheets, and only the first one is read."""


class ExcelFile(ArrowFormat):
    """A workbook of Excel; one sheet is read."""

    kind = "excel"
    title = "Excel"
    suffixes = (".xlsx",)
    targets = (".xlsx",)
    typed = True
    read_by = ("sheet", "decimal")
    libraries = ("pyarrow", "openpyxl")

    @cached_property
    def sheet(self) -> str:
        """The name of the sheet that is read."""
        name = self._chosen(self.sheets())
        _refuse_merged(self.path, name)
        return name

    def sheets(self) -> list[str]:
        """Return the names of the sheets; refuse a file that is not a workbook."""
        _refuse_hostile(self.path)
        with _opened(self.path) as book:
            names = [sheet.title for sheet in book.worksheets]
        if not names:
            raise ValueError(f"{self.path}: no sheet in the workbook")
        return names

    def _chosen(self, names: list[str]) -> str:
        """Return the sheet that is asked for, or the first with a warning."""
        asked = self.reading.sheet
        if asked is None:
            if len(names) > 1:
                warn(
                    f"{self.path}: the first of {len(names)} sheets is read, "
                    f"{names[0]!r}; name another with sheet=",
                    SheetsLeftOut,
                )
            return names[0]
        if asked not in names:
            listed = ", ".join(map(repr, names))
            raise ValueError(f"{self.path}: no sheet {asked!r}; there are {listed}")
        return asked

    def read_header(self) -> Header:
        """Read the names of the columns."""
        first = next(_rows(self.path, self.sheet), [])
        return Header(distinct(self.path, _names(self.path, first)))

    def read_table(self, columns: list[str], progress: Parts | None) -> Accounted:
        """Return columns as a table, and the account of the records."""
        names = self.header.names
        kept = [names.index(name) for name in columns]
        values: list[list[Any]] = [[] for _ in kept]
        records, odd = 0, list[str]()  # odd: cells whose day is not in the calendar
        for row in _records(self.path, self.sheet, len(names), odd):
            records += 1
            for position, cells in zip(kept, values, strict=True):
                cells.append(row[position])
            if progress is not None and records % _PROGRESS == 0:
                progress(records, records + 1)
        if progress is not None:
            progress(records, records)
        if odd:
            number = counted(len(odd), "cell")
            warn(
                f"{self.path}: {number} with the format of a date but no day of Excel, "
                f"read as missing: {', '.join(odd[:5])}",
                DoubtfulDates,
            )
        arrays = [column_of(cells, self.reading.decimal) for cells in values]
        table = import_pyarrow().table(dict(zip(columns, arrays, strict=True)))
        return table, Intake(records=records)

    @classmethod
    def write_tables(
        cls, tables: Iterator[Any], file: IO[bytes], path: Path, how: Writing
    ) -> None:
        """Write a table as the only sheet of a workbook."""
        (table,) = tables
        write_workbook(table, file, path)


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """Open a workbook to be read a row at a time."""
    from openpyxl import load_workbook  # type: ignore[import-untyped]

    with path.open("rb") as file:
        try:
            with warnings.catch_warnings():  # of styles, which are not used
                warnings.simplefilter("ignore", UserWarning)
                book = load_workbook(file, read_only=True)
            book._date_formats = frozenset()  # see `_moment`
        except _UNREADABLE as error:
            raise ValueError(f"{path}: not a workbook of Excel: {error}") from None
        try:
            yield book
        finally:
            book.close()


_UNREADABLE = (
    zipfile.BadZipFile, KeyError, ValueError, TypeError, IndexError, AttributeError,
    SyntaxError, EOFError, NotImplementedError, RuntimeError,
)  # fmt: skip


def _refuse_hostile(path: Path) -> None:
    """Refuse an archive that is too large unpacked, or has definitions of entities."""
    if not zipfile.is_zipfile(path):
        raise ValueError(
            f"{path}: not a workbook of Excel, or one with a password; save it again "
            "as .xlsx without a password"
        )
    try:
        with zipfile.ZipFile(path) as archive:
            parts = archive.infolist()
            sizes = [part.file_size for part in parts]
            others = [part for part in parts if not part.filename.startswith(_SHEETS)]
            largest = max((part.file_size for part in others), default=0)
            if (
                sum(sizes) > _LARGEST
                or largest > _LARGEST_PART
                or len(parts) > _MOST_PARTS
            ):
                raise ValueError(
                    f"{path}: {sum(sizes):,} bytes in {len(parts):,} parts when "
                    "unpacked, which is too large; save it as .csv or .parquet"
                )
            for part in parts:
                if part.filename.lower().endswith((".xml", ".rels")):
                    _refuse_definitions(path, archive, part)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        raise ValueError(f"{path}: a damaged workbook: {error}") from None


def _refuse_definitions(
    path: Path, archive: zipfile.ZipFile, part: zipfile.ZipInfo
) -> None:
    """Refuse a part of XML that defines entities, or hides them by its encoding."""
    with archive.open(part) as file:
        start = file.read(4096)
    if b"<!" in start.replace(b"<!--", b"") or start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise ValueError(
            f"{path}: {part.filename} has a document type, which no workbook of Excel "
            "has; save it again in Excel"
        )


def _rows(path: Path, sheet: str) -> Iterator[list[Any]]:
    """Yield the cells of each row of a sheet, up to its last one."""
    with _opened(path) as book:
        worksheet = book[sheet]
        worksheet.reset_dimensions()  # a file may state any
        rows = worksheet.iter_rows()
        while True:
            try:
                row = next(rows, None)
            except _UNREADABLE as error:
                raise ValueError(f"{path}: a damaged workbook: {error}") from None
            if row is None:
                return
            yield list(row)


def _refuse_merged(path: Path, sheet: str) -> None:
    """Refuse a sheet with merged cells: all but the first would be missing."""
    with _opened(path) as book:
        part = book[sheet]._worksheet_path
    with zipfile.ZipFile(path) as archive, archive.open(part) as file:
        last = b""
        while more := file.read(_CHUNK):
            both = last + more
            if b"mergeCell " in both:
                raise ValueError(
                    f"{path}: sheet {sheet!r} has merged cells; unmerge them in Excel, "
                    "so that each record and each name has a cell of its own"
                )
            last = both[-16:]


def _names(path: Path, cells: list[Any]) -> list[str]:
    """Return the names in the first row; refuse cells without one."""
    while cells and cells[-1].value is None:
        cells.pop()
    if not cells:
        raise ValueError(
            f"{path}: the first row of the sheet is empty; it must have the names of "
            "the columns"
        )
    for number, cell in enumerate(cells, 1):
        if cell.value is None:
            raise ValueError(
                f"{path}: column {letters_of(number)} has no name in the first row; "
                "name it, or delete it"
            )
    return [_text(_value(path, cell, [])) for cell in cells]


def _records(path: Path, sheet: str, width: int, odd: list[str]) -> Iterator[list[Any]]:
    """Yield the values of each record; refuse empty rows between records."""
    empty, first_empty = 0, 0
    for number, cells in enumerate(_rows(path, sheet), 1):
        if number == 1:
            continue
        values = [_value(path, cell, odd) for cell in cells]
        for cell, value in zip(cells[width:], values[width:], strict=True):
            if value is not None:
                raise ValueError(
                    f"{path}: cell {cell.coordinate} has a value, but its column has "
                    "no name in the first row"
                )
        if all(value is None for value in values):
            first_empty = first_empty or number
            empty += 1
            continue
        if empty:
            raise ValueError(
                f"{path}: row {first_empty} is empty, but records follow; delete empty "
                "rows"
            )
        yield values[:width] + [None] * (width - len(values))


def _value(path: Path, cell: Any, odd: list[str]) -> Any:
    """Return the value of a cell as it is shown; refuse formulas and errors."""
    value, kind = cell.value, getattr(cell, "data_type", "n")
    if value is None or value == "":
        return None
    if kind == "f":
        raise ValueError(
            f"{path}: cell {cell.coordinate} has a formula; copy the sheet and paste "
            "its values in Excel"
        )
    if kind == "e":
        raise ValueError(f"{path}: cell {cell.coordinate} has the error {value}")
    if kind == "n" and (shows := _shows(cell.number_format)):
        moment = _moment(value, shows, cell.parent.parent.epoch)
        if moment is None:
            odd.append(f"{cell.coordinate} ({value})")
        return moment
    if isinstance(value, int) and kind == "n" and _ZEROS.fullmatch(cell.number_format):
        return f"{value:0{len(cell.number_format)}d}"
    return value


@lru_cache
def _shows(form: str) -> str:
    """Return what a format shows: "date", "time", "span", or nothing of these."""
    numbers = import_module("openpyxl.styles.numbers")
    if not numbers.is_date_format(form):
        return ""
    if numbers.is_timedelta_format(form):
        return "span"
    return "date" if _DAYS.search(_LITERAL.sub("", form.lower())) else "time"


def _moment(serial: float, shows: str, epoch: datetime) -> Any:
    """Return the date or time of a serial number, None if there was no such day.

    openpyxl takes 0 for a time, and 60, a 29 February 1900, for the day before.
    """
    first, gap = (0, ()) if epoch.year == 1904 else (1, (60,))
    if shows != "span" and (int(serial) in gap or (shows == "date" and serial < first)):
        return None
    if shows == "date" and serial < 1:
        return epoch + timedelta(days=serial)
    try:
        convert = import_module("openpyxl.utils.datetime").from_excel
        return convert(serial, epoch, timedelta=shows == "span")
    except OverflowError:  # after the year 9999
        return None


def column_of(values: list[Any], decimal: str = ".") -> Any:
    """Return the values of a column as an array: numbers, dates, bools or text."""
    pyarrow = import_pyarrow()
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int} and kinds:
        return pyarrow.array(values, pyarrow.int64())
    if kinds <= {int, float} and kinds:
        return pyarrow.array(values, pyarrow.float64())
    if kinds == {bool}:
        return pyarrow.array(values, pyarrow.bool_())
    if kinds == {datetime}:
        days = all(moment is None or moment.time() == time() for moment in values)
        array = pyarrow.array(values, pyarrow.timestamp("us"))
        return array.cast(pyarrow.date32()) if days else array
    texts = [None if value is None else _text(value, decimal) for value in values]
    return pyarrow.array(texts, pyarrow.string())


def _text(value: Any, decimal: str = ".") -> str:
    """Return a value as text: whole numbers without a point, dates by ISO 8601."""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, datetime):
        return (value.date() if value.time() == time() else value).isoformat()
    if isinstance(value, time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return str(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value).replace(".", decimal) if isinstance(value, float) else str(value)
