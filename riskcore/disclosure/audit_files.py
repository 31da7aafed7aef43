"""The files of an audit: the original, the released file and, if given, a holdout."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from riskcore.common.arrays import Floats, Integers
from riskcore.common.progress import Lines
from riskcore.data.coded import CodedRecords
from riskcore.data.columns import CodedColumn, Records, code_column, real_numbers
from riskcore.data.engines.registry import engine_of
from riskcore.data.missing_by_design import designs_in, knowing_designs
from riskcore.data.source import Source
from riskcore.disclosure.shared_columns import (
    SharedColumn,
    in_bands,
    in_shared_types,
    refuse_other_kinds,
    values_of,
)

_REPEATED = 0.5  # of the released numbers that single people of the original have
_BLANK = 0.1  # of a key of the original, that make its people seem many
_LARGEST = 1e150  # number that is linked: the squares of more overflow
ORIGINAL, RELEASED, HOLDOUT, EARLIER = "original", "released", "holdout", "earlier"


@dataclass(frozen=True, slots=True, eq=False)
class AuditFiles:
    """The files of an audit, by what they are; the keys of each are coded."""

    data: Mapping[str, Any]
    coded: Mapping[str, CodedRecords]
    keys: Sequence[Hashable]
    named: Mapping[str, str]  # each file, as an error names it

    @classmethod
    def read(
        cls,
        sources: Mapping[str, Source],
        keys: Sequence[Hashable],
        weight: Hashable | None,
        single: Mapping[str, Sequence[Hashable]],
        record_by: Hashable | None,
        say: Lines,
    ) -> AuditFiles:
        """Read the columns that are needed; ``single`` are those of single records."""
        data: dict[str, Any] = {}
        more = [name for names in single.values() for name in names]
        for what, source in sources.items():
            say(f"reading {source.path or f'the {what} file'}")
            own_weight = weight if what == ORIGINAL else None
            ids = None if what == HOLDOUT else record_by
            needed = [*keys, *more, own_weight, ids]
            source.check(name for name in needed if name is not None)
            data[what], _ = source.read(needed, own_weight, single["numeric"])
            engine = engine_of(data[what])
            for role, names in {**single, "record_by": [record_by]}.items():
                if engine is not None and any(name is not None for name in names):
                    raise engine.refuse_single(role)
        shared = in_shared_types(sources.values(), [*data.values()])
        data = dict(zip(data, shared, strict=True))
        weighed, scale = {ORIGINAL: weight}, sources[ORIGINAL].scale
        coded = {
            what: CodedRecords.of(file, keys, weighed.get(what), scale=scale)
            for what, file in data.items()
        }
        named = {x: str(file.path or f"the {x} file") for x, file in sources.items()}
        files = cls(data, coded, keys, named)
        for name in keys:
            refuse_other_kinds([file.columns[name] for file in coded.values()])
        return files

    def with_designs(self, missing: str) -> AuditFiles:
        """Return the files, which know what is missing by design of the original."""
        own = knowing_designs(self.coded[ORIGINAL], self.keys, missing)
        coded = {
            what: replace(records, designs=designs_in(own, records))
            for what, records in self.coded.items()
        }
        return replace(self, coded=coded)

    @property
    def n(self) -> tuple[int, ...]:
        """Records of each file."""
        return tuple(records.n for records in self.coded.values())

    @property
    def on_engine(self) -> bool:
        """Whether an engine holds any of the files."""
        return any(records.counted is not None for records in self.coded.values())

    def shared_keys(self) -> list[SharedColumn]:
        """Return the keys of all files, coded alike."""
        files = [records.keys(self.keys) for records in self.coded.values()]
        return [SharedColumn.of(columns) for columns in zip(*files, strict=True)]

    def columns(self, name: Hashable) -> list[CodedColumn]:
        """Return a column of each file."""
        return [code_column(Records.of(data), name) for data in self.data.values()]

    def target(self, name: Hashable) -> tuple[SharedColumn, str | None]:
        """Return a target coded alike, and what was done to guess it, in words."""
        columns = self.columns(name)
        refuse_other_kinds(columns)
        bands = in_bands(columns)
        if bands is None:
            return SharedColumn.of(columns), None
        values, n = len(columns[0].labels), len(columns[0].codes)
        return SharedColumn.of(bands), (
            f"{name} has {values:,} different numbers in {n:,} records: what is "
            f"guessed is one of {len(bands[0].labels)} bands of equally many people"
        )

    def numbers(self, name: Hashable) -> tuple[Floats, ...]:
        """Return a column of numbers of all files; nan where missing."""
        columns = tuple(
            real_numbers(Records.of(data), name) for data in self.data.values()
        )
        for values in columns:
            if np.nanmax(np.abs(values), initial=0.0) > _LARGEST:
                raise ValueError(
                    f"column {name!r}: a number beyond {_LARGEST:.0e}, too large "
                    "for a standard deviation; if it is a code, name it "
                    "as missing"
                )
        return columns

    def own_rows(self, record_by: Hashable) -> Integers:
        """Return the row of the original of each released record by its id, or -1."""
        original, released = (
            code_column(Records.of(self.data[what]), record_by)
            for what in (ORIGINAL, RELEASED)
        )
        refuse_other_kinds([original, released])
        for column, what in ((original, ORIGINAL), (released, RELEASED)):
            self._refuse_repeated(column, what)
        row = np.empty(len(original.labels) + 1, np.int64)
        row[original.codes] = np.arange(len(original.codes))
        row[-1] = -1
        place = {label: i for i, label in enumerate(values_of(original))}
        of = np.array([place.get(value, -1) for value in values_of(released)])
        rows: Integers = row[of[released.codes]]
        return rows

    def _refuse_repeated(self, column: CodedColumn, what: str) -> None:
        """Refuse ids that are missing, or those of several records."""
        n = len(column.codes)
        bad = column.missing or n - len(column.labels)
        if bad:
            said = "missing" if column.missing else "that of another record"
            raise ValueError(
                f"record_by {column.name!r}: {said} in {bad:,} of {n:,} records of "
                f"{self.named[what]}; give distinct ids"
            )

    def unknown_categories(self) -> list[str]:
        """Return which keys have released categories that the original lacks."""
        lines = []
        for name in self.keys:
            mine = self.coded[RELEASED].columns[name]
            there = set(values_of(self.coded[ORIGINAL].columns[name]))
            new = np.array([*(value not in there for value in values_of(mine)), False])
            if new.any():
                rows = new[np.minimum(mine.codes, len(mine.labels))]
                sizes = self.coded[RELEASED].counted
                records = rows.sum() if sizes is None else sizes.records[rows].sum()
                lines.append(
                    f"{int(records):,} of {self.coded[RELEASED].n:,} released records "
                    f"have a category of {name} that no record of the original has"
                )
        return lines

    def refuse_blank(self, missing: str) -> None:
        """Refuse an original on an engine with missing keys that match any value."""
        columns = self.coded[ORIGINAL].columns.values()
        lacking = [column.name for column in columns if column.missing]
        engine = engine_of(self.data[ORIGINAL])
        if lacking and engine is not None:
            raise engine.refuse_single(
                f"missing={missing!r} with missing values of {lacking[0]!r} (or give "
                "missing='category')"
            )

    def blank_keys(self, coded: CodedRecords) -> list[str]:
        """Return which keys of the coded original are missing often."""
        n = coded.n
        return [
            f"{name} is missing in {key.missing:,} of {n:,} records of the original: "
            "of these only as many claims count as right as a model expects"
            for name, key in zip(self.keys, coded.keys(self.keys), strict=True)
            if key.missing > _BLANK * n
        ]

    def repeated_numbers(
        self, numbers: Mapping[Hashable, tuple[Floats, ...]]
    ) -> dict[Hashable, str]:
        """Return which numbers are released as single people of the original have them.

        Such a value alone tells that its owner was in the original, whatever record it
        stands in.
        """
        lines = {}
        for name, (original, released, *_) in numbers.items():
            values, people = np.unique(original, return_counts=True)
            theirs = released[np.isin(released, values[people == 1])]
            if len(theirs) > _REPEATED * len(released):
                lines[name] = (
                    f"{len(theirs):,} of {len(released):,} released values of {name} "
                    "are exactly those of one person of the original: round them, or "
                    "draw new ones"
                )
        return lines
