"""Files of microdata, by suffix: CSV, Parquet, Arrow, SPSS, Stata, SAS, mu-Argus.

``read`` takes only the columns asked for and leaves codes as they are written: "01"
stays "01". ``write`` leaves a whole file or none, in the format of another if asked to.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from riskcore.common.progress import Parts
from riskcore.data.files.argus.format import ArgusFile
from riskcore.data.files.base_format import FileFormat, Format, Header, Recoded
from riskcore.data.files.csv import CsvFile, LineBreaksInFields
from riskcore.data.files.intake import Intake
from riskcore.data.files.ipc import ArrowFile
from riskcore.data.files.parquet import ParquetFile
from riskcore.data.files.parquet_set import ParquetSet
from riskcore.data.files.reading import DoubtfulCodes, Reading
from riskcore.data.files.replace import (
    Create,
    refuse_existing,
    refuse_sources,
    replacing_all,
)
from riskcore.data.files.sas import SasFile
from riskcore.data.files.spss import SpssFile
from riskcore.data.files.stata import StataFile

__all__ = [
    "FORMATS",
    "DoubtfulCodes",
    "FileFormat",
    "Format",
    "Header",
    "LineBreaksInFields",
    "check_writable",
    "columns_of",
    "files_written",
    "format_of",
    "opened",
    "read",
    "read_counted",
    "write",
    "written_as",
]

# In the order in which messages list their suffixes. A file is shown to them from the
# end: text that nothing else is known of is CSV.
FORMATS: tuple[type[FileFormat], ...] = (
    CsvFile,
    ParquetFile,
    ParquetSet,
    ArrowFile,
    SpssFile,
    StataFile,
    SasFile,
    ArgusFile,
)


def read(
    path: str | Path,
    columns: Sequence[str] | None = None,
    *,
    numeric: Iterable[str] = (),
    text: bool = False,
    reading: Reading | None = None,
    progress: Parts | None = None,
) -> Any:
    r"""Read the columns of a file.

    Parameters
    ----------
    path : str or pathlib.Path
        The suffix gives the format: ``.csv``, ``.tsv`` and ``.txt`` (also followed by
        ``.gz``) are text with a header, ``.parquet`` and ``.pq`` Parquet,
        ``.feather`` and ``.arrow`` Arrow's IPC file format, ``.sav`` and ``.zsav``
        SPSS, ``.dta`` Stata, ``.sas7bdat`` and ``.xpt`` SAS; ``.asc``, ``.dat``,
        ``.saf`` and any other file with a suffix that no format knows and with an
        ``.rda`` of the same name beside it is mu-Argus. A folder, or a pattern such as
        ``survey/*.parquet``, stands for all its Parquet files, which are read as one.
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
        Called with what is done and the total while the file is read.

    Returns
    -------
    pyarrow.Table or dict of str to numpy.ndarray
        A dict for mu-Argus (see `riskcore.data.files.argus.reader.read_data`), else a
        table: from CSV all text but for ``numeric``, from Parquet and Arrow as stored.

    Warns
    -----
    LineBreaksInFields
        If fields of a CSV file have line breaks: they are counted.
    DoubtfulCodes
        If a missing code of a column occurs nowhere in it.

    Raises
    ------
    ImportError
        If pyarrow is not installed, which mu-Argus files do not need, or pyreadstat,
        which those of SPSS, Stata and SAS need.
    OSError
        If the file is absent, a directory without Parquet files or may not be read.
    KeyError
        If there is no such column; close names are given.
    ValueError
        For an unknown suffix, an empty file, a name given twice, a row with a wrong
        number of fields, an open quote, text after a closing quote, a quoted field
        that swallowed records, zero bytes, text in another encoding (with the byte
        offset), text in a ``numeric`` column that is not a number, or if not every line
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
    progress: Parts | None = None,
) -> tuple[Any, Intake]:
    """Return what `read` does, and the account of the file's lines."""
    file = opened(path, reading)
    return file.read(columns, numeric=numeric, text=text, progress=progress)


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
    return opened(path, reading).header


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
    return opened(path, reading).format()


def write(
    path: str | Path,
    columns: Any,
    *,
    overwrite: bool = False,
    like: Format | None = None,
    recodings: Mapping[str, Recoded] | None = None,
    create: Create | None = None,
    progress: Parts | None = None,
    renumbered: Collection[str] = (),
) -> Path:
    """Write columns to a CSV, Parquet, Arrow or mu-Argus file.

    The file appears whole or not at all. Floats are written so that they read back to
    the last bit. In CSV a missing value (None, masked, nan) is an empty field, text is
    quoted only where `read` needs it, empty text among it, and lines end in LF. Only
    those may read the file who may read that of ``like``, and, of a file that is
    replaced, who could before: see `riskcore.data.files.replace.replacing_all`.

    Parameters
    ----------
    path : str or pathlib.Path
        The suffix gives the format: ``.csv``, ``.tsv`` (also followed by ``.gz``),
        ``.parquet`` or ``.pq``, ``.feather`` or ``.arrow``, ``.sav``, ``.zsav`` or
        ``.dta``, and like a mu-Argus file
        ``.asc``, ``.dat`` or ``.saf``, of which the metadata are written beside it
        (``.rds``).
    columns : mapping of str to array, or pyarrow.Table
        Arrays of NumPy, pandas, polars or Arrow or lists, of equal length. For
        mu-Argus see `riskcore.data.files.argus.writer.write_data`.
    overwrite : bool, optional
        Whether an existing file may be replaced.
    like : Format, optional
        Delimiter and encoding of CSV (but ``.tsv`` has tabs) and the missing codes of
        all columns, which are quoted where they are values; or the mu-Argus file that
        the columns come from. By default comma and UTF-8, and no codes.
    recodings : mapping of str to Recoded, optional
        What was done to variables of a mu-Argus file: gives their missing codes and
        codelists.
    create : callable, optional
        Opens the files in place of this function, and sees to their modes, see
        `riskcore.data.files.replace.replacing_all`. What is written can be read there
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
    sources = () if like is None else like.paths
    with (
        nullcontext(create) if create else replacing_all(overwrite, sources)
    ) as opening:
        written_as(path, like).write(
            path,
            columns,
            opening,
            like=like,
            recodings=recodings,
            progress=progress,
            renumbered=renumbered,
        )
    return path


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
    written_as(path, like).check_target(path)
    targets = files_written(path, like)
    for target in targets:
        refuse_existing(target, overwrite)
    refuse_sources(targets, () if like is None else like.paths)
    if like is not None and like.path is not None:
        refuse_within(targets, like.path)
    return path


def refuse_within(targets: Iterable[Path], source: Path) -> None:
    """Refuse to write a file that would be read with those of a source."""
    for one in FORMATS:
        for target in targets if one.is_many(source) else ():
            if one.would_hold(source, target):
                raise ValueError(
                    f"{target}: would become one of the files of {source}, which is "
                    "read; write it elsewhere"
                )


def files_written(path: str | Path, like: Format | None = None) -> tuple[Path, ...]:
    """Return the files that `write` makes: that of the path, for mu-Argus two.

    Raises
    ------
    ValueError
        For an unknown suffix.
    """
    path = Path(path)
    return written_as(path, like).files_written(path)


def written_as(path: str | Path, like: Format | None = None) -> type[FileFormat]:
    """Return the format in which `write` writes a file.

    Raises
    ------
    ValueError
        For an unknown suffix.
    """
    path = Path(path)
    found = next((one for one in FORMATS if one.is_target(path, like)), None)
    if found is not None:
        return found
    *targets, last = (suffix for one in FORMATS for suffix in one.targets)
    own = [one.own_targets for one in FORMATS if like and one.kind == like.kind]
    known = f"{', '.join(targets)} and {last}{''.join(own)}"
    raise ValueError(f"{path}: can write {known} only")


def opened(path: str | Path, reading: Reading | None = None) -> FileFormat:
    """Return a file, of the class of its format, to be read.

    Parameters
    ----------
    path, reading
        As in `read`.

    Raises
    ------
    OSError, ValueError
        If it cannot be opened, or its format is unknown.
    """
    path, reading = Path(path), reading or Reading()
    for one in FORMATS:
        if one.is_many(path) and reading.metadata is None:
            return one(path, reading)
    _refuse_unless_file(path)
    return _format_read(path, reading)(path, reading)


def _refuse_unless_file(path: Path) -> None:
    if path.is_dir():
        raise IsADirectoryError(f"{path}: a directory, not a file")
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such file")
    if not path.is_file():
        raise OSError(f"{path}: a device or pipe, not a file")
    with path.open("rb"):
        pass  # a permission error names the file


def _format_read(path: Path, reading: Reading) -> type[FileFormat]:
    """Return the format of a file: as asked for, else by its suffix or its company."""
    tests: tuple[Callable[[type[FileFormat]], bool], ...] = (
        lambda one: one.is_meant(reading),
        lambda one: one.is_named(path),
        lambda one: one.is_likely(path),
    )
    for test in tests:
        for one in reversed(FORMATS):
            if test(one):
                return one
    known = ", ".join(suffix for one in FORMATS for suffix in one.suffixes)
    raise ValueError(
        f"{path}: unknown kind of file; save it as one that is known, or read it into "
        f"a data frame in Python; known are {known}"
    )
