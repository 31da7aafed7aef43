"""Measures of others: one of each name that the columns of a released file allow."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from riskcore.common.sheet import Part
from riskcore.common.words import counted, listed, printable
from riskcore.disclosure.all_pairs import nearest_of_all, selected
from riskcore.disclosure.common_cells import CommonCells, count_cells
from riskcore.disclosure.known_attacks import linkability, singling_out
from riskcore.disclosure.known_measures import (
    closest_record,
    disclosive,
    replicated_uniques,
)
from riskcore.disclosure.mixed_records import Floats, MixedRecords, gower_scale
from riskcore.disclosure.shared_columns import SharedColumn

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
                str(target): _plain(found) for target, found in self.of_targets.items()
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
        for target, found in [("", self.figures), *self.of_targets.items()]:
            label = printable(str(target))
            rows += [[name, label, _shown(name, x)] for name, x in found.items()]
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


def _plain(found: Mapping[str, float]) -> dict[str, float | None]:
    """Return figures without nan, which JSON lacks."""
    return {name: None if math.isnan(x) else x for name, x in found.items()}


def _shown(name: str, figure: float) -> str:
    """Return a figure in few digits, with its unit."""
    return f"{figure:.3g}{NOTES[name.partition(',')[0]].unit}"


def known_measures(
    keys: Sequence[SharedColumn],
    targets: Mapping[Hashable, SharedColumn],
    numbers: Sequence[Sequence[Floats]] = (),
) -> Measures:
    """Return every measure of `NOTES` that the columns allow.

    The files of each column are the original, the release and perhaps a holdout. A
    missing value is a category of its own; nan is a missing number.
    """
    for name, codes in zip(FILES, keys[0].codes, strict=False):
        if not len(codes):
            raise ValueError(f"the {name} file has no records: no measure has a value")
    found = Measures()
    levels = [column.levels for column in keys]
    coded = zip(*(column.codes for column in keys), strict=True)
    files = [
        MixedRecords.of(codes, [column[at] for column in numbers])
        for at, codes in enumerate(coded)
    ]
    cells = count_cells([one.codes for one in files], levels)
    found.figures["repU"] = replicated_uniques(cells)
    for target, column in targets.items():
        found.of_targets[target] = disclosive(cells, column)
    if not targets:
        found.left_out.update(dict.fromkeys(OF_TARGETS, "needs a target"))
    _add_distances(found, files, levels)
    _add_attacks(found, files, levels, cells)
    return found


def _add_distances(
    found: Measures, files: Sequence[MixedRecords], levels: Sequence[int]
) -> None:
    """Add the distances of released records from the original."""
    complete = [one.at(~np.isnan(one.numbers).any(axis=1)) for one in files]
    empty = []
    for name, one, whole in zip(FILES, complete, files, strict=False):
        found.missing_numbers[name] = len(whole.numbers) - len(one.numbers)
        empty += [name] * (not len(one.numbers))
    original, released = complete[:2]
    if empty:
        why = f"no record with all numbers in the {listed(empty)} file"
        found.left_out.update(dict.fromkeys(("DCR", "NNDR"), why))
        return
    d = released.numbers.shape[1]
    scale = [gower_scale([one.numbers[:, j] for one in complete]) for j in range(d)]
    n, columns = len(released.numbers), len(levels) + d
    rows = selected(n, len(original.numbers), columns)
    asked = released.at(rows)
    pair = asked.numbers, original.numbers
    near = nearest_of_all(asked.codes, original.codes, levels, pair, np.array(scale))
    found.figures.update(closest_record(near, columns))
    found.looked_at["distances"] = len(rows), n


def _add_attacks(
    found: Measures,
    files: Sequence[MixedRecords],
    levels: Sequence[int],
    cells: CommonCells,
) -> None:
    """Add singling out, of records that are not repeated, and linkability."""
    first = [np.unique(cell, return_index=True)[1] for cell in cells.cell]
    once = [one.at(rows).codes for one, rows in zip(files, first, strict=True)]
    original, released, *holdout = once
    queries, *counts = singling_out([released, original, *holdout], levels)
    rate, right, held = (x / queries if queries else math.nan for x in counts)
    _add_rates(found, "singling out", rate, right, held if holdout else None)
    if len(levels) < 2:
        found.left_out["linkability"] = "needs two keys"
        return
    original, released, *holdout = (one.codes for one in files)
    links, *beside = (
        linkability(people, released, levels) for people in (original, *holdout)
    )
    control = beside[0].share if beside else None
    _add_rates(found, "linkability", links.share, links.share, control)
    found.looked_at["linkability"] = links.asked, len(original[0])


def _add_rates(
    found: Measures, name: str, rate: float, right: float, control: float | None
) -> None:
    """Add the rate of an attack and, beside that on a holdout, the risk beyond it."""
    found.figures[name] = rate
    if control is None:
        found.left_out[f"{name}, risk"] = "needs a holdout"
    else:
        beyond = (right - control) / (1.0 - control) if control < 1.0 else math.nan
        found.figures[f"{name}, risk"] = beyond
