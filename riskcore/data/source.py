"""Sources of records: data in memory, or a file that is read when needed.

The header of a file is read first: its columns, and the weight that it declares. Then
the columns asked for are read, or all.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from riskcore.common.missing_column import no_such_column
from riskcore.common.progress import Parts
from riskcore.common.warn import warn
from riskcore.data.columns import (
    Records,
    holds_numbers,
    household_codes,
    in_memory,
    is_dataset,
    is_text_column,
    weights,
    with_columns,
)
from riskcore.data.engines.base import Engine
from riskcore.data.engines.polars.large_file import LargeFile
from riskcore.data.engines.registry import engine_of
from riskcore.data.files import formats
from riskcore.data.files.argus.metadata import Variable
from riskcore.data.files.arrow import import_pyarrow
from riskcore.data.files.intake import Accounted, Intake
from riskcore.data.files.labels import Labels
from riskcore.data.files.reading import Reading
from riskcore.data.files.replace import Identity, identity

# Files with at least this many records may be counted in batches; what a record takes
# in memory, about.
IN_BATCHES = 1 << 24
BYTES = 75
_AS_USUAL = Reading()


@dataclass(frozen=True, eq=False, repr=False)
class Source:
    """Data in memory, or a file."""

    given: Any  # a frame or mapping; None for a file
    path: Path | None = None
    reading: Reading = _AS_USUAL
    progress: Parts | None = None  # called while the file is read
    all_columns: bool = False  # whether `read` returns all columns of a file
    batches: bool = True  # whether a large file may be counted in batches
    _numbers: dict[Hashable, Any] = field(default_factory=dict, init=False)  # read

    @classmethod
    def of(
        cls, data: Any, reading: Reading | None = None, *, progress: Parts | None = None
    ) -> Source:
        """Return the source of data or of a path; the file is not opened yet."""
        if isinstance(data, Source) and reading is None:
            return data
        if reading is not None and not isinstance(reading, Reading):
            raise TypeError(
                f"reading={reading!r}: give a riskcore.Reading(encoding=..., ...)"
            )
        if isinstance(data, str | os.PathLike):
            return cls(None, Path(data), reading or _AS_USUAL, progress)
        how = as_in_memory(reading)
        if reading is not None and (
            isinstance(data, Source)
            or how is None
            or how.to_dict() != reading.to_dict()
        ):
            raise TypeError(
                "reading is for files, but the data are in memory: leave it out, or "
                "give weight_scale or household_id alone"
            )
        how = how or _AS_USUAL
        return cls(_with_household_ids(in_memory(data), how), reading=how)

    @classmethod
    def like(cls, data: Any, reading: Reading | None) -> Source:
        """Return the source of data, read in a way as far as it is for such data."""
        if isinstance(data, Source):
            return data
        is_file = isinstance(data, str | os.PathLike)
        return cls.of(data, reading if is_file else as_in_memory(reading))

    @classmethod
    def several(
        cls, data: Mapping[str, Any], reading: Reading | None = None
    ) -> dict[str, Source]:
        """Return the sources of data, whose files share a reading; None is left out."""
        sources = {name: source for name, source in data.items() if source is not None}
        files = {n: x for n, x in sources.items() if isinstance(x, str | os.PathLike)}
        how: dict[str, Any] = dict.fromkeys([*files, *sources][:1], reading)
        if isinstance(reading, Reading) and len(files) > 1:
            shared = formats.shared(reading, map(Path, files.values()))
            how = dict(zip(files, shared, strict=True))
        unread = {x for x in how if not isinstance(sources[x], Source)}
        several = {
            name: cls.of(data, how[name]) if name in unread else cls.like(data, reading)
            for name, data in sources.items()
        }
        for name, source in several.items():
            if source.path is None and source.engine is None:
                try:
                    Records.of(source.given)
                except ValueError as error:
                    raise ValueError(f"{name}: {error}") from None
        return several

    def with_all_columns(self) -> Source:
        """Return this source so that all columns of a file are read."""
        return replace(self, all_columns=True)

    def holding(self, columns: Mapping[Any, Any]) -> Source:
        """Return this file as if it held other values in some columns."""
        if not columns:
            return self
        source = replace(self)
        source.__dict__["_read"] = with_columns(self.data, columns), self.intake
        return source

    def numbers_beside(
        self, others: Mapping[Hashable, Any], data: Any = None
    ) -> dict[Hashable, Any]:
        """Return the columns of this CSV file that are numbers, as in another one."""
        columns: dict[Hashable, Any] = {}
        if self.path is not None and self.format and self.format.kind == "csv":
            file = formats.opened(self.path, self.reading)
            data = self.data if data is None else data
            for name in [*Records.of(data).columns]:
                if name in others and holds_numbers(others[name]):
                    with suppress(ValueError):
                        columns[name] = file.numbers(str(name), data)
        return columns

    # --- before any record is read ---

    @cached_property
    def header(self) -> formats.Header:
        """The columns of the file."""
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
    def value_labels(self) -> Mapping[str, Mapping[str, str]]:
        """The labels of the codes of columns, by the code as text."""
        return {} if self.labels is None else self.labels.values

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files that are read."""
        return () if self.format is None else self.format.paths

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that hold the data, without the metadata."""
        if self.path is None or self.format is None:
            return ()
        return self.format.files or (self.path,)

    @cached_property
    def _first(self) -> list[Identity]:
        """The identities of the files when they were first opened."""
        return [identity(path.stat()) for path in self.paths]

    def refuse_changed(self) -> None:
        """Refuse a file that has changed since it was opened: it is read again."""
        for path, first in zip(self.paths, self._first, strict=True):
            if identity(path.stat()) != first:
                raise ValueError(
                    f"{path}: has changed since it was first opened; start again"
                )
        if self.path is None or self.format is None or not self.format.files:
            return
        if formats.format_of(self.path, self.reading).files != self.format.files:
            raise ValueError(
                f"{self.path}: its files have changed since it was first opened; start "
                "again"
            )

    @property
    def engine(self) -> Engine | None:
        """The engine that holds the data; None for a file or for records in memory."""
        return None if self.path is not None else engine_of(self.given)

    @property
    def names(self) -> tuple[Hashable, ...]:
        """The names of the columns."""
        if self.path is not None:
            return self.header.names
        if self.engine is not None:
            return tuple(self.engine.schema)
        return tuple(Records.of(self.given).columns)

    @property
    def weight(self) -> str | None:
        """The weight that mu-Argus metadata declare."""
        return None if self.path is None else self.header.weight

    @property
    def household(self) -> str | None:
        """The column of household numbers that mu-Argus metadata declare."""
        return None if self.path is None else self.header.household_id

    def household_of(
        self, household: Any, taken: Iterable[Hashable | None], person: Any = None
    ) -> Any:
        """Return the household column: the declared one if nothing else is asked."""
        names = {*map(str, taken)}  # weights may wrongly be an array
        if household is None and person is None and self.household not in names:
            return self.household
        return household

    @property
    def of_households(self) -> tuple[str, ...]:
        """The columns of a file of households beside this file of persons."""
        return () if self.path is None else self.header.of_households

    @property
    def variables(self) -> dict[Hashable, Variable]:
        """The variables that mu-Argus metadata declare, by name."""
        metadata = None if self.format is None else self.format.metadata
        return {} if metadata is None else {v.name: v for v in metadata.variables}

    @property
    def scale(self) -> float | None:
        """What the weights are multiplied by; None if nobody has said it."""
        return self.reading.weight_scale

    def check(self, columns: Iterable[Hashable]) -> None:
        """Refuse names that are not columns, before the file is read."""
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
        """Return the data, or the named columns of a file, and the intake."""
        if self.path is None:
            return self.given, None if self.engine is None else self.engine.intake
        needed = [str(name) for name in columns if name is not None]
        if self.all_columns:
            needed = list(dict.fromkeys([*map(str, self.names), *needed]))
        return self.read_columns(
            needed,
            numeric=[str(name) for name in (weight, *numeric) if name is not None],
        )

    def in_batches(
        self, key_sets: Sequence[Sequence[Hashable]], weight: Hashable | None
    ) -> LargeFile | None:
        """Return a large file as an engine that counts as memory does; None if not."""
        plain = not (self.reading.codes() or self.reading.columns)
        if self.path is None or not self.batches or not plain:
            return None
        if self.scale not in (None, 1.0):  # sums of doubles are not exact there
            return None
        self.refuse_changed()
        _ = self.header
        file = formats.opened(self.path, self.reading).stored()
        if file is None or file.intake.records < IN_BATCHES:
            return None
        keys = list(dict.fromkeys(key for keys in key_sets for key in keys))
        needed = [*keys, *([] if weight is None else [weight])]
        self.check(needed)
        fields = map(file.schema.field, self.names if self.all_columns else needed)
        schema = import_pyarrow().schema(fields, file.schema.metadata)
        try:
            file = replace(file, schema=schema, refuse_changed=self.refuse_changed)
            return LargeFile.of(file, keys, weight, self.scale)
        except ImportError:
            n = file.intake.records
            warn(
                f"{self.path}: {n:,} records are read into memory, some "
                f"{n * BYTES >> 20:,} MiB; with polars they are counted in batches: "
                'pip install "riskcore[engines]"',
                UserWarning,
            )
            return None

    @property
    def data(self) -> Any:
        """The data; for a file all columns, as text."""
        return self.given if self.path is None else self._read[0]

    @cached_property
    def records(self) -> Records:
        """The columns of the data, each coded once."""
        return Records.of(self.data)

    @property
    def intake(self) -> Intake | None:
        """What became of the lines of the file."""
        return None if self.path is None else self._read[1]

    @cached_property
    def _read(self) -> Accounted:
        return self.read_columns(text=True)

    def read_columns(self, *columns: Any, **how: Any) -> Accounted:
        """Return columns of the file, all without a name, and what was read."""
        assert self.path is not None
        self.refuse_changed()
        ids = self.reading.household_id or ()
        if columns and {*ids[-1:]} & {*columns[0]}:
            columns = ([*dict.fromkeys([*columns[0], *ids])],)
        file = formats.opened(self.path, self.reading)
        data, intake = file.read(*columns, progress=self.progress, **how)
        self.refuse_changed()
        return _with_household_ids(data, self.reading), intake

    def numbers(self, weight: Hashable | None) -> Any:
        """Return a column of the file as numbers; None for data in memory."""
        if self.path is None or weight is None:
            return None
        data = self.data
        if weight not in self._numbers:
            self.refuse_changed()
            column = formats.opened(self.path, self.reading).numbers(str(weight), data)
            self.refuse_changed()
            self._numbers[weight] = column
        return self._numbers[weight]

    def weights(self, name: Hashable) -> Any:
        """Return the weights of all records, as they are counted."""
        numbers = self.numbers(name)
        records = self.records if numbers is None else Records.of({name: numbers})
        return weights(records, name, self.scale)

    # --- for output ---

    def to_dict(self) -> dict[str, Any]:
        """Return the name of the file, its columns, and how it was read."""
        columns = [str(name) for name in self.names]
        reading = self.reading._with_files(lambda path: Path(path.name)).to_dict()
        if self.path is None:
            both = ("weight_scale", "household_id")
            reading = {x: reading[x] for x in both if reading[x]}
        name = None if self.path is None else self.path.name
        return {"file": name, "reading": reading, "columns": columns}

    def check_writable(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Return the path if a file made from this source can be written there."""
        return formats.check_writable(path, overwrite=overwrite, like=self.format)


def as_in_memory(reading: Reading | None) -> Reading | None:
    """Return what of a reading is for data in memory, too; None if nothing is."""
    scale = getattr(reading, "weight_scale", None)
    ids = getattr(reading, "household_id", None)
    if scale is None and ids is None:
        return None
    return Reading(weight_scale=scale, household_id=ids)


def _with_household_ids(data: Any, reading: Reading) -> Any:
    """Return data with a number for each household in place of the last of its ids."""
    if not reading.household_id or engine_of(data) is not None:
        return data
    records, last = Records.of(data), reading.household_id[-1]
    if last not in records.columns:
        return data
    numbers = np.zeros(records.n, np.int64)
    for name in reading.household_id:
        codes = household_codes(records, name)
        numbers = numbers * (codes.max(initial=0) + 1) + codes
        numbers = np.unique(numbers, return_inverse=True)[1]
    ids = numbers + 1
    if is_text_column(records.column(last)):
        ids = np.array([*map(str, ids.tolist())], object)
    if not isinstance(data, Mapping) and not is_dataset(data):
        import narwhals.stable.v2 as nw

        frame = nw.from_native(data)
        ids = nw.new_series(last, ids, backend=frame.implementation).to_native()
    return with_columns(data, {last: ids})
