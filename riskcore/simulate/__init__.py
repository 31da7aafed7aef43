"""Simulated populations, samples of them, and survey files.

A population, or a sample, is an array of cell frequencies: the number of records in
each cell. Every draw comes from the given `numpy.random.Generator`.
"""

from __future__ import annotations

from riskcore.simulate.households import household_survey, household_survey_labels
from riskcore.simulate.populations import (
    dirichlet_multinomial_population,
    pitman_population,
    zipf_population,
)
from riskcore.simulate.samples import Uniques, design_weights, sample, uniques
from riskcore.simulate.survey import microdata

__all__ = [
    "Uniques",
    "design_weights",
    "dirichlet_multinomial_population",
    "household_survey",
    "household_survey_labels",
    "microdata",
    "pitman_population",
    "sample",
    "uniques",
    "zipf_population",
]
