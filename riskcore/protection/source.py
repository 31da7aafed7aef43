"""The file that comes in, whole, and the safe file that goes out in its format."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from riskcore import __version__
from riskcore.files import formats
from riskcore.files.argus import reader
from riskcore.files.intake import Intake
from riskcore.files.reading import Reading
from riskcore.files.replace import Create
from riskcore.microdata.columns import Records, code_column
from riskcore.microdata.recode import Recoding

Positions: TypeAlias = NDArray[np.int64]

# What may change a bit of the result.
_LIBRARIES = ("numpy", "numba", "narwhals")
_CHUNK = 1 << 20


@dataclass(frozen=True, eq=False, repr=False)
class Source:
    """What is to be protected: data in memory, or a file that is read when needed.

    Attributes
    ----------
    given : frame or mapping, or None
    path : pathlib.Path or None
    reading : Reading
        How to read the file.
    progress : callable or None
        Called with the part done and the whole while the file is read.
    """

    given: Any
    path: Path | None = None
    reading: Reading = field(default_factory=Reading)
    progress: Callable[[int, int], None] | None = None

    @classmethod
    def of(
        cls,
        data: Any,
        reading: Reading | None = None,
        *,
        progress: Callable[[int, int], None] | None = None,
    ) -> Source:
        """Return the source of data, or of the path of a file.

        Raises
        ------
        OSError, ValueError
            If the file cannot be opened, or its kind is unknown.
        TypeError
            If ``reading`` is given for data in memory, or is no `Reading`.
        """
        formats.check_reading(data, reading)
        if not isinstance(data, str | os.PathLike):
            return cls(data)
        source = cls(None, Path(data), reading or Reading(), progress)
        assert source.names is not None
        return source

    @cached_property
    def header(self) -> formats.Header:
        """What the file says of its columns."""
        assert self.path is not None
        return formats.columns_of(self.path, self.reading)

    @cached_property
    def format(self) -> formats.Format | None:
        """The format of the file."""
        if self.path is None:
            return None
        return formats.format_of(self.path, self.reading)

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files that are read."""
        return () if self.format is None else self.format.paths

    @property
    def data(self) -> Any:
        """The data; of a file all columns, as the text that stands there."""
        return self.given if self.path is None else self._read[0]

    @property
    def intake(self) -> Intake | None:
        """What became of the lines of the file."""
        return None if self.path is None else self._read[1]

    @cached_property
    def _read(self) -> tuple[Any, Intake]:
        assert self.path is not None
        return formats.read_counted(
            self.path, text=True, reading=self.reading, progress=self.progress
        )

    @property
    def names(self) -> tuple[Hashable, ...]:
        """The names of the columns."""
        if self.path is not None:
            return self.header.names
        return tuple(Records.of(self.given).columns)

    @property
    def weight(self) -> str | None:
        """The weight that mu-Argus metadata declare."""
        return None if self.path is None else self.header.weight

    @property
    def variables(self) -> dict[Hashable, reader.Variable]:
        """The variables that mu-Argus metadata declare, by name."""
        metadata = None if self.format is None else self.format.metadata
        return {} if metadata is None else {v.name: v for v in metadata.variables}

    def check(self, columns: Iterable[Hashable]) -> None:
        """Refuse columns that there are not, before a file is read.

        Raises
        ------
        KeyError
            Naming them, and those that come close.
        """
        if self.path is None:
            records = Records.of(self.given)
            for name in columns:
                records.column(name)
            return
        lacking = [str(name) for name in columns if name not in self.header.names]
        if lacking:
            raise reader.no_such_column(self.path, lacking, self.header.names)

    def numbers(self, weight: Hashable | None) -> Any:
        """Return the weights in the file as numbers; None for data in memory."""
        if self.path is None or weight is None:
            return None
        name = str(weight)
        return formats.read(self.path, [name], numeric=[name], reading=self.reading)[
            name
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the name of the file, its columns, and how it was read."""
        columns = [str(name) for name in self.names]
        if self.path is None:
            return {"file": None, "reading": {}, "columns": columns}
        reading = self.reading.to_dict()
        if metadata := reading["metadata"]:
            reading["metadata"] = Path(metadata).name
        return {
            "file": self.path.name,
            "reading": reading,
            "columns": columns,
        }

    def check_writable(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Return the path if the safe file can be written there.

        Raises
        ------
        ImportError, OSError, ValueError
            As `riskcore.files.formats.write`.
        """
        return formats.check_writable(path, overwrite=overwrite, like=self.format)


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """What is written: which columns, with which ids, in which order.

    Attributes
    ----------
    source : Source
    path : pathlib.Path
        The file to write.
    columns : dict of str to array or narwhals series, each of length n
        In the order of the source, with new ids in place of old ones.
    dropped, renumbered : tuple of str
        Columns left out, and those with new ids.
    order : int64 ndarray, shape (n,), or None
        Positions of the records in the order in which they are written.
    """

    source: Source
    path: Path
    columns: dict[str, Any]
    dropped: tuple[str, ...] = ()
    renumbered: tuple[str, ...] = ()
    order: Positions | None = None

    @classmethod
    def of(
        cls,
        source: Source,
        data: Any,
        path: str | Path,
        *,
        drop: Iterable[str] = (),
        ids: Mapping[str, Positions] | None = None,
        order: Positions | None = None,
    ) -> Layout:
        """Lay out protected data.

        Parameters
        ----------
        source : Source
        data : frame or mapping
            Its data, with values replaced.
        path : str or pathlib.Path
        drop : iterable of str
            Columns to leave out.
        ids : mapping of str to int64 ndarray, each shape (n,)
            New ids of columns, 0 where missing.
        order : int64 ndarray, shape (n,), optional

        Raises
        ------
        KeyError
            If a column to be left out does not exist.
        """
        source.check(drop)
        path, ids = Path(path), ids or {}
        dropped = tuple(str(name) for name in drop)
        numbers = path.suffix.lower() in (".parquet", ".pq")
        columns = {
            str(name): _new_ids(column, ids[str(name)], numbers=numbers)
            if str(name) in ids
            else column
            for name, column in Records.of(data).columns.items()
            if str(name) not in dropped
        }
        return cls(source, path, columns, dropped, tuple(ids), order)

    @property
    def written(self) -> tuple[Path, ...]:
        """The files that `write` makes."""
        return formats.files_written(self.path, self.source.format)

    def write(
        self,
        create: Create,
        recodings: Mapping[str, Recoding],
        progress: Callable[[int, int], None] | None = None,
    ) -> list[Path]:
        """Write the file in the format of its source.

        Parameters
        ----------
        create : callable
            Opens the files, see `riskcore.files.replace.replacing_all`.
        recodings : mapping of str to Recoding
            What was done to variables of a mu-Argus file.
        progress : callable, optional
            Called with the part done and the whole.

        Returns
        -------
        list of pathlib.Path
            Where the files stand now, in the order of ``written``.

        Raises
        ------
        OSError, TypeError, ValueError
            As `riskcore.files.formats.write`; ValueError also for a CSV file of one
            column in which values are missing: empty lines, which readers skip.
        """
        # mu-Argus data are written field by field beside their source, in its order.
        beside_source = len(self.written) > 1
        self._refuse_empty_lines(beside_source)
        columns = self.columns
        if self.order is not None and not beside_source:
            columns = {name: column[self.order] for name, column in columns.items()}
        opened: list[Path] = []

        def opening(target: Path) -> Any:
            file = create(target)
            opened.append(Path(file.name))
            return file

        formats.write(
            self.path,
            columns,
            overwrite=True,
            like=self.source.format,
            recodings=recodings,
            create=opening,
            progress=progress,
            renumbered=self.renumbered,
        )
        if self.order is not None and beside_source:
            _reorder_lines(opened[0], self.order)
        return opened

    def _refuse_empty_lines(self, beside_source: bool) -> None:
        parquet = self.path.suffix.lower() in (".parquet", ".pq")
        if len(self.columns) > 1 or parquet or beside_source:
            return
        (name,) = self.columns
        missing = code_column(Records.of(self.columns), name).missing
        if missing:
            raise ValueError(
                f"{self.path}: {missing} missing values of the only column, {name!r}, "
                "would be empty lines, which readers skip; write .parquet, or drop "
                "fewer columns"
            )


def _new_ids(column: Any, ids: Positions, *, numbers: bool) -> Any:
    """Return new ids as a column that holds them as the old one did.

    As numbers they have the type of the old ids if these are integers and it is wide
    enough, else they are text.
    """
    missing = ids == 0
    dtype = _integer_type(column) if numbers else np.dtype(np.int64)
    if dtype is None:
        values: Any = np.where(missing, "", ids.astype(np.str_))
    else:
        narrow = ids.max(initial=0) <= np.iinfo(dtype).max
        values = ids.astype(dtype if narrow else np.int64)
    return np.ma.MaskedArray(values, missing) if missing.any() else values


def _integer_type(column: Any) -> np.dtype[Any] | None:
    """Return the type of a column of integers, None of any other."""
    if not isinstance(column, np.ndarray):
        name = str(column.dtype).lower()
        return (
            np.dtype(name) if column.dtype.is_integer() and "128" not in name else None
        )
    if column.dtype != object:
        return column.dtype if column.dtype.kind in "iu" else None
    kinds = {type(value) for value in column.tolist() if value is not None}
    return np.dtype(np.int64) if kinds == {int} else None


def _reorder_lines(path: Path, order: Positions) -> None:
    """Put the lines of a file of records in another order, below a line of names."""
    lines = path.read_bytes().splitlines(keepends=True)
    names = len(lines) - len(order)
    records = lines[names:]
    path.write_bytes(b"".join([*lines[:names], *(records[i] for i in order)]))


def digest(path: Path) -> str:
    """Return the SHA-256 of a file that is published, never of a confidential one.

    Of a confidential file the digest tells every value that is not known, one by one:
    whoever has the rest tries them. See `riskcore.protection.secret.Key`.
    """
    total = hashlib.sha256()
    with path.open("rb") as file:
        for chunk in iter(lambda: file.read(_CHUNK), b""):
            total.update(chunk)
    return total.hexdigest()


def versions() -> dict[str, str]:
    """Return the versions of all that computes."""
    libraries = {name: version(name) for name in _LIBRARIES}
    return {"riskcore": __version__, "python": platform.python_version(), **libraries}
