"""The settings of `protect`: what is safe, and how the file is made safe.

Types that take time to load are in quotes: nobody needs them to parse a command.
"""

import os
from collections.abc import Hashable, Iterable, Mapping
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    TypeAlias,
    TypedDict,
    get_args,
)

from riskcore.assessment.assess_settings import (
    CLUSTER,
    HOUSEHOLD,
    KEYS,
    KNOWN_WAVES,
    METHOD,
    PERSON,
    POPULATION,
    SAMPLING_FRACTION,
    STRATA,
    SUBSETS,
    WAVE,
    WEIGHT,
    K,
    LeastL,
    Level,
    Method,
    People,
    level,
)
from riskcore.common.settings import (
    ORDER,
    ORDERED,
    ByColumn,
    Choice,
    Columns,
    File,
    Flag,
    ReportSettings,
    Setting,
    Share,
    settings_of,
)
from riskcore.protection.settings.kinds import (
    Costs,
    Ids,
    Recodings,
    Related,
    Roles,
    Treatments,
)

if TYPE_CHECKING:
    from riskcore.assessment.goals import KOfSets
    from riskcore.data.recode import Recoding

CostsOfKeys: TypeAlias = (
    Literal["fewest", "equal", "entropy"]
    | Mapping[Any, float]
    | Mapping[Any, float | Mapping[Any, float]]
)
Suppression: TypeAlias = Literal["exact", "argus"]
Ties: TypeAlias = Literal["rule", "secret"]


def _risk(what: str) -> Setting:
    return Share(within="(0, 1]", unit="a risk", metavar="RISK", help=what)


def _rate(what: str) -> Setting:
    return Share(within="(0, 1]", unit="a fraction", metavar="RATE", help=what)


class GoalSettings(TypedDict, total=False):
    """What is safe."""

    k: Annotated["KOfSets | None", K]
    subsets: Annotated[int | None, SUBSETS]
    strata: Annotated[Iterable[Hashable] | None, STRATA]
    level: Annotated[
        Level, level("a key blanked for a household is blanked for all its members")
    ]
    threshold: Annotated[float | None, _risk("risk that no record may reach")]
    rate: Annotated[
        float | None,
        _rate(
            "re-identification rate, such as 0.001 or 0.1%, from which the threshold "
            "is found"
        ),
    ]
    household_threshold: Annotated[
        float | None, _risk("risk that no household may reach")
    ]
    household_rate: Annotated[
        float | None,
        _rate(
            "re-identification rate of households, from which the household threshold "
            "is found"
        ),
    ]
    min_population: Annotated[
        "KOfSets | float | None",
        People(
            metavar="N",
            help="smallest number of people, by the sum of the weights, that may have "
            "the keys of a record; one number, or one for each --keys",
        ),
    ]
    l: Annotated[  # noqa: E741
        float | str | None,
        LeastL(
            metavar="L",
            help="smallest l-diversity of each sensitive column (--role "
            "COLUMN=sensitive) among the records that have the keys of a record: a "
            "number of distinct values, entropy:L or recursive:L",
        ),
    ]
    t: Annotated[
        float | None,
        Share(
            metavar="T",
            help="t-closeness: largest distance allowed between the sensitive values "
            "of these records and those of the file. All values are equally far from "
            "each other, unless the role is sensitive:ordered",
        ),
    ]


class PopulationSettings(TypedDict, total=False):
    """How the people of a cell are counted."""

    population: Annotated[Any, POPULATION]
    sampling_fraction: Annotated[float | None, SAMPLING_FRACTION]
    cluster: Annotated[Hashable | None, CLUSTER]
    missing: Annotated[
        str,
        Choice(
            default="wildcard",
            choices=("wildcard", "argus", "category"),
            help="what a missing key matches before protection: any value, as in "
            "sdcMicro (wildcard, default) or mu-Argus (argus), or only missing keys "
            "(category). A blanked key stands for any value",
        ),
    ]
    method: Annotated[Method, METHOD]


class PanelSettings(TypedDict, total=False):
    """Persons over waves."""

    person: Annotated[Hashable | None, PERSON]
    wave: Annotated[Hashable | None, WAVE]
    known_waves: Annotated[int | None, KNOWN_WAVES]


class SafetySettings(GoalSettings, PopulationSettings, PanelSettings, total=False):
    """What is safe, and how it is counted."""


class ColumnSettings(TypedDict, total=False):
    """The roles of columns, and the leaks that are accepted."""

    roles: Annotated[
        Mapping[Any, str] | None,
        Roles(
            choices=("numeric", "sensitive", ORDERED, "identifier", "harmless"),
            option="role",
            metavar="COLUMN=ROLE",
            help="roles of columns that are not keys. numeric: known to an intruder as "
            "a number, to some precision. sensitive: not known to an intruder "
            "(sensitive:ordered: numbers whose order counts for --t). "
            "identifier: left out of the safe file. harmless: of no use to an "
            "intruder. *=harmless:REASON calls all other columns harmless without "
            "examining them; the verdict says so",
        ),
    ]
    accept: Annotated[
        Mapping[Any, str] | None,
        ByColumn(
            metavar="COLUMN=REASON",
            help="leaks that may stay open, with the reason: "
            "INCOME='the register is not public'. *=REASON accepts all columns, "
            f"{ORDER}=REASON what the order of the records reveals. The reasons stand "
            "in the private record and the internal report",
        ),
    ]


class SuppressionSettings(TypedDict, total=False):
    """Which keys are blanked."""

    cost: Annotated[
        CostsOfKeys | None,
        Costs(
            metavar="COST",
            help="cost of blanking a key. fewest: all keys cost the same; among equal "
            "choices the value whose category has the most records is taken, so that "
            "rare categories stay, then the first key by name. "
            "equal: all keys cost the same; among equal choices the first in --keys is "
            "taken, as in mu-Argus. entropy: the entropy of the key. KEY=NUMBER ...: "
            "the given costs, and 50 for other keys; KEY=never is never blanked. "
            "KEY[CATEGORY]=NUMBER ...: the cost of a category after recoding, and 50 "
            "for the others of the key. The default is the costs in mu-Argus metadata, "
            "otherwise fewest",
        ),
    ]
    household_keys: Annotated[
        Iterable[Hashable] | None,
        Columns(
            help="keys that are equal within a household; they are blanked for all "
            "members or for none"
        ),
    ]
    related: Annotated[
        Mapping[Any, Iterable[Hashable]] | Literal["derived"] | None,
        Related(
            metavar="KEY=COLUMN",
            help="columns to blank together with a key; derived: all columns that "
            "determine a key or that a key determines, such as recodes and copies",
        ),
    ]
    against_insiders: Annotated[
        bool,
        Flag(
            help="blank more values, until no blanked key can be told by someone who "
            "knows all people of the file, from who is left over once complete records "
            "account for the others"
        ),
    ]
    suppression: Annotated[
        Suppression,
        Choice(
            choices=get_args(Suppression),
            default="exact",
            help="which keys to blank: the cheapest (exact, default), or the keys "
            "mu-Argus would choose (argus)",
        ),
    ]
    ties: Annotated[
        Ties,
        Choice(
            choices=get_args(Ties),
            default="rule",
            help="how to decide between keys of equal cost. rule (default): by the "
            "rule of --cost, the same each time. secret: by random bits that only the "
            "private record holds, so that the order of the keys reveals nothing about "
            "a blanked value. The number of blanked values is the same, but with "
            "--cost fewest rare categories are no longer spared",
        ),
    ]


# The settings of writing that decide what leaks.
LAYOUT = ("drop", "shuffle", "renumber", "guard_formulas")


class ProtectSettings(SafetySettings, ColumnSettings, SuppressionSettings, total=False):
    """The settings of `protect`: what is safe, and how the file is made safe."""

    recodings: Annotated[
        "Mapping[Any, Recoding | str | os.PathLike[str]] | None",
        Recodings(
            option="recode",
            metavar="VARIABLE=RULE",
            help="recode variables before suppression: AGE=top:85, REGION=truncate:2",
        ),
    ]
    treat: Annotated[
        Mapping[Any, Any] | None,
        Treatments(
            metavar="COLUMN=RULE",
            help="treat numbers, weights and categories before suppression: "
            "INCOME=top:1%, JOB=pram:0.8; a column with several rules gets them one "
            "after the other",
        ),
    ]


OUTPUT = File(metavar="FILE", help="the safe file to write")


class WriteSettings(ReportSettings, total=False):
    """The settings of `Protected.write`."""

    overwrite: Annotated[bool, Flag(help="replace existing files")]
    allow_unsafe: Annotated[
        bool, Flag(help="write the file even if records remain unsafe")
    ]
    drop: Annotated[
        Iterable[str],
        Columns(
            default=(),
            help="columns to leave out of the safe file, such as names and addresses",
        ),
    ]
    shuffle: Annotated[
        bool,
        Flag(
            help="write the records in a random order, with households together (apart "
            "if their ids are dropped); only the private record holds the order. In a "
            "sorted file, neighbors reveal what was suppressed"
        ),
    ]
    renumber: Annotated[
        Iterable[str] | None,
        Ids(
            help="columns that get new ids in random order (default: the --household "
            "or --person column or the one declared by mu-Argus metadata); without a "
            "COLUMN all ids stay as they are"
        ),
    ]
    guard_formulas: Annotated[
        bool,
        Flag(
            help="in CSV, write an apostrophe before text that a spreadsheet would run "
            "as a formula: text that begins with = + - or @ and is not a number"
        ),
    ]
    secret: Annotated[
        str | None, Setting(help="the secret of an earlier record, for the same order")
    ]
    record: Annotated[
        str | Path | None,
        File(
            metavar="JSON",
            help="private record of the protection to write (default: the name of "
            "--output with .private.json added)",
        ),
    ]
    public_record: Annotated[
        str | Path | None,
        File(
            option="record_public",
            metavar="JSON",
            help="also write a record for publication: methods and counts only",
        ),
    ]
    form: Annotated[
        str | Path | None,
        File(
            metavar="HTML",
            help="form to sign, for internal use: what was asked and found, accepted "
            "leaks, digests of the files, and lines for names, on a page to print",
        ),
    ]


# What a private record holds of the settings, by name; subsets are sets of keys there.
RECORDED: Mapping[str, Setting] = {
    "keys": KEYS,
    "weight": WEIGHT,
    "household": HOUSEHOLD,
    **{
        name: setting
        for name, setting in settings_of(ProtectSettings).items()
        if name != "subsets"
    },
}
