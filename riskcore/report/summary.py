"""The figures that a summary and every report ask of an assessment."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import asdict, replace
from typing import Any

from riskcore.assessment.assessment import Assessment
from riskcore.assessment.beside import which_to_believe
from riskcore.assessment.reported_figures import Row, code, table, text_of
from riskcore.assessment.unit_risk import THRESHOLDS, at_targets
from riskcore.assessment.weight_figures import WeightFigures, weight_remarks
from riskcore.data.source import Source
from riskcore.protection.records.protected_records import finite as finite


def summary(
    assessment: Assessment,
    *,
    thresholds: Sequence[float] = (),
    rate: float | None = None,
    household_rate: float | None = None,
    unsafe: int | None = None,
    top: int = 10,
) -> dict[str, Any]:
    """Return the figures of an assessment as plain values, ready for JSON."""
    figures = {**assessment.figures}
    households = figures.pop("households")
    weights = assessment.weights
    figures["weights"] = None if weights is None else weights.to_dict()
    figures["sampling_fraction"] = assessment.sampling_fraction
    figures["weight_remarks"] = remarks_of(assessment)
    figures |= at_targets(assessment, thresholds, rate, unsafe)
    household_rate = rate if household_rate is None else household_rate
    if households is not None:
        figures["households"] = {
            **households,
            **_household_goals(assessment, thresholds or THRESHOLDS, household_rate),
        }
    if assessment.numeric is not None:
        figures["numeric"] = assessment.numeric.to_dict()
    figures["riskiest"] = [
        {str(name): code(value) for name, value in row.items()}
        for row in assessment.riskiest(top)
    ]
    return figures


def remarks_on(
    source: Source, weight: Hashable | None, fraction: float | None
) -> list[str]:
    """Return what is doubtful in the weights of a source."""
    if weight is None:
        return weight_remarks(None, fraction)
    column = source.weights(weight)
    weights = WeightFigures.of(column, math.fsum(column))
    return weight_remarks(replace(weights, scale=source.scale), fraction)


def remarks_of(assessment: Assessment) -> list[str]:
    """Return what is doubtful in the model, and in the weights if they matter."""
    model = assessment.model
    if model is None and assessment.by_model is not None:
        model = assessment.by_model.model
    remarks = [] if model is None or not model.caution else [f"{model.caution}."]
    if assessment.weights is None and assessment.model is not None:
        return remarks
    weights = weight_remarks(assessment.weights, assessment.sampling_fraction)
    return [*remarks, *weights]


def _household_goals(
    assessment: Assessment, thresholds: Sequence[float], rate: float | None
) -> dict[str, Any]:
    """Return the unsafe households at thresholds, and the threshold for a rate."""
    groups = assessment.households
    assert groups is not None
    figures: dict[str, Any] = {
        "unsafe_households": [
            {
                "threshold": float(t),
                "households": assessment.unsafe_household_count(t),
                "records": groups.distribution.unsafe_count(t),
            }
            for t in thresholds
        ]
    }
    if rate is not None:
        threshold = assessment.household_threshold(rate=rate)
        figures["for_rate"] = {
            "rate": rate,
            "threshold": finite(threshold),
            "households": assessment.unsafe_household_count(threshold),
        }
    return figures


def stage_figures(
    assessment: Assessment,
    threshold: float | None,
    household_threshold: float | None,
    unsafe: int | None,
    k: int | None = None,
    *,
    beside: bool = True,
) -> dict[str, Any]:
    """Return the figures of a stage at its thresholds, perhaps of the model beside."""
    figures = {**(assessment.figures if beside else assessment.counts)}
    if unsafe is not None:
        figures["unsafe_records"] = unsafe
    if k is not None:
        figures["below_k"] = asdict(assessment.below(k))
    if threshold is not None:
        figures |= {
            "threshold": threshold,
            "at_risk_threshold": assessment.unsafe_count(threshold),
            "capped_rate": assessment.distribution.capped_rate(threshold),
        }
    groups = assessment.households
    if household_threshold is not None and groups is not None:
        records = groups.distribution.unsafe_count(household_threshold)
        figures |= {
            "household_threshold": household_threshold,
            "unsafe_households": assessment.unsafe_household_count(household_threshold),
            "records_in_unsafe_households": records,
        }
    return figures


def figure_rows(by_stage: Sequence[dict[str, Any]]) -> list[Row]:
    """Return the table of the figures of stages, as `stage_figures` returns them."""
    return table([*by_stage], "page")


def model_view(figures: dict[str, Any]) -> dict[str, str]:
    """Return what the model beside the weights says, and which of them to believe."""
    expected, uniques = "expected_reidentifications", "population_uniques"
    return {
        "believe": which_to_believe(figures) if "by_model" in figures else "",
        "by_weights": text_of(expected, figures, "page"),
        "by_model": text_of(f"by_model.{expected}", figures, "page"),
        "uniques": text_of(f"by_model.{uniques}", figures, "page"),
    }
