"""Link released records to their originals by their numbers, with and without keys.

A record is linked by the numbers that it has, to the original records that have them,
too; a key that is blank matches any value, other keys match only themselves. So records
are linked by pattern: all that have the same numbers and keys.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from riskcore.assessment.numeric_risk import BOTH, NUMBERS, RecordLinkage
from riskcore.data.columns import CodedColumn, Records, code_column
from riskcore.data.count import count
from riskcore.disclosure.nearest import Trees

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]

EQUAL = "equal values"
LARGEST = 1e150  # its square is a double
# Of a normal variable: the standard deviation over the median absolute deviation, and
# over the mean absolute deviation.
_BY_MEDIAN, _BY_MEAN = 1.482602218505602, math.sqrt(math.pi / 2)


def standard_scale(values: Floats) -> float:
    """Return 1 over the standard deviation (n - 1) of a column, 0 if it is constant."""
    deviation = deviation_of(values)
    return 1.0 / deviation if deviation > 0.0 else 0.0


def deviation_of(values: Floats) -> float:
    """Return the standard deviation (n - 1) of the values there are, 0 of a single one.

    Sums are correctly rounded: the order of the records does not matter.
    """
    there = values[~np.isnan(values)]
    n = len(there)
    if n == 0 or there.min() == there.max():
        return 0.0
    mean = math.fsum(there.tolist()) / n
    return math.sqrt(math.fsum(((there - mean) ** 2).tolist()) / (n - 1))


def robust_scale(values: Floats) -> float:
    """Return 1 over the median absolute deviation, made equal to the sd of a normal.

    If more than half of the values are equal it is 0, and the mean absolute deviation
    from the median takes its place (Iglewicz and Hoaglin 1993); 0 if all are.
    """
    there = values[~np.isnan(values)]
    if not len(there):
        return 0.0
    away = np.abs(there - np.median(there))
    spread = _BY_MEDIAN * float(np.median(away))
    if spread == 0.0:
        spread = _BY_MEAN * math.fsum(away.tolist()) / len(away)
    return 1.0 / spread if spread > 0.0 else 0.0


SCALES = {
    "standardized distance": standard_scale,
    "robust distance": robust_scale,
}


def scales_of(
    names: Sequence[Hashable], original: Sequence[Floats], released: Sequence[Floats]
) -> dict[str, Floats]:
    """Return the scales of the columns, by measure; refuse distances that overflow."""
    reach = [
        max(np.nanmax(np.abs(one), initial=0.0) for one in files)
        for files in zip(original, released, strict=True)
    ]
    scales = {}
    for measure, scale in SCALES.items():
        scales[measure] = np.array([scale(one) for one in original])
        for name, most, of_column in zip(names, reach, scales[measure], strict=True):
            if most * of_column > LARGEST:
                raise ValueError(
                    f"column {name!r}: its values reach {most:g}, but their spread is "
                    f"only {1.0 / of_column:g}, so distances overflow; correct the "
                    "values, or give the column in another unit"
                )
    return scales


def link_records(
    original: Sequence[Floats],
    released: Sequence[Floats],
    scales: Mapping[str, Floats],
    keys: tuple[Integers, Integers] | None = None,
    *,
    known: Sequence[str] = (NUMBERS, BOTH),
) -> list[RecordLinkage]:
    """Return every way to link records; the original of row i is in row i.

    ``keys`` are the codes of the keys of original and released records, each shape
    (n, K); -1 is missing in the original, and blank, which matches any value, in the
    released file.
    """
    files = _Files.of(original, released)
    found = _linked(files, NUMBERS, None, scales) if NUMBERS in known else []
    if keys is None or BOTH not in known:
        return found
    return found + _linked(files, BOTH, keys, scales)


@dataclass(frozen=True, slots=True, eq=False)
class _Files:
    """The numbers of both files, with the numbers of the original coded."""

    original: Sequence[Floats]
    released: Sequence[Floats]
    coded: Sequence[CodedColumn]
    lacking: Sequence[Mask]  # whether the original has no number, by column

    @classmethod
    def of(cls, original: Sequence[Floats], released: Sequence[Floats]) -> _Files:
        records = Records.of(dict(enumerate(original)))
        coded = [code_column(records, j) for j in range(len(original))]
        return cls(original, released, coded, [np.isnan(one) for one in original])

    @property
    def n(self) -> int:
        return len(self.original[0])


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """What is found of each released record; of distances, by measure."""

    equal: Floats
    candidates: Integers
    right: dict[str, Floats]
    second: dict[str, Floats]


def _linked(
    files: _Files,
    known: str,
    keys: tuple[Integers, Integers] | None,
    scales: Mapping[str, Floats],
) -> list[RecordLinkage]:
    """Link all records, pattern by pattern."""
    n = files.n
    found = _Found(
        np.zeros(n),
        np.zeros(n, np.int64),
        {name: np.zeros(n) for name in scales},
        {name: np.zeros(n) for name in scales},
    )
    for rows, group_of, group in _by_keys(keys, n):
        absent = [np.isnan(one[rows]) for one in files.released]
        for at, columns in _patterns(absent):
            _link(files, columns, rows[at], group_of, group[at], scales, found)
    right, second, candidates = found.right, found.second, found.candidates
    return [
        RecordLinkage(known, EQUAL, found.equal, None, candidates),
        *(
            RecordLinkage(known, name, right[name], second[name], candidates)
            for name in scales
        ),
    ]


def _by_keys(
    keys: tuple[Integers, Integers] | None, n: int
) -> Iterator[tuple[Integers, Integers, Integers]]:
    """Yield records with the same blank keys, the group of each original, and theirs.

    A group has the records that agree in the keys that are not blank.
    """
    if keys is None:
        nobody = np.zeros(n, np.int64)
        yield np.arange(n), nobody, nobody
        return
    original, released = keys
    for rows, columns in _patterns([*(released < 0).T]):
        codes = [
            np.concatenate([original[:, k], released[rows, k]]).astype(np.uint64) + 1
            for k in columns
        ]
        if not codes:
            yield rows, np.zeros(n, np.int64), np.zeros(len(rows), np.int64)
            continue
        levels = [int(one.max()) + 1 for one in codes]
        group = count(codes, levels).inverse.astype(np.int64)
        yield rows, group[:n], group[n:]


def _patterns(absent: Sequence[Mask]) -> Iterator[tuple[Integers, list[int]]]:
    """Yield the rows that lack the same columns, and the columns that they have."""
    counts = count([one.view(np.uint8) for one in absent], [2] * len(absent))
    order = np.argsort(counts.inverse, kind="stable")
    end = np.cumsum(counts.frequency)
    for pattern, rows in enumerate(np.split(order, end[:-1])):
        present = [j for j in range(len(absent)) if not counts.codes[j][pattern]]
        yield rows, present


def _link(
    files: _Files,
    columns: Sequence[int],
    rows: Integers,
    group_of: Integers,
    group: Integers,
    scales: Mapping[str, Floats],
    found: _Found,
) -> None:
    """Link the records ``rows``, which have the numbers ``columns``."""
    groups = int(max(group_of.max(), group.max())) + 1
    sought = np.zeros(groups, bool)
    sought[group] = True
    there = sought[group_of]
    for j in columns:
        there &= ~files.lacking[j]
    own = there[rows] & (group_of[rows] == group)
    rows, group = rows[own], group[own]
    if not len(rows):
        return
    varying = [j for j in columns if any(one[j] for one in scales.values())]
    point, records, sizes, number = _points(files, varying, there, group_of, groups)
    own_point = number[rows]
    found.candidates[rows] = np.bincount(group_of[there], minlength=groups)[group]
    same = np.ones(len(rows), bool)
    for j in columns:
        same &= files.original[j][rows] == files.released[j][rows]
    found.equal[rows] = same / records[own_point]
    query = _stacked([files.released[j][rows] for j in varying], len(rows))
    chosen = {name: scale[varying] for name, scale in scales.items()}
    trees = Trees.of(point, records, sizes, next(iter(chosen.values())))
    for name, scale in chosen.items():
        nearer, equal = trees.count(query, group, own_point, scale)
        found.right[name][rows], found.second[name][rows] = _chances(nearer, equal)


def _points(
    files: _Files,
    columns: Sequence[int],
    there: Mask,
    group_of: Integers,
    groups: int,
) -> tuple[Floats, Integers, Integers, Integers]:
    """Return distinct points, their records, points by group, the point of each record.

    The points are those of the original records that are there, in order of groups.
    """
    coded = [files.coded[j] for j in columns]
    codes = [group_of[there].astype(np.uint64), *(one.codes[there] for one in coded)]
    counts = count(codes, [groups, *(one.levels for one in coded)])
    of_group = counts.codes[0].astype(np.int64)
    point = _stacked(
        [
            one.labels.astype(np.float64)[counts.codes[j]]
            for j, one in enumerate(coded, 1)
        ],
        len(of_group),
    )
    number = np.full(files.n, -1, np.int64)
    number[there] = counts.inverse
    return point, counts.frequency, np.bincount(of_group, minlength=groups), number


def _stacked(columns: Sequence[Floats], n: int) -> Floats:
    """Return columns as rows in memory, also without columns."""
    return np.stack(columns, axis=1) if columns else np.zeros((n, 0))


def _chances(nearer: Integers, equal: Integers) -> tuple[Floats, Floats]:
    """Return the probabilities that the own record is taken as nearest and as second.

    Records that are equally near stand in random order.
    """
    share = 1.0 / np.maximum(equal, 1)
    second = (nearer == 1) | ((nearer == 0) & (equal > 1))
    return np.where(nearer == 0, share, 0.0), np.where(second, share, 0.0)
