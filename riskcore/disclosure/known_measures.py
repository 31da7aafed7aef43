"""Measures that others report of released files, each as its authors published it.

Singling out and linkability are the expectations of Anonymeter's figures, which draws
queries and records at random: all queries are asked and all records attacked, or of a
large file as many as a second or two allow, the same in every run. A measure without a
record to take it from is nan.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from riskcore.common.arrays import Floats
from riskcore.common.scatter import selected
from riskcore.common.sheet import Part
from riskcore.common.words import counted, listed, printable
from riskcore.core.risk.file_risk import sum_of_products
from riskcore.data.count import count
from riskcore.disclosure.figures_in_words import plain
from riskcore.disclosure.gower import (
    Columns,
    Ints,
    MixedRecords,
    Nearest,
    affordable,
    gower_scale,
    linked_by_halves,
    nearest_of_all,
)
from riskcore.disclosure.shared_columns import SharedColumn

_MOST_SETS = 256  # of keys
FILES = "original", "released", "holdout"


class Note(NamedTuple):
    """What a measure says, who it is from, and what it does not see."""

    author: str
    says: str
    blind_spot: str
    unit: str = ""


NOTES = {
    "repU": Note(
        "Raab, Nowok and Dibben (2024), synthpop",
        "share of the original that is unique in the original and in the release",
        "unique in the file is not unique in the population",
        " %",
    ),
    "DiSCO": Note(
        "Raab, Nowok and Dibben (2024), synthpop",
        "share of the original whose cell was released with one value, theirs",
        "a value that nearly everybody has is as disclosive as a rare one",
        " %",
    ),
    "TCAP": Note(
        "Taub and Elliot (2019), as synthpop computes it",
        "DiSCO among the original records whose cell was released",
        "a release of 100 records has the TCAP of one of a million",
        " %",
    ),
    "DCR": Note(
        "Park et al. (2018)",
        "median distance of a released record to the closest original one",
        "a median does not see copies of a few persons",
    ),
    "NNDR": Note(
        "Zhao, Kunar, Birke and Chen (2021)",
        "median ratio of this distance to the distance of the second closest",
        "a median does not see copies of a few persons",
    ),
    "singling out": Note(
        "Giomi, Boenisch, Wehmeyer and Tasnadi (2023), Anonymeter",
        "share of queries that are true of one released record and of one person",
        "single in the file is not single in the population",
    ),
    "linkability": Note(
        "Giomi, Boenisch, Wehmeyer and Tasnadi (2023), Anonymeter",
        "share of persons whose two halves have the same closest released record",
        "with few categories neighbors tie, and copies are hardly linked",
    ),
}
OF_TARGETS = "DiSCO", "TCAP"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Measures:
    """The measures that others report of a released file, by their names.

    Attributes
    ----------
    figures : dict of float
        Each measure. With a holdout "singling out, risk" and "linkability, risk" are
        (a - c)/(1 - c) for the rates a of the original and c of the holdout.
    of_targets : dict
        For each target the measures that are about a target.
    left_out : dict of str
        For each measure that could not be computed, why not.
    looked_at : dict of tuple of int
        For each measure that compares all pairs of records: how many records were
        compared, and of how many. They are selected at random, alike in every run.
    missing_numbers : dict of int
        For each file, the records left out of distances because a number is missing.
    """

    figures: dict[str, float] = field(default_factory=dict)
    of_targets: dict[Hashable, dict[str, float]] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    looked_at: dict[str, tuple[int, int]] = field(default_factory=dict)
    missing_numbers: dict[str, int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data for JSON; no single record is in them.

        Returns
        -------
        dict
        """
        return {
            "figures": _plain(self.figures),
            "targets": {
                str(target): _plain(figures)
                for target, figures in self.of_targets.items()
            },
            "left_out": dict(self.left_out),
            "looked_at": {
                name: {"records": few, "of": n}
                for name, (few, n) in self.looked_at.items()
            },
            "missing_numbers": dict(self.missing_numbers),
        }

    def _parts(self) -> list[Part]:
        """Return the measures, and what they say, as tables."""
        rows = [["measure", "target", "figure"]]
        for target, figures in [("", self.figures), *self.of_targets.items()]:
            label = printable(str(target))
            for name, x in figures.items():
                unit = NOTES[name.partition(",")[0]].unit
                rows.append([name, label, f"{x:.3g}{unit}"])
        held = {row[0] for row in rows}
        says = [["measure", "what it says, what it does not see, and its source"]]
        for name, note in NOTES.items():
            if name in held:
                says += [[name, note.says], ["", f"But {note.blind_spot}"]]
                says.append(["", note.author])
        most, sentences = (24, 14, 52), [*self._sentences()]
        parts = [
            Part("Measures of others", rows=rows, most=most, sentences=sentences),
            Part("What they say", rows=says),
        ]
        if self.left_out:
            parts.append(Part("Left out", facts=[*self.left_out.items()]))
        return parts

    def _sentences(self) -> Iterator[str]:
        """Yield on what the figures rest."""
        for name, (few, n) in self.looked_at.items():
            if few < n:
                yield f"{name}: of {few:,} of {n:,} records, selected at random."
        for name, missing in self.missing_numbers.items():
            if missing:
                of = counted(missing, "record")
                yield f"Without {of} of the {name} file that lack a number."


def _plain(figures: Mapping[str, float]) -> dict[str, float | None]:
    """Return figures as JSON has them."""
    return {name: plain(x) for name, x in figures.items()}


def known_measures(
    keys: Sequence[SharedColumn],
    targets: Mapping[Hashable, SharedColumn],
    numbers: Sequence[Sequence[Floats]] = (),
) -> Measures:
    """Return every measure of `NOTES` that the columns allow."""
    for name, codes in zip(FILES, keys[0].codes, strict=False):
        if not len(codes):
            raise ValueError(f"the {name} file has no records: no measure has a value")
    measures = Measures()
    levels = [column.levels for column in keys]
    coded = zip(*(column.codes for column in keys), strict=True)
    files = [
        MixedRecords.of(codes, [column[at] for column in numbers])
        for at, codes in enumerate(coded)
    ]
    cells = count_cells([records.codes for records in files], levels)
    measures.figures["repU"] = replicated_uniques(cells)
    for target, column in targets.items():
        measures.of_targets[target] = disclosive(cells, column)
    if not targets:
        measures.left_out.update(dict.fromkeys(OF_TARGETS, "needs a target"))
    _add_distances(measures, files, levels)
    _add_attacks(measures, files, levels, cells)
    return measures


def _add_distances(
    measures: Measures, files: Sequence[MixedRecords], levels: Sequence[int]
) -> None:
    """Add the distances of released records from the original."""
    complete = [records.at(~np.isnan(records.numbers).any(axis=1)) for records in files]
    empty = []
    for name, records, whole in zip(FILES, complete, files, strict=False):
        measures.missing_numbers[name] = len(whole.numbers) - len(records.numbers)
        empty += [name] * (not len(records.numbers))
    original, released = complete[:2]
    if empty:
        why = f"no record with all numbers in the {listed(empty)} file"
        measures.left_out.update(dict.fromkeys(("DCR", "NNDR"), why))
        return
    d = released.numbers.shape[1]
    scale = [gower_scale([x.numbers[:, j] for x in complete]) for j in range(d)]
    n, columns = len(released.numbers), len(levels) + d
    rows = affordable(n, len(original.numbers), columns)
    asked = released.at(rows)
    pair = asked.numbers, original.numbers
    near = nearest_of_all(asked.codes, original.codes, levels, pair, np.array(scale))
    measures.figures.update(closest_record(near, columns))
    measures.looked_at["distances"] = len(rows), n


def _add_attacks(
    measures: Measures,
    files: Sequence[MixedRecords],
    levels: Sequence[int],
    cells: CommonCells,
) -> None:
    """Add singling out, of records that are not repeated, and linkability."""
    first = [np.unique(cell, return_index=True)[1] for cell in cells.cell]
    once = [records.at(rows).codes for records, rows in zip(files, first, strict=True)]
    original, released, *holdout = once
    queries, alone, expected = singling_out([released, original, *holdout], levels)
    rate, right, *held = (
        x / queries if queries else math.nan for x in (alone, *expected)
    )
    _add_rates(measures, "singling out", rate, right, *held)
    if len(levels) < 2:
        measures.left_out["linkability"] = "needs two keys"
        return
    original, released, *holdout = (records.codes for records in files)
    (share, asked), *beside = (
        linkability(people, released, levels) for people in (original, *holdout)
    )
    _add_rates(measures, "linkability", share, share, *(rate for rate, _ in beside))
    measures.looked_at["linkability"] = asked, len(original[0])


def _add_rates(
    measures: Measures,
    name: str,
    rate: float,
    right: float,
    control: float | None = None,
) -> None:
    """Add the rate of an attack and, beside that on a holdout, the risk beyond it."""
    measures.figures[name] = rate
    if control is None:
        measures.left_out[f"{name}, risk"] = "needs a holdout"
    else:
        beyond = (right - control) / (1.0 - control) if control < 1.0 else math.nan
        measures.figures[f"{name}, risk"] = beyond


def replicated_uniques(keys: CommonCells) -> float:
    """Return repU: the percentage of the original that is unique in both files.

    Raab, Nowok and Dibben (2024): 100 #{d = 1, s = 1}/n over cells with d of the n
    original and s released records. Any further file does not count.
    """
    d, s = keys.records[:2]
    return _percent(np.count_nonzero((d == 1) & (s == 1)), d.sum())


def disclosive(keys: CommonCells, target: SharedColumn) -> dict[str, float]:
    """Return DiSCO and TCAP of a target, in percent as synthpop gives them.

    Raab, Nowok and Dibben (2024). A person is disclosed if the cell of its keys was
    released with one value of the target, and this is the person's. DiSCO is the share
    of these in the original, TCAP in its records whose cell was released.
    """
    cells = [cell.view(np.uint32) for cell in keys.cell]
    columns = zip(cells, target.codes, strict=True)
    both = count_cells([*columns], [len(keys.records[0]), target.levels])
    same_keys = keys.records[1][keys.cell[0]]
    same_value = both.records[1][both.cell[0]]
    met = same_keys > 0
    disclosed = np.count_nonzero(met & (same_keys == same_value))
    return {
        "DiSCO": _percent(disclosed, len(met)),
        "TCAP": _percent(disclosed, np.count_nonzero(met)),
    }


def closest_record(two: Nearest, columns: int) -> dict[str, float]:
    """Return the medians of d1/columns (DCR) and of d1/d2 (NNDR); a copy has d1 = 0."""
    ratio = np.zeros(len(two.first))
    np.divide(two.first, two.second, out=ratio, where=two.first > 0.0)
    return {
        "DCR": float(np.median(two.first / columns)),
        "NNDR": float(np.median(ratio)),
    }


def singling_out(
    files: Sequence[Columns], levels: Sequence[int], size: int = 3
) -> tuple[int, int, list[float]]:
    """Return how many queries single out in the release, and in the original.

    Giomi et al. (2023), after Cohen and Nissim (2020): a query states the values of
    ``size`` keys and is true of one record. Anonymeter draws from those that single out
    in the release; here are all, over all sets of keys, or over 256 of them. The files
    are the release, the original and perhaps a holdout, each without repeated records,
    as Anonymeter takes them. The last result is of original and holdout in samples of
    the size of the smaller of them.
    """
    sizes = [len(columns[0]) for columns in files[1:]]
    sets = [*combinations(range(len(levels)), min(size, len(levels)))]
    queries, successes, expected = 0, 0, np.zeros(len(sizes))
    for at in selected(len(sets), _MOST_SETS):
        columns = [[file[key] for key in sets[at]] for file in files]
        few = [levels[key] for key in sets[at]]
        claims, *people = count_cells(columns, few).records
        of_claims = [records[claims == 1] for records in people]
        queries += len(of_claims[0])
        successes += int(np.count_nonzero(of_claims[0] == 1))
        expected += [
            alone_in_sample(records, n, min(sizes))
            for records, n in zip(of_claims, sizes, strict=True)
        ]
    return queries, successes, expected.tolist()


def alone_in_sample(records: Ints, size: int, sample: int) -> float:
    """Return the expected cells of one record in a sample, a hypergeometric mean."""
    if sample == size:
        return float(np.count_nonzero(records == 1))
    values, cells = np.unique(records, return_counts=True)
    c = np.arange(1, max(int(values[-1]), 1) + 1) if len(values) else np.arange(0)
    # P(1 of c) / P(1 of c - 1) = c/(c - 1) (N - m - c + 2)/(N - c + 1).
    steps = (size - sample - c[1:] + 2.0) / (size - c[1:] + 1.0)
    none_else = np.concatenate([[1.0], np.cumprod(np.maximum(steps, 0.0))])
    chance = np.concatenate([[0.0], np.minimum(c * sample / size * none_else, 1.0)])
    return sum_of_products(chance[values], cells)


def linkability(
    original: Columns, released: Columns, levels: Sequence[int]
) -> tuple[float, int]:
    """Return the share of people whose two halves the release links, and of how many.

    Giomi et al. (2023), one neighbor: the first half of a person's keys has a closest
    released record, the second has one, and it is the same. Of several as close one is
    taken at random on each side, where Anonymeter's depends on how it sorts: a person
    with the closest sets A and B counts |A and B|/(|A| |B|).
    """
    rows = affordable(len(original[0]), len(released[0]), len(levels))
    asked = [column[rows] for column in original]
    first, second, both = linked_by_halves(asked, released, levels, len(levels) // 2)
    return math.fsum((both / first / second).tolist()) / len(rows), len(rows)


def _percent(part: Any, whole: Any) -> float:
    """Return a share in percent, nan of nothing."""
    return 100.0 * (float(part) / float(whole)) if whole else float("nan")


class CommonCells(NamedTuple):
    """The cells that occur in any of several files."""

    records: tuple[Ints, ...]  # of each file the records in each cell, shape (K,)
    cell: tuple[NDArray[np.int32], ...]  # of each file the cell of each record


def count_cells(files: Sequence[Columns], levels: Sequence[int]) -> CommonCells:
    """Return the cells of files that have the same keys, in the same codes."""
    if not levels:
        raise ValueError("the files have no keys: give at least one")
    if any(len(one) != len(levels) for one in files):
        raise ValueError("the files have another number of keys than levels")
    columns = [np.concatenate(column) for column in zip(*files, strict=True)]
    found = count(columns, levels)
    K = len(found.frequency)
    ends = np.cumsum([len(one[0]) for one in files])[:-1]
    cell = tuple(np.split(found.inverse, ends))
    return CommonCells(tuple(np.bincount(one, minlength=K) for one in cell), cell)
