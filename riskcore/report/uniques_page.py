"""The report of estimates of population uniques as one page of HTML."""

from __future__ import annotations

import math

from riskcore.assessment.uniques import Estimate, UniquesEstimates
from riskcore.common.html import all_digits, interval_drawing, known, readable
from riskcore.report.provenance import Provenance
from riskcore.report.templating import render

_SIZES = 8
_SCALE = "sample uniques that are unique in the population"


def uniques_page(
    uniques: UniquesEstimates,
    *,
    title: str = "Population uniques",
    provenance: Provenance | None = None,
) -> str:
    """Return the report of estimates of population uniques as HTML."""
    provenance = provenance or Provenance()
    truth = math.nan if uniques.truth is None else float(uniques.truth)
    marks = [(x.model, x.tau, x.low, x.high) for x in uniques.estimates]
    drawing, end = interval_drawing(marks, _SCALE, truth)
    sizes = uniques.fitted_sizes(_SIZES)
    return render(
        "uniques.html",
        title=title,
        verdict=f"Smallest AIC: {uniques.best}; {uniques.advice}."
        if uniques.best
        else "",
        found=uniques,
        level=f"{100 * uniques.level:.4g}",
        estimates=[_row(estimate) for estimate in uniques.estimates],
        reasons=[
            (estimate.model, estimate.reason)
            for estimate in uniques.estimates
            if estimate.reason
        ],
        drawing=drawing,
        end=end,
        sizes=range(1, _SIZES + 1),
        cells=[
            (name, [_shown(x) for x in counts.tolist()])
            for name, counts in sizes.items()
        ],
        facts=list(provenance.facts()),
        command=provenance.shown_command,
    )


def _row(estimate: Estimate) -> list[tuple[str, str]]:
    """Return the cells of a row, each rounded and with all digits."""
    return [
        _shown(estimate.tau),
        _span(estimate.low, estimate.high),
        _span(estimate.wide_low, estimate.wide_high),
        (known(estimate.aic, ",.1f"),) * 2,
        _shown(estimate.population_uniques),
    ]


def _shown(x: float) -> tuple[str, str]:
    return ("\u2013",) * 2 if math.isnan(x) else (readable(x), all_digits(x))


def _span(low: float, high: float) -> tuple[str, str]:
    if math.isnan(low):
        return ("\u2013",) * 2
    return (f"{readable(low)} to {readable(high)}",) * 2
