"""The records of a file as codes: each column is coded once.

Recoding maps labels, suppression sets a code, counting takes codes. Coding the recoded
or blanked data themselves would give the same, to the last label.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from riskcore.common.warn import warn
from riskcore.common.words import by_count, counted, joined, listed, quoted, sentence
from riskcore.data.columns import (
    CodedColumn,
    Records,
    code_column,
    code_keys,
    household_codes,
    plain_value,
    weights,
)
from riskcore.data.count import count
from riskcore.data.engines.base import Counted
from riskcore.data.engines.groups import Groups
from riskcore.data.engines.registry import engine_of
from riskcore.data.files.labels import LOOKS, look_alike
from riskcore.data.files.reading import DoubtfulCodes
from riskcore.data.likely_codes import likely_codes
from riskcore.data.sample_design import SampleDesign

Mask = NDArray[np.bool_]
# How many records each element of a column stands for; None: one each.
Sizes: TypeAlias = NDArray[np.int64] | None
# What programs write for a missing value, in lower case.
_LIKE_MISSING = {
    "", ".", "?", "*", "#n/a", "<na>", "n/a", "na", "nan", "nat", "none", "null",
}  # fmt: skip
_SHOWN = 5
# Records of a household on average, from which on its ids are doubtful; long ids that a
# spreadsheet has rounded.
_LARGE, _LOST_DIGITS = 20, re.compile(r"\s*\d(\.\d+)?[eE]\+[012]?\d\s*", re.ASCII)


@dataclass(frozen=True, slots=True, eq=False)
class CodedRecords:
    """Keys, weights and households of the records of a file."""

    n: int  # records
    columns: Mapping[Hashable, CodedColumn]  # the keys, by name
    weight: Hashable | None = None  # name of the column, or where weights come from
    weights: NDArray[np.float64] | None = None  # shape (n,)
    households: NDArray[np.int64] | None = None  # each record's household, shape (n,)
    # What an engine counted, if it holds the data: then columns and weights have an
    # element for each cell, not for each record.
    counted: Counted | Groups | None = None
    # The clusters, or else the households; None: records were drawn one by one.
    design: SampleDesign | None = None
    # What is missing by design, by key; None if nobody has looked.
    designs: Mapping[Hashable, Any] | None = None
    scale: float | None = None  # what the weights were multiplied by
    remarks: tuple[str, ...] = ()  # what is said of weights that were estimated

    @classmethod
    def of(
        cls,
        data: Any,
        keys: Sequence[Hashable],
        weight: Hashable | None = None,
        household: Hashable | None = None,
        *,
        scale: float | None = None,
        cluster: Hashable | None = None,
        strata: Sequence[Hashable] = (),
    ) -> CodedRecords:
        """Code the columns of data in memory, or the cells of data on an engine."""
        engine = None if isinstance(data, Records) else engine_of(data)
        if engine is not None:
            for role, name in (("household", household), ("cluster", cluster)):
                if name is not None:
                    raise engine.refuse_single(role)
            return cls.of_counted(engine.count(keys, weight, scale))
        records = Records.of(data)
        households = None if household is None else _households(records, household)
        numbers = None if weight is None else weights(records, weight, scale)
        columns = {column.name: column for column in code_keys(records, keys)}
        design = None
        if cluster is not None or strata:
            unit = household if cluster is None else cluster
            design = SampleDesign.of(records, unit, strata)
        elif households is not None and households.min() < households.max():
            design = SampleDesign(households, None, household)
        own = cls(records.n, columns, weight, numbers, households, None, design)
        return replace(own, scale=scale)

    @classmethod
    def of_counted(cls, counted: Counted) -> CodedRecords:
        """Code the cells that an engine has counted."""
        return cls(
            counted.n,
            code_cells(counted.keys, counted.records),
            counted.question.weight,
            counted.weight_sum,
            counted=counted,
            scale=counted.question.scale,
        )

    def keys(self, names: Iterable[Hashable]) -> list[CodedColumn]:
        """Return the columns of the named keys, in that order."""
        return [self.columns[name] for name in names]

    def blanked(self, masks: Mapping[Any, Mask]) -> CodedRecords:
        """Return the records with values set to missing."""
        blanked = {
            name: _blanked(self.columns[name], mask, self.stands_for)
            for name, mask in masks.items()
            if name in self.columns and mask.any()
        }
        return self.with_columns(blanked)

    def recoded(
        self, columns: Mapping[Any, Any], *, by_code: bool = False
    ) -> CodedRecords:
        """Return the records with columns recoded, given new values by row or code."""
        recoded = {
            name: _recoded(self.columns[name], values, self.stands_for, by_code=by_code)
            for name, values in columns.items()
            if name in self.columns
        }
        return self.with_columns(recoded)

    def sampled(self, fraction: float | None) -> CodedRecords:
        """Return the records, each of weight 1/fraction if they have no weights."""
        if fraction is None or self.weight is not None:
            return self
        counted = self.counted
        sizes = np.ones(self.n) if counted is None else counted.records
        record_weights = sizes / fraction
        if isinstance(counted, Groups):
            counted = replace(counted, whole=None, sums=(record_weights,))
        name = "sampling_fraction"
        return replace(self, weight=name, weights=record_weights, counted=counted)

    def complete(self, names: Iterable[Hashable]) -> CodedRecords:
        """Return the records that have all keys, if any; weights sum to the same."""
        columns = self.keys(names)
        whole = np.logical_and.reduce(
            [column.codes < len(column.labels) for column in columns]
        )
        record_weights = np.ones(self.n) if self.weights is None else self.weights
        if whole.all() or not record_weights[whole].any():
            return self
        factor = record_weights.sum() / record_weights[whole].sum()
        weights = record_weights[whole] * factor
        kept = {}
        for column in columns:
            used, at = np.unique(column.codes[whole], return_inverse=True)
            codes, labels = at.astype(column.codes.dtype), column.labels[used]
            kept[column.name] = CodedColumn(column.name, codes, labels, 0)
        n = int(np.count_nonzero(whole))
        name = "complete" if self.weight is None else self.weight
        return replace(self, n=n, columns=kept, weight=name, weights=weights)

    @property
    def stands_for(self) -> Sizes:
        """How many records each row stands for; None: one each."""
        return None if self.counted is None else self.counted.records

    def with_columns(self, columns: Mapping[Hashable, CodedColumn]) -> CodedRecords:
        """Return the records with some columns replaced."""
        return replace(self, columns={**self.columns, **columns})

    def equals(self, other: CodedRecords) -> bool:
        """Return whether all records have the same keys."""
        if self.columns.keys() != other.columns.keys():
            return False
        pairs = [(column, other.columns[name]) for name, column in self.columns.items()]
        return all(
            column.missing == its.missing
            and column.labels.tolist() == its.labels.tolist()
            and np.array_equal(column.codes, its.codes)
            for column, its in pairs
        )


def code_series(key: Hashable, values: Any, *, ticks: bool = False) -> CodedColumn:
    """Code a narwhals series as the column of a key, see `code_column`."""
    return code_column(Records.of({key: values.to_native()}), key, ticks=ticks)


def code_cells(
    keys: Mapping[Hashable, Any], records: NDArray[np.int64]
) -> dict[Hashable, CodedColumn]:
    """Code the keys of cells, narwhals series."""
    columns = {}
    for key, values in keys.items():
        column = code_series(key, values)
        missing = count_records(column.codes == len(column.labels), records)
        columns[key] = replace(column, missing=missing)
    refuse_apart(columns, keys)
    return columns


def refuse_apart(
    columns: Mapping[Hashable, CodedColumn], values: Mapping[Hashable, Any]
) -> None:
    """Refuse cells of an engine that are equal by their codes."""
    coded = columns.values()
    distinct = count([x.codes for x in coded], [x.levels for x in coded])
    if len(distinct.frequency) < len(distinct.inverse):
        types = ", ".join(f"{key!r}: {series.dtype}" for key, series in values.items())
        raise TypeError(
            f"keys {types}: the engine counted {len(distinct.inverse):,} cells, but "
            f"only {len(distinct.frequency):,} differ here: it separates values that "
            "are equal when they arrive. Give such a key as text"
        )


def _blanked(column: CodedColumn, mask: Mask, sizes: Sizes) -> CodedColumn:
    """Return a column without the masked values, nor labels that no value has now."""
    records = np.bincount(column.codes[~mask], minlength=len(column.labels) + 1)
    kept = np.flatnonzero(records[:-1])
    labels = len(kept)
    codes = np.full(len(records), labels, np.min_scalar_type(labels))
    codes[kept] = np.arange(labels)
    new = codes[column.codes]
    new[mask] = labels
    missing = count_records(new == labels, sizes)
    kind = np.min_scalar_type(max(labels + (missing > 0) - 1, 0))
    new = new.astype(kind, copy=False)
    return CodedColumn(column.name, new, column.labels[kept], missing)


def count_records(mask: Mask, sizes: Sizes) -> int:
    """Return how many records the rows of a mask stand for."""
    return int(np.count_nonzero(mask) if sizes is None else sizes[mask].sum())


def _recoded(
    column: CodedColumn, values: Any, sizes: Sizes, *, by_code: bool
) -> CodedColumn:
    """Return the codes of recoded values, found from one record of each old code."""
    first = np.arange(column.levels) if by_code else column.first
    if isinstance(values, np.ndarray):
        values = values[first]
    elif isinstance(values, list | tuple):
        values = [values[row] for row in first.tolist()]
    else:
        import narwhals.stable.v2 as nw

        values = nw.from_native(values, series_only=True)[first].to_native()
    small = code_column(Records.of({column.name: values}), column.name)
    new = small.codes[column.codes]
    missing = count_records(new == len(small.labels), sizes) if small.missing else 0
    return CodedColumn(column.name, new, small.labels, missing)


def doubtful_codes(
    columns: Iterable[CodedColumn], records: NDArray[np.int64] | None = None
) -> list[str]:
    """Return a line for each key whose categories are in doubt."""
    lines: list[str] = []
    for column in columns:
        text = [label for label in column.labels.tolist() if isinstance(label, str)]
        suspects = _like_missing(column, records)
        suspects += map(str, likely_codes(column, sizes=records))
        if suspects:
            lines.append(
                by_count(
                    len(suspects),
                    "key {key}: {codes} is taken as a category; if missing is meant, "
                    "declare missing codes by riskcore.Reading(missing_codes=...)",
                    "key {key}: {codes} are taken as categories; if missing is meant, "
                    "declare missing codes by riskcore.Reading(missing_codes=...)",
                    *(quoted(column.name), joined(", ", suspects)),
                )
            )
        alike = _alike(text)
        if alike:
            pairs = joined(", ", map(_side_by_side, alike[:_SHOWN]))
            if (more := len(alike) - _SHOWN) > 0:
                pairs = sentence("{labels}, and {n} more", pairs, more)
            lines.append(
                sentence(
                    "key {key}: {labels} are taken as different categories; if they "
                    "are the same code, recode or clean the file",
                    *(quoted(column.name), pairs),
                )
            )
    return lines


def _side_by_side(labels: list[str]) -> str:
    """Return labels in a row, by ASCII alone where letters would look the same."""
    seen = {normalize("NFC", label).translate(LOOKS) for label in labels}
    shown = map(repr if len(seen) == len(labels) else ascii, labels)
    return listed(shown)


def _like_missing(column: CodedColumn, records: Sizes) -> list[str]:
    """Return the categories that look like missing values, with their records."""
    return [
        sentence(
            "{code} ({records})",
            quoted(label),
            counted(count_records(column.codes == code, records), "record"),
        )
        for code, label in enumerate(column.labels.tolist())
        if isinstance(label, str) and label.strip().lower() in _LIKE_MISSING
    ]


def _alike(labels: Iterable[str]) -> list[list[str]]:
    """Return groups of labels that a reader takes for the same."""
    groups: dict[Hashable, list[str]] = {}
    for label in labels:
        groups.setdefault(look_alike(label), []).append(label)
    return [sorted(group) for group in groups.values() if len(group) > 1]


def _households(records: Records, name: Hashable) -> NDArray[np.int64]:
    """Return the household of each record; refuse or doubt ids that several share."""
    first_id = str(plain_value(records.column(name)[0])) if records.n else ""
    if _LOST_DIGITS.fullmatch(first_id):
        raise ValueError(
            f"household {name!r}: ids such as {first_id} have lost digits, as in a "
            "spreadsheet, so several households have the same; take the ids from the "
            "file before that, as text"
        )
    codes = household_codes(records, name)
    size = records.n / (int(codes.max(initial=0)) + 1)
    if size > _LARGE:
        warn(
            f"household {name!r}: {size:,.0f} records on average; if its numbers begin "
            "anew in each cluster or region, name these columns, too, as --household "
            f"REGION {name} (in Python: household=['REGION', {name!r}])",
            DoubtfulCodes,
        )
    return codes
