"""The file that comes in, whole, and the safe file that goes out in its format."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore import __version__
from riskcore.microdata import argus, files, replace
from riskcore.microdata.columns import Records
from riskcore.microdata.recode import Recoding

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
    options : dict
        How to read the file: ``metadata``, ``encoding``, ``delimiter``.
    na_values : tuple of str
        Fields of a CSV file that are missing.
    progress : callable or None
        Called with the part done and the whole while the file is read.
    """

    given: Any
    path: Path | None = None
    options: dict[str, Any] = field(default_factory=dict)
    na_values: tuple[str, ...] = ("",)
    progress: Callable[[int, int], None] | None = None

    @classmethod
    def of(
        cls,
        data: Any,
        *,
        na_values: Iterable[str] = ("",),
        progress: Callable[[int, int], None] | None = None,
        **options: Any,
    ) -> Source:
        """Return the source of data, or of the path of a file.

        Raises
        ------
        OSError, ValueError
            If the file cannot be opened, or its kind is unknown.
        """
        if not isinstance(data, str | os.PathLike):
            return cls(data)
        source = cls(None, Path(data), options, tuple(na_values), progress)
        assert source.names is not None
        return source

    @cached_property
    def header(self) -> files.Header:
        """What the file says of its columns."""
        assert self.path is not None
        return files.columns_of(self.path, **self.options)

    @cached_property
    def format(self) -> files.Format | None:
        """The format of the file."""
        if self.path is None:
            return None
        return files.format_of(self.path, **self.options)

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files that are read."""
        return () if self.format is None else self.format.paths

    @cached_property
    def data(self) -> Any:
        """The data; of a file all columns, as the text that stands there."""
        if self.path is None:
            return self.given
        return files.read(
            self.path,
            text=True,
            na_values=self.na_values,
            progress=self.progress,
            **self.options,
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
    def variables(self) -> dict[Hashable, argus.Variable]:
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
            raise argus.no_such_column(self.path, lacking, self.header.names)

    def numbers(self, weight: Hashable | None) -> Any:
        """Return the weights in the file as numbers; None for data in memory."""
        if self.path is None or weight is None:
            return None
        name = str(weight)
        return files.read(self.path, [name], numeric=[name], **self.options)[name]

    def to_dict(self) -> dict[str, Any]:
        """Return what tells this source from others, and how it was read."""
        columns = [str(name) for name in self.names]
        if self.path is None:
            return {"file": None, "columns": columns}
        reading = {name: value and str(value) for name, value in self.options.items()}
        return {
            "file": self.path.name,
            **digest(self.path),
            "reading": {**reading, "na_values": list(self.na_values)},
            "columns": columns,
        }

    def check_writable(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Return the path if the safe file can be written there.

        Raises
        ------
        ImportError, OSError, ValueError
            As `riskcore.microdata.files.write`.
        """
        return files.check_writable(path, overwrite=overwrite, like=self.format)


def write(
    source: Source,
    data: Any,
    path: str | Path,
    *,
    create: replace.Create,
    recodings: Mapping[str, Recoding],
    drop: Iterable[str] = (),
    order: NDArray[np.int64] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Write protected data in the format of their source.

    Parameters
    ----------
    source : Source
    data : frame or mapping
        Its data, with values replaced.
    path : str or pathlib.Path
    create : callable
        Opens the files, see `riskcore.microdata.replace.replacing_all`.
    recodings : mapping of str to Recoding
        What was done to variables of a mu-Argus file.
    drop : iterable of str
        Columns to leave out.
    order : int64 ndarray, shape (n,), optional
        Positions of the records in the order in which they are written.
    progress : callable, optional
        Called with the part done and the whole.

    Returns
    -------
    dict
        What tells the file from others.

    Raises
    ------
    KeyError
        If a column to be left out does not exist.
    OSError, TypeError, ValueError
        As `riskcore.microdata.files.write`.
    """
    source.check(drop)
    dropped = [str(name) for name in drop]
    columns = {
        str(name): column
        for name, column in Records.of(data).columns.items()
        if str(name) not in dropped
    }
    # mu-Argus data are written field by field beside their source, in its order.
    beside_source = len(files.files_written(path, source.format)) > 1
    if order is not None and not beside_source:
        columns = {name: column[order] for name, column in columns.items()}
    opened: list[Path] = []

    def opening(target: Path) -> Any:
        file = create(target)
        opened.append(Path(file.name))
        return file

    files.write(
        path,
        columns,
        overwrite=True,
        like=source.format,
        recodings=recodings,
        create=opening,
        progress=progress,
    )
    if order is not None and beside_source:
        _reorder_lines(opened[0], order)
    return {"file": Path(path).name, **digest(opened[0]), "dropped": dropped}


def _reorder_lines(path: Path, order: NDArray[np.int64]) -> None:
    """Put the lines of a file of records in another order, below a line of names."""
    lines = path.read_bytes().splitlines(keepends=True)
    names = len(lines) - len(order)
    records = lines[names:]
    path.write_bytes(b"".join([*lines[:names], *(records[i] for i in order)]))


def digest(path: Path) -> dict[str, Any]:
    """Return the size of a file in bytes and its SHA-256."""
    total = hashlib.sha256()
    with path.open("rb") as file:
        for chunk in iter(lambda: file.read(_CHUNK), b""):
            total.update(chunk)
    return {"bytes": path.stat().st_size, "sha256": total.hexdigest()}


def versions() -> dict[str, str]:
    """Return the versions of all that computes."""
    libraries = {name: version(name) for name in _LIBRARIES}
    return {"riskcore": __version__, "python": platform.python_version(), **libraries}


def read_record(path: str | Path) -> dict[str, Any]:
    """Read the record of a protection.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it is no such record.
    """
    path = Path(path)
    try:
        record = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: no record of a protection: {error}") from None
    parts = {"settings", "input", "output", "versions"}
    if not isinstance(record, dict) or not parts <= record.keys():
        raise ValueError(f"{path}: no record of a protection")
    return record
