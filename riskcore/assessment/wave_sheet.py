"""The figures of a panel as facts and tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from riskcore.assessment.reported_figures import METHOD_NAMES, target_parts
from riskcore.common.sheet import Facts, Part, Sheet
from riskcore.common.words import counted, on_one_line, printable

_ADVICE = (
    "many unique persons: the weights alone say too little; compare the population "
    "model latent-class"
)


def sheet_of(figures: dict[str, Any]) -> Sheet:
    """Return the figures of `WaveAssessment.to_dict` as facts and tables."""
    parts = [*target_parts(figures, "persons", [("risk", "persons")])]
    if figures.get("by_known_waves"):
        parts.append(_by_waves(figures["by_known_waves"]))
    return Sheet("Assessment of a panel", _facts(figures), parts)


def _facts(figures: dict[str, Any]) -> Facts:
    unique = figures["persons_unique"]
    names = [on_one_line(name) for name in figures["waves"]]
    least, most = figures["choices_of_a_person"]
    how = "a random choice" if figures["wave_choice"] == "average" else "the worst"
    waves, mean = figures["known_waves"], unique["in_the_average_choice"]
    waves = "all of a person" if waves is None else f"{waves} of a person, {how}"
    expected = figures["expected_reidentifications"]
    return [
        ("records", f"{figures['records']:,}"),
        ("persons", f"{figures['persons']:,}"),
        ("keys", printable(", ".join(figures["keys"]))),
        ("waves", f"{len(names)}: {names[0]} to {names[-1]}"),
        ("waves known to an intruder", waves),
        (
            "choices of a person",
            f"{most:,}" if least == most else f"{least:,} to {most:,}",
        ),
        ("persons unique, in the average choice", f"{mean:,.6g}"),
        ("persons unique in all choices", f"{unique['in_all_choices']:,}"),
        ("persons unique in no choice", f"{unique['in_no_choice']:,}"),
        ("k-anonymity (smallest f)", f"{figures['k_anonymity']:,}"),
        ("population", f"{figures['population']:,.8g}"),
        ("individual risk", METHOD_NAMES[figures["method"]]),
        ("re-identification rate", f"{100 * figures['reidentification_rate']:.6g} %"),
        ("expected re-identifications", f"{expected:,.6g}"),
        *_model_facts(figures),
        *_facts_beside(figures),
        ("maximum risk", f"{figures['max_risk']:.6g}"),
    ]


def _facts_beside(figures: dict[str, Any]) -> Facts:
    """Return what a sheet says of a model beside the weights."""
    if not figures.get("weights_tell_little"):
        return []
    by_model = figures.get("by_model")
    if by_model is None:
        return [("advice", _ADVICE)]
    if by_model["failure"]:
        said = f"neither: the model has no estimate ({by_model['failure']}), and the "
        return [("  which to believe", f"{said}weights may say far too little")]
    alone = figures["persons_unique"]["in_the_average_choice"] / figures["persons"]
    expected = f"{by_model['expected_reidentifications']:,.6g}"
    return [
        ("  by the latent-class model", expected),
        ("  population uniques by it", f"{by_model['population_uniques']:,.6g}"),
        (
            "  which to believe",
            f"the model: {100 * alone:.3g} % of the persons are alone with their "
            "keys, and weights cannot tell how rare they are",
        ),
        *_caution(by_model),
    ]


def _caution(figures: dict[str, Any]) -> Facts:
    """Return why a model may be far off, if there is a reason."""
    return [("  caution", figures["caution"])] if figures["caution"] else []


def _model_facts(figures: dict[str, Any]) -> Facts:
    """Return what a sheet says of the model."""
    if "population_model" not in figures:
        return []
    fitted = counted(figures["choices_fitted"], "choice")
    if figures["choices_left_out"]:
        every = sum(figures[f"choices_{which}"] for which in ("fitted", "left_out"))
        fitted = f"{figures['choices_fitted']:,} of {every:,} choices, at random"
    if figures["choices_by_weights"]:
        fitted += f"; by the weights {figures['choices_by_weights']:,}, of few persons"
    weights = figures["expected_reidentifications_by_weights"]
    return [
        ("  by the weights alone", f"{weights:,.6g}"),
        ("expected population uniques", f"{figures['population_uniques']:,.6g}"),
        ("population model", f"{figures['population_model']}, {fitted}"),
        *_caution(figures),
    ]


def _by_waves(rows: Sequence[dict[str, Any]]) -> Part:
    table = [["known waves", "persons unique", "expected re-identifications", "rate"]]
    table += [
        [
            f"{row['known_waves']}",
            f"{row['persons_unique']:,.6g}",
            f"{row['expected_reidentifications']:,.6g}",
            f"{100 * row['reidentification_rate']:.4g} %",
        ]
        for row in rows
    ]
    return Part("By the number of known waves", rows=table, sides=">")
