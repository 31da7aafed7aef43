"""Files of microdata, by suffix: CSV, Parquet and mu-Argus, in and out.

``read`` takes only the columns asked for and leaves codes as they are written: "01"
stays "01". ``write`` leaves a whole file or none, in the format of another if asked to.
"""

from __future__ import annotations

import codecs
import gzip
import os
import re
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias

import numpy as np

from riskcore._warn import warn
from riskcore.microdata import argus, argus_writer
from riskcore.microdata.csv_reader import (
    DELIMITERS,
    CsvFile,
    distinct,
    import_pyarrow,
    suffix_of,
)
from riskcore.microdata.doubtful import DoubtfulCodes
from riskcore.microdata.intake import Intake
from riskcore.microdata.reading import Reading
from riskcore.microdata.recode import Recoding
from riskcore.microdata.replace import (
    Create,
    refuse_existing,
    refuse_sources,
    replacing_all,
)

_TEXT = (".csv", ".tsv", ".txt")
_PARQUET = (".parquet", ".pq")
_ARGUS = (".asc", ".dat", ".saf")
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_MARK = "\ufeff"
# Rows of CSV made into text at a time.
_ROWS = 1 << 16

Kind: TypeAlias = Literal["csv", "parquet", "argus"]


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
    reading: Reading | None = None,
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
    reading : Reading, optional
        Encoding, delimiter, decimal mark, missing codes, mu-Argus metadata.
    progress : callable, optional
        Called with what is done and the total while a mu-Argus file is read.

    Returns
    -------
    pyarrow.Table or dict of str to numpy.ndarray
        A dict for mu-Argus (see `riskcore.microdata.argus.read_data`), else a table:
        from CSV all text but for ``numeric``, from Parquet as stored.

    Warns
    -----
    LineBreaksInFields
        If fields of a CSV file have line breaks: they are counted.
    DoubtfulCodes
        If a missing code of a column occurs nowhere in it.

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
        number of fields, an open quote, text after a closing quote, a quoted field
        that swallowed records, zero bytes, text in another encoding (with the byte
        offset), text in a ``numeric`` column that is no number, or if not every line
        is accounted for.

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
    data, _ = read_counted(
        path, columns, numeric=numeric, text=text, reading=reading, progress=progress
    )
    return data


def read_counted(
    path: str | Path,
    columns: Sequence[str] | None = None,
    *,
    numeric: Iterable[str] = (),
    text: bool = False,
    reading: Reading | None = None,
    progress: argus.Progress | None = None,
) -> tuple[Any, Intake]:
    """Return what `read` does, and the account of the file's lines."""
    path, reading = Path(path), reading or Reading()
    kind = _kind(path, reading)
    header = columns_of(path, reading)
    columns = list(header.names if columns is None else dict.fromkeys(columns))
    numeric = set(numeric)
    wanted = dict.fromkeys([*columns, *sorted(numeric), *reading.columns])
    known = set(header.names)
    lacking = [name for name in wanted if name not in known]
    if lacking:
        raise argus.no_such_column(path, lacking, header.names)
    if kind == "argus":
        data, intake = argus.read_counted(
            path,
            reading.metadata,
            columns,
            numeric=numeric,
            text=text,
            progress=progress,
        )
        return _without_codes_argus(path, data, reading), intake
    table, intake = (
        _Parquet(path).read(columns)
        if kind == "parquet"
        else CsvFile(path, reading).read(columns)
    )
    if columns and table.num_rows == 0:
        raise ValueError(f"{path}: a header, but no records")
    _warn_of_line_breaks(path, intake)
    for position, name in enumerate(columns):
        # Those of all columns a CSV reader has taken already.
        common = reading.codes() if kind == "parquet" else ()
        own = reading.codes(name)
        if common or own:
            column = table.column(position)
            found = _without_codes(path, name, column, common, own)
            table = table.set_column(position, name, found)
        if name in numeric:
            numbers = _numbers(path, name, table.column(position), reading.decimal)
            table = table.set_column(position, name, numbers)
    return table, intake


class LineBreaksInFields(UserWarning):
    """Quoted fields of a CSV file run over several lines."""


def _warn_of_line_breaks(path: Path, intake: Intake) -> None:
    if intake.broken_fields:
        warn(
            f"{path}: {intake.broken_fields:,} quoted fields have line breaks; "
            f"{intake.within:,} lines belong to them and are no records",
            LineBreaksInFields,
        )


def _without_codes(
    path: Path, name: str, column: Any, common: Sequence[str], own: Sequence[str]
) -> Any:
    """Return a column in which codes are missing: common ones, and its own.

    The user is warned if its own stand nowhere in it.
    """
    pyarrow, compute = import_pyarrow(), import_pyarrow("compute")
    types = pyarrow.types
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if types.is_string_view(column.type):
        column = column.cast(pyarrow.large_string())
    kind, codes = column.type, (*common, *own)
    found = None
    if types.is_string(kind) or types.is_large_string(kind):
        found = compute.is_in(column, pyarrow.array(codes, kind))
    elif types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        numbers = column.cast(pyarrow.float64(), safe=False)
        wanted = [float(code) for code in codes if _is_number(code)]
        found = compute.is_in(numbers, pyarrow.array(wanted, pyarrow.float64()))
    # In a column of dates or truth values no code stands.
    if found is None or not compute.any(found).as_py():
        if own:
            _warn_of_idle_codes(path, name, own)
        return column
    return compute.if_else(found, pyarrow.scalar(None, kind), column)


def _without_codes_argus(
    path: Path, data: dict[str, Any], reading: Reading
) -> dict[str, Any]:
    """Return the columns of a mu-Argus file in which codes are missing."""
    changed = {}
    for name, values in data.items():
        own = reading.codes(name)
        codes = (*reading.codes(), *own)
        numbers = values.dtype.kind == "f"
        wanted = [float(c) for c in codes if _is_number(c)] if numbers else list(codes)
        found = np.isin(np.ma.getdata(values), wanted) if wanted else np.False_
        if own and not np.any(found):
            _warn_of_idle_codes(path, name, own)
        if not np.any(found):
            continue
        changed[name] = (
            np.where(found, np.nan, values)
            if numbers
            else np.ma.MaskedArray(values.data, np.ma.getmaskarray(values) | found)
        )
    return {**data, **changed}


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _warn_of_idle_codes(path: Path, name: str, codes: Sequence[str]) -> None:
    warn(
        f"{path}: the missing codes of {name}, {', '.join(map(repr, codes))}, stand "
        "nowhere in it",
        DoubtfulCodes,
    )


def load(
    data: Any,
    columns: Sequence[Hashable | None],
    weight: Hashable | None = None,
    reading: Reading | None = None,
) -> tuple[Any, Intake | None]:
    """Return ``data`` itself or, if it is a path, what `read_counted` gives of it.

    Parameters
    ----------
    data : frame, mapping or path
    columns : sequence
        Names of the columns needed; None stands for none.
    weight : hashable, optional
        The one of them that is read as numbers.
    reading : Reading, optional
        How to read the file.

    Raises
    ------
    TypeError
        As `check_reading`.
    """
    check_reading(data, reading)
    if not isinstance(data, str | os.PathLike):
        return data, None
    needed = [str(name) for name in columns if name is not None]
    numeric = [] if weight is None else [str(weight)]
    return read_counted(Path(data), needed, numeric=numeric, reading=reading)


def check_reading(data: Any, reading: Reading | None) -> None:
    """Refuse options of reading that cannot be used.

    Raises
    ------
    TypeError
        If ``reading`` is given for data in memory, or is no `Reading`.
    """
    if reading is None:
        return
    if not isinstance(reading, Reading):
        raise TypeError(
            f"reading={reading!r}: give a riskcore.Reading(encoding=..., ...)"
        )
    if not isinstance(data, str | os.PathLike):
        raise TypeError(
            "reading says how to read a file, but the data are in memory: leave it out"
        )


def declared_weight(data: Any, reading: Reading | None = None) -> str | None:
    """Return the weight that the metadata of a mu-Argus file declare, if it is one."""
    check_reading(data, reading)
    is_path = isinstance(data, str | os.PathLike)
    return columns_of(os.fspath(data), reading).weight if is_path else None


def columns_of(path: str | Path, reading: Reading | None = None) -> Header:
    """Return the names of a file's columns without reading its records.

    Parameters
    ----------
    path, reading
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
    path, reading = Path(path), reading or Reading()
    kind = _kind(path, reading)
    if kind == "csv":
        return Header(CsvFile(path, reading).names())
    if reading.delimiter is not None or reading.decimal != ".":
        what = "decimal mark" if reading.delimiter is None else "delimiter"
        name = {"argus": "mu-Argus", "parquet": "Parquet"}[kind]
        raise ValueError(f"{path}: a {name} file; only a CSV has a {what}")
    if kind == "parquet":
        return Header(_Parquet(path).names())
    metadata = argus.metadata_of(path, reading.metadata)
    return Header(metadata.names, metadata.weight, metadata.household_id)


def format_of(path: str | Path, reading: Reading | None = None) -> Format:
    r"""Return how a file is written, for `write`.

    Parameters
    ----------
    path, reading
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
    path, reading = Path(path), reading or Reading()
    kind = _kind(path, reading)
    if kind == "argus":
        metadata = argus.metadata_of(path, reading.metadata)
        return Format(kind, path=path, metadata=metadata)
    if kind == "parquet":
        return Format(kind, path=path)
    source = CsvFile(path, reading)
    marked = source.utf8 and source.marked()
    encoding = "utf-8-sig" if marked else reading.encoding
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
    renumbered: Collection[str] = (),
) -> Path:
    """Write columns to a CSV, Parquet or mu-Argus file.

    The file appears whole or not at all. Floats are written so that they read back to
    the last bit. In CSV a missing value (None, masked, nan) is an empty field, text is
    quoted only where `read` needs it, empty text among it, and lines end in LF. Only
    those may read the file who may read that of ``like``, and, of a file that is
    replaced, who could before: see `riskcore.microdata.replace.replacing_all`.

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
        Opens the files in place of this function, and sees to their modes, see
        `riskcore.microdata.replace.replacing_all`. What is written can be read there
        before it takes its place.
    progress : callable, optional
        Called with what is done and the total while text is written.
    renumbered : collection of str, optional
        Variables of a mu-Argus file that have new ids.

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
    sources = () if like is None else like.paths
    with (
        nullcontext(create) if create else replacing_all(overwrite, sources)
    ) as opening:
        if kind == "argus":
            _write_argus(path, columns, like, recodings, opening, progress, renumbered)
            return path
        table = _table(columns, plain=kind == "csv")
        file = opening(path)
        if kind == "parquet":
            import_pyarrow("parquet").write_table(_without_first_places(table), file)
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
    renumbered: Collection[str],
) -> None:
    if like is None or like.path is None or like.metadata is None:
        raise ValueError(f"{path}: mu-Argus data need a source and its metadata")
    data, metadata = (create(target) for target in files_written(path, like))
    written = argus_writer.write_data(
        data, columns, like.path, like.metadata, recodings, progress, renumbered
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
        import_pyarrow()
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
    suffix, gzipped = suffix_of(path)
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


def _kind(path: Path, reading: Reading) -> Kind:
    """Return the kind of a file; refuse what cannot be opened."""
    if path.is_dir():
        raise IsADirectoryError(f"{path}: a directory, not a file")
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such file")
    if not path.is_file():
        raise OSError(f"{path}: a device or pipe, not a file")
    with path.open("rb"):
        pass  # a permission error names the file
    suffix, gzipped = suffix_of(path)
    if reading.metadata is not None:
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


class _Parquet:
    """A Parquet file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def open(self) -> Any:
        pyarrow, parquet = import_pyarrow(), import_pyarrow("parquet")
        try:
            return parquet.ParquetFile(self.path)
        except (pyarrow.ArrowException, OSError) as error:
            raise ValueError(f"{self.path}: {error}") from None

    def names(self) -> tuple[str, ...]:
        with self.open() as file:
            return distinct(self.path, file.schema_arrow.names)

    def read(self, columns: list[str]) -> tuple[Any, Intake]:
        """Return columns as a table, and the account of the row groups."""
        pyarrow = import_pyarrow()
        with self.open() as file:
            try:
                table = file.read(columns=columns).select(columns)
            except (pyarrow.ArrowException, OSError) as error:
                raise ValueError(f"{self.path}: {error}") from None
            about = file.metadata
            groups = about.num_row_groups
            rows = sum(about.row_group(i).num_rows for i in range(groups))
        intake = Intake(records=about.num_rows, row_groups=groups)
        intake.check(self.path, rows)
        intake.check(self.path, table.num_rows)
        return table, intake


def _numbers(path: Path, name: str, column: Any, decimal: str = ".") -> Any:
    """Return text as float64; other types as they are."""
    pyarrow, compute = import_pyarrow(), import_pyarrow("compute")
    if pyarrow.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not (
        pyarrow.types.is_string(column.type)
        or pyarrow.types.is_large_string(column.type)
    ):
        return column
    text = compute.utf8_trim_whitespace(column)
    foreign = compute.match_substring(text, ".") if decimal == "," else None
    if decimal == ",":
        text = compute.replace_substring(text, ",", ".")
    try:
        numbers = text.cast(pyarrow.float64())
        wrong = compute.invert(compute.is_finite(numbers))
    except pyarrow.ArrowInvalid:
        wrong = compute.invert(compute.match_substring_regex(text, _NUMBER))
    if foreign is not None:
        wrong = compute.or_(wrong, foreign)
    count = compute.sum(wrong).as_py()
    if count:
        first = compute.index(wrong, True).as_py()
        found = column[first].as_py()
        comma = decimal == "." and "," in found
        hint = "; the decimal mark may be a comma (decimal=',')" if comma else ""
        raise ValueError(
            f"{path}: {name} is not a number in {count} records, "
            f"first in record {first + 1}: {found!r}{hint}"
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
    return import_pyarrow().table(arrays)


def _array(name: str, values: Any) -> Any:
    """Make an Arrow array of any kind of column."""
    import narwhals.stable.v2 as nw

    pyarrow = import_pyarrow()
    values = nw.from_native(values, allow_series=True, pass_through=True)
    try:
        if isinstance(values, nw.Series):
            return values.to_arrow()
        if isinstance(values, np.ma.MaskedArray):
            return pyarrow.array(values.data, mask=np.ma.getmaskarray(values))
        return pyarrow.array(values)
    except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError) as error:
        raise TypeError(f"column {name!r} cannot be written: {error}") from None


def _without_first_places(table: Any) -> Any:
    """Return a table whose unordered dictionaries are sorted, without idle values.

    Such a dictionary mostly lists values in the order in which they first stood: the
    order of the records before they were shuffled.
    """
    types = import_pyarrow().types
    for i, field in enumerate(table.schema):
        if types.is_dictionary(field.type) and not field.type.ordered:
            table = table.set_column(i, field.name, _sorted_dictionary(table.column(i)))
    return table


def _sorted_dictionary(column: Any) -> Any:
    """Return a column with a sorted dictionary; with none if values have no order."""
    pyarrow, compute = import_pyarrow(), import_pyarrow("compute")
    plain = column.cast(column.type.value_type)
    values = compute.unique(plain.drop_null())
    try:
        values = values.take(compute.array_sort_indices(values))
    except pyarrow.ArrowNotImplementedError:
        return plain
    codes = compute.index_in(plain, values).cast(column.type.index_type)
    return pyarrow.chunked_array(
        [pyarrow.DictionaryArray.from_arrays(chunk, values) for chunk in codes.chunks],
        column.type,
    )


def _plain(name: str, values: Any) -> Any:
    pyarrow, compute = import_pyarrow(), import_pyarrow("compute")
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
    suffix, gzipped = suffix_of(path)
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
    special = {*DELIMITERS, delimiter, *'"\r\n', _MARK}
    quoted = [
        '"' + name.replace('"', '""') + '"'
        if special & set(name) or not name.strip()
        else name
        for name in names
    ]
    return delimiter.join(quoted) + "\n"


def _rows_text(batch: Any, delimiter: str) -> str:
    compute = import_pyarrow("compute")
    # Of a single column the delimiter is found again as that of the first line.
    special = delimiter if batch.num_columns > 1 else delimiter + DELIMITERS
    needy = f'[{re.escape(special)}"\r\n]|^$'
    fields = [_fields(column, needy) for column in batch.columns]
    lines = compute.binary_join_element_wise(
        *fields, _large(delimiter), null_handling="replace", null_replacement=""
    )
    return "\n".join([*lines.to_pylist(), ""])


def _fields(column: Any, needy: str) -> Any:
    """Return a column as text, quoted where the pattern is found."""
    pyarrow, compute = import_pyarrow(), import_pyarrow("compute")
    text = column.cast(pyarrow.large_string())
    needs_quotes = compute.match_substring_regex(text, needy)
    if not compute.any(needs_quotes).as_py():
        return text
    inner = compute.replace_substring(text, '"', '""')
    mark = _large('"')
    quoted = compute.binary_join_element_wise(mark, inner, mark, _large(""))
    return compute.if_else(needs_quotes, quoted, text)


def _large(text: str) -> Any:
    pyarrow = import_pyarrow()
    return pyarrow.scalar(text, pyarrow.large_string())


def _no_such_letters(table: Any, encoding: str) -> ValueError:
    """Make the error for text that an encoding cannot hold."""
    pyarrow, compute = import_pyarrow(), import_pyarrow("compute")
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
