"""A released file against its original: who fits each pattern of keys.

Which released record stands for which original one is not known, and not needed: the
original is recoded and treated as the settings say, and each pattern of the released
file, in which a blank stands for any value, is counted among its records.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.assessment.goals import Names
from riskcore.assessment.released import ReleasedAssessment, assess_released
from riskcore.assessment.settings_table import AUTO, BOTH
from riskcore.common.progress import Lines
from riskcore.core.risk.household import households
from riskcore.data.cells import Cells, tabulate_coded
from riskcore.data.coded import CodedRecords
from riskcore.data.columns import with_columns
from riskcore.data.count import count
from riskcore.data.household_rows import HouseholdRows
from riskcore.data.recode import recode
from riskcore.data.source import Source
from riskcore.disclosure.audit import audit
from riskcore.disclosure.result import Audit
from riskcore.disclosure.shared_columns import refuse_other_kinds
from riskcore.models.cell_table import ANY, CellTable
from riskcore.protection.prepare import (
    Prepared,
    code_source,
    prepare,
    prepare_households,
)
from riskcore.protection.settings import Settings


@dataclass(frozen=True, slots=True, eq=False)
class AgainstOriginal:
    """The original records as the settings recode and treat them.

    Attributes
    ----------
    original : Source
    settings : Settings
    prepared : Prepared
        The records, or the rows of households, with their risks by each set of keys.
    unknown : tuple of column names
        Columns whose random treatment cannot be made again.
    """

    original: Source
    settings: Settings
    prepared: Prepared
    unknown: Names = ()

    @classmethod
    def of(
        cls, original: Source, settings: Settings, secret: str | None, say: Lines
    ) -> AgainstOriginal:
        """Return the original of a file, recoded and treated."""
        if original.engine is not None:
            raise original.engine.refuse_single("original")
        unknown: Names = ()
        if settings.is_random and secret is None:
            unknown = settings.treated
            settings = replace(settings, treat={})
        settings.check_names(original)
        if settings.level == "record":
            prepared = prepare(original, settings, say, secret)
        else:
            coded = code_source(original, settings, say)
            _, prepared = prepare_households(original, coded, settings, say)
        return cls(original, settings, prepared, unknown)

    def assessed(
        self, data: Any, coded: CodedRecords, names: Names
    ) -> tuple[ReleasedAssessment | None, int]:
        """Return the risks of released records by a set of keys.

        ``coded`` are the released records. The second result is the number of records
        that fit no record of the original; None if none fits.
        """
        at = self.settings.keys.index(names)
        original = self.prepared.recoded[at]
        kept = [name for name in names if name in coded.columns]
        if self.settings.level == "household":
            assert coded.households is not None
            columns = {name: coded.columns[name].codes for name in kept}
            rows = HouseholdRows.agreeing(coded.households, columns)
            data = rows.rows(data, kept)
            coded = CodedRecords.of(data, kept)
        for name in kept:
            refuse_other_kinds([coded.columns[name], self.prepared.coded.columns[name]])
        released = tabulate_coded(replace(coded, weights=None), kept, "argus", 1.0)
        patterns = _patterns(released, names)
        before = original.cells_by_weights or original.cells
        fits = _fitting_cells(before, patterns)[released.inverse]
        known = np.flatnonzero(fits >= 0)
        unknown = coded.n - len(known)
        if not len(known):
            return None, unknown
        blank = {
            name: (column == ANY)[released.inverse[known]]
            for name, column in zip(names, patterns.codes, strict=True)
        }
        cells = replace(before, rows=fits[known], record_weights=None)
        found = assess_released(
            replace(original, cells=cells, cells_by_weights=None, households=None),
            blank,
            data,
            self.prepared.aims(self.settings)[at].goals,
        )
        if coded.households is not None and self.settings.level == "record":
            joint = households(found.individual_risk, coded.households[known])
            found = replace(found, households=joint)
        return found, unknown

    def audit(
        self,
        released: Source,
        names: Names,
        holdout: Source | None,
        target: Sequence[Hashable],
        say: Lines,
    ) -> Audit:
        """Audit the released file by a set of keys, beside the recoded original."""
        settings, weight = self.settings, self.settings.weight
        files: list[Any] = [self.original, released, holdout]
        if settings.recodings or settings.treat:
            recoded, numbers = self.prepared.data, self.original.numbers(weight)
            if numbers is not None:
                recoded = with_columns(recoded, {weight: numbers})
            if holdout is not None:
                holdout = recode(holdout.data, settings.recodings)
            files = [recoded, released.data, holdout]
        return audit(
            *files[:2],
            names,
            weight,
            holdout=files[2],
            target=target,
            population=AUTO if settings.population == BOTH else settings.population,
            sampling_fraction=settings.sampling_fraction,
            missing=settings.missing,
            progress=say,
        )


def _patterns(cells: Cells, names: Names) -> CellTable:
    """Return the patterns of released records; a key that was left out is blank."""
    table = CellTable.of_margins(cells, cells.codes, cells.records, cells.weight_sum)
    codes = dict(zip(table.keys, table.codes, strict=True))
    assert table.categories is not None
    labels = dict(zip(table.keys, table.categories, strict=True))
    blank = np.full(len(table), ANY, np.int64)
    nothing = np.array([], object)
    categories = tuple(labels.get(name, nothing) for name in names)
    return CellTable(
        tuple(codes.get(name, blank) for name in names),
        tuple(map(len, categories)),
        table.records,
        table.weight_sum,
        names,
        categories,
    )


def _fitting_cells(cells: Cells, patterns: CellTable) -> NDArray[np.int64]:
    """Return for each pattern a cell of the original that fits it; -1 if none does."""
    table = CellTable.of_margins(cells, cells.codes, cells.records, cells.weight_sum)
    fitting = np.full(len(patterns), -1, np.int64)
    known = np.flatnonzero(patterns.known_in(table))
    asked = patterns.some(known).coded_as(table)
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
        fitting[known[at]] = place[number[len(there) :]]
    return fitting
