"""The settings of `assess` and `check`, and the settings that functions share.

Types that take time to load are in quotes: parsing a command does not need them.
"""

from collections.abc import Hashable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypedDict

from riskcore.common.settings import (
    FRACTION,
    GOALS,
    KEY_SETS,
    MODEL,
    MODEL_OR_FILE,
    NAME,
    NAMES,
    NUMBER,
    PATH,
    TOLERANCES,
    WHOLE,
    Setting,
)

if TYPE_CHECKING:
    from riskcore.assessment.goals import KOfSets

Method: TypeAlias = Literal["exact", "series7", "franconi"]
Level: TypeAlias = Literal["record", "household"]

WEIGHTS, BOTH, AUTO, LATENT_CLASS = "weights", "both", "auto", "latent-class"
# The populations by which the risk is that of the weights.
BY_WEIGHTS = (WEIGHTS, BOTH)
_LEVEL = (
    "what to count: records (default), or households, one row for each --household; "
    "its members must agree in the keys and the weight, and "
)
_POPULATION = (
    "how to estimate the number of people a cell stands for: by the weights, with the "
    "latent-class model beside them where it says something else ({both}); by the one "
    "of the two to believe, which is the model where records are alone in their cell "
    "({auto}); or by a model fitted to the keys, latent-class or log-linear"
)
_MISSING = (
    "what a missing key matches: any value, as in sdcMicro (wildcard, default) or "
    "mu-Argus (argus), or only missing keys (category); or refuse the file (refuse)"
)

KEYS = Setting(
    kind=KEY_SETS,
    metavar="COLUMN",
    help="key variables: what an intruder may know about a person",
)
WEIGHT = Setting(
    kind=NAME,
    metavar="COLUMN",
    help="column of sampling weights, > 0; by default the weight that mu-Argus "
    "metadata declare",
)
HOUSEHOLD = Setting(
    kind=NAME,
    metavar="COLUMN",
    help="column of household ids, for household risks",
)
METHOD = Setting(
    default="exact",
    help="how to compute the individual risk: exact (default), or by the formulas of "
    "mu-Argus (series7) or sdcMicro (franconi)",
)
MISSING = Setting(
    default="wildcard",
    choices=("wildcard", "argus", "category", "refuse"),
    help=_MISSING,
)
ALPHA = Setting(
    default=1.0,
    kind=FRACTION,
    within="[0, 1]",
    metavar="SHARE",
    help="with --missing wildcard: how much a record with missing keys counts in the "
    "cells of other records, 0 to 1 (default 1)",
)
SAMPLING_FRACTION = Setting(
    kind=FRACTION,
    within="(0, 1]",
    unit="a share of the population",
    metavar="SHARE",
    help="the share of the population that was sampled, such as 0.1%. Without weights, "
    "each record counts for 1/SHARE people; with weights, the two are compared",
)
K = Setting(
    kind=GOALS,
    metavar="K",
    help="k-anonymity: at least K records must share the keys of each record (its f, "
    "counted by the rule for missing keys); one number, or one for each --keys. It "
    "applies in addition to all other rules",
)
CLUSTER = Setting(
    kind=NAME,
    metavar="COLUMN",
    help="with a model of the population: the sampling unit that records were drawn "
    "in, such as the PSU or the area (default: the household, if there is one). Its "
    "records are alike; only records of different clusters say how uneven cells are",
)
SAMPLING_STRATA = Setting(
    kind=NAMES,
    metavar="COLUMN",
    help="with a model of the population: the strata in which clusters were drawn, "
    "for the intervals",
)
SUBSETS = Setting(
    kind=WHOLE,
    metavar="M",
    help="replace each set of keys by all combinations of M of its keys; each one must "
    "be safe by itself",
)
STRATA = Setting(
    kind=NAMES,
    metavar="COLUMN",
    help="count within the groups of these columns, which are never blanked",
)
ORDERED = Setting(
    default=(),
    kind=NAMES,
    metavar="COLUMN",
    help="sensitive variables of numbers; closeness takes their order into account. "
    "Otherwise all values are equally far from each other",
)
MISSING_SENSITIVE = Setting(
    default="refuse",
    choices=("refuse", "category", "ignore"),
    help="how to treat missing values of sensitive variables: refuse the file "
    "(default), as one more value (category), or leave out these records (ignore)",
)
NUMERIC = Setting(
    default=(),
    kind=NAMES,
    metavar="COLUMN",
    help="columns of numbers that an intruder may know: count the records that are "
    "unique by each, by all, and by all with the keys",
)
TOLERANCE = Setting(
    kind=TOLERANCES,
    metavar="KEY=AMOUNT",
    help="keys of numbers that an intruder knows only roughly: a record matches others "
    "within 2 units by age=2, within 5 % of its own number by income=5%",
)
PERSON = Setting(
    kind=NAME,
    metavar="COLUMN",
    help="for a panel, a file with one record for each person and wave: the column of "
    "person ids; give --wave, too. The risk is then that of persons of whom an "
    "intruder knows the keys in several waves",
)
WAVE = Setting(
    kind=NAME,
    metavar="COLUMN",
    help="for a panel: the column of waves, such as the year",
)
KNOWN_WAVES = Setting(
    kind=WHOLE,
    metavar="M",
    help="for a panel: how many waves of a person the intruder knows (default: all "
    "waves of the person)",
)
WAVE_CHOICE = Setting(
    default="average",
    choices=("average", "worst"),
    help="which M waves the intruder knows: M waves at random (average, default), or "
    "for each person those with the largest risk (worst)",
)
TARGET = Setting(
    default=(),
    kind=NAMES,
    metavar="COLUMN",
    help="columns that an intruder wants to learn of a person with known keys: guess "
    "them from the released file, for the people of ORIGINAL and for others",
)
KIND_OF_L = Setting(
    default="distinct",
    choices=("distinct", "entropy", "recursive"),
    help="the definition of l that --l refers to (default distinct)",
)


def _limit(unit: str, metavar: str, what: str) -> Setting:
    """Return a limit of a rule of `check`, between 0 and 1."""
    return Setting(
        kind=FRACTION, within="[0, 1]", unit=unit, metavar=metavar, help=what
    )


def level(consequence: str) -> Setting:
    """Return the choice between counting records and counting households."""
    return Setting(default="record", help=_LEVEL + consequence)


# The population of `assess`, which may be a file.
_ASSESSED = Setting(
    default=BOTH,
    metavar="MODEL",
    kind=MODEL_OR_FILE,
    help=_POPULATION.format(both="both, default; weights without it", auto=AUTO)
    + "; or a FILE of the population: its keys and a column population_frequency",
)
# The population by which a file is judged.
POPULATION = Setting(
    default=AUTO,
    metavar="MODEL",
    kind=MODEL,
    choices=(AUTO, WEIGHTS, LATENT_CLASS, "log-linear"),
    help=_POPULATION.format(both=WEIGHTS, auto=f"{AUTO}, default"),
)


class ReportSettings(TypedDict, total=False):
    """The reports of `assess` and `protect`."""

    report: Annotated[
        str | Path | None,
        Setting(
            kind=PATH,
            metavar="HTML",
            help="report for internal use: one page for any browser, with a risk chart "
            "whose threshold can be moved. Its exact risks reveal weights of single "
            "records, so only you can read the file",
        ),
    ]
    report_public: Annotated[
        str | Path | None,
        Setting(
            kind=PATH,
            metavar="HTML",
            help="report for publication: classes of at least 3 records and rounded "
            "figures, which reveal nothing about a single record",
        ),
    ]
    report_title: Annotated[
        str | None,
        Setting(
            metavar="TEXT",
            help="title of the reports; the default title of --report names the file, "
            "the default title of --report-public does not",
        ),
    ]


class AssessSettings(TypedDict, total=False):
    """The settings of `assess`."""

    level: Annotated[
        Level, level("--output gives each record the results of its household")
    ]
    population: Annotated[Any, _ASSESSED]
    sampling_fraction: Annotated[float | None, SAMPLING_FRACTION]
    method: Annotated[Method, METHOD]
    missing: Annotated[str, MISSING]
    alpha: Annotated[float, ALPHA]
    cluster: Annotated[Hashable | None, CLUSTER]
    strata: Annotated[Iterable[Hashable] | None, SAMPLING_STRATA]
    numeric: Annotated[Iterable[Hashable], NUMERIC]
    tolerance: Annotated["Mapping[Hashable, float | str] | None", TOLERANCE]
    person: Annotated[Hashable | None, PERSON]
    wave: Annotated[Hashable | None, WAVE]
    known_waves: Annotated[int | None, KNOWN_WAVES]
    wave_choice: Annotated[str, WAVE_CHOICE]


class CheckSettings(TypedDict, total=False):
    """The settings of `check`: the rules, and how they are counted."""

    level: Annotated[Level, level("the rules are on households")]
    k: Annotated["KOfSets | None", K]
    subsets: Annotated[int | None, SUBSETS]
    strata: Annotated[Iterable[Hashable] | None, STRATA]
    max_risk: Annotated[
        float | None,
        _limit("a risk", "RISK", "largest individual risk allowed for a record"),
    ]
    max_rate: Annotated[
        float | None,
        _limit(
            "a share of the records",
            "RATE",
            "largest re-identification rate allowed, such as 0.001 or 0.1%",
        ),
    ]
    max_household_risk: Annotated[
        float | None,
        _limit(
            "a risk", "RISK", "largest risk allowed for a household, with --household"
        ),
    ]
    max_household_rate: Annotated[
        float | None,
        _limit(
            "a share of the records",
            "RATE",
            "largest household re-identification rate allowed, with --household",
        ),
    ]
    min_population: Annotated[
        float | None,
        Setting(
            kind=WHOLE,
            within="(0, inf)",
            unit="a number of people",
            metavar="N",
            help="smallest population allowed for an area, by the sum of the weights",
        ),
    ]
    area: Annotated[
        Iterable[Hashable] | None,
        Setting(
            kind=NAMES,
            metavar="COLUMN",
            help="columns that together define the areas",
        ),
    ]
    sensitive: Annotated[
        Iterable[Hashable] | None,
        Setting(
            kind=NAMES,
            metavar="COLUMN",
            help="sensitive variables, for --l and --t",
        ),
    ]
    l: Annotated[  # noqa: E741
        float | None,
        Setting(
            kind=NUMBER,
            metavar="L",
            help="smallest l-diversity allowed for a cell, for each sensitive variable",
        ),
    ]
    kind: Annotated[str, KIND_OF_L]
    t: Annotated[
        float | None,
        Setting(
            kind=FRACTION,
            metavar="T",
            help="t-closeness: largest distance allowed between a cell and the file",
        ),
    ]
    ordered: Annotated[Iterable[Hashable], ORDERED]
    missing_sensitive: Annotated[str, MISSING_SENSITIVE]
    missing: Annotated[str, MISSING]
    population: Annotated[Any, POPULATION]
    method: Annotated[Method, METHOD]
    sampling_fraction: Annotated[float | None, SAMPLING_FRACTION]
    max_right_claims: Annotated[
        float | None,
        _limit(
            "a share of the claims",
            "SHARE",
            "with the original: largest share allowed of the claims that a record is a "
            "certain person to be right",
        ),
    ]
    max_claim_excess: Annotated[
        float | None,
        _limit(
            "a share of the claims",
            "SHARE",
            "with the original: the same beyond chance, without claims that would be "
            "right about other people",
        ),
    ]
    target: Annotated[Iterable[Hashable], TARGET]
    max_guess_excess: Annotated[
        float | None,
        _limit(
            "a share of the guesses",
            "SHARE",
            "with the original and a target: by how much the share of right guesses "
            "may be larger for the people of ORIGINAL than for others, such as 2 %",
        ),
    ]
    max_copy_excess: Annotated[
        float | None,
        _limit(
            "a share of the records",
            "SHARE",
            "with the original: largest share allowed of records that look like copies "
            "of its records, beyond chance",
        ),
    ]
