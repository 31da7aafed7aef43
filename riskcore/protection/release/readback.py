"""Read a written file back, and compare every cell with what should be there.

The readers here are simple and strict, and share nothing with those that read the input
except how the encoding of mu-Argus files is found: Python's csv module for text, row
group by row group for Parquet and batch by batch for Arrow, slices of lines by the
``.rds`` just written for mu-Argus. One block of a file is in memory at a time.
"""

from __future__ import annotations

import csv
import gzip
import io
import operator
import re
import threading
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache, partial
from itertools import compress, count, islice
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from riskcore.data.files import formats
from riskcore.data.files.argus.text import encoding_of
from riskcore.data.files.arrow import array_of, import_pyarrow
from riskcore.data.files.labelled import parser_errors
from riskcore.data.files.labels import code_text

Array = NDArray[Any]
Positions = NDArray[np.int64]
Mask = NDArray[np.bool_]
# The values of a block by column: text, "" if missing, _EMPTY for empty text.
Block = list[Sequence[Any]]

# Records compared at a time: few, so that their text stays in the processor's cache.
_ROWS = 1 << 13
_CHUNK = 1 << 20
_MISSING = ""
_EMPTY = object()
_FIELD_LIMIT = 2**31 - 1
# The limit of the csv module is one for the whole process.
_FIELD_LIMIT_LOCK = threading.Lock()
_TOKEN = re.compile(r'"([^"]*)"|(\S+)')


class ReadBackError(ValueError):
    """A written file is not what it should be."""


def _error(path: Path, what: str) -> ReadBackError:
    return ReadBackError(f"{path}: {what}; nothing is written")


@dataclass(frozen=True, slots=True, eq=False)
class Expected:
    """What a file should hold."""

    columns: Mapping[str, Any]  # in the order of the file, records in their own order
    order: Positions | None  # positions of the records as they are written
    masks: Mapping[str, Mask]  # the values that must be missing
    # The labels that codes of some columns must have if they occur, by code as text.
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """Number of records."""
        return len(next(iter(self.columns.values())))

    def rows(self, begin: int, end: int) -> slice | Positions:
        """Return the positions of the records from place begin to place end."""
        return slice(begin, end) if self.order is None else self.order[begin:end]


def read_back(
    path: Path,
    parts: Sequence[Path],
    like: formats.Format | None,
    expected: Expected,
    codes: Iterable[str] = (),
    weight: str | None = None,
    decimal: str = ".",
) -> dict[str, Array]:
    """Compare a file with what it should hold; return codes and the weight from it."""
    like = like or formats.Format("csv")
    codes_of = {name: _Codes() for name in codes}
    found: dict[str, Any] = {
        **codes_of,
        **({weight: _Numbers(decimal)} if weight else {}),
    }
    kind = formats.written_as(path, like).kind
    try:
        if kind in _PIECES:
            pieces = _PIECES[kind](parts[0])
            return _typed(path, pieces, expected, list(codes_of), weight, decimal)
        names, blocks = _BLOCKS[kind](path, parts, like)
        _compare_names(path, names, expected)
        _compare(path, names, blocks, expected, found)
    except _UNREADABLE as error:
        kind = type(error).__name__
        raise _error(path, f"the written file cannot be read back ({kind})") from None
    return {name: one.finish() for name, one in found.items()}


_UNREADABLE = (csv.Error, UnicodeError, EOFError, gzip.BadGzipFile, zlib.error)


class _Differences:
    """The cells that are not what they should be, by column: count and first record."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.found: dict[str, tuple[int, int]] = {}

    def add(self, name: str, count: int, first: int) -> None:
        before, earliest = self.found.get(name, (0, first))
        self.found[name] = before + count, earliest

    def refuse(self) -> None:
        if self.found:
            each = "; ".join(
                f"{name!r} in {count} records, first in record {first}"
                for name, (count, first) in self.found.items()
            )
            raise _error(
                self.path, f"the written file differs from the protected data: {each}"
            )


def _compare_names(path: Path, names: Sequence[str], expected: Expected) -> None:
    if sorted(names) != sorted(expected.columns):
        number = len(expected.columns)
        raise _error(
            path, f"the written file does not have the {number} expected columns"
        )


def _refuse_count(path: Path, found: int, expected: int) -> None:
    if found != expected:
        raise _error(
            path, f"{found} records are read back instead of the {expected} expected"
        )


def _compare(
    path: Path,
    names: Sequence[str],
    blocks: Iterator[Block],
    expected: Expected,
    found: Mapping[str, Any],
) -> None:
    """Compare blocks of text; pass the columns asked for to their collectors."""
    differences = _Differences(path)
    ordered = expected.order is not None
    wanted = [_wanted(expected.columns[name], ordered=ordered) for name in names]
    begin = 0
    for block in blocks:
        end = begin + len(block[0])
        if end > expected.n:  # only count what follows
            begin = end
            continue
        rows = expected.rows(begin, end)
        for name, column, want in zip(names, block, wanted, strict=True):
            should, read = want.block(rows), want.read(column)
            if read != should:
                unequal = [*map(operator.ne, read, should)]
                first = unequal.index(True)
                differences.add(name, sum(unequal), begin + first + 1)
            elif name in expected.masks:
                mask = expected.masks[name][rows].tolist()
                left = [i for i in compress(range(len(mask)), mask) if column[i] != ""]
                if left:
                    differences.add(name, len(left), begin + left[0] + 1)
            if name in found:
                found[name].add(column)
        begin = end
    _refuse_count(path, begin, expected.n)
    differences.refuse()


class _Codes:
    """Collect a column of text as codes of its values; 0 is missing."""

    def __init__(self) -> None:
        self.known: defaultdict[Any, int] = defaultdict(count(1).__next__)
        self.known[_MISSING] = 0
        self.parts: list[Array] = []

    def add(self, column: Sequence[Any]) -> None:
        codes = map(self.known.__getitem__, column)
        self.parts.append(np.fromiter(codes, np.int32, len(column)))

    def finish(self) -> Array:
        codes = np.concatenate(self.parts)
        return np.ma.MaskedArray(codes, codes == 0)


class _Numbers:
    """Collect a column of text as numbers."""

    def __init__(self, decimal: str) -> None:
        self.decimal = decimal
        self.parts: list[Array] = []

    def add(self, column: Sequence[Any]) -> None:
        if self.decimal != ".":
            column = [str(text).replace(self.decimal, ".") for text in column]
        try:
            numbers = np.fromiter(map(float, column), np.float64, len(column))
        except (TypeError, ValueError):
            numbers = np.fromiter(map(_number, column), np.float64, len(column))
        self.parts.append(numbers)

    def finish(self) -> Array:
        return np.concatenate(self.parts)


def _number(text: Any) -> float:
    """Return text as a number, nan if it is not a number."""
    try:
        return float(text)
    except (TypeError, ValueError):
        return np.nan


def _wanted(column: Any, *, ordered: bool) -> _Wanted:
    """Return the text that a column should be, block by block."""
    if isinstance(column, np.ndarray) and column.dtype.kind in "Uiu":
        return _Text(column)
    arrow = _arrow(column, ordered=ordered)
    if import_pyarrow().types.is_floating(arrow.type):
        return _Float(arrow)
    return _Arrow(arrow)


class _Wanted:
    """A column as the text that should stand in a file."""

    def __init__(self, column: Any) -> None:
        self.column = column

    def block(self, rows: Any) -> list[Any]:
        """Return the text of some records."""
        raise NotImplementedError

    def read(self, column: Sequence[Any]) -> list[Any]:
        """Return text that was read as it compares with a block."""
        return list(column)


class _Text(_Wanted):
    """Text or whole numbers of NumPy."""

    def block(self, rows: Any) -> list[Any]:
        block = self.column[rows]
        values: list[Any] = np.ma.getdata(block).astype(np.str_).tolist()
        absent = np.ma.getmaskarray(block).tolist()
        if _MISSING in values:
            values = [_EMPTY if value == "" else value for value in values]
        if True in absent:
            pairs = zip(values, absent, strict=True)
            values = [_MISSING if hidden else value for value, hidden in pairs]
        return values


class _Arrow(_Wanted):
    """Values of Arrow other than floats."""

    def __init__(self, column: Any) -> None:
        super().__init__(column)
        types = import_pyarrow().types
        self.bool = types.is_boolean(column.type)
        self.whole = types.is_integer(column.type)
        self.text = types.is_string(column.type) or types.is_large_string(column.type)

    def block(self, rows: Any) -> list[Any]:
        pyarrow, compute = import_pyarrow(), import_pyarrow("compute")
        block = _taken(self.column, rows)
        if self.bool or self.whole:
            words = {None: _MISSING, True: "true", False: "false"}
            values = block.to_pylist()
            if self.bool:
                return [words[value] for value in values]
            return [_MISSING if value is None else str(value) for value in values]
        if not self.text:
            block = block.cast(pyarrow.large_string())
        empty = compute.equal(block, "")
        values = compute.fill_null(block, _MISSING).to_numpy(zero_copy_only=False)
        if compute.any(empty).as_py():
            values[compute.fill_null(empty, False).to_numpy(zero_copy_only=False)] = (
                _EMPTY
            )
        listed: list[Any] = values.tolist()
        return listed


class _Float(_Wanted):
    """Floats of Arrow, compared as numbers, since they have many texts."""

    def block(self, rows: Any) -> list[Any]:
        values = _taken(self.column, rows).to_numpy(zero_copy_only=False)
        # nan is missing, and not equal to itself.
        numbers: list[Any] = values.tolist()
        if np.isnan(values).any():
            return [None if value != value else value for value in numbers]
        return numbers

    def read(self, column: Sequence[Any]) -> list[Any]:
        kind = np.dtype(self.column.type.to_pandas_dtype()).type
        return [None if v == _MISSING else float(kind(_number(v))) for v in column]


def _taken(column: Any, rows: slice | Positions) -> Any:
    """Return some records of an Arrow column, as one array."""
    if isinstance(rows, slice):
        part = column.slice(rows.start, rows.stop - rows.start)
    else:
        part = column.take(import_pyarrow().array(rows))
    return part.combine_chunks()


def _arrow(column: Any, *, ordered: bool) -> Any:
    """Return a column as a chunked array of Arrow without a dictionary.

    If its records are taken in another order it is one chunk, else Arrow would join the
    chunks again for every block. Text then has long offsets, for gigabytes.
    """
    array = _chunked(array_of(column))
    if not ordered:
        return array
    pyarrow = import_pyarrow()
    types = {pyarrow.string(): "large_string", pyarrow.binary(): "large_binary"}
    whole = array.cast(types.get(array.type, array.type)).combine_chunks()
    return _chunked(whole)


def _chunked(array: Any) -> Any:
    """Return an array of Arrow as a chunked one without a dictionary."""
    pyarrow = import_pyarrow()
    if not isinstance(array, pyarrow.ChunkedArray):
        array = pyarrow.chunked_array([array])
    if pyarrow.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    return array


def _next_rows(reader: Iterator[list[str]], number: int) -> list[list[str]]:
    """Return some rows of a csv reader, whose fields may be long.

    The limit of the csv module belongs to the process. It is raised, under a lock, for
    this step only: a caller interrupted between two blocks may never lower it again.
    """
    with _FIELD_LIMIT_LOCK:
        before = csv.field_size_limit(_FIELD_LIMIT)
        try:
            return [*islice(reader, number)]
        finally:
            csv.field_size_limit(before)


def _csv_blocks(
    path: Path, parts: Sequence[Path], like: formats.Format
) -> tuple[list[str], Iterator[Block]]:
    """Return the names in a CSV file, and its blocks.

    Quotes matter for empty text, and for codes that are missing without quotes.
    """
    delimiter, packed = like.csv_at(path)

    def opened() -> IO[str]:
        opener: Any = gzip.open if packed else open
        return io.TextIOWrapper(
            opener(parts[0], "rb"), like.encoding, errors="strict", newline=""
        )

    with opened() as file:
        reader = csv.reader(file, delimiter=delimiter, strict=True)
        (names,) = _next_rows(reader, 1) or [[]]
    with opened() as file:
        quotes_matter = _holds(file, ['""', *like.missing_codes])
    codes = frozenset(like.missing_codes)

    def blocks() -> Iterator[Block]:
        with opened() as file:
            lines: list[str] = []
            source = _recorded(file, lines) if quotes_matter else file
            reader = csv.reader(source, delimiter=delimiter, strict=True)
            _next_rows(reader, 1)
            lines.clear()
            while rows := _next_rows(reader, _ROWS):
                if quotes_matter and (
                    '""' in "".join(lines) or not all(map(codes.isdisjoint, rows))
                ):
                    with_quotes = _with_quotes(lines, delimiter, codes)
                    rows = _next_rows(with_quotes, _ROWS)
                block = _columns(path, rows, len(names))
                yield _unguarded(block) if like.guard_formulas else block
                lines.clear()

    return names, blocks()


# Deliberately not the code of `riskcore.data.files.formulas`, which this checks.
_FORMULA = re.compile("'[' ]*(?=[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20])")
_NO_FORMULA = re.compile(
    "[' ]*[+-]?(?:(?:[0-9]+[.,]?[0-9]*|[.,][0-9]+)(?:[eE][+-]?[0-9]+)?)?[' ]*"
)


def _unguarded(block: Block) -> Block:
    """Return a block without the apostrophes that guard formulas."""
    return [
        [
            text[1:]
            if text is not _EMPTY
            and text.startswith("'")
            and _FORMULA.match(text)
            and not _NO_FORMULA.fullmatch(text)
            else text
            for text in column
        ]
        for column in block
    ]


def _holds(file: IO[str], texts: Sequence[str]) -> bool:
    """Return whether a file contains one of some texts."""
    longest, last = max(map(len, texts)), ""
    while part := file.read(_CHUNK):
        both = last + part
        if any(text in both for text in texts):
            return True
        last = both[-longest:]
    return False


def _recorded(file: Iterable[str], lines: list[str]) -> Iterator[str]:
    """Yield lines, and add them to a list."""
    for line in file:
        lines.append(line)
        yield line


def _columns(path: Path, rows: list[list[Any]], fields: int) -> Block:
    """Return rows as columns."""
    if {*map(len, rows)} != {fields}:
        wrong = sum(len(row) != fields for row in rows)
        raise _error(
            path, f"{wrong} records are read back without the expected {fields} fields"
        )
    return list(zip(*rows, strict=True))


def _with_quotes(
    lines: list[str], delimiter: str, codes: frozenset[str]
) -> Iterator[list[Any]]:
    """Yield rows in which quoted empty text is a value, and an unquoted code missing.

    The csv module does not report which fields had quotes.
    """
    mark = re.escape(delimiter)
    field = re.compile(rf'("(?:[^"]|"")*"|[^{mark}"\r\n]*)({mark}|\r\n|\n|\r|\Z)')
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    done = 0
    for row in reader:
        raw = "".join(lines[done : reader.line_num])
        done = reader.line_num
        if '""' in raw or not codes.isdisjoint(row):
            fields = [match.group(1) for match in field.finditer(raw)][: len(row)]
            if len(fields) != len(row):
                raise csv.Error("quotes")
            pairs = zip(row, fields, strict=True)
            yield [
                _EMPTY if text == '""' else _MISSING if text in codes else value
                for value, text in pairs
            ]
        else:
            yield row


class _Variable(NamedTuple):
    """A variable as the metadata declare it."""

    name: str
    start: int
    width: int
    missing: frozenset[str]


def _argus_blocks(
    path: Path, parts: Sequence[Path], like: formats.Format
) -> tuple[list[str], Iterator[Block]]:
    """Return the names in mu-Argus data, and its blocks, by its metadata."""
    data, metadata = parts
    separator, in_front, variables = _declared(metadata)
    names = [variable.name for variable in variables]

    def records(file: IO[str]) -> Iterator[list[str]]:
        if separator is not None:
            yield from csv.reader(file, delimiter=separator, strict=True)
            return
        length = max(one.start + one.width for one in variables)
        for line in file:
            text = line.rstrip("\r\n")
            if len(text) != length:
                raise csv.Error("a record of another length")
            yield [text[one.start : one.start + one.width] for one in variables]

    def blocks() -> Iterator[Block]:
        encoding = encoding_of(data)
        with data.open(encoding=encoding, newline="") as file:
            each = records(file)
            if in_front and _next_rows(each, 1) != [names]:
                raise csv.Error("other names in front")
            while rows := _next_rows(each, _ROWS):
                columns = _columns(path, rows, len(names))
                yield [
                    [_code(text, one.missing) for text in column]
                    for column, one in zip(columns, variables, strict=True)
                ]

    return names, blocks()


# The readers of formats of text.
_BLOCKS = {"csv": _csv_blocks, "argus": _argus_blocks}


def _code(text: str, missing: frozenset[str]) -> str:
    code = text.strip(" ")
    return _MISSING if code in missing else code


def _declared(path: Path) -> tuple[str | None, bool, list[_Variable]]:
    """Return the separator, whether the data begin with names, and the variables."""
    separator, in_front = None, False
    variables = []
    for line in path.read_text(encoding_of(path)).split("\n"):
        tokens = [quoted or bare for quoted, bare in _TOKEN.findall(line)]
        if line.startswith("<SEPARATOR>"):
            separator = tokens[1]
        elif line.startswith("<NAMESINFRONT>"):
            in_front = True
        elif tokens and not tokens[0].startswith("<"):
            numbers = tokens[1 : 2 + (separator is None)]
            start, width = [1, *map(int, numbers)][-2:]
            missing = frozenset(tokens[1 + len(numbers) :])
            variables.append(_Variable(tokens[0], start - 1, width, missing))
    return separator, in_front, variables


class _Pieces(NamedTuple):
    """A file of typed columns in pieces: their sizes, and how to read one of them.

    ``times`` converts numbers to dates and times, in files that store them so.
    """

    names: list[str]
    sizes: list[int]
    read: Callable[[int, str], Any]
    times: Callable[[Any, Any], Any] | None = None
    labels: Mapping[str, Mapping[Any, str]] = {}  # of codes, in files that have them


@contextmanager
def _parquet_pieces(part: Path) -> Iterator[_Pieces]:
    with import_pyarrow("parquet").ParquetFile(part) as file:
        groups = range(file.num_row_groups)
        yield _Pieces(
            file.schema_arrow.names,
            [file.metadata.row_group(i).num_rows for i in groups],
            lambda i, name: file.read_row_group(i, columns=[name]).column(0),
        )


@contextmanager
def _arrow_pieces(part: Path) -> Iterator[_Pieces]:
    with import_pyarrow().OSFile(str(part)) as source:
        file = import_pyarrow("ipc").open_file(source)

        @lru_cache(1)
        def batch(i: int) -> Any:
            found = file.get_batch(i)
            found.validate(full=True)
            return found

        yield _Pieces(
            file.schema.names,
            [batch(i).num_rows for i in range(file.num_record_batches)],
            lambda i, name: batch(i).column(name),
        )


@contextmanager
def _labelled_pieces(
    reader: str, first: datetime, days: timedelta, ticks: timedelta, part: Path
) -> Iterator[_Pieces]:
    import pyreadstat

    try:
        data, about = getattr(pyreadstat, reader)(
            str(part),
            output_format="dict",
            user_missing=True,
            disable_datetime_conversion=True,
        )
    except parser_errors() as error:
        raise OSError(str(error)) from None

    def read(_: int, name: str) -> Any:
        values = [None if value == "" else value for value in data[name]]
        return import_pyarrow().array(values, from_pandas=True)

    def times(column: Any, kind: Any) -> Any:
        unit = days if import_pyarrow().types.is_date(kind) else ticks
        values = [v if v is None else first + unit * v for v in column.to_pylist()]
        return _chunked(import_pyarrow().array(values, "timestamp[us]"))

    labels = about.variable_value_labels
    yield _Pieces(about.column_names, [about.number_rows], read, times, labels)


@contextmanager
def _excel_pieces(part: Path) -> Iterator[_Pieces]:
    """Read the only sheet of a workbook, a row at a time."""
    from openpyxl import load_workbook  # type: ignore[import-untyped]

    pyarrow = import_pyarrow()
    with part.open("rb") as file:
        book = load_workbook(file, read_only=True)
        (sheet,) = book.worksheets
        names, *rows = sheet.iter_rows(values_only=True)

    def read(_: int, name: str) -> Any:
        place = names.index(name)
        values = [row[place] if place < len(row) else None for row in rows]
        return pyarrow.array(values)

    yield _Pieces(list(names), [len(rows)], read, lambda column, kind: column)


_SECOND, _DAY = timedelta(seconds=1), timedelta(days=1)
# The readers of formats with typed columns.
_PIECES: dict[str, Callable[[Path], AbstractContextManager[_Pieces]]] = {
    "parquet": _parquet_pieces,
    "arrow": _arrow_pieces,
    "excel": _excel_pieces,
    "spss": partial(
        _labelled_pieces, "read_sav", datetime(1582, 10, 14), _SECOND, _SECOND
    ),
    "stata": partial(
        _labelled_pieces, "read_dta", datetime(1960, 1, 1), _DAY, _SECOND / 1000
    ),
}


def _typed(
    path: Path,
    opened: AbstractContextManager[_Pieces],
    expected: Expected,
    codes: list[str],
    weight: str | None,
    decimal: str,
) -> dict[str, Array]:
    """Compare a file of typed columns piece by piece."""
    pyarrow = import_pyarrow()
    differences = _Differences(path)
    found: dict[str, list[Any]] = {name: [] for name in [*codes, weight] if name}
    ordered = expected.order is not None
    wanted = {
        name: _arrow(column, ordered=ordered)
        for name, column in expected.columns.items()
    }
    try:
        with opened as file:
            _compare_names(path, file.names, expected)
            _refuse_count(path, sum(file.sizes), expected.n)
            _compare_labels(path, file, expected, wanted)
            begin = 0
            for i, size in enumerate(file.sizes):
                rows = expected.rows(begin, begin + size)
                for name, column in wanted.items():
                    read, should = _chunked(file.read(i, name)), _taken(column, rows)
                    if file.times is not None:
                        if pyarrow.types.is_temporal(should.type):
                            read = file.times(read, should.type)
                        should = _without_nan(should)
                    unequal = _unequal(read, should)
                    if name in expected.masks:
                        valid = read.is_valid().to_numpy()
                        unequal = unequal | (valid & expected.masks[name][rows])
                    if unequal.any():
                        first = begin + int(unequal.argmax()) + 1
                        differences.add(name, int(unequal.sum()), first)
                    if name in found:
                        found[name] += read.chunks
                begin += size
    except (pyarrow.ArrowException, OSError):
        raise _error(path, "the written file cannot be read back") from None
    differences.refuse()
    columns = {name: pyarrow.chunked_array(found[name]) for name in found}
    return {
        name: _as_numbers(column, decimal) if name == weight else _as_codes(column)
        for name, column in columns.items()
    }


def _compare_labels(
    path: Path, file: _Pieces, expected: Expected, wanted: Mapping[str, Any]
) -> None:
    """Refuse labels of codes that are not those expected, or of codes not there."""
    for name, labels in expected.labels.items():
        codes = import_pyarrow("compute").unique(_chunked(wanted[name])).to_pylist()
        should = {
            float(code): labels[text]
            for code in codes
            if code is not None and (text := code_text(code)) in labels
        }
        read = {float(code): text for code, text in file.labels.get(name, {}).items()}
        # A program may cut long labels, and Stata labels whole numbers only.
        same = set(read) <= set(should) and all(
            should[code].startswith(text) for code, text in read.items()
        )
        lacking = [code for code in should if code.is_integer() and code not in read]
        if not same or lacking:
            raise _error(path, f"the written labels of {name!r} are not as expected")


def _unequal(read: Any, should: Any) -> Mask:
    """Return the mask of the values of two Arrow columns that differ."""
    pyarrow, compute = import_pyarrow(), import_pyarrow("compute")
    should = pyarrow.chunked_array([should])
    if read.type != should.type:
        read = read.cast(should.type)
    same = np.zeros(len(read), bool)
    if read.equals(should):
        return same
    values = compute.fill_null(compute.not_equal(read, should), False).to_numpy()
    unequal = values | (read.is_null().to_numpy() != should.is_null().to_numpy())
    if pyarrow.types.is_floating(read.type):
        both = compute.and_(compute.is_nan(read), compute.is_nan(should))
        unequal = unequal & ~compute.fill_null(both, False).to_numpy()
    differ: Mask = unequal.astype(bool)
    return differ


def _without_nan(column: Any) -> Any:
    """Return a column with nan as missing."""
    pyarrow, compute = import_pyarrow(), import_pyarrow("compute")
    if not pyarrow.types.is_floating(column.type):
        return column
    return compute.if_else(
        compute.is_nan(column), pyarrow.scalar(None, column.type), column
    )


def _as_numbers(column: Any, decimal: str) -> Array:
    pyarrow = import_pyarrow()
    if pyarrow.types.is_integer(column.type):
        # A cast would refuse integers from 2**53 on.
        return np.asarray(column.to_numpy()).astype(np.float64)
    if pyarrow.types.is_floating(column.type):
        return np.asarray(column.to_numpy(), np.float64)
    numbers = _Numbers(decimal)
    numbers.add(column.to_pylist())
    return numbers.finish()


def _as_codes(column: Any) -> Array:
    pyarrow = import_pyarrow()
    column = _without_nan(column)
    if pyarrow.types.is_nested(column.type) or hasattr(column.type, "storage_type"):
        values = column.to_pylist()  # lists cannot be coded
        texts = [None if value is None else repr(value) for value in values]
        column = pyarrow.chunked_array([texts], pyarrow.large_string())
    coded = column.dictionary_encode().unify_dictionaries().combine_chunks()
    if isinstance(coded, pyarrow.ChunkedArray):
        coded = coded.chunk(0)
    codes = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    masked: Array = np.ma.MaskedArray(codes, codes < 0)
    return masked
