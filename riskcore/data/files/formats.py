"""Files of microdata by suffix: CSV, Parquet, Arrow, SPSS, Stata, SAS, Excel, mu-Argus.

``read`` takes only the columns asked for and leaves codes as they are written: "01"
stays "01". ``write`` leaves a whole file or none, in the format of another if asked to.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from riskcore.common.needs import lacking
from riskcore.common.progress import Parts
from riskcore.common.warn import warn
from riskcore.data.files.argus.argus_file import ArgusFile
from riskcore.data.files.base_format import FileFormat, Format, Header, Recoded, Writing
from riskcore.data.files.csv import CsvFile, LineBreaksInFields, LinesWithoutValues
from riskcore.data.files.excel import ExcelFile
from riskcore.data.files.ipc import ArrowFile
from riskcore.data.files.joined import JoinedFile
from riskcore.data.files.parquet import ParquetFile
from riskcore.data.files.parquet_set import ParquetSet
from riskcore.data.files.reading import (
    DoubtfulCodes,
    Reading,
    beside_persons,
    file_and_ids,
)
from riskcore.data.files.replace import (
    Create,
    refuse_existing,
    refuse_sources,
    replacing_all,
)
from riskcore.data.files.spss_stata_sas import SasFile, SpssFile, StataFile

__all__ = [
    "FORMATS",
    "DoubtfulCodes",
    "FileFormat",
    "Format",
    "Header",
    "LineBreaksInFields",
    "LinesWithoutValues",
    "check_writable",
    "columns_of",
    "files_written",
    "format_of",
    "opened",
    "read",
    "shared",
    "write",
    "written_as",
]

# In the order in which messages list their suffixes. A file is tried from the end: text
# of no other known format is CSV.
FORMATS: tuple[type[FileFormat], ...] = (
    CsvFile,
    ParquetFile,
    ParquetSet,
    ArrowFile,
    SpssFile,
    StataFile,
    SasFile,
    ExcelFile,
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
    """Return columns of a file in the order given: a table, or a dict for mu-Argus."""
    file = opened(path, reading)
    return file.read(columns, numeric=numeric, text=text, progress=progress)[0]


def columns_of(path: str | Path, reading: Reading | None = None) -> Header:
    """Return the names of a file's columns without reading its records."""
    return opened(path, reading).header


def shared(reading: Reading, paths: Iterable[Path]) -> list[Reading]:
    """Return how to read several files by options, each as far as it can have them."""
    # What no file can have is left to the first, which refuses it. It has the metadata.
    readings = [
        opened(x, beside(reading, x) if i else reading).fitting()
        for i, x in enumerate(paths)
    ]
    lost = {
        name: asked
        for name, asked in vars(reading).items()
        if name not in ("metadata", "missing_codes", "household_file")
        and all(getattr(file_reading, name) != asked for file_reading in readings)
    }
    if not {name for file_reading in readings for name in file_reading.columns} >= {
        *reading.columns
    }:
        lost["missing_codes"] = reading.missing_codes
    return [replace(readings[0], **lost), *readings[1:]]


def beside(reading: Reading, path: Path) -> Reading:
    """Return how to read a second file: its households lie beside it, as written."""
    households, reading = beside_persons(path), replace(reading, metadata=None)
    if reading.household_file is None or households.exists():
        return reading._with_files(lambda _: households)
    said = f"{path}: read without its households, which {households} would hold"
    warn(said, UserWarning)
    return replace(reading, household_file=None)


def format_of(path: str | Path, reading: Reading | None = None) -> Format:
    r"""Return how a file is written, so that `write` can write another like it."""
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
    """Write columns to a file, whole or not at all, and return its path."""
    # Access rights are those of `replace.replacing_all`, which ``create`` replaces.
    path = check_writable(path, overwrite=overwrite, like=like)
    if like is not None and like.joined is not None:
        for target, part, own in like.joined.split(path, columns, like):
            write(target, part, overwrite=overwrite, like=own, create=create)
        return path
    sources = () if like is None else like.paths
    with (
        nullcontext(create) if create else replacing_all(overwrite, sources)
    ) as opening:
        how = Writing(like, recodings, progress, renumbered)
        written_as(path, like).write(path, columns, opening, how)
    return path


def check_writable(
    path: str | Path, *, overwrite: bool = False, like: Format | None = None
) -> Path:
    """Return the path, or raise as `write` would: to be called before long work."""
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
    """Refuse to write a file that would become one of the files of a source."""
    for file_format in FORMATS:
        for target in targets if file_format.is_many(source) else ():
            if file_format.would_hold(source, target):
                raise ValueError(
                    f"{target}: would become one of the files of {source}, the data "
                    "that are read; write it elsewhere"
                )


def files_written(path: str | Path, like: Format | None = None) -> tuple[Path, ...]:
    """Return the files that `write` makes: one at the path, or two for mu-Argus."""
    path = Path(path)
    files = written_as(path, like).files_written(path)
    return (*files, beside_persons(path)) if like and like.joined else files


def written_as(path: str | Path, like: Format | None = None) -> type[FileFormat]:
    """Return the format in which `write` writes a file."""
    path = Path(path)
    match = next((x for x in FORMATS if x.is_target(path, like)), None)
    if match is not None:
        return match
    *targets, last = (
        suffix for file_format in FORMATS for suffix in file_format.targets
    )
    alike = [x for x in FORMATS if like and x.kind == like.kind]
    own = [file_format.own_targets for file_format in alike]
    suffixes = f"{', '.join(targets)} and {last}{''.join(own)}"
    raise ValueError(f"{path}: can write {suffixes} only")


def lacking_for(path: Path, *, written: bool) -> list[str]:
    """Return the missing libraries for a file to be read or written, by its suffix."""
    named = (file_format for file_format in FORMATS if file_format.is_named(path))
    return lacking(*(x for f in named for x in f.libraries + f.to_write * written))


def opened(path: str | Path, reading: Reading | None = None) -> FileFormat:
    """Return a file of the class of its format, to be read."""
    path, reading = Path(path), reading or Reading()
    if reading.household_file is not None:
        files = [path, file_and_ids(reading.household_file)[0]]
        how = shared(replace(reading, household_file=None), files)
        persons, households = map(opened, files, how)
        return JoinedFile(persons, households, reading)
    for file_format in FORMATS:
        if file_format.is_many(path) and reading.metadata is None:
            return file_format(path, reading)
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
    """Return the format of a file: as asked for, else by its suffix or neighbors."""
    tests: tuple[Callable[[type[FileFormat]], bool], ...] = (
        lambda file_format: file_format.is_meant(reading),
        lambda file_format: file_format.is_named(path),
        lambda file_format: file_format.is_likely(path),
    )
    for test in tests:
        for file_format in reversed(FORMATS):
            if test(file_format):
                return file_format
    suffixes = ", ".join(
        suffix for file_format in FORMATS for suffix in file_format.suffixes
    )
    how = "save it as a known one, or read it into a data frame in Python"
    if path.suffix.lower() in (".rds", ".rda", ".rdata"):
        how = "in R, save it with labels by haven::write_sav(x, 'x.sav')"
    raise ValueError(f"{path}: unknown kind of file; {how}; known are {suffixes}")
