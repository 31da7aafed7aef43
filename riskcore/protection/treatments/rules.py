"""The rule of a treatment: read from words, kept in records, told in words.

A rule is written ``kind:argument``, with ``=`` for what values become and further
``:words`` for its options, as in ``top:1%=mean`` or ``swap:5%:within=REGION``. Each
kind of treatment is a class in a module of its own, entered in `KINDS`.
"""

from __future__ import annotations

import csv
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from decimal import Decimal
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from riskcore.common import arguments
from riskcore.common.arrays import Floats, Integers
from riskcore.common.progress import Lines, silent
from riskcore.common.sums import rounded_sum
from riskcore.common.words import Number, sentence

Names = tuple[str, ...]
Kind = TypeVar("Kind", bound="type[Treatment]")

# The treatments by the word with which their rules begin.
KINDS: dict[str, type[Treatment]] = {}

# The modules that enter their kinds there. They are named, not imported above: the
# compiled code of their kernels must not depend on all that they import.
_MODULES = (
    "bands",
    "microaggregation",
    "noise",
    "pram",
    "raking",
    "rank_swap",
    "rounding",
    "shift",
    "swap_areas",
    "tails",
    "weights",
)

# A mean of fewer values tells too much of each.
FEWEST = 3

# Options that name columns.
_LISTS = ("categories", "within")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?")


@dataclass(frozen=True, slots=True, eq=False)
class Given:
    """What a treatment may use beside the values."""

    weights: Floats | None
    stratum: Integers | None  # of each record, if the rule has ``within``
    label: str  # the column and its rule, for messages
    names: Names  # the columns
    numbers: Callable[[int], NDArray[np.uint64]]  # secret ones, equal at each call
    household: Integers | None
    risk: Floats | None  # records with the largest are treated first
    tell: Callable[[dict[str, Any]], object]  # takes effects for the private record
    # Returns the codes and the labels of a column after the treatments so far.
    column: Callable[[str], tuple[NDArray[Any], NDArray[Any]]]
    say: Lines = silent  # told now and then what is being done

    def of(self, rows: NDArray[np.bool_]) -> Given:
        """Return what some records have."""
        weights = None if self.weights is None else self.weights[rows]
        household = None if self.household is None else self.household[rows]
        return replace(self, weights=weights, household=household)

    def mean(
        self, x: Floats, rows: NDArray[np.bool_], what: str, instead: str
    ) -> float:
        """Return the mean of some values; refuse it of few values or households.

        Two of three people in one household would know the value of the third.
        """
        few, units = self.of(rows), "values"
        count = int(np.count_nonzero(rows))
        if few.household is not None:
            count, units = len(np.unique(few.household)), "households"
        if count < FEWEST:
            raise ValueError(
                f"{self.label}: {what} has fewer than {FEWEST} {units}, so their mean "
                f"tells too much of each; take {instead}"
            )
        return mean_of(x[rows], few.weights)


@dataclass(frozen=True, slots=True)
class Treatment(ABC):
    """A rule for the values of a column, or of several columns together."""

    kind: ClassVar[str]  # the word with which the rule begins
    # Whether values are categories: text is given as codes, and comes back as text.
    categorical: ClassVar[bool] = False
    by_risk: ClassVar[bool] = False  # whether it needs the risk of each record
    last: ClassVar[bool] = False  # whether it comes after all others

    # Whether values that look like codes, such as 999998, are numbers.
    numbers: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        self.check()
        if "" in self.strata or len({*self.strata}) < len(self.strata):
            raise ValueError(
                f"within={'+'.join(self.strata)}: need different names of columns"
            )

    @property
    def columns(self) -> tuple[int, float]:
        """The fewest and the most columns that it takes together."""
        return 1, 1

    @property
    def strata(self) -> Names:
        """The columns within whose combinations it works."""
        return getattr(self, "within", ())

    def is_categorical(self, name: Hashable) -> bool:
        """Return whether a column of the rule is of categories."""
        return self.categorical or name in getattr(self, "categories", ())

    @property
    def needs(self) -> Names:
        """Other columns that it uses: its strata."""
        return self.strata

    @property
    def alters(self) -> bool:
        """Whether a value may become one that it does not imply, as with noise."""
        return False

    @property
    def random(self) -> bool:
        """Whether the treatment needs a secret."""
        return False

    @property
    def order(self) -> str | None:
        """The order of day and month in text, "" if not given; None for no dates."""
        return None

    @abstractmethod
    def check(self) -> None:
        """Refuse an argument out of its bounds."""

    @classmethod
    @abstractmethod
    def read(cls, argument: str) -> dict[str, Any]:
        """Return the fields that an argument such as ``5%`` says."""

    def argument(self) -> str:
        """Return the argument from which `read` makes equal fields: the first one."""
        first = next(entry.name for entry in fields(self) if not entry.kw_only)
        return shown_number(float(getattr(self, first)))

    @classmethod
    def parsed(cls, words: str) -> Self:
        """Return the rule of the words after its kind and the first colon."""
        argument, *options = words.split(":")
        allowed = [*cls._flags(), *(name for name in _LISTS if hasattr(cls, name))]
        return cls(**cls.read(argument), **_options_of(options, allowed))

    def in_strata(self) -> str:
        """Return " within REGION, SEX", or nothing without strata."""
        if not self.strata:
            return ""
        return sentence(" within {columns}", ", ".join(self.strata))

    @classmethod
    def _flags(cls) -> list[str]:
        """Return the fields that are options without a value."""
        flags = [entry.name for entry in fields(cls) if isinstance(entry.default, bool)]
        others = [flag for flag in flags if flag != "numbers"]
        return others if cls.categorical else [*others, "numbers"]

    @abstractmethod
    def describe(self, public: bool) -> str:
        """Return what the treatment does as a phrase, such as "rounded to 100".

        The public phrase has no number that may come from the data and cannot be seen
        in the treated file.
        """

    @abstractmethod
    def treated(self, values: Sequence[Floats], context: Given) -> list[Floats]:
        """Return the treated values of its columns; nan is missing, and stays so."""

    def __str__(self) -> str:
        flags = [name for name in self._flags() if getattr(self, name)]
        lists = {name: getattr(self, name, ()) for name in _LISTS}
        named = [f"{name}={'+'.join(words)}" for name, words in lists.items() if words]
        return ":".join([self.kind, self.argument(), *flags, *named])

    @classmethod
    def of(cls, column: str, rule: str | Treatment) -> Treatment:
        """Return the treatment of a rule in words; errors name the column."""
        if isinstance(rule, Treatment):
            return rule
        if not isinstance(rule, str):
            raise TypeError(
                f"treat {column}: need a rule in words such as 'round:100', not "
                f"{arguments.shown(rule)}"
            )
        kind, _, words = rule.strip().partition(":")
        try:
            return _class_of(kind).parsed(words)
        except ValueError as error:
            raise ValueError(f"treat {column}={rule}: {error}") from None


@dataclass(frozen=True, slots=True)
class ShareTreatment(Treatment):
    """A rule whose argument is a share, such as ``5%``."""

    share: float

    most: ClassVar[float] = 1.0

    def check(self) -> None:
        """Refuse a share out of its bounds."""
        refuse_share(self.share, self.most)

    @classmethod
    def read(cls, argument: str) -> dict[str, Any]:
        """Return the share."""
        return {"share": percent_of(argument)}

    def argument(self) -> str:
        """Return the share as percent."""
        return shown_percent(self.share)


def enter(kind: Kind) -> Kind:
    """Enter a class of treatments in `KINDS`."""
    KINDS[kind.kind] = kind
    return kind


def _class_of(kind: str) -> type[Treatment]:
    """Return the class of a kind of treatment."""
    for module in _MODULES:
        import_module(f"{__package__}.{module}")
    if kind not in KINDS:
        kinds = ", ".join(sorted(KINDS))
        raise ValueError(f"{kind!r} is not a rule; use {kinds}")
    return KINDS[kind]


def parsed_treatments(
    treat: Mapping[Any, Any], columns: Iterable[Any]
) -> dict[Names, tuple[Treatment, ...]]:
    """Return the treatments by columns, from rules by column or by ``"a+b"``."""
    if not isinstance(treat, Mapping):
        raise TypeError(
            f"treat={arguments.shown(treat)}: need a mapping of columns to rules, such "
            "as {'income': 'round:100'}"
        )
    column_names = set(columns)
    treatments: dict[Names, tuple[Treatment, ...]] = {}
    for key, rules in treat.items():
        names = _names(key, column_names)
        label = joined(names)
        steps = rules if isinstance(rules, list | tuple) else [rules]
        if not steps:
            raise ValueError(f"treat {label}: there is no rule; leave the column out")
        treatments[names] = tuple(Treatment.of(label, rule) for rule in steps)
        _check(names, treatments[names])
    shifts = [x for x in treatments.values() if any(r.order is not None for r in x)]
    if len(shifts) > 1 or any(len(rules) > 1 for rules in shifts):
        raise ValueError(
            "treat: a shift is the only rule of its columns, and one for all dates of "
            "a person; name them together, as in BIRTH+VISIT=shift:365:within=ID"
        )
    every = [name for names in treatments for name in names]
    twice = [name for name in dict.fromkeys(every) if every.count(name) > 1]
    if twice:
        raise ValueError(
            f"treat: {joined(tuple(twice))} stands in two keys; give one key with a "
            "list of rules"
        )
    return treatments


def _names(key: Any, columns: set[Any]) -> Names:
    """Return the columns of one key of ``treat``."""
    if isinstance(key, tuple):
        return key
    arguments.column_name("treat", key)
    if key in columns or not isinstance(key, str):
        return (key,)
    return tuple(key.split("+"))


def joined(names: Names) -> str:
    """Return columns as they are written before a rule."""
    return "+".join(map(str, names))


def _check(names: Names, rules: Sequence[Treatment]) -> None:
    """Refuse rules that do not fit their columns."""
    label = joined(names)
    for rule in rules:
        fewest, most = rule.columns
        if not fewest <= len(names) <= most:
            need = "one column" if most == 1 else f"at least {fewest} columns"
            raise ValueError(f"treat {label}={rule}: this rule takes {need}")
        odd = {*getattr(rule, "categories", ())} - {*names}
        if odd:
            raise ValueError(f"treat {label}={rule}: {min(odd)!r} is not treated here")
        own = [name for name in names if name in rule.strata]
        if own:
            raise ValueError(
                f"treat {label}={rule}: {', '.join(own)} cannot be a stratum as well"
            )


def number_of(text: str, what: str) -> float:
    """Return the number that a text says."""
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"{text!r} is not {what}")
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text!r}: need a finite number")
    return number


def whole_of(text: str, what: str) -> int:
    """Return the whole number that a text says."""
    if not re.fullmatch(r"\d{1,15}", text, re.ASCII):
        raise ValueError(f"{text!r} is not {what}")
    return int(text)


def rows_of_file(path: Path, need: str) -> list[list[str]]:
    """Return the lines of a CSV file that a rule names, with their header."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = [[text.strip() for text in row] for row in csv.reader(file) if row]
    except UnicodeDecodeError:
        raise ValueError(f"{path}: not a CSV file in UTF-8") from None
    if len(rows) < 2:
        raise ValueError(f"{path}: need {need}")
    odd = [at for at, row in enumerate(rows, 1) if any(";" in text for text in row)]
    if odd:
        raise ValueError(f"{path}, row {odd[0]}: recode a category with ';'")
    return rows


def text_of_rows(rows: Iterable[Sequence[str]]) -> str:
    """Return the lines of a CSV file in one, with quotes where a name has a comma."""
    lines = StringIO()
    csv.writer(lines, lineterminator=";").writerows(rows)
    return lines.getvalue()[:-1]


def percent_of(text: str) -> float:
    """Return the share that a text such as ``5%`` says."""
    number, sign = text[:-1], text[-1:]
    if sign != "%" or not _NUMBER.fullmatch(number):
        raise ValueError(f"{text!r} is not a share such as 5%")
    return float(Decimal(number) / 100)


def shown_number(number: float) -> str:
    """Return the shortest text of a number; whole numbers without a point."""
    return Number(int(number) if number.is_integer() else repr(number))


def shown_percent(share: float) -> str:
    """Return a share as percent, so that `percent_of` gives it back."""
    percent = (Decimal(repr(float(share))) * 100).normalize()
    return f"{percent:f}%"


def percent_words(share: float) -> str:
    """Return a share in a sentence."""
    return sentence("{n} %", Number(shown_percent(share)[:-1]))


def refuse_share(share: float, most: float) -> None:
    """Refuse a share that is not above 0 and below ``most``."""
    if not 0.0 < share < most:
        raise ValueError(
            f"share={percent_words(share)}: need a share above 0 % and below "
            f"{percent_words(most)}"
        )


def refuse_fewer(name: str, number: int, fewest: int) -> None:
    """Refuse a number below the least."""
    if number < fewest:
        raise ValueError(f"{name}={number}: need a whole number of at least {fewest}")


def _options_of(words: Sequence[str], allowed: Sequence[str]) -> dict[str, Any]:
    """Return options as fields: flags, and ``within=REGION+SEX``."""
    options: dict[str, Any] = {}
    for word in words:
        name, _, value = word.partition("=")
        if name not in allowed:
            use = " or ".join(allowed)
            use = f"use {use}" if use else "this rule has no options"
            raise ValueError(f"option {word!r}: {use}")
        if name in options:
            raise ValueError(f"option {name!r} is given twice")
        if name not in _LISTS and value:
            raise ValueError(f"option {name!r} takes no value")
        options[name] = tuple(value.split("+")) if name in _LISTS else True
    return options


def mean_of(values: Floats, weights: Floats | None) -> float:
    """Return the mean, weighted if there are weights: sums are rounded once."""
    if weights is None:
        return rounded_sum(values) / values.size
    total = rounded_sum(weights)
    if total <= 0.0:
        return mean_of(values, None)
    return rounded_sum(values * weights) / total


def uniform(numbers: NDArray[np.uint64]) -> Floats:
    """Return numbers of 64 bits as multiples of 2^-53 in (0, 1), without the ends."""
    return ((numbers >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52


_MOST_DECIMALS = 6


def decimals_of(values: Floats) -> int | None:
    """Return the decimals that all values need, at most 6; None if they need more."""
    present = values[~np.isnan(values)]
    for decimals in range(_MOST_DECIMALS + 1):
        if np.array_equal(np.round(present, decimals), present):
            return decimals
    return None


def rounded_as(values: Floats, original: Floats) -> Floats:
    """Return values rounded to the decimals of the original ones."""
    decimals = decimals_of(original)
    # Adding 0 turns -0 into 0.
    return values if decimals is None else np.round(values, decimals) + 0.0
