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

from riskcore.assessment.cell_risk import risk_of
from riskcore.assessment.goals import Names
from riskcore.assessment.result import Assessment
from riskcore.assessment.settings_table import AUTO, BOTH
from riskcore.common.progress import Lines
from riskcore.core.risk.household import households
from riskcore.data.cells import Cells, tabulate_coded
from riskcore.data.coded import CodedRecords
from riskcore.data.columns import with_columns
from riskcore.data.household_rows import HouseholdRows
from riskcore.data.recode import recode
from riskcore.data.source import Source
from riskcore.disclosure.audit import audit
from riskcore.disclosure.claims import risk_of_claims
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

Floats = NDArray[np.float64]


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
    ) -> tuple[Assessment, int]:
        """Return the risks of released records by a set of keys.

        ``coded`` are the released records. The second result is the number of records
        that fit no record of the original.
        """
        original = self.prepared.recoded[self.settings.keys.index(names)]
        kept = [name for name in names if name in coded.columns]
        if self.settings.level == "household":
            assert coded.households is not None
            columns = {name: coded.columns[name].codes for name in kept}
            rows = HouseholdRows.agreeing(coded.households, columns)
            data = rows.rows(data, kept)
            coded = CodedRecords.of(data, kept)
        cells = tabulate_coded(replace(coded, weights=None), kept, "argus", 1.0)
        for name in kept:
            refuse_other_kinds([coded.columns[name], self.prepared.coded.columns[name]])
        f, F, risk = _among(original, _patterns(cells, names))
        cells = replace(
            cells, sample_frequency=f, population_frequency=F, weighted=True
        )
        found = Assessment(data, cells, risk, original.method)
        if coded.households is not None and self.settings.level == "record":
            joint = households(risk[cells.inverse], coded.households)
            found = replace(found, households=joint)
        return found, int(cells.records[f == 0].sum())

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


def _among(
    original: Assessment, patterns: CellTable
) -> tuple[NDArray[np.int64], Floats, Floats]:
    """Return f, F and the risk of patterns among the original records."""
    cells = original.cells_by_weights or original.cells
    table = CellTable.of_margins(cells, cells.codes, cells.records, cells.weight_sum)
    whole = np.logical_and.reduce([column != ANY for column in table.codes])
    complete = table.some(whole)
    f = patterns.matches_in(complete)
    F = np.nan_to_num(
        f * patterns.means_in(complete, complete.weight_sum / complete.records)
    )
    if not whole.all():
        # A pattern of a record that lacks keys itself: it is one who fits.
        lacking = (f == 0) & (patterns.matches_in(table.some(~whole)) > 0)
        f[lacking] = 1
        F[lacking] = cells.weight_sum.sum() / cells.n
    there = f > 0
    asked = replace(patterns, records=f, weight_sum=F).some(there)
    risk = np.zeros(len(f))
    if original.model is None:
        risk[there] = risk_of(original.method, asked.records, asked.weight_sum)
    else:
        risk[there] = risk_of_claims(asked, original.model)
    return f, F, risk
