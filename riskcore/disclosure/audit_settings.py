"""The settings of `audit`."""

from collections.abc import Hashable, Iterable
from typing import Annotated, Any, TypedDict

from riskcore.assessment.assess_settings import (
    AUTO,
    MISSING,
    SAMPLING_FRACTION,
    TARGET,
    Model,
)
from riskcore.common.settings import Column, Columns, Flag

NUMERIC = Columns(
    default=(),
    help="columns of numbers that an intruder knows as well: link released records to "
    "those of ORIGINAL by keys and numbers together",
)
RECORD_BY = Column(
    help="column of record ids in both files, if each released record stands for one "
    "of ORIGINAL, such as after swapping: only its own original makes a claim right"
)
POPULATION = Model(
    default=AUTO,
    metavar="MODEL",
    help="how to estimate the number of people with equal keys: by the weights, or "
    "where they tell little by a latent-class model (auto, default); by the weights "
    "alone (weights); by a model fitted to the keys, latent-class or log-linear; or by "
    "a FILE of the population: its keys and a column population_frequency",
)
MEASURES = Flag(
    help="also compute the measures that others report: replicated uniques, DiSCO, "
    "TCAP, distances to the closest record, singling out and linkability"
)


class AuditSettings(TypedDict, total=False):
    """The settings of `audit`."""

    target: Annotated[Iterable[Hashable], TARGET]
    numeric: Annotated[Iterable[Hashable], NUMERIC]
    record_by: Annotated[Hashable | None, RECORD_BY]
    population: Annotated[Any, POPULATION]
    sampling_fraction: Annotated[float | None, SAMPLING_FRACTION]
    missing: Annotated[str, MISSING]
    measures: Annotated[bool, MEASURES]
