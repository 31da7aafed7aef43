"""The settings of the search of the best release: ladders, what is lost, how long."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, TypedDict, get_args

from riskcore.common import text_numbers
from riskcore.common.settings import (
    TEXT,
    ByColumn,
    Choice,
    Number,
    array,
    either,
    table,
)
from riskcore.data.recoding_words import is_rule

Measure: TypeAlias = Literal["granularity", "entropy", "discernibility", "blanks"]
MEASURES: tuple[Measure, ...] = get_args(Measure)


class Ladders(ByColumn):
    """The recodings of each of some keys from fine to coarse, or a hierarchy's file."""

    form = table(
        either(TEXT, array(TEXT, "a list of rules from fine to coarse")),
        "a table of ladders by column",
    )
    names_files = True

    def argument(self, plain: Any, folder: Path) -> Any:
        """Return the ladders, whose files are found."""
        return {name: _ladder(rules, folder) for name, rules in plain.items()}


def _ladder(rules: Any, folder: Path) -> Any:
    """Return the rules of a ladder, or the path of its hierarchy."""
    if isinstance(rules, str):
        return str(folder / rules.removeprefix("hierarchy:"))
    return [_rule(rule, folder) for rule in rules]


def _rule(rule: str, folder: Path) -> str:
    """Return a rule in words, whose file is found."""
    kind, _, words = rule.partition(":")
    return f"{kind}:{folder / words}" if kind == "hierarchy" and is_rule(rule) else rule


class Importance(ByColumn):
    """What each of some keys counts, 1 for the others."""

    form = table(
        {"type": "number", "exclusiveMinimum": 0, "title": "a number above 0"},
        "a table of numbers by column",
    )

    def argument(self, plain: Any, folder: Path) -> Any:
        """Return the numbers, also of texts."""
        return {
            name: text_numbers.number(x) if isinstance(x, str) else x
            for name, x in plain.items()
        }

    def refuse_wrong(self, name: str, value: Any) -> None:
        """Refuse what are not numbers above 0."""
        from riskcore.common import arguments

        super().refuse_wrong(name, value)
        for column, number in value.items():
            arguments.number_in(f"{name} of {column!r}", number, "(0, inf)", "a number")


LADDERS = Ladders(
    help="recodings of each key from fine to coarse, or the file of a hierarchy; keys "
    "without one get what their values suggest"
)


class BestSettings(TypedDict, total=False):
    """How the best release is sought."""

    loss: Annotated[
        Measure,
        Choice(
            default="granularity",
            choices=MEASURES,
            help="what a release loses: the share of a key's values that a group "
            "covers (granularity, default), the share of its information (entropy), "
            "the share of the records that become alike (discernibility), or blanks "
            "alone, as if recoding cost nothing",
        ),
    ]
    price: Annotated[
        float,
        Number(
            within="[1, inf)",
            unit="a price",
            default=1.0,
            metavar="PRICE",
            help="what a blank costs; 1, the default, is the loss of a whole value",
        ),
    ]
    importance: Annotated[
        Mapping[Any, float] | None,
        Importance(
            metavar="KEY=NUMBER", help="what each key counts in the loss (default 1)"
        ),
    ]
    time: Annotated[
        float | None,
        Number(
            within="(0, inf)",
            unit="a number of seconds",
            metavar="SECONDS",
            help="seconds after which the search ends with the best found so far",
        ),
    ]
