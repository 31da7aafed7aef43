"""All measures of others that the columns of a released file allow.

``known_notes.py`` says who each measure is from, and what it does not see.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from riskcore.common.sheet import Part
from riskcore.common.words import counted, listed, printable
from riskcore.disclosure.all_pairs import Nearest, nearest_of_all, selected
from riskcore.disclosure.common_cells import (
    CommonCells,
    Ints,
    count_cells,
    count_targets,
)
from riskcore.disclosure.known_attacks import linkability, singling_out
from riskcore.disclosure.known_distances import (
    closest_record,
    holdout_share,
    overfitting_protection,
    ranges_of,
)
from riskcore.disclosure.known_measures import (
    Figures,
    beta_likeness,
    correct_attribution,
    delta_presence,
    disclosive,
    generalized_attribution,
    k_map,
    replicated_uniques,
    sdmetrics_attribution,
    targeted_attribution,
)
from riskcore.disclosure.known_notes import NOTES, OF_TARGETS
from riskcore.disclosure.mixed_records import Floats, MixedRecords
from riskcore.disclosure.shared_columns import SharedColumn, number_together

ORIGINAL, RELEASED, HOLDOUT = range(3)
FILES = "original", "released", "holdout"
NO_TARGET = "needs a target"
NO_HOLDOUT = "needs a holdout"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Measures:
    """The measures that others report of a released file, by their names.

    Attributes
    ----------
    figures : dict
        For each measure its figures by name, as its author or package gives them.
    of_targets : dict
        For each target the same, of the measures that are about a target.
    left_out : dict of str
        For each measure or figure that could not be computed, why not.
    looked_at : dict of tuple of int
        For each measure that compares all pairs of records: how many records were
        compared, and of how many. They are selected at random, alike in every run.
    missing_numbers : dict of int
        For each file, the records left out of distances and of singling out because a
        number is missing.
    people : {"population", "original"}
        Whose cells delta-presence and k-map count: those of a file of the population,
        or, as users of synthpop do, those of the original.
    """

    figures: dict[str, Figures]
    of_targets: dict[Hashable, dict[str, Figures]]
    left_out: dict[str, str]
    looked_at: dict[str, tuple[int, int]]
    missing_numbers: dict[str, int]
    people: str

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
            "people": self.people,
        }

    def _parts(self) -> list[Part]:
        """Return the measures, and what they say, as tables."""
        rows = [["measure", "target", "figures"]]
        rows += [[name, "", _shown(name, one)] for name, one in self.figures.items()]
        for target, found in self.of_targets.items():
            label = printable(str(target))
            rows += [[name, label, _shown(name, one)] for name, one in found.items()]
        held = {row[0] for row in rows}
        says = [["measure", "what it says, what it does not see, and its source"]]
        for name, note in NOTES.items():
            if name in held:
                says += [[name, note.says], ["", f"But {note.blind_spot}"]]
                says.append(["", note.author])
        parts = [
            Part(
                "Measures of others",
                rows=rows,
                most=(24, 14, 52),
                sentences=[*self._sentences()],
            ),
            Part("What they say", rows=says),
        ]
        if self.left_out:
            parts.append(Part("Left out", facts=[*self.left_out.items()]))
        return parts

    def _sentences(self) -> Iterator[str]:
        """Yield on what the figures rest."""
        if self.people == "original":
            yield "delta-presence and k-map count the people of the original."
        else:
            yield "delta-presence and k-map count the people of the population."
        for name, (few, n) in self.looked_at.items():
            if few < n:
                yield f"{name}: of {few:,} of {n:,} records, selected at random."
        for name, missing in self.missing_numbers.items():
            if missing:
                of = counted(missing, "record")
                yield f"Without {of} of the {name} file that lack a number."


def _plain(found: Mapping[str, Figures]) -> dict[str, dict[str, float | None]]:
    """Return figures without nan, which JSON lacks."""
    return {
        name: {key: None if math.isnan(x) else x for key, x in figures.items()}
        for name, figures in found.items()
    }


def _shown(name: str, figures: Figures) -> str:
    """Return the main figures of a measure in words."""
    note = NOTES[name]
    held = [key for key in note.main if key in figures]
    return ", ".join(f"{key} {_number(figures[key])}{note.unit}" for key in held)


def _number(x: float) -> str:
    """Return a figure in few digits; a count has all."""
    return f"{x:,.0f}" if x.is_integer() else f"{x:.3g}"


class _File(NamedTuple):
    """One file: its keys, and its records without a missing number."""

    keys: list[NDArray[Any]]
    complete: MixedRecords
    once: MixedRecords  # without repeated records
    missing: int

    @property
    def records(self) -> int:
        return len(self.keys[0])


class _Files(NamedTuple):
    """The files, the original first, and the number of values of each key."""

    files: list[_File]
    levels: list[int]

    @classmethod
    def of(
        cls, keys: Sequence[SharedColumn], numbers: Sequence[Sequence[Floats]], n: int
    ) -> _Files:
        """Return the first n files."""
        coded = [*keys, *(_coded(column[:n]) for column in numbers)]
        cell = number_together([SharedColumn(x.codes[:n], x.levels) for x in coded])
        files = []
        for at in range(n):
            own = [column.codes[at] for column in keys]
            table = np.empty((len(own[0]), len(numbers)))
            for j, column in enumerate(numbers):
                table[:, j] = column[at]
            everybody = MixedRecords(own, table)
            complete = np.flatnonzero(~np.isnan(table).any(axis=1))
            _, first = np.unique(cell[at][complete], return_index=True)
            once = everybody.at(complete[np.sort(first)])
            missing = len(table) - len(complete)
            whole = everybody.at(complete) if missing else everybody
            files.append(_File(own, whole, once, missing))
        return cls(files, [column.levels for column in keys])


def _coded(column: Sequence[Floats]) -> SharedColumn:
    """Return numbers as codes of their values."""
    values, code = np.unique(np.concatenate(column), return_inverse=True)
    ends = np.cumsum([len(one) for one in column])[:-1]
    return SharedColumn((*np.split(code.astype(np.uint32), ends),), len(values))


def known_measures(
    keys: Sequence[SharedColumn],
    targets: Mapping[Hashable, SharedColumn],
    numbers: Sequence[Sequence[Floats]] = (),
    people: Ints | None = None,
) -> Measures:
    """Return every measure of `NOTES` that the columns allow.

    The files are the original, the release and, if there is one, a holdout: that is, as
    many as each column of targets and numbers has. With ``people``, the keys have one
    file more: of the population, with so many people in each of its rows. A missing
    value is a category of its own; nan is a missing number.
    """
    n = len(keys[0].codes) - (people is not None)
    for name, codes in zip(FILES[:n], keys[0].codes, strict=False):
        if not len(codes):
            raise ValueError(f"the {name} file has no records: no measure has a value")
    files = _Files.of(keys, numbers, n)
    figures: dict[str, Figures] = {}
    left_out: dict[str, str] = {}
    looked_at: dict[str, tuple[int, int]] = {}
    own, their = (files.files[at].keys for at in (ORIGINAL, RELEASED))
    cells = count_cells([own, their], files.levels)
    figures["replicated uniques"] = replicated_uniques(cells)
    F, f = cells.records
    if people is not None:
        of = count_cells([[x.codes[n] for x in keys], their], files.levels)
        F = np.bincount(of.cell[0], people, len(of.records[1])).astype(np.int64)
        f = of.records[1]
    figures["delta-presence"] = delta_presence(F, f)
    figures["k-map"] = k_map(F, f)
    _add_distances(files, figures, left_out, looked_at)
    _add_attacks(files, figures, left_out, looked_at)
    of_targets = _of_targets(files, cells, targets, looked_at)
    if not targets:
        left_out |= dict.fromkeys(OF_TARGETS, NO_TARGET)
    missing = {name: one.missing for name, one in zip(FILES, files.files, strict=False)}
    by = "original" if people is None else "population"
    return Measures(figures, of_targets, left_out, looked_at, missing, by)


def _of_targets(
    files: _Files,
    cells: CommonCells,
    targets: Mapping[Hashable, SharedColumn],
    looked_at: dict[str, tuple[int, int]],
) -> dict[Hashable, dict[str, Figures]]:
    """Return the measures of each target."""
    own, their = files.files[ORIGINAL], files.files[RELEASED]
    rows = selected(own.records, their.records, len(files.levels))
    asked = [column[rows] for column in own.keys]
    of_targets: dict[Hashable, dict[str, Figures]] = {}
    for name, column in targets.items():
        first, second = column.codes[ORIGINAL], column.codes[RELEASED]
        values = count_targets(cells, first, second, column.levels)
        both = first[rows], second
        near = nearest_of_all(asked, their.keys, files.levels, target=both)
        cap, gcap = correct_attribution(values), generalized_attribution(near)
        of_targets[name] = {
            "DiSCO": disclosive(values),
            "CAP": cap,
            "TCAP": targeted_attribution(values),
            "GCAP": gcap,
            "CategoricalCAP": sdmetrics_attribution(cap, gcap),
            "beta-likeness": beta_likeness(values),
        }
        looked_at["GCAP"] = len(rows), own.records
    return of_targets


def _add_distances(
    files: _Files,
    figures: dict[str, Figures],
    left_out: dict[str, str],
    looked_at: dict[str, tuple[int, int]],
) -> None:
    """Add the measures of distances from released records."""
    complete = [one.complete for one in files.files]
    empty = _empty(complete)
    if empty:
        whole = ("DCR and NNDR", "DCR share", "DCROverfittingProtection")
        left_out |= dict.fromkeys(whole, empty)
        return
    original, released, *holdout = complete
    n = len(released.numbers)
    ranges = ranges_of(*(one.numbers for one in complete))
    columns = len(files.levels) + len(ranges)
    most = max(len(one.numbers) for one in (original, *holdout))
    rows = selected(n, most, columns)
    asked = released.at(rows)
    near = _nearest(asked, original, files.levels, ranges)
    figures["DCR and NNDR"] = closest_record(near, columns)
    looked_at["distances"] = len(rows), n
    if not holdout:
        left_out["DCR share"] = NO_HOLDOUT
        left_out["DCROverfittingProtection"] = NO_HOLDOUT
        return
    far = _nearest(asked, holdout[0], files.levels, ranges)
    figures["DCR share"] = holdout_share(near.first, far.first)
    if len(ranges):
        near, far = (
            _nearest(asked, one, files.levels, ranges_of(one.numbers))
            for one in (original, holdout[0])
        )
    score = overfitting_protection(near.first, far.first)
    figures["DCROverfittingProtection"] = score


def _nearest(
    query: MixedRecords, reference: MixedRecords, levels: Sequence[int], ranges: Floats
) -> Nearest:
    """Return the closest references; numbers without a range differ or do not."""
    scale = np.divide(1.0, ranges, out=np.full(len(ranges), np.inf), where=ranges > 0.0)
    numbers = query.numbers, reference.numbers
    return nearest_of_all(query.codes, reference.codes, levels, numbers, scale)


def _empty(files: Sequence[MixedRecords]) -> str:
    """Return the reason if a file has no record to compare."""
    lacking = [
        name for name, one in zip(FILES, files, strict=False) if not len(one.numbers)
    ]
    return f"no record with all numbers in the {listed(lacking)} file" * bool(lacking)


def _add_attacks(
    files: _Files,
    figures: dict[str, Figures],
    left_out: dict[str, str],
    looked_at: dict[str, tuple[int, int]],
) -> None:
    """Add singling out, of records that are not repeated, and linkability.

    The halves of linkability are the first and the last keys.
    """
    empty = _empty([one.once for one in files.files])
    if empty:
        left_out["singling out"] = empty
    else:
        _add_singling_out(files, figures, left_out, looked_at)
    d = len(files.levels)
    if d < 2:
        left_out["linkability"] = "needs two keys"
        return
    original, released, *holdout = (one.keys for one in files.files)
    halves = range(d // 2), range(d // 2, d)
    links = linkability(original, released, files.levels, *halves)
    found = {
        "links": links.persons,
        "attack_rate": links.share,
        "by chance": 1.0 / len(released[0]),
    }
    if holdout:
        control = linkability(holdout[0], released, files.levels, *halves).share
        found |= _beyond(links.share, control)
    else:
        left_out["linkability, risk"] = NO_HOLDOUT
    figures["linkability"] = found
    looked_at["linkability"] = links.asked, len(original[0])


def _add_singling_out(
    files: _Files,
    figures: dict[str, Figures],
    left_out: dict[str, str],
    looked_at: dict[str, tuple[int, int]],
) -> None:
    """Add singling out."""
    original, released, *holdout = (one.once for one in files.files)
    control = holdout[0] if holdout else None
    one = singling_out(released, original, files.levels, control=control)
    found = {"queries": one.queries, "successes": one.successes}
    rate, right, held = (
        x / one.queries if one.queries else math.nan
        for x in (one.successes, one.right, one.control)
    )
    found["attack_rate"] = rate
    if control is None:
        left_out["singling out, risk"] = NO_HOLDOUT
    else:
        found |= _beyond(right, held)
    if math.isnan(one.baseline):
        why = "has no value with numbers, or with millions of combinations"
        left_out["singling out, baseline_rate"] = why
    else:
        found["baseline_rate"] = one.baseline
    figures["singling out"] = found
    looked_at["singling out"] = one.asked, len(released.numbers)


def _beyond(attack: float, control: float) -> Figures:
    """Return the rate of an attack on a holdout, and the risk beyond it.

    Giomi et al. (2023): (a - c)/(1 - c), nan where c = 1.
    """
    beyond = (attack - control) / (1.0 - control) if control < 1.0 else math.nan
    return {"control_rate": control, "risk": beyond}
