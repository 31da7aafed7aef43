"""Two releases of one survey: what both files tell together of its people.

Whoever has both files can look for the records of one person: two records can be of
the same person if they agree in all columns that both files have, a blank standing for
any value. If all records of the other file that can be the same person's have one
pattern of keys, that pattern is known, too, and the original records that fit both are
fewer. A later file whose patterns all follow from those of the earlier one, as one that
was made from it, adds nothing.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.assessment.assessment import Assessment
from riskcore.assessment.margin_goals import MarginGoal
from riskcore.assessment.released import ReleasedAssessment, assess_released
from riskcore.common.arrays import Integers
from riskcore.common.sheet import Part
from riskcore.common.words import counted, listed, printable
from riskcore.data.cells import Cells
from riskcore.data.columns import CodedColumn, Records, code_column
from riskcore.data.count import count
from riskcore.disclosure.figures_in_words import number
from riskcore.disclosure.shared_columns import numbered_alike
from riskcore.models.cell_table import ANY, CellTable


def assess_patterns(
    original: Assessment,
    patterns: CellTable,
    rows: NDArray[Any],
    data: Any = None,
    goals: Sequence[MarginGoal] = (),
) -> tuple[ReleasedAssessment | None, Integers]:
    """Return the risk of released records, and the records that somebody fits."""
    before = original.cells_by_weights or original.cells
    fitting = _fitting_cells(before, patterns)[rows]
    matched_rows = np.flatnonzero(fitting >= 0)
    if not len(matched_rows):
        return None, matched_rows
    blank = {
        name: (column == ANY)[rows[matched_rows]]
        for name, column in zip(patterns.keys, patterns.codes, strict=True)
    }
    cells = replace(
        before, rows=fitting[matched_rows].astype(np.int32), record_weights=None
    )
    alone = replace(original, cells=cells, cells_by_weights=None, households=None)
    return assess_released(alone, blank, data, goals), matched_rows


def _fitting_cells(cells: Cells, patterns: CellTable) -> Integers:
    """Return for each pattern a cell of the original that fits it; -1 if none does."""
    table = CellTable.of_margins(cells, cells.codes, cells.records, cells.weight_sum)
    fitting = np.full(len(patterns), -1, np.int64)
    known_patterns = np.flatnonzero(patterns.known_in(table))
    asked = patterns.some(known_patterns).coded_as(table)
    for keys, at in asked.patterns():
        there = np.arange(len(table))
        if keys:
            some = [table.codes[key] != ANY for key in keys]
            there = np.flatnonzero(np.logical_and.reduce(some))
        number = np.zeros(len(there) + len(at), np.int64)
        if keys:
            both = [
                np.concatenate([table.codes[key][there], asked.codes[key][at]])
                for key in keys
            ]
            number = count(
                [codes.astype(np.uint32) for codes in both],
                [table.levels[key] for key in keys],
            ).inverse.astype(np.int64)
        place = np.full(int(number.max(initial=0)) + 1, -1, np.int64)
        place[number[: len(there)]] = there
        fitting[known_patterns[at]] = place[number[len(there) :]]
    return fitting


# Of the records that must have a candidate in the other file by a column. Columns that
# were changed for more, such as new ids, are not used to join.
_AGREE = 0.9
# In place of a column: the pattern of a record's keys.
_PATTERN = object()


@dataclass(frozen=True, slots=True)
class TwoReleases:
    """What two released files tell together, beside what each tells alone.

    Attributes
    ----------
    keys : tuple of column names
    columns : tuple of column names
        The columns of both files by which their records are joined.
    records : tuple of int
        Records of the earlier and the later file.
    expected : tuple of float
        The expected re-identifications of each of them.
    joined : int
        Records of one file of which the pattern of keys in the other is known.
    joined_earlier, joined_later, together : float
        Expected re-identifications of these by the keys of each file, and of both.
    implied : int
        How many of them both files tell no more of than the earlier one.
    derived : bool
        Whether the later file was made from the earlier one, by its record.
    """

    keys: tuple[Hashable, ...]
    columns: tuple[Hashable, ...]
    records: tuple[int, int]
    expected: tuple[float, float]
    joined: int
    joined_earlier: float
    joined_later: float
    together: float
    implied: int
    derived: bool = False

    @property
    def adds(self) -> float:
        """The re-identifications expected by both files beyond those by the earlier."""
        return 0.0 if self.derived else max(self.together - self.joined_earlier, 0.0)

    @property
    def sentence(self) -> str:
        """What both files tell together, in words."""
        if self.derived:
            return (
                "This file was made from the earlier release, as its record says, so "
                "that it adds nothing to it."
            )
        if not self.joined:
            return (
                "No record of one file was found in the other by the columns that both "
                "have."
            )
        names = listed(printable(str(name)) for name in self.columns)
        text = (
            f"{counted(self.joined, 'record')} can be told in both files by {names}; "
            f"{number(self.joined_earlier)} of them are expected to be re-identified "
            f"by the earlier file, {number(self.joined_later)} by this one, and "
            f"{number(self.together)} by both together."
        )
        if self.implied == self.joined:
            text += (
                " This file adds nothing: all that it tells of them follows from the "
                "earlier one."
            )
        return text

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data for JSON; no single record is in them.

        Returns
        -------
        dict
        """
        return {
            "keys": [str(name) for name in self.keys],
            "columns": [str(name) for name in self.columns],
            "records": dict(zip(("earlier", "later"), self.records, strict=True)),
            "expected": dict(zip(("earlier", "later"), self.expected, strict=True)),
            "joined": self.joined,
            "joined_by_earlier": self.joined_earlier,
            "joined_by_later": self.joined_later,
            "joined_together": self.together,
            "implied": self.implied,
            "derived": self.derived,
            "adds": self.adds,
            "text": self.sentence,
        }

    def _parts(self) -> list[Part]:
        """Return the answer as a part of a sheet."""
        return [Part("With the earlier release", sentences=[self.sentence])]


@dataclass(frozen=True, slots=True, eq=False)
class _File:
    """A released file: codes of its columns, with -1 for a blank."""

    n: int
    codes: Mapping[Hashable, Integers]
    levels: Mapping[Hashable, int]

    def cells(self, names: Sequence[Hashable]) -> tuple[CellTable, Integers]:
        """Return the distinct rows of some columns, and the row of each record."""
        columns = [self.codes[name] for name in names]
        levels = [self.levels[name] for name in names]
        counts = count(
            [(column + 1).astype(np.uint32) for column in columns],
            [size + 1 for size in levels],
        )
        codes = tuple(np.asarray(x).astype(np.int64) - 1 for x in counts.codes)
        f = counts.frequency
        table = CellTable(codes, tuple(levels), f, f.astype(np.float64), tuple(names))
        return table, counts.inverse.astype(np.int64)

    def keys(self, names: Sequence[Hashable]) -> _File:
        """Return the file with all keys: one that it lacks is blank."""
        codes = {x: self.codes.get(x, np.full(self.n, ANY, np.int64)) for x in names}
        return replace(self, codes=codes)


def two_releases(
    original: Assessment,
    earlier: Any,
    later: Any,
    keys: Iterable[Hashable],
    *,
    derived: bool = False,
) -> TwoReleases:
    """Return what two released files tell together of the people of the original.

    ``original`` is the assessment of the original by the keys, ``earlier`` and
    ``later`` are the records. A key that a file lacks is blank there. The records of
    the smaller file are taken to be of people who are in the other.
    """
    names = tuple(keys)
    data = [Records.of(earlier), Records.of(later)]
    files, labels = _coded(data, names)
    whole = [_assessed(original, x.keys(names), names, labels)[0] for x in files]
    both = [name for name in files[0].codes if name in files[1].codes]
    ways = [(1, 0)] if files[1].n <= files[0].n else [(0, 1)]
    if files[0].n == files[1].n:
        ways.append((0, 1))
    pairings = []
    for small, large in ways:
        columns = _used(files[small], files[large], names, both)
        pattern = _pattern_in(files[small], files[large], names, columns)
        joined = np.flatnonzero(pattern >= 0)
        mine = _rows(files[small].keys(names), joined)
        theirs = _rows(files[large].keys(names), pattern[joined])
        codes = {
            name: np.where(mine.codes[name] >= 0, mine.codes[name], theirs.codes[name])
            for name in names
        }
        parts = [theirs, mine] if small else [mine, theirs]
        parts.append(replace(mine, codes=codes))
        assessments = [_assessed(original, entry, names, labels) for entry in parts]
        by_earlier, by_later, together = (total for total, _ in assessments)
        implied = int(np.count_nonzero(assessments[0][1] == assessments[2][1]))
        pairings.append(
            TwoReleases(
                names,
                tuple(columns),
                (files[0].n, files[1].n),
                (whole[0], whole[1]),
                len(joined),
                by_earlier,
                by_later,
                together,
                implied,
                derived,
            )
        )
    return max(pairings, key=lambda entry: entry.together)


def _coded(
    data: Sequence[Records], keys: Sequence[Hashable]
) -> tuple[list[_File], dict[Hashable, Any]]:
    """Return the columns of both files and the keys of each, coded alike."""
    shared = [name for name in data[0].columns if name in data[1].columns]
    codes: list[dict[Hashable, Integers]] = [{}, {}]
    labels: dict[Hashable, Any] = {}
    for name in dict.fromkeys([*keys, *shared]):
        there = [at for at in (0, 1) if name in data[at].columns]
        columns = [code_column(data[at], name) for at in there]
        try:
            coded_columns, labels[name] = _alike(columns)
        except TypeError:
            if name in keys:
                raise
            continue
        for at, values in zip(there, coded_columns, strict=True):
            codes[at][name] = values
    levels = {name: len(values) for name, values in labels.items()}
    return [_File(data[at].n, codes[at], levels) for at in (0, 1)], labels


def _alike(columns: Sequence[CodedColumn]) -> tuple[list[Integers], NDArray[Any]]:
    """Return the codes of columns of several files, -1 for missing, and the labels."""
    new, labels = numbered_alike(columns)
    codes = [
        np.array([*each, ANY], np.int64)[column.codes]
        for column, each in zip(columns, new, strict=True)
    ]
    return codes, np.fromiter(labels, object, len(labels))


def _used(
    small: _File, large: _File, keys: Sequence[Hashable], both: Sequence[Hashable]
) -> list[Hashable]:
    """Return the columns by which nearly all records have candidates."""
    used: list[Hashable] = []
    others = [name for name in both if name not in keys]
    for group in ([name for name in both if name in keys], others):
        if _agreeing(small, large, [*used, *group]) >= _AGREE:
            used += group
            continue
        for name in group:
            if _agreeing(small, large, [*used, name]) >= _AGREE:
                used.append(name)
    return used


def _agreeing(small: _File, large: _File, names: Sequence[Hashable]) -> float:
    """Return the share of records that agree with any of the other file."""
    if not names or not small.n:
        return 1.0
    mine, _ = small.cells(names)
    there = mine.matches_in(large.cells(names)[0]) > 0
    return float(mine.records[there].sum() / small.n)


def _pattern_in(
    small: _File, large: _File, keys: Sequence[Hashable], columns: Sequence[Hashable]
) -> Integers:
    """Return for each record one with its only pattern in the other file, else -1."""
    if not columns or not small.n or not large.n:
        return np.full(small.n, -1, np.int64)
    _, pattern = large.keys(keys).cells(keys)
    patterns = int(pattern.max()) + 1
    with_pattern = replace(
        large,
        codes={**large.codes, _PATTERN: pattern},
        levels={**large.levels, _PATTERN: patterns},
    )
    theirs, _ = with_pattern.cells([*columns, _PATTERN])
    *codes, their_pattern = theirs.codes
    theirs = replace(
        theirs, codes=tuple(codes), levels=theirs.levels[:-1], keys=tuple(columns)
    )
    mine, row = small.cells(columns)
    least, most = mine.range_in(theirs, their_pattern)
    first = np.full(patterns, -1, np.int64)
    first[pattern[::-1]] = np.arange(large.n - 1, -1, -1)
    record = np.where(least == most, first[np.clip(least, 0, patterns - 1)], -1)
    return record[row]


def _rows(file: _File, rows: Integers) -> _File:
    """Return some records of a file."""
    codes = {name: column[rows] for name, column in file.codes.items()}
    return replace(file, n=len(rows), codes=codes)


def _assessed(
    original: Assessment,
    file: _File,
    names: Sequence[Hashable],
    labels: Mapping[Hashable, NDArray[Any]],
) -> tuple[float, NDArray[Any]]:
    """Return the expected re-identifications of records, and who fits each."""
    fits = np.zeros(file.n)
    if not file.n:
        return 0.0, fits
    table, rows = file.cells(names)
    empty = np.array([], object)
    patterns = replace(table, categories=tuple(labels.get(x, empty) for x in names))
    assessment, matched_rows = assess_patterns(original, patterns, rows)
    if assessment is None:
        return 0.0, fits
    fits[matched_rows] = assessment.cells.sample_frequency[assessment.cells.rows]
    return math.fsum(assessment.individual_risk.tolist()), fits
