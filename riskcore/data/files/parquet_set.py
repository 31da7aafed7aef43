"""Parquet files that form one data set: all in a folder, or all that fit a pattern.

Folders named ``column=value`` give a column, as Hive, Spark and Arrow write them.
"""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatch, fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import unquote

from riskcore.common.progress import Parts
from riskcore.common.warn import warn
from riskcore.common.words import counted
from riskcore.data.files.arrow import ArrowFormat, import_pyarrow
from riskcore.data.files.base_format import Format, Header, StoredRecords, distinct
from riskcore.data.files.intake import Accounted, Intake
from riskcore.data.files.parquet import ParquetFile
from riskcore.data.files.reading import Reading

# What Hive writes for a value that is missing.
_MISSING = "__HIVE_DEFAULT_PARTITION__"
# Folders in which Delta and Hudi say which files of a table are current.
_LOGS = ("_delta_log", ".hoodie")
_NAMED = 3


class FilesPassedOver(UserWarning):
    """Parquet files in a folder are not read, because of their names."""


@dataclass(frozen=True, slots=True)
class _Part:
    """One of the files, and the values of the columns that its folders give."""

    file: ParquetFile
    partitions: dict[str, str | None]


class ParquetSet(ArrowFormat):
    """The Parquet files of a folder and its subfolders, or of a pattern.

    They are read in the order of their paths. Links are followed. Names that begin with
    a dot or an underscore are passed over, with a warning: programs mark files that are
    not data this way. A pattern ends in the suffix of a Parquet file.
    """

    kind = "parquet set"
    title = "partitioned Parquet"
    suffixes: ClassVar[tuple[str, ...]] = ()
    typed = True

    @classmethod
    def is_many(cls, path: Path) -> bool:
        """Tell whether a path is a folder, or a pattern of Parquet files."""
        if path.is_dir():
            return True
        return _is_pattern(path) and ParquetFile.is_named(path) and not path.exists()

    @classmethod
    def would_hold(cls, path: Path, target: Path) -> bool:
        """Tell whether a file written to a target would be read with the others."""
        place = Path(os.path.realpath(target)).parts
        _, files = _found(path)
        folders = {_whole(file.parent) for file in files}
        if path.is_dir():
            return any(
                place[: len(folder)] == folder for folder in {_whole(path), *folders}
            )
        if not ParquetFile.is_named(target):
            return False
        if place[:-1] in folders and fnmatch(place[-1], path.name):
            return True
        pattern = _whole(path)
        if "**" in pattern:
            root = _whole(Path(*_fixed(path)))
            return place[: len(root)] == root
        pairs = zip(place, pattern, strict=False)
        return len(place) == len(pattern) and all(fnmatchcase(*pair) for pair in pairs)

    def __init__(self, path: Path, reading: Reading) -> None:
        super().__init__(path, reading)
        self.root, paths = _found(path)
        self.parts = [
            _Part(ParquetFile(file, reading), _partitions(file.relative_to(self.root)))
            for file in paths
        ]
        _refuse_unless_single(paths)
        first = self.parts[0]
        for part in self.parts:
            with part.file.path.open("rb"):
                pass  # a permission error names the file
            if part.partitions.keys() != first.partitions.keys():
                raise ValueError(
                    f"{path}: its folders give different columns: "
                    f"{_columns_of(first)} for {first.file.path.name}, "
                    f"{_columns_of(part)} for {part.file.path}"
                )

    def format(self) -> Format:
        """Return how the files are written, with their paths."""
        files = tuple(part.file.path for part in self.parts)
        return replace(super().format(), files=files)

    def read_header(self) -> Header:
        """Read the names of the columns, which must be the same in all files."""
        first, *others = self.parts
        types = _types(first.file)
        for part in others:
            self._refuse_other(part.file, types, _types(part.file))
        # polars writes these columns into the files, too: then the files' are read.
        return Header(tuple(dict.fromkeys([*types, *first.partitions])))

    def _refuse_other(
        self, file: ParquetFile, types: dict[str, Any], file_types: dict[str, Any]
    ) -> None:
        """Refuse a file with other columns than the first one has."""
        if types == file_types:
            return
        first = self.parts[0].file.path
        differ = [
            f"{name!r} is {_type(types, name)} in {first} and "
            f"{_type(file_types, name)} in {file.path}"
            for name in {**types, **file_types}
            if types.get(name) != file_types.get(name)
        ]
        more = f"; and {len(differ) - _NAMED} more" if len(differ) > _NAMED else ""
        raise ValueError(
            f"{self.path}: files with different columns: "
            f"{'; '.join(differ[:_NAMED])}{more}. Write them with the same columns, or "
            "give a pattern for the files that belong together"
        )

    @cached_property
    def partitions(self) -> tuple[str, ...]:
        """The columns that the folders give and the files do not have."""
        first = self.parts[0]
        file_types = _types(first.file)
        return tuple(name for name in first.partitions if name not in file_types)

    def read_table(self, columns: list[str], progress: Parts | None) -> Accounted:
        """Return columns of all files as a table, and the account of the files."""
        pyarrow = import_pyarrow()
        own = [name for name in columns if name not in self.partitions]
        tables, records, groups = [], 0, 0
        for i, part in enumerate(self.parts):
            table, intake = part.file.read_table(own, None)
            tables.append(self._with_partitions(table, part, intake.records, columns))
            records += intake.records
            groups += intake.row_groups or 0
            if progress is not None:
                progress(i + 1, len(self.parts))
        table = pyarrow.concat_tables(tables)
        intake = Intake(records=records, row_groups=groups, files=len(self.parts))
        intake.check(self.path, table.num_rows if columns else records)
        return table.select(columns), intake

    def _with_partitions(
        self, table: Any, part: _Part, records: int, columns: list[str]
    ) -> Any:
        """Return a table with those columns added that the folders give."""
        pyarrow = import_pyarrow()
        for name in self.partitions:
            value = pyarrow.scalar(part.partitions[name], pyarrow.string())
            if name in columns:
                table = table.append_column(name, pyarrow.repeat(value, records))
        return table

    def stored(self) -> StoredRecords:
        """Return the records of all files as stored."""
        names = list(self.header.names)
        parts = [part.file.stored() for part in self.parts]
        schema = parts[0].schema.empty_table()
        schema = self._with_partitions(schema, self.parts[0], 0, names).schema
        intake = Intake(
            records=sum(file.intake.records for file in parts),
            row_groups=sum(file.intake.row_groups or 0 for file in parts),
            files=len(parts),
        )
        files = [
            (part.file.path, {x: part.partitions[x] for x in self.partitions})
            for part in self.parts
        ]
        schema = schema.empty_table().select(names).schema
        return StoredRecords(self.path, schema, intake, files)

    @classmethod
    def check_target(cls, path: Path) -> None:
        """Refuse: data are written to one file."""
        raise ValueError(f"{path}: can be written as one file only")


def _whole(path: Path) -> tuple[str, ...]:
    """Return the parts of a path without links; of a pattern, before its wildcards."""
    fixed = Path(*_fixed(path)) if _is_pattern(path) else path
    rest = path.parts[len(fixed.parts) :]
    return (*Path(os.path.realpath(fixed)).parts, *rest)


def _is_pattern(path: Path) -> bool:
    return glob.has_magic(str(path))


def _found(path: Path) -> tuple[Path, list[Path]]:
    """Return the folder of the files, and the files in order."""
    if not path.is_dir():
        root = Path(*_fixed(path))
        rest = path.parts[len([*_fixed(path)]) :]
        files = [*_matching(root, rest, ())]
        if not files:
            raise FileNotFoundError(f"{path}: no file matches this pattern")
        return root, sorted(set(files), key=lambda entry: entry.parts)
    hidden: list[Path] = []
    files = [*_below(path, (), hidden)]
    parquet = [file for file in files if ParquetFile.is_named(file)]
    others = [file for file in files if not ParquetFile.is_named(file)]
    if not parquet:
        raise IsADirectoryError(
            f"{path}: a directory, not a file; only a directory of Parquet files can "
            "be read"
        )
    if others:
        raise ValueError(
            f"{path}: a directory with {len(others)} files that are not Parquet, such "
            f"as {others[0]}; give a pattern for the files to read, such as "
            f"{path / '*.parquet'}"
        )
    passed = [entry for entry in hidden if _holds_parquet(entry)]
    if passed:
        what = counted(len(passed), "file or folder", "files or folders")
        warn(
            f"{path}: passed over {what} with Parquet data, such as {passed[0]}: "
            "names that begin with a dot or an underscore mark files that are not "
            "data. If they belong to the data, rename them",
            FilesPassedOver,
        )
    return path, sorted(parquet, key=lambda entry: entry.parts)


def _refuse_unless_single(paths: Sequence[Path]) -> None:
    """Refuse paths that are not files, or lead to the same file."""
    paths_by_inode: dict[tuple[int, int], Path] = {}
    for path in paths:
        about = path.stat()
        if not stat.S_ISREG(about.st_mode):
            raise OSError(f"{path}: a device or pipe, not a file")
        other = paths_by_inode.setdefault((about.st_dev, about.st_ino), path)
        if about.st_ino and other is not path:
            raise ValueError(
                f"{path}: the same file as {other}, whose records would count twice; "
                "remove one of them, or give a pattern for the files to read"
            )


def _fixed(path: Path) -> Iterator[str]:
    """Yield the parts of a pattern before the first that has a wildcard."""
    for part in path.parts[:-1]:
        if glob.has_magic(part):
            return
        yield part


def _below(
    path: Path, above: tuple[Path, ...], hidden: list[Path] | None = None
) -> Iterator[Path]:
    """Yield a file, or the data files of a folder; collect what is passed over."""
    if not path.is_dir():
        yield path
        return
    above = _entered(path, above)
    for name in _names_in(path):
        if not _is_hidden(name):
            yield from _below(path / name, above, hidden)
        elif hidden is not None:
            hidden.append(path / name)


def _matching(
    folder: Path, pattern: Sequence[str], above: tuple[Path, ...]
) -> Iterator[Path]:
    """Yield the files of a pattern in a folder; `glob.glob` skips unreadable ones."""
    first, *rest = pattern
    above = _entered(folder, above)
    if first == "**":
        yield from _matching(folder, rest, ())
        for name in _names_in(folder):
            if not name.startswith(".") and (folder / name).is_dir():
                yield from _matching(folder / name, pattern, above)
        return
    for name in _names_in(folder) if glob.has_magic(first) else (first,):
        path = folder / name
        if name != first and not fnmatch(name, first):
            continue
        if name.startswith(".") and not first.startswith("."):
            continue
        if rest and path.is_dir():
            yield from _matching(path, rest, above)
        elif not rest and os.path.lexists(path):
            yield from _below(path, above)


def _entered(folder: Path, above: tuple[Path, ...]) -> tuple[Path, ...]:
    """Return the folders above the files of a folder; refuse a folder in itself."""
    real = Path(os.path.realpath(folder))
    if real in above:
        raise ValueError(
            f"{folder}: a link to {real}, a folder that contains it; remove the link"
        )
    return (*above, real)


def _names_in(folder: Path) -> list[str]:
    """Return the names in a folder; refuse tables with a log, and empty partitions."""
    names = sorted(os.listdir(folder))
    log = next((name for name in names if name in _LOGS), None)
    if log is not None:
        raise ValueError(
            f"{folder}: a table whose log, {log}, says which of its files are current; "
            "write its records to Parquet files with the program that made it"
        )
    if "=" in folder.name and all(map(_is_hidden, names)):
        raise ValueError(
            f"{folder}: a partition without files; put them back, or remove the folder"
        )
    return names


def _is_hidden(name: str) -> bool:
    """Tell whether a name marks a file without data: _SUCCESS, .part-0.crc."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def _holds_parquet(path: Path) -> bool:
    """Tell whether a path is a Parquet file, or a folder that has one."""
    entries = path.rglob("*") if path.is_dir() else iter([path])
    return any(ParquetFile.is_named(entry) for entry in entries)


def _partitions(path: Path) -> dict[str, str | None]:
    """Return the columns that the folders of a file give."""
    columns: dict[str, str | None] = {}
    for part in path.parts[:-1]:
        name, equals, value = part.partition("=")
        if equals and unquote(name) in columns:
            raise ValueError(f"{path}: the folders give {unquote(name)!r} twice")
        if equals:
            columns[unquote(name)] = None if value == _MISSING else unquote(value)
    return columns


def _columns_of(part: _Part) -> str:
    return ", ".join(map(repr, part.partitions)) or "none"


def _types(file: ParquetFile) -> dict[str, Any]:
    """Return the types of a file's columns by name."""
    with file.open() as opened:
        schema = opened.schema_arrow
        distinct(file.path, schema.names)
        return dict(zip(schema.names, schema.types, strict=True))


def _type(types: dict[str, Any], name: str) -> str:
    return str(types[name]) if name in types else "not there"
