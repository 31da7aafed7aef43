"""Protect data on an engine: plan on cells here, blank where the records are.

Without households, all records with the same keys have the same risk and the same plan.
The engine counts the cells of all keys; the cells are recoded, suppressed and verified
here like records that stand for many; a small table of unsafe cells goes back, which
the engine joins to the records. Then the engine counts the result: it is returned only
if its cells are the cells that were verified.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.common.arrays import Integers
from riskcore.common.warn import warn
from riskcore.data.blank import blank
from riskcore.data.coded import (
    CodedRecords,
    code_series,
    count_records,
    refuse_apart,
)
from riskcore.data.columns import Records, code_column
from riskcore.data.count import Counts, count
from riskcore.data.engines.base import Engine, changed_meanwhile
from riskcore.data.engines.counting import RECORDS, Question, key_column, records_of
from riskcore.data.engines.groups import Groups
from riskcore.data.engines.protecting import Change, Lookup, table_of
from riskcore.data.engines.registry import engine_of
from riskcore.data.recode import recoded_columns
from riskcore.data.unsigned import Codes
from riskcore.protection.settings.settings import Settings
from riskcore.protection.suppression.suppress import Masks

# Types whose values are the same in a file of Parquet, beside those of numbers.
_PLAIN = {"Boolean", "String", "Date"}
# What a cell takes where it is planned, about, at the peak.
BYTES = 430


class ColumnsNotChecked(UserWarning):
    """Columns were not checked for whether they reveal suppressed or recoded values."""


@dataclass(frozen=True, eq=False)
class OnEngine:
    """Data on an engine, and the rows it counted: the cells of all keys."""

    engine: Engine
    settings: Settings
    # What a row is: a combination of the keys and their related columns.
    question: Question
    coded: CodedRecords  # the rows as codes; each stands for many records
    values: Mapping[Any, Any]  # a narwhals series of each column, by code
    given: Any = None  # the protected data, see `given_back`
    verified: CodedRecords | None = None  # their rows

    @classmethod
    def count(cls, engine: Engine, settings: Settings, scale: float | None) -> OnEngine:
        """Have the engine count the rows that a protection needs."""
        if settings.household is not None:
            raise TypeError(
                f"household={settings.household!r}: households need single records, "
                f"but {engine.name} returns cells only. Collect the data first, or "
                "protect without households"
            )
        engine.check(settings.columns)
        counted = engine.count(settings.suppressible, settings.weight, scale)
        coded, values = coded_cells(engine, counted.question, most=memory() // BYTES)
        coded = coded.sampled(settings.sampling_fraction)
        question = replace(counted.question, squares=None)
        return cls(engine, settings, question, coded, values)

    @property
    def records(self) -> Integers:
        """Number of records of each row, shape (R,)."""
        return _groups(self.coded).records

    @property
    def rows(self) -> Records:
        """The rows as codes."""
        return rows_of(self.coded)

    # --- giving back ---

    def given_back(
        self, recoded: Mapping[Any, Any], masks: Masks, verified: CodedRecords
    ) -> OnEngine:
        """Return this with the data recoded and blanked, see `Engine.change`."""
        lookups, changes = [], {}
        for i, name in enumerate(self.settings.recodings):
            lookup = self._recoding(
                name, f"{self.engine.prefix}new_{i}", recoded.get(name)
            )
            lookups.append(lookup)
            changes[name] = Change(recoded=lookup.added[0])
        if any(mask.any() for mask in masks.values()):
            lookups.append(self._blanking(masks))
        for i, (name, mask) in enumerate(masks.items()):
            if mask.any():
                changes[name] = replace(
                    changes.get(name, Change()),
                    blanked=f"{self.engine.prefix}blank_{i}",
                    left=self._left(name, name in recoded, verified),
                )
        data = self.engine.change(lookups, changes, blank)
        held = replace(self, given=data, verified=verified)
        # Also if nothing is: the data may be others each time.
        held.verify(data)
        return held

    def _recoding(self, name: Any, new: str, values: Any) -> Lookup:
        """Return the new value of each old one, of a column that may be no key."""
        import narwhals.stable.v2 as nw

        if values is None:
            _, others = coded_cells(self.engine, Question((name,)))
            old = others[name]
            values = self.recoded(name, old.to_native(), quiet=False)
        else:
            old = self.values[name]
        series = nw.from_native(values, series_only=True)
        columns = {key_column(0): old, new: series}
        return Lookup((name,), table_of(columns), [new], whole=True)

    def _blanking(self, masks: Masks) -> Lookup:
        """Return the rows that lose a value, and the blanked columns of each."""
        import narwhals.stable.v2 as nw

        at = np.flatnonzero(np.logical_or.reduce(list(masks.values())))
        keys = zip(self.question.key_columns, self.question.keys, strict=True)
        columns = {
            name: self.values[key][self.coded.columns[key].codes[at]]
            for name, key in keys
        }
        holder = next(iter(columns.values())).implementation
        for i, mask in enumerate(masks.values()):
            if mask.any():
                name = f"{self.engine.prefix}blank_{i}"
                columns[name] = nw.new_series(
                    name, mask[at], nw.Boolean(), backend=holder
                )
        flags = list(columns)[len(self.question.keys) :]
        return Lookup(tuple(self.question.keys), table_of(columns), flags)

    def _left(self, name: Any, recoded: bool, verified: CodedRecords) -> Any:
        """Return the categories that are left of a column with a list, in its order."""
        categories = None if recoded else self.engine.categories(name)
        if categories is None:
            return None
        kept = set(verified.columns[name].labels.tolist())
        return [category for category in categories if category in kept]

    def verify(self, data: Any, dropped: Collection[str] = ()) -> None:
        """Refuse data whose cells differ from the cells that were verified."""
        engine, verified, question = engine_of(data), self.verified, self.question
        assert engine is not None
        assert verified is not None
        kept = [key for key in question.keys if str(key) not in dropped]
        if not kept:
            raise ValueError("drop: no key would be left; keep one of them")
        weight = None if str(question.weight) in dropped else question.weight
        question = replace(question, keys=kept, weight=weight)
        verified = replace(verified, columns={x: verified.columns[x] for x in kept})
        # Blanked were perhaps those times that Python's do not tell from others.
        ticks = [
            name for name, x in verified.columns.items() if x.labels.dtype.kind in "mM"
        ]
        coded, _ = coded_cells(engine, question, ticks)
        coded = coded.sampled(self.settings.sampling_fraction)
        if not _same_cells(verified, coded, weighed=weight == self.question.weight):
            raise not_verified(self.engine)

    def refuse_others(self, data: Any, name: Any, dropped: Collection[str]) -> None:
        """Refuse data whose values of a column are not those of the records now."""
        keys = [key for key in self.question.keys if str(key) not in dropped]
        engines = [engine_of(x) for x in (self.given, data)]
        question = Question((*keys, name))
        first, second = (coded_cells(x, question)[0] for x in engines if x is not None)
        # Of rarer types the file may hold other values that mean the same.
        kind = self.engine.schema[name]
        plain = str(kind) in _PLAIN or (kind.is_numeric() and not kind.is_decimal())
        if plain:
            same = _same_cells(first, second, weighed=True)
        else:
            sizes, others = (np.sort(_groups(x).records) for x in (first, second))
            same = np.array_equal(sizes, others)
        if not same:
            raise not_verified(self.engine)

    # --- what other columns tell ---

    def rows_with(self, name: Any) -> tuple[Any, Integers, Integers]:
        """Return a column by rows: its values, their rows and how many records."""
        keys = list(self.settings.suppressible)
        question = Question((*keys, name))
        try:
            coded, values = coded_cells(self.engine, question)
        except TypeError as error:
            raise TypeError(
                f"column {name!r}: {self.engine.name} cannot group by it, to see what "
                f"it reveals ({error}); drop it, or cast it to text"
            ) from None
        codes = []
        for key in keys:
            both = [self.coded.columns[key], coded.columns[key]]
            if both[0].labels.tolist() != both[1].labels.tolist():
                raise changed_meanwhile()
            codes.append(np.concatenate([x.codes.astype(np.uint32) for x in both]))
        place = count(codes, [int(part.max()) + 1 for part in codes]).inverse
        rows = len(self.records)
        row_of = np.full(int(place.max()) + 1, -1, np.int64)
        row_of[place[:rows]] = np.arange(rows)
        row = row_of[place[rows:]]
        if (row < 0).any() or coded.n != self.coded.n:
            raise changed_meanwhile()
        of_rows = values[name][coded.columns[name].codes].to_native()
        return of_rows, row, _groups(coded).records

    def recoded(self, name: Any, values: Any, *, quiet: bool = True) -> Any:
        """Return the values of a column after recoding and before blanking."""
        rules = self.settings.recodings
        if name not in rules:
            return values
        with warnings.catch_warnings():
            if quiet:  # given already
                warnings.simplefilter("ignore")
            return recoded_columns({name: values}, {name: rules[name]})[name]

    def recoded_with(
        self, recoded: Any, name: Any
    ) -> tuple[Any, Integers, Integers, Integers]:
        """Return a column together with a recoded column, before and after recoding."""
        question = Question((recoded, name))
        cells = self.engine.cells(question)
        records = records_of(cells)
        before, values = (cells.get_column(x).to_native() for x in cells.columns[:2])
        fine, coarse = (
            code_column(Records.of({recoded: categories}), recoded).signed
            for categories in (before, self.recoded(recoded, before))
        )
        return self.recoded(name, values), fine, coarse, records


def not_verified(engine: Engine) -> RuntimeError:
    """Return the error for data that are not those that were verified."""
    return RuntimeError(
        f"the data that {engine.name} returns are not the data that were verified, so "
        "nothing is returned or written. If they changed meanwhile, protect them "
        "again; otherwise report a defect of riskcore and give the types of the columns"
    )


def warn_of_unchecked(names: Iterable[Hashable]) -> None:
    """Warn that some columns were not checked, and say how to check them."""
    listed = list(names)
    how = "result.preview(drop=...) has the engine group by them"
    message = f"not checked: {unchecked(listed)}; {how}"
    warn(message, ColumnsNotChecked)


def unchecked(names: Iterable[Hashable]) -> str:
    """Return in words what columns were not checked for."""
    listed = [repr(name) for name in names]
    more = len(listed) - 8
    columns = ", ".join(listed[:8]) + (f" and {more} more columns" if more > 0 else "")
    return (
        "whether suppressed or recoded values show in "
        f"{columns + ' or ' if listed else ''}the order of the records, or follow by "
        "elimination"
    )


def coded_cells(
    engine: Engine,
    question: Question,
    ticks: Collection[Hashable] = (),
    most: int | None = None,
) -> tuple[CodedRecords, dict[Hashable, Any]]:
    """Return cells as codes with their numbers, and a native value for each code.

    The cells come in batches; only codes and numbers are kept.
    """
    import narwhals.stable.v2 as nw

    numbers = [RECORDS, *question.sum_columns, *question.square_columns]
    parts: dict[str, list[NDArray[Any]]] = {name: [] for name in numbers}
    codes: dict[Hashable, list[Codes]] = {key: [] for key in question.keys}
    values: dict[Hashable, list[Any]] = {key: [] for key in question.keys}
    rows = 0
    for batch in filter(len, engine.batches(question)):
        rows += len(batch)
        if most is not None and rows > most:
            raise MemoryError(
                f"{engine.name} has more than {most:,} cells of these keys; protect "
                f"holds them here, some {BYTES} bytes each, and this machine has "
                f"{memory() / 1e9:.0f} GB: recode the keys on the engine first, or "
                "give fewer"
            )
        for name, part in parts.items():
            part.append(np.array(batch.get_column(name)))  # a view keeps the batch
        for key, name in zip(question.keys, question.key_columns, strict=True):
            series = batch.get_column(name)
            column = code_series(key, series, ticks=key in ticks)
            codes[key].append(column.codes)
            values[key].append(series[column.first].alias("value").to_frame())
    if not parts[RECORDS]:
        raise changed_meanwhile()
    joined = {name: np.concatenate(parts.pop(name)) for name in numbers}
    records = joined[RECORDS].astype(np.int64, copy=False)
    columns, distinct = {}, {}
    for key, frames in values.items():
        series = nw.concat(frames).get_column("value")
        both = code_series(key, series, ticks=key in ticks)
        new = np.split(both.codes, np.cumsum([len(frame) for frame in frames[:-1]]))
        pairs = zip(new, codes.pop(key), strict=True)
        own = np.concatenate([code[old] for code, old in pairs])
        missing = count_records(own == len(both.labels), records)
        columns[key] = replace(both, codes=own, missing=missing)
        distinct[key] = series[both.first]
    refuse_apart(columns, distinct)
    sums = [joined[name] for name in question.sum_columns]
    if question.sums is not None:
        sums = [one.astype(np.int64, copy=False) for one in sums]
    pieces = [joined[name].astype(np.int64) for name in question.square_columns]
    squares = question.squares and replace(question.squares, parts=pieces)
    groups = Groups(engine, records, question.sums, sums, squares)
    return CodedRecords(groups.n, columns, question.weight, counted=groups), distinct


def memory() -> int:
    """Return the bytes of memory of this machine; a great number if unknown."""
    if not hasattr(os, "sysconf"):  # Windows
        return 1 << 62
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def rows_of(coded: CodedRecords) -> Records:
    """Return rows of an engine as records, whose columns are codes."""
    columns = dict(coded.columns)
    return Records(columns, len(_groups(coded).records), columns, columns)


def _groups(coded: CodedRecords) -> Groups:
    assert isinstance(coded.counted, Groups)
    return coded.counted


def _same_cells(coded: CodedRecords, other: CodedRecords, *, weighed: bool) -> bool:
    """Return whether rows are the same cells, with equal records and weights."""
    columns = dict(other.columns)
    for name, column in coded.columns.items():
        # Categories of an engine may come back as text, in the order of the alphabet.
        place = {label: i for i, label in enumerate(_told_apart(column.labels))}
        labels = _told_apart(columns[name].labels)
        if len(labels) != len(place) or not place.keys() >= {*labels}:
            return False
        code = [*(place[label] for label in labels), len(place)]
        codes = np.array(code, column.codes.dtype)[columns[name].codes]
        columns[name] = replace(columns[name], codes=codes)
    first, second = _cells(coded), _cells(replace(other, columns=columns))
    return (
        len(first.frequency) == len(second.frequency)
        and all(map(np.array_equal, first.codes, second.codes))
        and np.array_equal(first.frequency, second.frequency)
        # The sum of doubles depends on their order; the sum of whole numbers does not.
        and np.allclose(
            first.weight_sum,
            second.weight_sum,
            rtol=1e-9 if weighed else np.inf,
            atol=0,
        )
    )


def _told_apart(labels: Any) -> list[tuple[Any, int]]:
    """Return labels with their fold: Python's times are equal in a repeated hour."""
    return [(label, getattr(label, "fold", 0)) for label in labels.tolist()]


def _cells(coded: CodedRecords) -> Counts:
    groups = _groups(coded)
    codes: list[Codes] = [column.codes for column in coded.columns.values()]
    counts = count(codes, [column.levels for column in coded.columns.values()])
    cells = counts.of_groups(groups.records)
    sums = groups.weight_sum(counts.inverse, len(counts.frequency))
    return replace(cells, weight_sum=sums)
