"""The layout of a safe file: its columns, ids and order; and how it is written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from riskcore.data.columns import Records, code_column, holds_numbers, without_columns
from riskcore.data.engines.registry import engine_of
from riskcore.data.files import formats
from riskcore.data.files.formulas import refuse_names
from riskcore.data.files.labels import Labels, code_text
from riskcore.data.files.replace import Create
from riskcore.data.household_rows import in_order
from riskcore.data.profile import ColumnProfile, profile_on_engine
from riskcore.data.recode import Recoding
from riskcore.data.recoded_labels import NumberedCategories, within
from riskcore.data.source import Source
from riskcore.protection.records.on_engine import OnEngine, not_verified

# What the label of a variable says of altered values; Stata holds 80 letters.
_ALTERED, _LONGEST = " [values altered]", 80

Positions: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """The columns, ids and order of a safe file."""

    source: Source
    path: Path
    columns: dict[str, Any]  # in the order of the source, with new ids
    dropped: tuple[str, ...] = ()
    renumbered: tuple[str, ...] = ()
    order: Positions | None = None  # positions of the records as they are written
    guard_formulas: bool = False
    labels: Labels | None = None  # with the labels of recoded columns
    numbered: tuple[str, ...] = ()  # recoded columns whose codes have labels
    altered: tuple[str, ...] = ()  # columns whose labels say that values are altered

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
        guard_formulas: bool = False,
        recodings: Mapping[Any, Recoding] | None = None,
        altered: Iterable[Any] = (),
        new_values: Mapping[Any, NDArray[np.float64]] | None = None,
    ) -> Layout:
        """Return the layout of protected data."""
        source.check(drop)
        path, ids = Path(path), ids or {}
        dropped = tuple(str(name) for name in drop)
        numbers = formats.written_as(path, source.format).typed
        columns = {
            str(name): _new_ids(column, ids[str(name)], numbers=numbers)
            if str(name) in ids
            else column
            for name, column in Records.of(data).columns.items()
            if str(name) not in dropped
        }
        if guard_formulas:
            refuse_unguardable(path, columns, source.format)
        labels = source.labels
        named = _of_codes(path, source, columns, recodings or {})
        if named:
            labels = _numbered(source, columns, named)
        if labels is not None:
            kept = source.reading.user_missing == "codes"
            labels = _still_true(labels, new_values or {}, kept=kept)
        return cls(
            source,
            path,
            columns,
            dropped,
            tuple(ids),
            order,
            guard_formulas,
            labels,
            tuple(named),
            tuple(str(name) for name in altered if str(name) in columns),
        )

    @property
    def changed(self) -> tuple[str, ...]:
        """The columns that are not those of the protected data."""
        return (*self.renumbered, *self.numbered)

    @property
    def format(self) -> formats.Format | None:
        """The format of the source, with formulas guarded if that is asked for."""
        like = self.source.format
        if like is None:
            return None
        labels = like.labels if self.labels is None else self.labels
        if labels is not None:
            like = replace(like, labels=_with_altered(labels, self.altered))
        return replace(like, guard_formulas=True) if self.guard_formulas else like

    @property
    def kind(self) -> type[formats.FileFormat]:
        """The format of the file."""
        return formats.written_as(self.path, self.source.format)

    def write(
        self,
        create: Create,
        recodings: Mapping[str, Recoding],
        progress: Callable[[int, int], None] | None = None,
    ) -> list[Path]:
        """Write the file in the format of its source; return its parts."""
        self._refuse_empty_lines()
        columns, beside_source = self.columns, self.kind.beside_source
        if self.order is not None and not beside_source:
            columns = {n: in_order(column, self.order) for n, column in columns.items()}
        opened: list[Path] = []

        def opening(target: Path) -> Any:
            file = create(target)
            opened.append(Path(file.name))
            return file

        formats.write(
            self.path,
            columns,
            overwrite=True,
            like=self.format,
            recodings={n: r for n, r in recodings.items() if n not in self.numbered},
            create=opening,
            progress=progress,
            renumbered=self.renumbered,
        )
        if self.order is not None and beside_source:
            _reorder_lines(opened[0], self.order)
        return opened

    def _refuse_empty_lines(self) -> None:
        if len(self.columns) > 1 or self.kind.typed or self.kind.beside_source:
            return
        (name,) = self.columns
        missing = code_column(Records.of(self.columns), name).missing
        if missing:
            raise ValueError(
                f"{self.path}: {missing} missing values of the only column, {name!r}, "
                "would be empty lines, which readers skip; write .parquet, or drop "
                "fewer columns"
            )


@dataclass(frozen=True, slots=True, eq=False)
class EngineLayout:
    """The columns and the order of a safe file whose records an engine holds.

    They come in batches and go into one hidden file of Parquet, which another engine
    reads back.
    """

    held: OnEngine
    path: Path
    dropped: tuple[str, ...]
    order: bool | None  # True for a random order, None for the engine's
    renumbered: tuple[str, ...] = ()

    def write(
        self, create: Create, recodings: Mapping[str, Any], progress: Any = None
    ) -> list[Path]:
        """Write the file; return its place, which is hidden."""
        engine, target = self.held.engine, Path(create(self.path).name)
        data = without_columns(self.held.given, self.dropped)
        data = engine.shuffled(data) if self.order else data
        writer: Any = None
        try:
            for part in engine.records(data):
                table = part.to_arrow()
                if writer is None:
                    parquet = import_module("pyarrow.parquet")
                    writer = parquet.ParquetWriter(target, table.schema)
                writer.write_table(table.cast(writer.schema))
        finally:
            if writer is not None:
                writer.close()
        return [target]

    def read_back(
        self, target: Path, profiles: Iterable[ColumnProfile], checked: Iterable[Any]
    ) -> None:
        """Refuse a file whose cells, or other columns, are not those examined."""
        data = import_module("pyarrow.dataset").dataset(target, format="parquet")
        self.held.verify(data, self.dropped)
        engine = engine_of(data)
        assert engine is not None
        for expected in profiles:
            if str(expected.name) in self.dropped:
                continue
            (found,) = profile_on_engine(engine, [expected.name])
            facts = ("records", "missing", "distinct", "single")
            if any(getattr(found, x) != getattr(expected, x) for x in facts):
                raise not_verified(self.held.engine)
        for name in checked:
            if str(name) not in self.dropped and name not in self.held.question.keys:
                self.held.refuse_others(data, name, self.dropped)


def _of_codes(
    path: Path,
    source: Source,
    columns: Mapping[str, Any],
    recodings: Mapping[Any, Recoding],
) -> dict[str, Recoding]:
    """Return the recodings of columns of numbers, for a file that has labels."""
    if source.format is None or not formats.written_as(path, source.format).labelled:
        return {}
    original = Records.of(source.data)
    return {
        str(name): recoding
        for name, recoding in recodings.items()
        if str(name) in columns and holds_numbers(original.column(name))
    }


def _numbered(
    source: Source, columns: dict[str, Any], recodings: Mapping[str, Recoding]
) -> Labels:
    """Return the labels of the file; number the categories of recoded columns."""
    old = source.labels or Labels()
    kept = source.reading.user_missing == "codes"
    new = old.without_codes_of(recodings)
    values, measures = dict(new.values), dict(new.measures)
    for name, recoding in recodings.items():
        coded = code_column(Records.of(columns), name)
        categories = NumberedCategories.of(
            recoding,
            coded.labels.tolist(),
            old.values.get(name, {}),
            () if kept else old.missing.get(name, ()),
            code_column(Records.of(source.data), name).labels.tolist(),
        )
        values[name] = categories.labels
        if any(isinstance(label, str) for label in coded.labels.tolist()):
            numbers = [categories.numbers[label] for label in coded.labels.tolist()]
            missing = np.equal(coded.codes, len(numbers))
            column = np.array([*numbers, 0])[coded.codes]
            columns[name] = np.ma.MaskedArray(column, missing)
            if measures.get(name) == "scale":
                measures[name] = "ordinal"
    return replace(new, values=values, measures=measures)


def _still_true(
    labels: Labels, new_values: Mapping[Any, NDArray[np.float64]], *, kept: bool
) -> Labels:
    """Return labels without those of codes that treatments gave to other records."""
    # Codes declared as missing go, too: unless they were ``kept``, none occurs.
    values, missing = dict(labels.values), dict(labels.missing)
    for name, numbers in new_values.items():
        new = {*map(code_text, numbers.tolist())}
        own = values.pop(name, {})
        if left := {code: label for code, label in own.items() if code not in new}:
            values[name] = left
        ranges = missing.get(name, ())
        if not kept or any(within(x, ranges) for x in numbers.tolist()):
            missing.pop(name, None)
    return replace(labels, values=values, missing=missing)


def _with_altered(labels: Labels, names: Iterable[str]) -> Labels:
    """Return labels that say which variables have altered values."""
    room = _LONGEST - len(_ALTERED)
    said = {name: labels.variables.get(name, name)[:room] + _ALTERED for name in names}
    return replace(labels, variables={**labels.variables, **said})


def refuse_unguardable(
    path: Path, names: Iterable[str], like: formats.Format | None
) -> None:
    """Refuse to guard formulas outside CSV files, or in the names of columns."""
    kind = formats.written_as(path, like)
    if kind.kind != "csv":
        raise ValueError(
            f"guard_formulas: {path} is not a CSV file; spreadsheets take text for "
            "formulas in CSV files only"
        )
    refuse_names(names)


def _new_ids(column: Any, ids: Positions, *, numbers: bool) -> Any:
    """Return new ids in a column like the old one: integers, wide enough, or text."""
    missing = ids == 0
    dtype = _integer_type(column) if numbers else np.dtype(np.int64)
    if dtype is None:
        values: Any = np.where(missing, "", ids.astype(np.str_))
    else:
        narrow = ids.max(initial=0) <= np.iinfo(dtype).max
        values = ids.astype(dtype if narrow else np.int64)
    return np.ma.MaskedArray(values, missing) if missing.any() else values


def _integer_type(column: Any) -> np.dtype[Any] | None:
    """Return the type of a column of integers, None for other columns."""
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
    """Put the lines of the records of a file in another order."""
    lines = path.read_bytes().splitlines(keepends=True)
    names = len(lines) - len(order)
    records = lines[names:]
    path.write_bytes(b"".join([*lines[:names], *(records[i] for i in order)]))
