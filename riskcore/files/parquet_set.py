"""Parquet files that are one data set: those in a folder, or of a pattern.

Folders named ``column=value`` give a column, as Hive, Spark and Arrow write them.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import unquote

from riskcore.common.progress import Parts
from riskcore.files.arrow import ArrowFormat, import_pyarrow
from riskcore.files.base_format import Format, Header, RecordBatches, distinct
from riskcore.files.intake import Intake
from riskcore.files.parquet import ParquetFile
from riskcore.files.reading import Reading

# What Hive writes for a value that is missing.
_MISSING = "__HIVE_DEFAULT_PARTITION__"
# Names of what is no data: _SUCCESS, _metadata, .part-0.crc.
_BESIDE = (".", "_")
_NAMED = 3


@dataclass(frozen=True, slots=True)
class _Part:
    """One of the files, and the columns that its folders give."""

    file: ParquetFile
    partitions: dict[str, str | None]


class ParquetSet(ArrowFormat):
    """The Parquet files of a folder and the folders in it, or those of a pattern.

    They are read in the order of their paths, folder by folder and each by its name.

    Parameters
    ----------
    path : pathlib.Path
        A folder, or a pattern with ``*``, ``?``, ``[...]`` or ``**`` that ends in the
        suffix of a Parquet file.
    reading : Reading
        The missing codes.

    Raises
    ------
    OSError
        If there are no such files.
    ValueError
        If a folder has files that are no Parquet, or the folders in it give different
        columns.
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
        """Tell whether a file written there would be read with the others."""
        place = Path(os.path.realpath(target)).parts
        if path.is_dir():
            return place[: len(whole := _whole(path))] == whole
        if not ParquetFile.is_named(target):
            return False
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
            _Part(ParquetFile(one, reading), _partitions(one.relative_to(self.root)))
            for one in paths
        ]
        first = self.parts[0]
        for part in self.parts:
            with part.file.path.open("rb"):
                pass  # a permission error names the file
            if part.partitions.keys() != first.partitions.keys():
                raise ValueError(
                    f"{path}: folders that give different columns: "
                    f"{_columns_of(first)} for {first.file.path.name}, "
                    f"{_columns_of(part)} for {part.file.path}"
                )

    def format(self) -> Format:
        """Return how the files are written, and which they are."""
        files = tuple(part.file.path for part in self.parts)
        return replace(super().format(), files=files)

    def read_header(self) -> Header:
        """Read the names of the columns, which must be those of all files."""
        first, *others = self.parts
        types = _types(first.file)
        for part in others:
            self._refuse_other(part.file, types, _types(part.file))
        # polars writes a column into the files, too: then that is read.
        return Header(tuple(dict.fromkeys([*types, *first.partitions])))

    def _refuse_other(
        self, file: ParquetFile, types: dict[str, Any], found: dict[str, Any]
    ) -> None:
        """Refuse a file with other columns than the first one."""
        if types == found:
            return
        first = self.parts[0].file.path
        differ = [
            f"{name!r} is {_type(types, name)} in {first} and {_type(found, name)} in "
            f"{file.path}"
            for name in {**types, **found}
            if types.get(name) != found.get(name)
        ]
        more = f"; and {len(differ) - _NAMED} more" if len(differ) > _NAMED else ""
        raise ValueError(
            f"{self.path}: files with different columns: "
            f"{'; '.join(differ[:_NAMED])}{more}. Write them with the same columns, or "
            "name those that belong together by a pattern"
        )

    @cached_property
    def partitions(self) -> tuple[str, ...]:
        """The columns that the folders give and the files do not have."""
        first = self.parts[0]
        return tuple(
            name for name in first.partitions if name not in _types(first.file)
        )

    def read_table(
        self, columns: list[str], progress: Parts | None
    ) -> tuple[Any, Intake]:
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
        """Return a table with those of the columns that the folders give."""
        pyarrow = import_pyarrow()
        for name in self.partitions:
            value = pyarrow.scalar(part.partitions[name], pyarrow.string())
            if name in columns:
                table = table.append_column(name, pyarrow.repeat(value, records))
        return table

    def batches(self) -> RecordBatches:
        """Return the records of all files as stored, in batches."""
        names = list(self.header.names)
        parts = [part.file.batches() for part in self.parts]
        schema = parts[0].schema.empty_table()
        schema = self._with_partitions(schema, self.parts[0], 0, names).schema
        intake = Intake(
            records=sum(one.intake.records for one in parts),
            row_groups=sum(one.intake.row_groups or 0 for one in parts),
            files=len(parts),
        )

        def read(columns: list[str]) -> Iterator[Any]:
            pyarrow = import_pyarrow()
            own = [name for name in columns if name not in self.partitions]
            # Only the folders' columns: another is read, for its number of records.
            some = own or parts[0].schema.names[:1]
            for part, one in zip(self.parts, parts, strict=True):
                for batch in one.read(some):
                    table = pyarrow.Table.from_batches([batch])
                    table = self._with_partitions(table, part, len(table), columns)
                    yield from table.select(columns).combine_chunks().to_batches()

        return RecordBatches(
            self.path, schema.empty_table().select(names).schema, intake, read
        )

    @classmethod
    def check_target(cls, path: Path) -> None:
        """Refuse: what is written is one file."""
        raise ValueError(f"{path}: can be written as one file only")

    @classmethod
    def write_tables(
        cls, tables: Any, file: Any, path: Path, like: Any, progress: Any
    ) -> None:
        """Refuse: what is written is one file."""
        cls.check_target(path)


def _whole(path: Path) -> tuple[str, ...]:
    """Return the parts of a path from the root on, of a pattern links aside."""
    fixed = Path(*_fixed(path)) if _is_pattern(path) else path
    rest = path.parts[len(fixed.parts) :]
    return (*Path(os.path.realpath(fixed)).parts, *rest)


def _is_pattern(path: Path) -> bool:
    return glob.has_magic(str(path))


def _found(path: Path) -> tuple[Path, list[Path]]:
    """Return the folder of the files, and the files in order."""
    if not path.is_dir():
        fixed = [*_fixed(path)]
        root = Path(*fixed)
        matches = (Path(one) for one in glob.glob(str(path), recursive=True))
        files = [file for one in matches for file in _below(one)]
        if not files:
            raise FileNotFoundError(f"{path}: no file of this pattern")
        return root, sorted(set(files), key=_place)
    files = [*_below(path)]
    parquet = [file for file in files if ParquetFile.is_named(file)]
    others = [file for file in files if not ParquetFile.is_named(file)]
    if not parquet:
        raise IsADirectoryError(
            f"{path}: a directory, not a file, and without Parquet files, which are "
            "read as one"
        )
    if others:
        raise ValueError(
            f"{path}: a directory with {len(others)} other files beside the Parquet "
            f"files: {others[0]}; name those to be read by a pattern, such as "
            f"{path / '*.parquet'}"
        )
    return path, sorted(parquet, key=_place)


def _fixed(path: Path) -> Iterator[str]:
    """Yield the parts of a pattern before the first that has a wildcard."""
    for part in path.parts[:-1]:
        if glob.has_magic(part):
            return
        yield part


def _place(path: Path) -> tuple[str, ...]:
    """Return what files are ordered by: their folders and names, not the separators."""
    return path.parts


def _below(path: Path) -> Iterator[Path]:
    """Yield a file, or the files of a folder that are not beside the data."""
    if not path.is_dir():
        yield path
        return
    for folder, folders, names in os.walk(path):
        folders[:] = [name for name in folders if not name.startswith(_BESIDE)]
        for name in names:
            if not name.startswith(_BESIDE):
                yield Path(folder, name)


def _partitions(path: Path) -> dict[str, str | None]:
    """Return the columns that the folders of a file give."""
    found: dict[str, str | None] = {}
    for part in path.parts[:-1]:
        name, equals, value = part.partition("=")
        if equals and unquote(name) in found:
            raise ValueError(f"{path}: the folders give {unquote(name)!r} twice")
        if equals:
            found[unquote(name)] = None if value == _MISSING else unquote(value)
    return found


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
