"""What is assessed or protected: data in memory, or a file that is read when needed.

Python and the command open their data here. The header of a file is read first: its
columns, and the weight that it declares. Then the columns asked for are read, or all.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from riskcore.common.missing_column import no_such_column
from riskcore.common.progress import Parts
from riskcore.data.columns import Records, in_memory
from riskcore.data.engines.file import BatchedFile
from riskcore.data.engines.which import engine_of
from riskcore.data.files import formats
from riskcore.data.files.argus.metadata import Variable
from riskcore.data.files.intake import Intake
from riskcore.data.files.labels import Labels
from riskcore.data.files.reading import Reading
from riskcore.data.files.replace import Identity, identity

# From so many records on a file can be counted in batches: in memory a record takes
# some 75 bytes.
IN_BATCHES = 1 << 24


@dataclass(frozen=True, eq=False, repr=False)
class Source:
    """Data in memory, or a file."""

    given: Any
    path: Path | None = None
    reading: Reading = field(default_factory=Reading)  # how to read the file
    # called with the part done and the whole while the file is read
    progress: Parts | None = None

    @classmethod
    def of(
        cls,
        data: Any,
        reading: Reading | None = None,
        *,
        progress: Parts | None = None,
    ) -> Source:
        """Return the source of data, or of the path of a file.

        Nothing is read yet. What is asked of the source raises `OSError` or
        `ValueError` if the file cannot be opened, or its kind is unknown.
        """
        if isinstance(data, Source) and reading is None:
            return data  # one that was opened, whose data are read once
        if reading is not None and not isinstance(reading, Reading):
            raise TypeError(
                f"reading={reading!r}: give a riskcore.Reading(encoding=..., ...)"
            )
        if isinstance(data, str | os.PathLike):
            return cls(None, Path(data), reading or Reading(), progress)
        if reading is not None:
            raise TypeError(
                "reading says how to read a file, but the data are in memory: leave "
                "it out"
            )
        return cls(in_memory(data))

    # --- what is known before any record is read ---

    @cached_property
    def header(self) -> formats.Header:
        """What the file says of its columns."""
        assert self.path is not None
        self.refuse_changed()
        return formats.columns_of(self.path, self.reading)

    @cached_property
    def format(self) -> formats.Format | None:
        """The format of the file."""
        if self.path is None:
            return None
        return formats.format_of(self.path, self.reading)

    @property
    def labels(self) -> Labels | None:
        """The labels of the codes of a file of SPSS, Stata or SAS."""
        return None if self.format is None else self.format.labels

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files that are read."""
        return () if self.format is None else self.format.paths

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that hold the data, without that of metadata."""
        if self.path is None or self.format is None:
            return ()
        return self.format.files or (self.path,)

    @cached_property
    def _first(self) -> list[Identity]:
        """What told the files from others when they were first opened."""
        return [identity(path.stat()) for path in self.paths]

    def refuse_changed(self) -> None:
        """Refuse a file that is not what it was when it was first opened.

        It is read more than once, and a record says which file it was.
        """
        for path, first in zip(self.paths, self._first, strict=True):
            if identity(path.stat()) != first:
                raise ValueError(
                    f"{path}: has changed since it was first opened; start again"
                )
        if self.path is None or self.format is None or not self.format.files:
            return
        if formats.format_of(self.path, self.reading).files != self.format.files:
            raise ValueError(
                f"{self.path}: has other files than when it was first opened; start "
                "again"
            )

    @property
    def names(self) -> tuple[Hashable, ...]:
        """The names of the columns."""
        if self.path is not None:
            return self.header.names
        engine = engine_of(self.given)
        if engine is not None:
            return tuple(engine.schema)
        return tuple(Records.of(self.given).columns)

    @property
    def weight(self) -> str | None:
        """The weight that mu-Argus metadata declare."""
        return None if self.path is None else self.header.weight

    @property
    def household(self) -> str | None:
        """The number of the household that mu-Argus metadata declare."""
        return None if self.path is None else self.header.household_id

    @property
    def variables(self) -> dict[Hashable, Variable]:
        """The variables that mu-Argus metadata declare, by name."""
        metadata = None if self.format is None else self.format.metadata
        return {} if metadata is None else {v.name: v for v in metadata.variables}

    def check(self, columns: Iterable[Hashable]) -> None:
        """Refuse columns that there are not, before a file is read."""
        names = self.names
        lacking = [name for name in columns if name not in names]
        if lacking:
            raise no_such_column(lacking, names, self.path)

    # --- reading ---

    def read(
        self,
        columns: Iterable[Hashable | None],
        weight: Hashable | None = None,
        numeric: Iterable[Hashable] = (),
    ) -> tuple[Any, Intake | None]:
        """Return the data, of a file the columns named, and what its lines became."""
        if self.path is None:
            engine = engine_of(self.given)
            return self.given, None if engine is None else engine.intake
        return self._read_columns(
            [str(name) for name in columns if name is not None],
            numeric=[str(name) for name in (weight, *numeric) if name is not None],
        )

    def in_batches(
        self,
        key_sets: Sequence[Sequence[Hashable]],
        weight: Hashable | None,
    ) -> BatchedFile | None:
        """Return a large file as an engine that keeps its cells and no records."""
        if self.path is None or self.reading.codes() or self.reading.columns:
            return None
        self.refuse_changed()
        _ = self.header
        file = formats.opened(self.path, self.reading).batches()
        if file is None or file.intake.records < IN_BATCHES:
            return None
        needed = [*(key for keys in key_sets for key in keys), weight]
        self.check(name for name in needed if name is not None)
        engine = BatchedFile(file, self.refuse_changed)
        return engine if engine.counts_exactly(key_sets, weight) else None

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
        return self._read_columns(text=True)

    def _read_columns(self, *columns: Any, **how: Any) -> tuple[Any, Intake]:
        assert self.path is not None
        self.refuse_changed()
        found = formats.read_counted(
            self.path, *columns, reading=self.reading, progress=self.progress, **how
        )
        self.refuse_changed()
        return found

    def numbers(self, weight: Hashable | None) -> Any:
        """Return the weights in the file as numbers; None for data in memory."""
        if self.path is None or weight is None:
            return None
        data = self.data
        self.refuse_changed()
        found = formats.opened(self.path, self.reading).numbers(str(weight), data)
        self.refuse_changed()
        return found

    # --- for what is written ---

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
        """Return the path if a file made of this source can be written there."""
        return formats.check_writable(path, overwrite=overwrite, like=self.format)
