"""Assess a file: from its records to the risk of each record and of the file."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, NamedTuple, Unpack

from riskcore.assessment.assess_settings import (
    AUTO,
    BOTH,
    BY_WEIGHTS,
    LATENT_CLASS,
    WEIGHTS,
    AssessSettings,
    Method,
)
from riskcore.assessment.assess_waves import assess_waves, waves_of
from riskcore.assessment.assessment import (
    Assessment,
    HeldAssessment,
    HouseholdAssessment,
)
from riskcore.assessment.beside import Beside
from riskcore.assessment.cell_risk import RECORD_COLUMNS, cell_risk, warn_below
from riskcore.assessment.exact_matches import code_numbers, numeric_risk
from riskcore.assessment.reference import Reference
from riskcore.assessment.weight_figures import WeightFigures
from riskcore.common import arguments
from riskcore.common.progress import Lines, silent
from riskcore.common.settings import complete, takes
from riskcore.common.words import counted
from riskcore.core.risk.household import households
from riskcore.data.cells import (
    Cells,
    check_design,
    check_missing,
    check_names,
    tabulate_coded,
)
from riskcore.data.coded import CodedRecords
from riskcore.data.columns import CodedColumn, Records, key_names
from riskcore.data.engines.base import Counted
from riskcore.data.engines.registry import engine_of
from riskcore.data.files.intake import Intake
from riskcore.data.files.reading import Reading, with_household
from riskcore.data.frame_types import DataT
from riskcore.data.household_rows import HouseholdRows
from riskcore.data.sample_design import SampleDesign
from riskcore.data.source import Source
from riskcore.data.tolerance import Tolerance, tolerances
from riskcore.data.wildcard import WILDCARDS


@takes(AssessSettings)
def assess(
    data: DataT,
    keys: Iterable[Hashable],
    weight: Hashable | None = None,
    household: Hashable | None = None,
    *,
    reading: Reading | None = None,
    progress: Lines | None = None,
    **settings: Unpack[AssessSettings],
) -> Assessment[DataT]:
    """Assess the re-identification risk of a file of survey microdata.

    Parameters
    ----------
    data : frame, mapping or path
        Records, one per row: any eager frame that narwhals takes (pandas, polars,
        pyarrow, ...), a mapping of column names to arrays, or the path of a CSV,
        Parquet, Arrow or mu-Argus file (with its ``.rda`` beside it); only the named
        columns are read; also a folder or a pattern of Parquet files. Or data on an
        engine, which counts them: a lazy frame of polars, a relation of duckdb, a table
        of ibis, a data frame of PySpark or dask, a dataset of pyarrow. The engine
        returns two numbers for each cell, and the cells themselves only when they are
        used; arguments that need single records are refused.
    keys : iterable of column names
        The key variables, known to an intruder.
    weight : column name, optional
        Sampling weights, 0 or more. By default those that the metadata of a mu-Argus
        file declare; otherwise those of ``sampling_fraction``; otherwise every weight
        is 1: the file is taken to be the whole population and the risk of a record is
        1/f.
    household : column name, or list of them, optional
        Household of each record, of any type and in any order, for household risks.
    level : {"record", "household"}
        What to count: each record, or each household once, with its weight. Members of
        a household must agree in the keys, such as size and tenure, and in the weight.
        A record of the result is then a household, except in ``records``: see
        `HouseholdAssessment`. This is the first pass over a file of households and
        persons; `riskcore.protect` takes the same argument.
    population : {"both", "weights", "auto", ...}, CellModel or frame
        What determines the population frequency F of a cell. "weights": only its
        weights, as in the sources. "both" (default): the same risk, and where many
        records are alone in their cell, the figures of the latent-class model beside
        it if they differ by a quarter, see ``Assessment.by_model``. "auto": the one of
        the two to believe, which is the model where it has an estimate. "latent-class",
        "log-linear": a model of the cells, fitted to these data with its defaults, see
        `riskcore.models.LatentClass` and `riskcore.models.LogLinear`. A model that has
        been fitted. Or a frame of the population itself, with the keys and a column
        ``population_frequency``, see `riskcore.models.KnownPopulation`.
    sampling_fraction : float, optional
        The share of the population that was sampled, in (0, 1]. Without weights each
        record, with ``level="household"`` each household, gets the weight
        1/``sampling_fraction``. With weights the two are compared in the summary.
    reference : frame, mapping or path, optional
        For data without weights, of people who were not drawn but took part: a sample
        of the population with the keys and the column ``weight``, or without it if
        ``sampling_fraction`` says which share took part; or a table of the number of
        people, ``weight``, for each combination of some of the keys. Records get
        weights by a logistic model of who takes part, which assumes that, among people
        with equal keys, nothing else decides that, and that everybody might.
    method : {"exact", "series7", "franconi"}
        How to compute the individual risk: exactly (default), or with the formula of
        mu-Argus or sdcMicro (`riskcore.forms`), to compare with their results.
    missing : {"wildcard", "argus", "category", "refuse"}
        How to treat missing key values: let them match any value, take missing as one
        more category, or refuse the file, see `tabulate`. The summary says how many
        records have missing keys.
    alpha : float
        With ``missing="wildcard"``, how much a record with missing keys counts in the
        cells of other records, in [0, 1], see `tabulate`.
    cluster : column name, optional
        For a model that is fitted, the unit of sampling that records were drawn in, of
        any type: the primary sampling unit, area or class. Its people are alike, so the
        overdispersion is found from records of different clusters, and intervals from
        fits without some clusters. By default the household, if there is one.
    strata : iterable of column names, optional
        The strata in which clusters were drawn.
    numeric : iterable of column names, optional
        Columns of numbers that an intruder may know, too, such as income: how many
        records are alone by each one, by all, and by all with the keys, see
        ``Assessment.numeric``. A missing number is a value of its own.
    tolerance : mapping of key to float or str, optional
        Keys of numbers that an intruder knows only roughly: {"age": 2, "income":
        "5%"}. A record then matches those within this amount, in the units of the key,
        or within this share of its own number, which is the one the intruder knows. f
        and F count all records that are equal in the other keys and within the
        tolerance in these. With 0 only equal numbers match, but a model takes them in
        their order, see `riskcore.models.LatentClass`.
    person : column name, optional
        For a panel, a file with one record for each person and wave: the id of the
        person, of any type and in any order. The risk is then that of persons of whom
        an intruder knows the keys in several waves, see `WaveAssessment`.
    wave : column name, optional
        For a panel, the wave of each record, such as the year; at most 64 waves.
    known_waves : int, optional
        How many waves of a person the intruder knows; by default all waves in which the
        person took part. Of a person who took part in fewer, all are known.
    wave_choice : {"average", "worst"}
        Which waves are known: as many at random, for the mean of the risk over all
        choices of the person's waves (default), or for each person the choice with the
        largest risk.
    reading : Reading, optional
        How to read the file, if ``data`` is a path: encoding, delimiter, decimal mark,
        missing codes, metadata.
    progress : callable, optional
        Called with a line of text at each step.

    Returns
    -------
    Assessment
        With ``level="household"`` a `HouseholdAssessment`, with ``person`` and ``wave``
        a `WaveAssessment`. A type checker knows the type of ``records`` from the data,
        of a path a table of pyarrow.

    Warns
    -----
    PopulationBelowSample
        If the weights of some cells add up to less than their records. Such a cell gets
        p = 1 and the risk 1/f, because the population includes the sample.
    DoubtfulCodes
        If categories of a key look like missing values (``NA``), or differ only in
        blanks or leading zeros.
    LineBreaksInFields
        If quoted fields of a CSV file contain line breaks.

    Raises
    ------
    KeyError
        If a column does not exist.
    TypeError
        If a column has an unusable type, such as text weights or unordered keys; or if
        ``household``, ``cluster``, ``numeric`` or ``person`` is given for data on an
        engine; or if a numeric column does not hold numbers.
    ValueError
        If an argument, or a combination of them, is invalid; there are no records or no
        keys; a column has two roles; a key has the name of one of ``RECORD_COLUMNS``;
        key values, weights or household ids are missing, or members of a household
        differ in a key or the weight with ``level="household"``; or weights are
        negative, infinite, all 0, or look as if they had implied decimals.
    OSError
        If the file cannot be read.

    Notes
    -----
    CASC (2004) deliverable 1.2-D3, sections 3 to 5.

    In a panel, others match a person in a choice of waves if they have equal keys in
    all its waves. Somebody without a record in one of them does not match, which is the
    careful side. The weight of a person is the mean over the person's records.

    Examples
    --------
    >>> import riskcore
    >>> data = {"sex": ["f", "m", "f"], "age": [31, 47, 31], "w": [10.0, 20.0, 15.0]}
    >>> result = riskcore.assess(data, ["sex", "age"], weight="w")
    >>> result.individual_risk.round(4)
    array([0.0679, 0.1577, 0.0679])
    >>> round(result.expected_reidentifications, 4)
    0.2934
    >>> result.risk_threshold(unsafe=1) <= result.max_risk
    True
    """
    say, asked = progress or silent, complete(AssessSettings, settings)
    level, population, method = asked["level"], asked["population"], asked["method"]
    missing, alpha = asked["missing"], asked["alpha"]
    fraction, cluster = asked["sampling_fraction"], asked["cluster"]
    numeric = arguments.names("numeric", asked["numeric"])
    if level == "household" and numeric:
        raise ValueError("numeric: numbers are of records; leave out level='household'")
    check_missing(missing, alpha)
    check_population(population, method)
    keys = key_names(keys)
    tolerance = checked_tolerance(asked["tolerance"], keys, population)
    reading, household = with_household(reading, household)
    source = Source.of(data, reading)
    weight = source.weight if weight is None else weight
    household = source.household_of(
        household, (*keys, weight, cluster, *(asked["strata"] or ())), asked["person"]
    )
    if level == "household" and household is None:
        raise ValueError("level='household' needs the household column")
    check_roles(keys, weight, household)
    reference, weight = Reference.of(source, weight, asked)
    waves = waves_of(asked, household)
    strata = check_design(keys, cluster, asked["strata"], household, weight)
    check_fitted(population, cluster, strata)
    if waves is not None:
        return assess_waves(source, keys, weight, waves, asked, say)  # type: ignore[return-value]
    check_numeric(numeric, keys, weight, household)
    if source.path is not None:
        say(f"reading {source.path}")
    data, intake = (in_batches(source, keys, weight, household, asked) or source).read(
        [*keys, *numeric, weight, household, cluster, *strata],
        weight,
        [*numeric, *tolerance],
    )
    engine = engine_of(data)
    if engine is not None and (numeric or reference.source):
        raise engine.refuse_single("numeric" if numeric else "reference")
    how = Counting(population, method, missing, alpha, intake, say, tolerance)
    counted_there = None
    if engine is not None and household is None and cluster is None:
        say(f"counting cells on {engine.name}")
        counted_there = engine.count(keys, weight, source.scale)
        weighs = fraction is None or weight is not None
        held = held_assessment(data, counted_there, how) if weighs else None
        if held is not None:
            return _with_weights(held, weight, counted_there, fraction)
    if household is not None:
        say("finding households")
    sampling: Any = {"scale": source.scale, "cluster": cluster, "strata": strata}
    coded = (
        CodedRecords.of(data, keys, weight, household, **sampling)
        if counted_there is None
        else CodedRecords.of_counted(counted_there)
    )
    if level == "record":
        numbers = code_numbers(Records.of(data), numeric) if numeric else []
        coded = reference.weigh(coded)
        assessment = _for_figures(assess_coded(data, coded, keys, how))
        assessment = _with_weights(assessment, weight, coded, fraction)
        return _with_numbers(assessment, coded, numbers)
    if cluster is None and not strata:
        coded = replace(coded, design=None)  # a household is one row
    return assess_households(data, coded, keys, weight, how, reference)


def in_batches(
    source: Source, keys: Any, weight: Any, household: Any, asked: Mapping[str, Any]
) -> Source | None:
    """Return a large file as an engine that counts it; None to read it at once."""
    single = "numeric", "cluster", "strata", "tolerance", "person"
    weighs = asked["sampling_fraction"] is None or weight is not None
    if not (weighs and household is None and _by_weights(asked["population"])):
        return None
    if asked["reference"] is not None or any(asked[name] for name in single):
        return None
    engine = source.in_batches([[*keys]], weight)
    return None if engine is None else Source.like(engine, source.reading)


def _for_figures(assessment: Assessment) -> Assessment:
    """Return an assessment whose model beside the weights is for figures alone."""
    if assessment.beside is None:
        return assessment
    return replace(assessment, beside=replace(assessment.beside, single=False))


def _with_numbers(
    assessment: Assessment,
    coded: CodedRecords,
    numbers: Sequence[CodedColumn],
) -> Assessment:
    """Return an assessment with the risk of numbers, if there are any."""
    if not numbers:
        return assessment
    risk = numeric_risk(coded, numbers, assessment.cells, assessment.method)
    return replace(assessment, numeric=risk)


class Counting(NamedTuple):
    """How the cells of records are counted and assessed, see `assess`."""

    population: Any
    method: Method
    missing: str
    alpha: float = 1.0
    intake: Intake | None = None
    progress: Lines = silent
    tolerance: Mapping[Hashable, Tolerance] | None = None


def held_assessment(
    data: Any, counted_there: Counted, how: Counting, above: float | None = None
) -> HeldAssessment | None:
    """Return the assessment of cells on their engine; None if they cannot stay."""
    if not _by_weights(how.population) or how.tolerance:
        return None
    lacking = any(counted_there.weighed.missing_keys)
    if how.missing in WILDCARDS and (how.alpha != 1.0 or lacking):
        return None  # records count in cells of others
    held = HeldAssessment.of(data, counted_there, how.method, how.missing, above=above)
    beside = _beside(how.population, held.cells, None, how.method)
    if _named(how.population, AUTO) and beside is not None and beside.needed:
        return None
    return replace(held, beside=beside)


def _by_weights(population: Any) -> bool:
    """Return whether the weights may give the risk."""
    return isinstance(population, Beside) or _named(population, *BY_WEIGHTS, AUTO)


def _named(population: Any, *names: str) -> bool:
    """Return whether a population is one of some names."""
    return isinstance(population, str) and population in names


def check_population(population: Any, method: str) -> None:
    """Refuse an invalid population, or a method that needs the weights."""
    if not _by_weights(population):
        from riskcore.assessment.population import check_model

        check_model(population, method)


def checked_tolerance(
    values: Any, keys: Iterable[Hashable], population: Any
) -> dict[Hashable, Tolerance]:
    """Return the tolerance of each key; refuse it if the population takes none."""
    tolerance = tolerances(values, keys)
    taken = _by_weights(population) or _named(population, LATENT_CLASS)
    if tolerance and not taken:
        raise ValueError(
            "tolerance: only the weights and population='latent-class' take numbers in "
            "their order; give one of these, or leave it out"
        )
    return tolerance


def check_fitted(
    population: Any, cluster: Hashable | None, strata: Sequence[Hashable] = ()
) -> None:
    """Refuse clusters and strata that no fit would use."""
    if cluster is None and not strata:
        return
    argument = "strata" if cluster is None else "cluster"
    if _named(population, WEIGHTS):
        raise ValueError(
            f"{argument}: by the weights alone it changes nothing; give another "
            "population, such as 'auto' (--population auto), or leave it out"
        )
    if not isinstance(population, str):
        raise ValueError(
            f"{argument}: the population is given, and nothing is fitted; for a model "
            f"of riskcore.models give {argument} to its fit"
        )


def assess_households(
    data: Any,
    coded: CodedRecords,
    keys: Sequence[Hashable],
    weight: Hashable | None,
    how: Counting,
    reference: Reference = Reference(None),  # noqa: B008
) -> HouseholdAssessment:
    """Assess a file in which each household counts as one record."""
    members = HouseholdRows.of_keys(coded, keys)
    rows = members.rows(data, keys)
    coded_rows = members.codes(coded, keys)
    if coded_rows.weights is not None:
        rows[weight] = coded_rows.weights
    coded_rows = reference.weigh(coded_rows)
    if coded.design is not None:
        coded_rows = replace(coded_rows, design=coded.design.some(members.first))
    assessment = assess_coded(rows, coded_rows, keys, how)
    assessment = _with_weights(assessment, weight, coded_rows, reference.fraction)
    values = {x.name: getattr(assessment, x.name) for x in fields(assessment)}
    return HouseholdAssessment(**values, members=members, given=data)


def _with_weights(
    assessment: Assessment,
    weight: Hashable | None,
    coded: CodedRecords | Counted,
    fraction: float | None,
) -> Assessment:
    """Return an assessment with what it tells of its weights."""
    figures = None
    if weight is not None or getattr(coded, "remarks", None):
        total = (assessment.cells_by_weights or assessment.cells).totals.population
        counted = coded if isinstance(coded, Counted) else coded.counted
        if isinstance(counted, Counted):
            figures = WeightFigures.on_engine(counted.weighed, total)
            figures = replace(figures, scale=counted.question.scale)
        elif isinstance(coded, CodedRecords) and coded.weights is not None:
            figures = WeightFigures.of(coded.weights, total)
            figures = replace(figures, scale=coded.scale, remarks=coded.remarks)
    return replace(assessment, weights=figures, sampling_fraction=fraction)


def assess_coded(
    data: Any,
    coded: CodedRecords,
    keys: Sequence[Hashable],
    how: Counting,
    *,
    kept: bool = False,
) -> Assessment:
    """Assess records whose columns are coded; ``kept``: the model decided before."""
    population, method, missing, alpha, intake, progress, tolerance = how
    progress("counting cells")
    cells = tabulate_coded(coded, keys, missing, alpha, intake, tolerance)
    model, unique, by_weights = None, None, None
    beside = _beside(population, cells, coded.design, method, kept=kept)
    if _named(population, AUTO) and beside is not None and beside.needed:
        progress(f"fitting the {LATENT_CLASS} model to {counted(len(cells), 'cell')}")
        population = beside.model or AUTO
    if _by_weights(population):
        progress(f"computing the risk of {counted(len(cells), 'cell')}")
        risk = cell_risk(cells, method)
    else:
        from riskcore.assessment.population import model_of, risks_of

        beside = None
        warn_below(cells.totals)
        model = model_of(population, keys, cells, progress, coded.design)
        progress(f"computing the risk of {counted(len(cells), 'cell')}")
        by_weights = cells
        risk, unique, cells = risks_of(model, by_weights)
    joint = None
    if coded.households is not None:
        progress("computing household risks")
        joint = households(risk[cells.inverse], coded.households)
    return Assessment(
        data, cells, risk, method, joint, model, unique, by_weights, beside=beside
    )


def _beside(
    population: Any,
    cells: Cells,
    design: SampleDesign | None,
    method: Method,
    *,
    kept: bool = False,
) -> Beside | None:
    """Return the model that decides by "auto", or is shown beside the weights."""
    if isinstance(population, Beside):
        return population
    # Other methods are for comparing formulas.
    wanted = _named(population, BOTH, AUTO) and method == "exact"
    return Beside(cells, design, kept) if wanted else None


def check_numeric(
    numeric: Sequence[Hashable],
    keys: Sequence[Hashable],
    weight: Hashable | None,
    household: Hashable | None,
) -> None:
    """Refuse columns of numbers that have another role, too, or appear twice."""
    for i, name in enumerate(numeric):
        if name in numeric[:i]:
            raise ValueError(f"numeric: {name!r} appears twice")
        if name in keys or name in (weight, household):
            raise ValueError(
                f"numeric: {name!r} is a key, the weight or the household; give "
                "columns of numbers without another role"
            )


def check_roles(
    keys: Iterable[Hashable], weight: Hashable | None, household: Hashable | None
) -> None:
    """Refuse columns with two roles among keys, weight and household."""
    check_names(keys, {"weight": weight, "household": household}, RECORD_COLUMNS)
    if weight is not None and weight == household:
        raise ValueError(f"column {weight!r} is both the weight and the household")
