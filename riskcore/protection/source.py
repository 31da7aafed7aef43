"""The file that comes in, whole, and the safe file that goes out in its format."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from riskcore.files import formats
from riskcore.files.argus import reader
from riskcore.files.argus.metadata import Variable
from riskcore.files.intake import Intake
from riskcore.files.reading import Reading
from riskcore.microdata.columns import Records


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
    def variables(self) -> dict[Hashable, Variable]:
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
        return formats.numbers(self.path, str(weight), self.data, self.reading)

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
