"""Compare two coded files: their tables, moments and propensity score."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.common.progress import Lines, silent
from riskcore.comparison import measures
from riskcore.comparison.comparison import (
    Comparison,
    Correlation,
    KeyComparison,
    Moments,
    NumberComparison,
    PairComparison,
    Stage,
    Stratum,
)
from riskcore.comparison.losses import Category
from riskcore.comparison.measures import Floats, Ints, fsum
from riskcore.comparison.propensity import Propensity, propensity
from riskcore.comparison.tables import (
    Codes,
    SharedColumn,
    Table,
    shares_of_both,
    stacked,
)
from riskcore.data.coded import CodedRecords, count_records
from riskcore.data.count import count
from riskcore.data.entropy import entropy
from riskcore.data.files.labels import Labels
from riskcore.data.recode import DoubtfulRules, Recoding


@dataclass(frozen=True, slots=True, eq=False)
class File:
    """One of the two files, coded."""

    coded: CodedRecords  # keys and strata
    numbers: dict[Any, Floats]  # columns of numbers, nan for missing, by name

    @property
    def stands_for(self) -> Ints | None:
        """The number of records of each row, for data on an engine."""
        counted = self.coded.counted
        return None if counted is None else counted.records

    @property
    def weight(self) -> Floats | None:
        """The weight of each row."""
        return self.coded.weights

    def take(self, rows: NDArray[np.int64]) -> File:
        """Return the rows in another order."""
        columns = {
            name: replace(column, codes=column.codes[rows])
            for name, column in self.coded.columns.items()
        }
        weights = None if self.weight is None else self.weight[rows]
        coded = replace(self.coded, columns=columns, weights=weights)
        return File(coded, {name: x[rows] for name, x in self.numbers.items()})


def compare_files(
    before: File,
    after: File,
    keys: Sequence[Hashable],
    weight: Hashable | None,
    *,
    recodings: Mapping[Any, Recoding] | None = None,
    strata: Sequence[Hashable] = (),
    aligned: bool = False,
    interactions: bool = False,
    labels: Labels | None = None,
    safe_labels: Labels | None = None,
    progress: Lines = silent,
) -> Comparison:
    """Compare two coded files, see `compare`; rows correspond if they are aligned."""
    progress("comparing keys")
    shared = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DoubtfulRules)  # given when it was recoded
        for name in dict.fromkeys([*keys, *strata]):
            recoding = (recodings or {}).get(name)
            columns = before.coded.columns[name], after.coded.columns[name]
            shared[name] = SharedColumn.of(*columns, recoding, labels, safe_labels)
    of_keys = [shared[name] for name in keys]
    tables = (
        _table(before, [entry.before for entry in of_keys], of_keys),
        _table(after, [entry.after for entry in of_keys], of_keys),
    )
    same = before.coded.n == after.coded.n
    compared = tuple(
        _compared(entry, before, tables, i, same=same, aligned=aligned)
        for i, entry in enumerate(of_keys)
    )
    progress("comparing pairs of keys")
    pairs = tuple(
        _pair(of_keys, tables, i, j) for i, j in combinations(range(len(of_keys)), 2)
    )
    progress("comparing columns of numbers")
    w = [np.ones(x.coded.n) if x.weight is None else x.weight for x in (before, after)]
    numbers = tuple(
        NumberComparison(
            name, Moments.of(values, w[0]), Moments.of(after.numbers[name], w[1])
        )
        for name, values in before.numbers.items()
    )
    correlations = tuple(
        Correlation(
            (a, b),
            *(
                correlation(entry.numbers[a], entry.numbers[b], weights)
                for entry, weights in zip((before, after), w, strict=True)
            ),
        )
        for a, b in combinations(before.numbers, 2)
    )
    by_stratum = _strata(
        before, after, of_keys, [shared[name] for name in strata], aligned=aligned
    )
    progress("fitting the propensity score")
    return Comparison(
        before.coded.n,
        after.coded.n,
        weight,
        aligned,
        compared,
        pairs,
        numbers,
        correlations,
        tuple(strata),
        by_stratum,
        _propensity(of_keys, tables, progress, interactions=interactions),
    )


def _table(file: File, codes: Sequence[Codes], shared: Sequence[SharedColumn]) -> Table:
    """Count a file by the codes of its keys."""
    levels = [column.levels for column in shared]
    return Table.of(codes, levels, file.weight, file.stands_for)


def _compared(
    column: SharedColumn,
    before: File,
    tables: tuple[Table, Table],
    i: int,
    *,
    same: bool,
    aligned: bool,
) -> KeyComparison:
    """Compare one key."""
    margins = [table.margin(i) for table in tables]
    original = margins[0]
    if column.recoded:
        original = Table.of(
            [column.own], [len(column.own_labels) + 1], before.weight, before.stands_for
        )
    stages = [Stage.of(table) for table in (original, *margins)]
    distances: list[float | None] = [None] * 2
    rows: list[Category] = []
    if not column.reason:
        distances[0] = measures.total_variation(*shares_of_both(*margins))
        present = [table.present() for table in margins]
        if all(table.weight.any() for table in present):
            distances[1] = measures.total_variation(*shares_of_both(*present))
        rows = _rows(column, *margins)
    lost, changed = None, None
    if aligned:
        codes = [column.own, column.after]
        levels = [len(column.own_labels) + 1, column.levels]
        joint = Table.of(codes, levels, before.weight, before.stands_for)
        lost = _conditional_entropy(joint)
        differs = (column.before != column.after) & (column.after != column.levels - 1)
        if not column.reason:
            changed = count_records(differs, before.stands_for)
    return KeyComparison(
        key=column.name,
        original=stages[0],
        recoded=stages[1] if column.recoded else None,
        safe=stages[2],
        suppressed=stages[2].missing - stages[1].missing if same else None,
        total_variation=distances[0],
        total_variation_of_values=distances[1],
        information_lost=lost,
        changed=changed,
        reason=column.reason,
        table=tuple(rows),
    )


def _rows(column: SharedColumn, before: Table, after: Table) -> list[Category]:
    """Return the two tables of a key side by side, missing last."""
    tables = before, after
    records = [table.by_category(table.records) for table in tables]
    shares = [table.by_category(table.weight) / fsum(table.weight) for table in tables]
    columns = (column.tolist() for column in (*records, *shares))
    rows = [Category(*row) for row in zip((*column.shown, None), *columns, strict=True)]
    return [row for row in rows if row.records_before or row.records_after]


def _conditional_entropy(joint: Table) -> float:
    """Return H(original | safe) in bits, over all records, of those with a value."""
    present = joint.codes[0] != joint.levels[0] - 1
    total = fsum(joint.weight)
    weight, groups = joint.weight[present], joint.codes[1][present]
    order = np.argsort(groups, kind="stable")
    borders = np.flatnonzero(np.diff(groups[order])) + 1
    parts = np.split(weight[order], borders)
    bits = [fsum(part) * entropy(part) for part in parts]
    return fsum(np.array(bits)) / total


def _pair(
    keys: Sequence[SharedColumn], tables: tuple[Table, Table], i: int, j: int
) -> PairComparison:
    """Compare the two-way tables of two keys."""
    margins = [table.margin(i, j) for table in tables]
    variation = None
    if not (keys[i].reason or keys[j].reason):
        variation = measures.total_variation(*shares_of_both(*margins))
    whole = [table.present() for table in margins]
    values = [measures.cramers_v(x.codes[0], x.codes[1], x.weight) for x in whole]
    return PairComparison((keys[i].name, keys[j].name), variation, *values)


def correlation(first: Floats, second: Floats, weight: Floats) -> float | None:
    """Return the correlation of two columns, of the records with both values."""
    present = ~(np.isnan(first) | np.isnan(second)) & (weight > 0)
    return measures.pearson(first[present], second[present], weight[present])


def _strata(
    before: File,
    after: File,
    keys: Sequence[SharedColumn],
    columns: Sequence[SharedColumn],
    *,
    aligned: bool,
) -> tuple[Stratum, ...]:
    """Count the missing values by stratum."""
    if not columns:
        return ()
    for column in columns:
        if column.reason:
            raise ValueError(f"strata: {column.name!r}: {column.reason}")
    # The stratum of aligned rows is that of the original.
    codes_of_both = (
        [column.before for column in columns],
        [column.before if aligned else column.after for column in columns],
    )
    hidden = (
        [key.before == key.levels - 1 for key in keys],
        [key.after == key.levels - 1 for key in keys],
    )
    levels = [column.levels for column in columns]
    sides = [
        _missing_by(codes, levels, masks, file.stands_for)
        for file, codes, masks in zip(
            (before, after), codes_of_both, hidden, strict=True
        )
    ]
    names = [key.name for key in keys]
    nothing = [0] * (1 + len(keys))
    strata = []
    for cell in sorted({*sides[0], *sides[1]}):
        labels = zip(columns, cell, strict=True)
        stratum = tuple((*column.shown, None)[i] for column, i in labels)
        counts = [side.get(cell, nothing) for side in sides]
        missing = (dict(zip(names, column[1:], strict=True)) for column in counts)
        strata.append(Stratum(stratum, counts[0][0], counts[1][0], *missing))
    return tuple(strata)


def _missing_by(
    codes: Sequence[Codes],
    levels: Sequence[int],
    hidden: Sequence[NDArray[np.bool_]],
    stands_for: Ints | None,
) -> dict[tuple[int, ...], list[int]]:
    """Return by stratum the number of records, then of missing values of each key."""
    strata = count(codes, levels)
    of_rows = np.ones(len(codes[0]), np.int64) if stands_for is None else stands_for
    counts = [
        np.bincount(strata.inverse, np.where(mask, of_rows, 0), len(strata.frequency))
        for mask in [np.ones(len(of_rows), bool), *hidden]
    ]
    cells = zip(*(column.tolist() for column in strata.codes), strict=True)
    numbers = zip(*(column.astype(np.int64).tolist() for column in counts), strict=True)
    return {cell: list(row) for cell, row in zip(cells, numbers, strict=True)}


def _propensity(
    keys: Sequence[SharedColumn],
    tables: tuple[Table, Table],
    progress: Lines,
    *,
    interactions: bool,
) -> Propensity:
    """Fit the propensity score on the keys that can be compared."""
    compared = [i for i, key in enumerate(keys) if not key.reason]
    left_out = [repr(key.name) for key in keys if key.reason]
    if not compared:
        return propensity([], np.ones(1, np.int64), np.ones(1, np.int64))
    before, after = (table.margin(*compared) for table in tables)
    score = propensity(
        *stacked(before, after), interactions=interactions, progress=progress
    )
    if not left_out:
        return score
    also = f"without {', '.join(left_out)}, which cannot be compared"
    return replace(score, reason=f"{score.reason}; {also}" if score.reason else also)
