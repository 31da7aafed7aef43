"""Assess a panel, a file with one record for each person and wave."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from riskcore.assessment.assess_settings import (
    AUTO,
    BOTH,
    LATENT_CLASS,
    WEIGHTS,
    Method,
)
from riskcore.assessment.cell_risk import UNIQUE_COLUMN, PopulationBelowSample
from riskcore.assessment.wave_choices import refuse_too_many
from riskcore.assessment.wave_matches import risks_of
from riskcore.assessment.waves import RECORD_COLUMNS, WaveAssessment
from riskcore.common import arguments
from riskcore.common.progress import Lines
from riskcore.common.warn import warn
from riskcore.common.words import counted
from riskcore.data.cells import refuse_missing, refuse_taken
from riskcore.data.coded import CodedRecords, doubtful_codes
from riskcore.data.engines.registry import engine_of
from riskcore.data.files.reading import DoubtfulCodes
from riskcore.data.missing_by_design import with_designs
from riskcore.data.panel import Panel
from riskcore.data.sample_design import SampleDesign
from riskcore.data.source import Source


class Waves(NamedTuple):
    """The columns of a panel, and what an intruder knows of it."""

    person: Hashable
    wave: Hashable
    known: int | None
    choice: str


def waves_of(asked: Mapping[str, Any], household: Hashable | None) -> Waves | None:
    """Return the settings of a panel, or None; refuse what lacks the other part."""
    person, wave = asked["person"], asked["wave"]
    if person is None and wave is None:
        for name, default in (("known_waves", None), ("wave_choice", "average")):
            if asked.get(name, default) != default:
                option = name.replace("_", "-")
                raise ValueError(f"{name} (--{option}) needs person and wave")
        return None
    if person is None or wave is None:
        role, lacking = ("wave", "person") if person is None else ("person", "wave")
        raise ValueError(
            f"{role}={asked[role]!r} needs {lacking}, too: a panel has a record for "
            "each person and wave"
        )
    known_waves = asked["known_waves"]
    if known_waves is not None:
        known_waves = arguments.whole_from("known_waves", known_waves, 1, 64)
    _refuse_together(asked, household)
    return Waves(person, wave, known_waves, asked.get("wave_choice", "average"))


def _refuse_together(asked: Mapping[str, Any], household: Hashable | None) -> None:
    """Refuse settings that a panel does not go with."""
    others = {
        "household": household,
        "level": None if asked["level"] == "record" else asked["level"],
        "numeric": asked["numeric"] or None,
        "tolerance": asked.get("tolerance") or None,
        "reference": asked.get("reference"),
        "alpha": None if asked["alpha"] == 1 else asked["alpha"],
    }
    for name, value in others.items():
        if value is not None:
            raise ValueError(
                f"person and wave cannot be combined with {name}; leave out {name}, or "
                "assess one wave by itself"
            )


def check_wave_roles(
    waves: Waves, keys: Sequence[Hashable], weight: Hashable | None
) -> None:
    """Refuse columns of a panel with a second role."""
    for role, name in (("person", waves.person), ("wave", waves.wave)):
        if name in keys:
            raise ValueError(f"column {name!r} is both a key and the {role}")
        if name == weight:
            raise ValueError(f"column {name!r} is both the weight and the {role}")
    if waves.person == waves.wave:
        raise ValueError(f"column {waves.person!r} is both the person and the wave")
    refuse_taken(keys, [*RECORD_COLUMNS, UNIQUE_COLUMN])


def assess_waves(
    source: Source,
    keys: Sequence[Hashable],
    weight: Hashable | None,
    waves: Waves,
    asked: Mapping[str, Any],
    progress: Lines,
) -> WaveAssessment:
    """Assess a panel, see `assess`; its settings are checked."""
    check_wave_roles(waves, keys, weight)
    population = asked["population"]
    _refuse_population(population)
    cluster = asked["cluster"]
    strata = arguments.names("strata", asked["strata"] or [])
    if source.path is not None:
        progress(f"reading {source.path}")
    roles = [weight, waves.person, waves.wave, cluster, *strata]
    data, _ = source.read([*keys, *roles], weight)
    engine = engine_of(data)
    if engine is not None:
        raise engine.refuse_single("person")
    coded = CodedRecords.of(data, keys, weight, scale=source.scale)
    coded = coded.sampled(asked["sampling_fraction"])
    columns, missing = coded.keys(keys), asked["missing"]
    for line in doubtful_codes(columns, None):
        warn(line, DoubtfulCodes)
    if missing == "refuse":
        refuse_missing(keys, [column.missing for column in columns], coded.n)
    coded = with_designs(coded, keys, missing)
    progress("finding persons")
    panel = Panel.of(data, coded, waves.person, waves.wave, waves.known)
    refuse_too_many(panel)
    _warn_below(panel)
    method: Method = asked["method"]
    risks = risks_of(coded, panel, missing, method, progress)
    assessed = tuple(keys), coded, panel, risks, method, missing, waves.choice
    design = None if cluster is None else SampleDesign.of(data, cluster, strata)
    beside = population == BOTH
    assessment = WaveAssessment(data, *assessed, design=design, beside=beside)
    if population == LATENT_CLASS or (
        population == AUTO and assessment.weights_tell_little
    ):
        return replace(assessment, by_model=assessment.fitted(progress))
    return assessment


def _refuse_population(population: Any) -> None:
    """Refuse models of the population, except latent classes."""
    names = (BOTH, WEIGHTS, AUTO, LATENT_CLASS)
    if not (isinstance(population, str) and population in names):
        raise ValueError(
            f"population={arguments.shown(population)}: with person and wave use "
            f"'{LATENT_CLASS}', which is fitted to the histories of persons, or one of "
            f"{', '.join(map(repr, names[:-1]))}"
        )


def _warn_below(panel: Panel) -> None:
    """Warn if there are persons with a weight below 1."""
    below = int(np.count_nonzero(panel.weight < 1.0))
    if below:
        warn(
            f"{counted(below, 'person')} of {len(panel):,} have a weight below 1; "
            "where the weights of matching persons add to less than their number "
            "(F < f), the risk is taken as 1/f",
            PopulationBelowSample,
        )
