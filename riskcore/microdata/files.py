"""Files of microdata, by suffix: CSV, Parquet and mu-Argus, in and out.

``read`` takes only the columns asked for and leaves codes as they are written: "01"
stays "01". ``write`` leaves a whole file or none, in the format of another if asked to.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import importlib
import io
import itertools
import os
import re
import secrets
import shutil
import zlib
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias

import numpy as np

from riskcore.microdata import argus, argus_writer
from riskcore.microdata.recode import Recoding

_TEXT = (".csv", ".tsv", ".txt")
_PARQUET = (".parquet", ".pq")
_ARGUS = (".asc", ".dat", ".saf")
_DELIMITERS = ",;\t|"
_BAD_GZIP = (EOFError, gzip.BadGzipFile, zlib.error)
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_MARK = "\ufeff"
# Rows of CSV made into text at a time.
_ROWS = 1 << 16

Kind: TypeAlias = Literal["csv", "parquet", "argus"]
Create: TypeAlias = Callable[[Path], IO[bytes]]


@dataclass(frozen=True, slots=True)
class Header:
    """What a file says of its columns before any record is read.

    Attributes
    ----------
    names : tuple of str
    weight, household_id : str or None
        The columns that mu-Argus metadata declare as such.
    """

    names: tuple[str, ...]
    weight: str | None = None
    household_id: str | None = None


@dataclass(frozen=True, slots=True)
class Format:
    """How a file is written, so that another can be written like it.

    Attributes
    ----------
    kind : {"csv", "parquet", "argus"}
    delimiter, encoding : str
        Of CSV files; "utf-8-sig" is UTF-8 with a byte order mark.
    path : pathlib.Path or None
        The file.
    metadata : Metadata or None
        Of mu-Argus files.
    """

    kind: Kind
    delimiter: str = ","
    encoding: str = "utf-8"
    path: Path | None = None
    metadata: argus.Metadata | None = None

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files that are read: the file, and that of its metadata."""
        paths = (self.path, None if self.metadata is None else self.metadata.path)
        return tuple(path for path in paths if path is not None)


def read(
    path: str | Path,
    columns: Sequence[str] | None = None,
    *,
    numeric: Iterable[str] = (),
    text: bool = False,
    metadata: argus.Metadata | str | Path | None = None,
    na_values: Sequence[str] = ("",),
    encoding: str = "utf-8",
    delimiter: str | None = None,
    progress: argus.Progress | None = None,
) -> Any:
    r"""Read the columns of a file.

    Parameters
    ----------
    path : str or pathlib.Path
        The suffix gives the format: ``.csv``, ``.tsv`` and ``.txt`` (also followed by
        ``.gz``) are text with a header, ``.parquet`` and ``.pq`` Parquet; ``.asc``,
        ``.dat``, ``.saf`` and any other file but CSV and Parquet with an ``.rda`` of
        the same name beside it is mu-Argus.
    columns : sequence of str, optional
        Columns to read, in this order; by default all.
    numeric : iterable of str, optional
        Columns whose text is to be read as float64.
    text : bool, optional
        Whether all other columns of a mu-Argus file are text, also the weight and
        those declared numeric: "118.30" stays "118.30". Other files are read so anyway.
    metadata : Metadata, str or pathlib.Path, optional
        mu-Argus metadata; given, the file is mu-Argus whatever its suffix.
    na_values : sequence of str, optional
        Unquoted CSV fields that are missing; by default the empty field. A quoted
        field never is: ``""`` is empty text.
    encoding : str, optional
        Of CSV files; a byte order mark is skipped.
    delimiter : str, optional
        Of CSV files. By default the tab for ``.tsv``, else whichever of comma,
        semicolon, tab and bar stands most often in the first line outside quotes.
    progress : callable, optional
        Called with what is done and the total while a mu-Argus file is read.

    Returns
    -------
    pyarrow.Table or dict of str to numpy.ndarray
        A dict for mu-Argus (see `riskcore.microdata.argus.read_data`), else a table:
        from CSV all text but for ``numeric``, from Parquet as stored.

    Raises
    ------
    ImportError
        If pyarrow is not installed; mu-Argus files do not need it.
    OSError
        If the file is absent, a directory or may not be read.
    KeyError
        If there is no such column; close names are given.
    ValueError
        For an unknown suffix, an empty file, a name given twice, a row with a wrong
        number of fields, an open quote, text in another encoding (with the byte
        offset), or text in a ``numeric`` column that is no number.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "survey.csv"
    ...     _ = path.write_text("region,weight\n01,12.5\n,8\n")
    ...     table = read(path, numeric=["weight"])
    >>> table.to_pydict()
    {'region': ['01', None], 'weight': [12.5, 8.0]}
    """
    path = Path(path)
    kind = _kind(path, metadata)
    if kind == "argus":
        return argus.read_data(
            path, metadata, columns, numeric=numeric, text=text, progress=progress
        )
    source: _Parquet | _Csv = (
        _Parquet(path)
        if kind == "parquet"
        else _Csv(path, encoding, delimiter, na_values)
    )
    names = source.names()
    columns = list(names if columns is None else dict.fromkeys(columns))
    numeric = set(numeric)
    wanted = dict.fromkeys([*columns, *sorted(numeric)])
    lacking = [name for name in wanted if name not in names]
    if lacking:
        raise argus.no_such_column(path, lacking, names)
    table = source.read(columns)
    if columns and table.num_rows == 0:
        raise ValueError(f"{path}: a header, but no records")
    for position, name in enumerate(columns):
        if name in numeric:
            numbers = _numbers(path, name, table.column(position))
            table = table.set_column(position, name, numbers)
    return table


def load(
    data: Any, columns: Sequence[Hashable | None], weight: Hashable | None = None
) -> Any:
    """Return ``data`` itself or, if it is a path, what `read` takes from the file.

    Parameters
    ----------
    data : frame, mapping or path
    columns : sequence
        Names of the columns needed; None stands for none.
    weight : hashable, optional
        The one of them that is read as numbers.
    """
    if not isinstance(data, str | os.PathLike):
        return data
    needed = [str(name) for name in columns if name is not None]
    return read(Path(data), needed, numeric=[] if weight is None else [str(weight)])


def columns_of(
    path: str | Path,
    *,
    metadata: argus.Metadata | str | Path | None = None,
    encoding: str = "utf-8",
    delimiter: str | None = None,
) -> Header:
    """Return the names of a file's columns without reading its records.

    Parameters
    ----------
    path, metadata, encoding, delimiter
        As in `read`.

    Returns
    -------
    Header

    Raises
    ------
    ImportError, OSError, ValueError
        As in `read`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write(Path(folder) / "survey.csv", {"sex": ["1", "2"]})
    ...     columns_of(path).names
    ('sex',)
    """
    path = Path(path)
    kind = _kind(path, metadata)
    if kind == "parquet":
        return Header(_Parquet(path).names())
    if kind == "csv":
        return Header(_Csv(path, encoding, delimiter).names())
    if delimiter is not None:
        raise ValueError(f"{path}: a mu-Argus file; only a CSV has a delimiter")
    metadata = argus.metadata_of(path, metadata)
    return Header(metadata.names, metadata.weight, metadata.household_id)


def format_of(
    path: str | Path,
    *,
    metadata: argus.Metadata | str | Path | None = None,
    encoding: str = "utf-8",
    delimiter: str | None = None,
) -> Format:
    r"""Return how a file is written, for `write`.

    Parameters
    ----------
    path, metadata, encoding, delimiter
        As in `read`.

    Returns
    -------
    Format

    Raises
    ------
    OSError, ValueError
        As in `read`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "survey.csv"
    ...     _ = path.write_text("sex;w\n1;12.50\n", encoding="utf-8-sig")
    ...     like = format_of(path)
    ...     safe = write(Path(folder) / "safe.csv", read(path), like=like)
    ...     safe.read_bytes() == path.read_bytes()
    True
    """
    path = Path(path)
    kind = _kind(path, metadata)
    if kind == "argus":
        return Format(kind, path=path, metadata=argus.metadata_of(path, metadata))
    if kind == "parquet":
        return Format(kind, path=path)
    source = _Csv(path, encoding, delimiter)
    if source.utf8 and source.marked():
        encoding = "utf-8-sig"
    return Format(kind, source.delimiter, encoding, path)


def write(
    path: str | Path,
    columns: Any,
    *,
    overwrite: bool = False,
    like: Format | None = None,
    recodings: Mapping[str, Recoding] | None = None,
    create: Create | None = None,
    progress: argus.Progress | None = None,
) -> Path:
    """Write columns to a CSV, Parquet or mu-Argus file.

    The file appears whole or not at all. Floats are written so that they read back to
    the last bit. In CSV a missing value (None, masked, nan) is an empty field, text is
    quoted only where `read` needs it, empty text among it, and lines end in LF.

    Parameters
    ----------
    path : str or pathlib.Path
        The suffix gives the format: ``.csv``, ``.tsv`` (also followed by ``.gz``),
        ``.parquet`` or ``.pq``, and like a mu-Argus file ``.asc``, ``.dat`` or
        ``.saf``, of which the metadata are written beside it (``.rds``).
    columns : mapping of str to array, or pyarrow.Table
        Arrays of NumPy, pandas, polars or Arrow or lists, of equal length. For
        mu-Argus see `riskcore.microdata.argus_writer.write_data`.
    overwrite : bool, optional
        Whether an existing file may be replaced.
    like : Format, optional
        Delimiter and encoding of CSV (but ``.tsv`` has tabs), or the mu-Argus file
        that the columns come from. By default comma and UTF-8.
    recodings : mapping of str to Recoding, optional
        What was done to variables of a mu-Argus file: gives their missing codes and
        codelists.
    create : callable, optional
        Opens the files in place of this function, see `replacing_all`. What is
        written can be read there before it takes its place.
    progress : callable, optional
        Called with what is done and the total while text is written.

    Returns
    -------
    pathlib.Path
        The file written.

    Raises
    ------
    ImportError
        If pyarrow is not installed; mu-Argus files do not need it.
    FileExistsError
        If the file exists and ``overwrite`` is not set.
    OSError
        If the file cannot be written.
    ValueError
        For an unknown suffix, no columns, columns of different length, text that the
        encoding cannot hold, or a file that is its own source.
    TypeError
        If a column has no type that a file can hold.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write(Path(folder) / "risk.csv", {"individual_risk": [0.1, None]})
    ...     path.read_text().splitlines()
    ['individual_risk', '0.1', '']
    """
    path = check_writable(path, overwrite=overwrite, like=like)
    kind = _kind_written(path, like)
    with nullcontext(create) if create else replacing_all(overwrite) as opening:
        if kind == "argus":
            _write_argus(path, columns, like, recodings, opening, progress)
            return path
        table = _table(columns, plain=kind == "csv")
        file = opening(path)
        if kind == "parquet":
            _pyarrow("parquet").write_table(table, file)
        else:
            _write_csv(table, file, path, like or Format("csv"), progress)
        file.flush()
    return path


def _write_argus(
    path: Path,
    columns: Any,
    like: Format | None,
    recodings: Mapping[str, Recoding] | None,
    create: Create,
    progress: argus.Progress | None,
) -> None:
    if like is None or like.path is None or like.metadata is None:
        raise ValueError(f"{path}: mu-Argus data need a source and its metadata")
    data, metadata = (create(target) for target in files_written(path, like))
    written = argus_writer.write_data(
        data, columns, like.path, like.metadata, recodings, progress
    )
    argus_writer.write_metadata(metadata, written, path.with_suffix(".rds"))
    data.flush()
    metadata.flush()


def check_writable(
    path: str | Path, *, overwrite: bool = False, like: Format | None = None
) -> Path:
    """Return the path if `write` could write it, to be asked before long work.

    Raises
    ------
    ImportError, FileExistsError, OSError, ValueError
        As `write` does.
    """
    path = Path(path)
    if _kind_written(path, like) == "argus":
        _refuse_other_metadata(path)
    else:
        _pyarrow()
    targets = files_written(path, like)
    for target in targets:
        refuse_existing(target, overwrite)
    refuse_sources(targets, () if like is None else like.paths)
    return path


def files_written(path: str | Path, like: Format | None = None) -> tuple[Path, ...]:
    """Return the files that `write` makes: that of the path, for mu-Argus two.

    Raises
    ------
    ValueError
        For an unknown suffix.
    """
    path = Path(path)
    if _kind_written(path, like) != "argus":
        return (path,)
    return path, path.with_suffix(".rds")


def _kind_written(path: Path, like: Format | None) -> Kind:
    suffix, gzipped = _suffix(path)
    source = None if like is None else like.kind
    if suffix in (".csv", ".tsv") or (suffix == ".txt" and source == "csv"):
        return "csv"
    if suffix in _PARQUET and not gzipped:
        return "parquet"
    if suffix not in _ARGUS or gzipped:
        known = ".csv, .tsv, .csv.gz and .parquet"
        if source == "argus":
            known = f"{known}, and {', '.join(_ARGUS)} with metadata beside"
        raise ValueError(f"{path}: can write {known} only")
    if source != "argus":
        raise ValueError(f"{path}: only a mu-Argus file can be written as mu-Argus")
    return "argus"


def _refuse_other_metadata(path: Path) -> None:
    """Raise if mu-Argus data would be read by metadata that are not their own."""
    found = argus.metadata_beside(path)
    if path.suffix.lower() != ".saf" and found and found.suffix.lower() != ".rds":
        raise ValueError(
            f"{found}: would be taken for the metadata of {path.name}; "
            "choose another name, or the suffix .saf"
        )


def _suffix(path: Path) -> tuple[str, bool]:
    """Return the suffix in lower case, and whether ``.gz`` follows it."""
    gzipped = path.suffix.lower() == ".gz"
    return (path.with_suffix("") if gzipped else path).suffix.lower(), gzipped


def _kind(path: Path, metadata: argus.Metadata | str | Path | None) -> Kind:
    """Return the kind of a file; refuse what cannot be opened."""
    if path.is_dir():
        raise IsADirectoryError(f"{path}: a directory, not a file")
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such file")
    if not path.is_file():
        raise OSError(f"{path}: a device or pipe, not a file")
    with path.open("rb"):
        pass  # a permission error names the file
    suffix, gzipped = _suffix(path)
    if metadata is not None:
        return "argus"
    if suffix in _PARQUET and not gzipped:
        return "parquet"
    # Not beside CSV: R's own data files are called .rda too.
    if suffix in (".csv", ".tsv"):
        return "csv"
    if suffix != ".rda" and (suffix in _ARGUS or argus.metadata_beside(path)):
        return "argus"
    if suffix in _TEXT:
        return "csv"
    known = ", ".join((*_TEXT, *_PARQUET, *_ARGUS))
    raise ValueError(f"{path}: unknown kind of file; known are {known}")


def _pyarrow(module: str = "") -> Any:
    try:
        return importlib.import_module(f"pyarrow.{module}".rstrip("."))
    except ImportError:
        raise ImportError(
            "CSV and Parquet files need pyarrow: pip install pyarrow"
        ) from None


class _Parquet:
    """A Parquet file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def open(self) -> Any:
        pyarrow, parquet = _pyarrow(), _pyarrow("parquet")
        try:
            return parquet.ParquetFile(self.path)
        except pyarrow.ArrowInvalid as error:
            raise ValueError(f"{self.path}: {error}") from None

    def names(self) -> tuple[str, ...]:
        with self.open() as file:
            return _distinct(self.path, file.schema_arrow.names)

    def read(self, columns: list[str]) -> Any:
        with self.open() as file:
            try:
                return file.read(columns=columns).select(columns)
            except OSError as error:
                raise ValueError(f"{self.path}: {error}") from None


class _Csv:
    """A text file with a header line."""

    def __init__(
        self,
        path: Path,
        encoding: str,
        delimiter: str | None,
        na_values: Sequence[str] = ("",),
    ) -> None:
        self.path = path
        self.na_values = list(na_values)
        self.utf8 = codecs.lookup(encoding).name == "utf-8"
        self.encoding = encoding
        try:
            with self.open_text() as file:
                line = file.readline()
        except _BAD_GZIP:
            raise self.bad_gzip() from None
        if not line:
            raise ValueError(f"{path}: the file is empty")
        if not line.strip():
            raise ValueError(f"{path}: the first line must name the columns, is empty")
        if not line.endswith(("\n", "\r")):
            raise ValueError(f"{path}: no records, only one line")
        self.delimiter = delimiter or _sniff(path, line)

    def open(self) -> IO[bytes]:
        opener: Any = gzip.open if _suffix(self.path)[1] else open
        file: IO[bytes] = opener(self.path, "rb")
        return file

    def marked(self) -> bool:
        """Whether the file begins with a byte order mark of UTF-8."""
        with self.open() as file:
            return file.read(3) == codecs.BOM_UTF8

    def open_text(self) -> IO[str]:
        encoding = "utf-8-sig" if self.utf8 else self.encoding
        return io.TextIOWrapper(
            self.open(), encoding, errors="surrogateescape", newline=""
        )

    def names(self) -> tuple[str, ...]:
        with self.open_text() as file:
            names = next(csv.reader(file, delimiter=self.delimiter))
        if any("\udc80" <= letter <= "\udcff" for letter in "".join(names)):
            self.refuse_encoding()
        return _distinct(self.path, names)

    def read(self, columns: list[str]) -> Any:
        pyarrow, pyarrow_csv = _pyarrow(), _pyarrow("csv")
        count = len(self.names())
        try:
            with self.open() as file:
                table = pyarrow_csv.read_csv(
                    file,
                    pyarrow_csv.ReadOptions(
                        encoding="utf8" if self.utf8 else self.encoding
                    ),
                    pyarrow_csv.ParseOptions(
                        delimiter=self.delimiter,
                        newlines_in_values=True,
                        # An empty line is a record only where it can be one.
                        ignore_empty_lines=count > 1,
                    ),
                    pyarrow_csv.ConvertOptions(
                        include_columns=columns,
                        column_types=dict.fromkeys(columns, pyarrow.string()),
                        null_values=self.na_values,
                        strings_can_be_null=True,
                        quoted_strings_can_be_null=False,
                    ),
                )
        except _BAD_GZIP:
            raise self.bad_gzip() from None
        except (pyarrow.ArrowInvalid, UnicodeDecodeError) as error:
            self.refuse_encoding()
            self.refuse_rows(count)
            raise ValueError(f"{self.path}: {error}") from None
        if self.odd_quotes():
            self.refuse_rows(count)
        return table

    def bad_gzip(self) -> ValueError:
        return ValueError(f"{self.path}: not a gzip file, or cut off")

    def refuse_encoding(self) -> None:
        """Raise with the place of the first byte that cannot be decoded, if any."""
        decoder = codecs.getincrementaldecoder(self.encoding)()
        offset = 0
        with self.open() as file:
            for chunk in itertools.chain(_chunks(file), [b""]):
                pending = len(decoder.getstate()[0])
                try:
                    decoder.decode(chunk, final=not chunk)
                except UnicodeDecodeError as error:
                    place = offset - pending + error.start
                    raise ValueError(
                        f"{self.path}: not {self.encoding} at byte offset {place}; "
                        'give another, for example encoding="cp1252"'
                    ) from None
                offset += len(chunk)

    def refuse_rows(self, count: int) -> None:
        """Raise if rows have a wrong number of fields or a quote is never closed."""
        wrong, first, line = 0, "", 1
        with self.open_text() as file:
            rows = csv.reader(file, delimiter=self.delimiter, strict=True)
            try:
                for number, row in enumerate(rows):
                    if row and len(row) != count:
                        first = first or f"row {number}, line {line}, has {len(row)}"
                        wrong += 1
                    line = rows.line_num + 1
            except csv.Error as error:
                if "end of data" in str(error):
                    raise ValueError(
                        f"{self.path}: the quote opened in line {line} is not closed"
                    ) from None
        if wrong:
            raise ValueError(
                f"{self.path}: {wrong} rows do not have {count} fields as the header; "
                f"first {first}"
            )

    def odd_quotes(self) -> bool:
        """Whether a quote may be open at the end, of which Arrow says nothing."""
        with self.open() as file:
            # Not bytes.count: it is slow where there are many.
            quotes = (
                np.frombuffer(chunk, np.uint8) == ord('"') for chunk in _chunks(file)
            )
            return sum(map(np.count_nonzero, quotes)) % 2 == 1


def _chunks(file: IO[bytes]) -> Iterator[bytes]:
    return iter(lambda: file.read(1 << 20), b"")


def _sniff(path: Path, line: str) -> str:
    """Return the delimiter of a CSV file with this first line."""
    if _suffix(path)[0] == ".tsv":
        return "\t"
    outside = "".join(line.split('"')[::2])
    return max(_DELIMITERS, key=outside.count)


def _distinct(path: Path, names: Sequence[str]) -> tuple[str, ...]:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{path}: column names given twice: {', '.join(twice)}")
    return tuple(names)


def _numbers(path: Path, name: str, column: Any) -> Any:
    """Return text as float64; other types as they are."""
    pyarrow, compute = _pyarrow(), _pyarrow("compute")
    if pyarrow.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not (
        pyarrow.types.is_string(column.type)
        or pyarrow.types.is_large_string(column.type)
    ):
        return column
    text = compute.utf8_trim_whitespace(column)
    try:
        numbers = text.cast(pyarrow.float64())
        wrong = compute.invert(compute.is_finite(numbers))
    except pyarrow.ArrowInvalid:
        wrong = compute.invert(compute.match_substring_regex(text, _NUMBER))
    count = compute.sum(wrong).as_py()
    if count:
        first = compute.index(wrong, True).as_py()
        raise ValueError(
            f"{path}: {name} is not a number in {count} records, "
            f"first in record {first + 1}: {column[first].as_py()!r}"
        )
    return numbers


def _table(columns: Any, *, plain: bool) -> Any:
    """Make an Arrow table; plain: of types that CSV can hold, nan as missing."""
    if not isinstance(columns, Mapping):
        columns = dict(zip(columns.column_names, columns.columns, strict=True))
    if not columns:
        raise ValueError("no columns to write")
    arrays = {str(name): _array(name, values) for name, values in columns.items()}
    lengths = {name: len(values) for name, values in arrays.items()}
    if len(arrays) < len(columns):
        raise ValueError("two columns have the same name")
    if len(set(lengths.values())) > 1:
        raise ValueError(f"columns of different length: {lengths}")
    if plain:
        arrays = {name: _plain(name, values) for name, values in arrays.items()}
    return _pyarrow().table(arrays)


def _array(name: str, values: Any) -> Any:
    """Make an Arrow array of any kind of column."""
    import narwhals.stable.v2 as nw

    pyarrow = _pyarrow()
    values = nw.from_native(values, allow_series=True, pass_through=True)
    try:
        if isinstance(values, nw.Series):
            return values.to_arrow()
        if isinstance(values, np.ma.MaskedArray):
            return pyarrow.array(values.data, mask=np.ma.getmaskarray(values))
        return pyarrow.array(values)
    except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError) as error:
        raise TypeError(f"column {name!r} cannot be written: {error}") from None


def _plain(name: str, values: Any) -> Any:
    pyarrow, compute = _pyarrow(), _pyarrow("compute")
    if pyarrow.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if pyarrow.types.is_nested(values.type):
        raise TypeError(f"column {name!r} of {values.type} cannot be written as CSV")
    if pyarrow.types.is_floating(values.type):
        null = pyarrow.scalar(None, values.type)
        return compute.if_else(compute.is_nan(values), null, values)
    return values


def _write_csv(
    table: Any,
    file: IO[bytes],
    path: Path,
    like: Format,
    progress: argus.Progress | None,
) -> None:
    suffix, gzipped = _suffix(path)
    delimiter = "\t" if suffix == ".tsv" else like.delimiter
    encoder = codecs.getincrementalencoder(like.encoding)()
    # No name and no time: the same columns give the same bytes.
    packed = gzip.GzipFile("", "wb", fileobj=file, mtime=0) if gzipped else None
    with packed or nullcontext(file) as target:
        done = 0
        try:
            target.write(encoder.encode(_header_line(table.column_names, delimiter)))
            for batch in table.to_batches(max_chunksize=_ROWS):
                target.write(encoder.encode(_rows_text(batch, delimiter)))
                done += batch.num_rows
                if progress:
                    progress(done, table.num_rows)
        except UnicodeEncodeError:
            raise _no_such_letters(table, like.encoding) from None


def _header_line(names: Sequence[str], delimiter: str) -> str:
    """Return the first line, in which no other delimiter stands outside quotes."""
    special = {*_DELIMITERS, delimiter, *'"\r\n', _MARK}
    quoted = [
        '"' + name.replace('"', '""') + '"'
        if special & set(name) or not name.strip()
        else name
        for name in names
    ]
    return delimiter.join(quoted) + "\n"


def _rows_text(batch: Any, delimiter: str) -> str:
    compute = _pyarrow("compute")
    # Of a single column the delimiter is found again as that of the first line.
    special = delimiter if batch.num_columns > 1 else delimiter + _DELIMITERS
    needy = f'[{re.escape(special)}"\r\n]|^$'
    fields = [_fields(column, needy) for column in batch.columns]
    lines = compute.binary_join_element_wise(
        *fields, _large(delimiter), null_handling="replace", null_replacement=""
    )
    return "\n".join([*lines.to_pylist(), ""])


def _fields(column: Any, needy: str) -> Any:
    """Return a column as text, quoted where the pattern is found."""
    pyarrow, compute = _pyarrow(), _pyarrow("compute")
    text = column.cast(pyarrow.large_string())
    needs_quotes = compute.match_substring_regex(text, needy)
    if not compute.any(needs_quotes).as_py():
        return text
    inner = compute.replace_substring(text, '"', '""')
    mark = _large('"')
    quoted = compute.binary_join_element_wise(mark, inner, mark, _large(""))
    return compute.if_else(needs_quotes, quoted, text)


def _large(text: str) -> Any:
    pyarrow = _pyarrow()
    return pyarrow.scalar(text, pyarrow.large_string())


def _no_such_letters(table: Any, encoding: str) -> ValueError:
    """Make the error for text that an encoding cannot hold."""
    pyarrow, compute = _pyarrow(), _pyarrow("compute")
    for name, column in zip(table.column_names, table.columns, strict=True):
        if not argus.encodes(name, encoding):
            return ValueError(f"the column name {name!r} has no {encoding} form")
        text = column.cast(pyarrow.large_string())
        bad = [
            value
            for value in compute.unique(text.drop_null()).to_pylist()
            if not argus.encodes(value, encoding)
        ]
        if bad:
            among = compute.is_in(text, pyarrow.array(bad, text.type))
            return ValueError(
                f"column {name!r}: {compute.sum(among).as_py()} values have no "
                f"{encoding} form, first {bad[0]!r}"
            )
    raise AssertionError("all text can be encoded")


def refuse_existing(path: Path, overwrite: bool) -> None:
    """Raise unless a file may be written at ``path``."""
    if path.is_dir():
        raise IsADirectoryError(f"{path}: a directory, not a file")
    if path.exists() and not path.is_file():
        raise OSError(f"{path}: a device, not a file")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path.parent}: no such directory")
    if path.exists() and not overwrite:
        raise FileExistsError(f"{path}: exists; overwriting was not asked for")


def refuse_sources(targets: Iterable[Path], sources: Iterable[Path]) -> None:
    """Raise if a file to be written is one that is read, or two are the same.

    Raises
    ------
    ValueError
        Naming the file.
    """
    read = [source for source in sources if source.exists()]
    seen: set[Path] = set()
    for target in targets:
        if target.exists() and any(target.samefile(source) for source in read):
            raise ValueError(f"{target}: is read from, and cannot be written too")
        if target.resolve() in seen:
            raise ValueError(f"{target}: two files of this name")
        seen.add(target.resolve())


@contextmanager
def replacing(path: Path, overwrite: bool) -> Iterator[IO[bytes]]:
    """Open a temporary file that takes the place of ``path`` once it is complete."""
    with replacing_all(overwrite) as create:
        yield create(path)


@contextmanager
def replacing_all(overwrite: bool) -> Iterator[Create]:
    """Give a function that opens files, which appear together or not at all.

    Parameters
    ----------
    overwrite : bool
        Whether existing files may be replaced.

    Yields
    ------
    callable
        Takes a path and opens a temporary file for it. When all are complete they take
        their places; if anything fails before, or on the way, nothing is changed.

    Raises
    ------
    OSError
        If a file exists and ``overwrite`` is not set, or cannot be written.
    ValueError
        If a path is opened twice.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing_all(overwrite=False) as create:
    ...         _ = create(Path(folder) / "a.txt").write(b"a")
    ...         _ = create(Path(folder) / "b.txt").write(b"b")
    ...     sorted(os.listdir(folder))
    ['a.txt', 'b.txt']
    """
    files: dict[Path, IO[bytes]] = {}
    with ExitStack() as stack:

        def create(path: Path) -> IO[bytes]:
            refuse_existing(path, overwrite)
            target = Path(os.path.realpath(path))  # of a link, what it points to
            if target in files:
                raise ValueError(f"{path}: two files of this name")
            part = _hidden(target, "part")
            stack.callback(part.unlink, missing_ok=True)
            files[target] = stack.enter_context(part.open("xb"))
            return files[target]

        yield create
        for file in files.values():
            file.flush()
            os.fsync(file.fileno())
            file.close()
        for target in files:
            refuse_existing(target, overwrite)
        if files:
            _replace({target: Path(file.name) for target, file in files.items()})


def _replace(parts: Mapping[Path, Path]) -> None:
    """Put parts in the places of their targets: all, or on an error none."""
    *others, (last_target, last_part) = parts.items()
    with ExitStack() as afterwards, ExitStack() as undo:
        for target, part in others:
            if target.exists():
                kept = _hidden(target, "old")
                afterwards.callback(kept.unlink, missing_ok=True)
                _copy(target, kept)
                undo.callback(os.replace, kept, target)
            else:
                undo.callback(target.unlink, missing_ok=True)
            os.replace(part, target)
        os.replace(last_part, last_target)
        undo.pop_all()


def _copy(path: Path, copy: Path) -> None:
    try:
        os.link(path, copy)
    except OSError:  # a file system without links
        shutil.copy2(path, copy)


def _hidden(path: Path, ending: str) -> Path:
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.{ending}")
