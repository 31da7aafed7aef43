"""The individual risk of cells, by each method."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.assessment.assess_settings import Method
from riskcore.common.threads import over
from riskcore.common.warn import warn
from riskcore.common.words import counted
from riskcore.core import published_forms
from riskcore.core.risk import individual
from riskcore.data.cells import Cells, Totals, sampling_fractions
from riskcore.data.partition import CHUNK

Risks = NDArray[np.float64]
Mask = NDArray[np.bool_]
Ends = tuple[float, float]  # of an interval

RECORD_COLUMNS = (
    "sample_frequency",
    "population_frequency",
    "sampling_fraction",
    "individual_risk",
    "household_risk",
)
UNIQUE_COLUMN = "population_unique_probability"  # added with a model of the population


class PopulationBelowSample(UserWarning):
    """The weights of a cell add up to less than its records: F < f, p > 1."""


def cell_risk(cells: Cells, method: Method) -> Risks:
    """Return the risk of each cell; it is 1/f where F < f."""
    warn_below(cells.totals)
    return risk_in(cells, method)


def risk_in(cells: Cells, method: Method) -> Risks:
    """Return the risk of each cell, without a warning of those with F < f."""
    if method == "franconi":
        _refuse_between_branches(cells)
    return risk_of(method, cells.sample_frequency, cells.population_frequency)


def warn_below(totals: Totals) -> None:
    """Warn if there are cells with F < f."""
    if totals.below:
        warn(
            f"in {totals.below:,} of {counted(totals.cells, 'cell')} "
            f"({totals.records_below:,} of {counted(totals.records, 'record')}) the "
            "weights add to less than the records (F < f); their risk is taken as 1/f",
            PopulationBelowSample,
        )


def risk_of(method: Method, f: NDArray[Any], F: Risks) -> Risks:
    """Return the individual risk by the given method; it is 1/f where F < f."""
    if method != "exact":
        f = f.astype(np.float64, copy=False)
        if method == "franconi":
            # Missing keys count by chance; franconi has no branch there: the risk is 0.
            f = np.where(f < 2.0, 1.0, f)
        F = np.maximum(F, f)
        risks: Risks = getattr(published_forms, method)(f, f / F)
        return risks
    risk = np.empty(len(f))

    def compute(start: int, stop: int) -> None:
        # A block at a time: new memory for all of f and F takes as long as the risk.
        for first in range(start, stop, CHUNK):
            part = slice(first, min(first + CHUNK, stop))
            x = f[part].astype(np.float64, copy=False)
            individual.individual_risk_from_frequencies(
                x, np.maximum(F[part], x), out=risk[part]
            )

    over(len(f), compute)
    return risk


def results_of(
    method: Method, f: NDArray[np.int64], F: Risks
) -> dict[str, NDArray[Any]]:
    """Return the ``RECORD_COLUMNS`` of cells, without the household risk."""
    fraction = sampling_fractions(f, F)
    risk = risk_of(method, f.astype(np.float64), F)
    return dict(zip(RECORD_COLUMNS, (f, F, fraction, risk), strict=False))


def _refuse_between_branches(cells: Cells) -> None:
    """Refuse 1 < f < 2, for which sdcMicro's code has no branch and gives no risk."""
    f = cells.sample_frequency
    between = (f > 1) & (f < 2)
    if between.any():
        raise ValueError(
            "method='franconi' is not defined for 1 < f < 2, which "
            f"alpha={cells.alpha} gives {cells.records[between].sum()} of {cells.n} "
            "records"
        )
