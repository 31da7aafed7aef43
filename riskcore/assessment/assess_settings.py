"""The settings of `assess` and `check`, and the settings that functions share.

Types that take time to load are in quotes: parsing a command does not need them.
"""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    TypeAlias,
    TypedDict,
    get_args,
)

from riskcore.common import text_numbers
from riskcore.common.settings import (
    NAMES,
    NULL,
    NUMBER,
    WHOLE,
    ByColumn,
    Choice,
    Column,
    Columns,
    File,
    Setting,
    Shape,
    Share,
    Whole,
    array,
    either,
    gathered,
)

if TYPE_CHECKING:
    from riskcore.assessment.goals import KOfSets

_K: Shape = {**WHOLE, "minimum": 1}
_PEOPLE: Shape = {**NUMBER, "exclusiveMinimum": 0, "title": "a number in (0, inf)"}

Method: TypeAlias = Literal["exact", "series7", "franconi"]
Level: TypeAlias = Literal["record", "household"]

WEIGHTS, BOTH, AUTO, LATENT_CLASS = "weights", "both", "auto", "latent-class"
# The populations by which the risk is that of the weights.
BY_WEIGHTS = (WEIGHTS, BOTH)
# In place of the goal of a set of keys without one: every file has k = 1.
NO_GOAL = 1
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


class KeySets(Columns):
    """One set of key variables, or several."""

    form = either(NAMES, array(NAMES, "a list of lists of names"))
    recorded_form = array(NAMES, "a list of lists of names")

    def restored(self, member: str, plain: Any) -> Any:
        """Return the sets as tuples."""
        from riskcore.assessment.goals import key_sets

        return key_sets(plain)


class Goals(Setting):
    """One k for all sets of keys, or one for each."""

    nargs = "+"
    form = either(_K, array(_K, "a list of whole numbers"))
    recorded_form = array(either(WHOLE, NULL), "a list of whole numbers or null")
    of_text: ClassVar[Any] = staticmethod(text_numbers.whole)

    def value(self, option: str, words: Any, columns: Iterable[Any]) -> Any:
        """Return the number, or the numbers in the order of the sets."""
        return words[0] if words is not None and len(words) == 1 else words

    def argument(self, plain: Any, folder: Path) -> Any:
        """Return one number, or a list: 1, which every file has, stands for no goal."""
        if isinstance(plain, list):
            return [None if k == NO_GOAL else k for k in plain]
        return self.of_text(plain) if isinstance(plain, str) else plain

    def rule(self, value: Any) -> Any:
        """Return the numbers, 1 for no goal."""
        if not isinstance(value, list | tuple):
            return value
        return [NO_GOAL if k is None else k for k in value]


class People(Goals):
    """One least number of people for all sets of keys, or one for each."""

    form = either(_PEOPLE, array(_PEOPLE, "a list of numbers in (0, inf)"))
    recorded_form = array(either(_PEOPLE, NULL), "a list of numbers or null")
    of_text = staticmethod(text_numbers.number)


class LeastL(Setting):
    """A least l: a number, or the definition of l and a number, such as entropy:3."""

    form = either(
        NUMBER,
        {
            "type": "string",
            "pattern": "^(distinct|entropy|recursive):[0-9.]+$",
            "title": "a definition and a number such as 'entropy:3'",
        },
    )

    def argument(self, plain: Any, folder: Path) -> Any:
        """Return the number, or the definition with its number."""
        is_number = isinstance(plain, str) and ":" not in plain
        return text_numbers.number(plain) if is_number else plain

    def refuse_wrong(self, name: str, value: Any) -> None:
        """Refuse other definitions, and numbers below 1."""
        from riskcore.assessment.goals import l_parts

        l_parts(value)

    def resolved(self, name: str, value: Any) -> Any:
        """Return the number as a record and a rule can hold it."""
        value = super().resolved(name, value)
        return self.rule(value)

    def rule(self, value: Any) -> Any:
        """Return the definition and its number in plain digits."""
        from riskcore.assessment.goals import l_parts

        if not isinstance(value, str):
            return value
        definition, number = l_parts(value)
        return f"{definition}:{number:f}".rstrip("0").rstrip(".")


@dataclass(frozen=True, eq=False, kw_only=True)
class Model(Choice):
    """A population by the name of a model, without choices also by a file."""

    choices: tuple[str, ...] = ()

    def refuse_wrong(self, name: str, value: Any) -> None:
        """Accept models and frames."""

    def argument(self, plain: Any, folder: Path) -> Any:
        """Return a name, or the path of a file, which has a suffix."""
        is_file = not self.choices and Path(plain).suffix
        return folder / plain if is_file else plain


class Tolerances(ByColumn):
    """An amount for each of some keys, or a share of its value: 5%."""

    def gathered(self, option: str, pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
        """Return the amount of each key; a share stays as it is written."""
        amounts: dict[str, Any] = {}
        for key, text in gathered(option, pairs).items():
            try:
                amounts[key] = text if text.endswith("%") else float(text)
            except ValueError:
                raise ValueError(
                    f"{option} {key}={text}: give a number, or a share such as 5%"
                ) from None
        return amounts


KEYS = KeySets(help="key variables: what an intruder may know about a person")
WEIGHT = Column(
    help="column of sampling weights, 0 or more; by default the weight that mu-Argus "
    "metadata declare"
)
HOUSEHOLD = Column(help="column of household ids, for household risks")
HOUSEHOLD_ID = Columns(
    help="columns that name a household together, the last of them in its place"
)
METHOD = Choice(
    choices=get_args(Method),
    default="exact",
    help="how to compute the individual risk: exact (default), or by the formulas of "
    "mu-Argus (series7) or sdcMicro (franconi)",
)
MISSING = Choice(
    default="wildcard",
    choices=("wildcard", "argus", "category", "refuse"),
    help="what a missing key matches: any value, as in sdcMicro (wildcard, default) or "
    "mu-Argus (argus), or only missing keys (category); or refuse the file (refuse)",
)
ALPHA = Share(
    default=1.0,
    within="[0, 1]",
    metavar="SHARE",
    help="with --missing wildcard: how much a record with missing keys counts in the "
    "cells of other records, 0 to 1 (default 1)",
)
SAMPLING_FRACTION = Share(
    within="(0, 1]",
    unit="a share of the population",
    metavar="SHARE",
    help="the share of the population that was sampled, such as 0.1%. Without weights, "
    "each record counts for 1/SHARE people; with weights, the two are compared",
)
REFERENCE = File(
    metavar="FILE",
    help="for people who were not drawn but took part: a sample of the population, or "
    "a table of its people by some keys, to weigh them; --weight is its column",
)
K = Goals(
    metavar="K",
    help="k-anonymity: at least K records must share the keys of each record (its f, "
    "counted by the rule for missing keys); one number, or one for each --keys. It "
    "applies in addition to all other rules",
)
CLUSTER = Column(
    help="with a model of the population: the sampling unit that records were drawn "
    "in, such as the PSU or the area (default: the household, if there is one). Its "
    "records are alike; only records of different clusters say how uneven cells are"
)
SAMPLING_STRATA = Columns(
    help="with a model of the population: the strata in which clusters were drawn"
)
SUBSETS = Whole(
    metavar="M",
    help="replace each set of keys by all combinations of M of its keys; each one must "
    "be safe by itself",
)
STRATA = Columns(
    help="count within the groups of these columns, which are never blanked"
)
ORDERED = Columns(
    default=(),
    help="sensitive variables of numbers; closeness takes their order into account. "
    "Otherwise all values are equally far from each other",
)
MISSING_SENSITIVE = Choice(
    default="refuse",
    choices=("refuse", "category", "ignore"),
    help="how to treat missing values of sensitive variables: refuse the file "
    "(default), as one more value (category), or leave out these records (ignore)",
)
NUMERIC = Columns(
    default=(),
    help="columns of numbers that an intruder may know: count the records that are "
    "unique by each, by all, and by all with the keys",
)
TOLERANCE = Tolerances(
    metavar="KEY=AMOUNT",
    help="keys of numbers that an intruder knows only roughly: a record matches others "
    "within 2 units by age=2, within 5 % of its own number by income=5%",
)
PERSON = Column(
    help="for a panel, a file with one record for each person and wave: the column of "
    "person ids; give --wave, too. The risk is then that of persons of whom an "
    "intruder knows the keys in several waves"
)
WAVE = Column(help="for a panel: the column of waves, such as the year")
KNOWN_WAVES = Whole(
    metavar="M",
    help="for a panel: how many waves of a person the intruder knows (default: all "
    "waves of the person)",
)
WAVE_CHOICE = Choice(
    default="average",
    choices=("average", "worst"),
    help="which M waves the intruder knows: M waves at random (average, default), or "
    "for each person those with the largest risk (worst)",
)
TARGET = Columns(
    default=(),
    help="columns that an intruder wants to learn of a person with known keys: guess "
    "them from the released file, for the people of ORIGINAL and for others",
)


def _limit(what: str, unit: str = "a risk", metavar: str = "RISK") -> Setting:
    """Return a limit of a rule of `check`, between 0 and 1."""
    return Share(within="[0, 1]", unit=unit, metavar=metavar, help=what)


_of_records = partial(_limit, unit="a share of the records", metavar="RATE")
_of_claims = partial(_limit, unit="a share of the claims", metavar="SHARE")


def level(consequence: str) -> Setting:
    """Return the choice between counting records and counting households."""
    return Choice(default="record", choices=get_args(Level), help=_LEVEL + consequence)


# The population of `assess`, which may be a file.
_ASSESSED = Model(
    default=BOTH,
    metavar="MODEL",
    help=_POPULATION.format(both="both, default; weights without it", auto=AUTO)
    + "; or a FILE of the population: its keys and a column population_frequency",
)
# The population by which a file is judged.
POPULATION = Model(
    default=AUTO,
    metavar="MODEL",
    choices=(AUTO, WEIGHTS, LATENT_CLASS, "log-linear"),
    help=_POPULATION.format(both=WEIGHTS, auto=f"{AUTO}, default"),
)


class AssessSettings(TypedDict, total=False):
    """The settings of `assess`."""

    level: Annotated[
        Level, level("--output gives each record the results of its household")
    ]
    population: Annotated[Any, _ASSESSED]
    sampling_fraction: Annotated[float | None, SAMPLING_FRACTION]
    reference: Annotated[Any, REFERENCE]
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
        float | None, _limit("largest individual risk allowed for a record")
    ]
    max_rate: Annotated[
        float | None,
        _of_records("largest re-identification rate allowed, such as 0.001 or 0.1%"),
    ]
    max_household_risk: Annotated[
        float | None, _limit("largest risk allowed for a household, with --household")
    ]
    max_household_rate: Annotated[
        float | None,
        _of_records(
            "largest household re-identification rate allowed, with --household"
        ),
    ]
    min_population: Annotated[
        float | None,
        Whole(
            within="(0, inf)",
            unit="a number of people",
            metavar="N",
            help="smallest population allowed for an area, by the sum of the weights",
        ),
    ]
    area: Annotated[
        Iterable[Hashable] | None,
        Columns(help="columns that together define the areas"),
    ]
    values: Annotated[
        Mapping[Any, str] | None,
        ByColumn(
            metavar="COLUMN=PATTERN",
            help="the pattern, a regular expression, that each value of a column must "
            "match as a whole: YEAR='[0-9]{4}'",
        ),
    ]
    sensitive: Annotated[
        Iterable[Hashable] | None, Columns(help="sensitive variables, for --l and --t")
    ]
    l: Annotated[  # noqa: E741
        float | str | None,
        LeastL(
            metavar="L",
            help="smallest l-diversity allowed for a cell, for each sensitive "
            "variable: a number of distinct values, entropy:L or recursive:L",
        ),
    ]
    t: Annotated[
        float | None,
        Share(
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
        _of_claims(
            "with the original: largest share allowed of the claims that a record is a "
            "certain person to be right"
        ),
    ]
    max_claim_excess: Annotated[
        float | None,
        _of_claims(
            "with the original: the same beyond chance, without claims that would be "
            "right about other people"
        ),
    ]
    target: Annotated[Iterable[Hashable], TARGET]
    max_guess_excess: Annotated[
        float | None,
        _limit(
            "with the original and a target: by how much the share of right guesses "
            "may be larger for the people of ORIGINAL than for others, such as 2 %",
            unit="a share of the guesses",
            metavar="SHARE",
        ),
    ]
    max_copy_excess: Annotated[
        float | None,
        _limit(
            "with the original: largest share allowed of records that look like copies "
            "of its records, beyond chance",
            unit="a share of the records",
            metavar="SHARE",
        ),
    ]
