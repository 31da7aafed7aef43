"""Leaks of a protected file: columns, or an order, that give something away.

All kinds of evidence share limits: at most three records beyond chance whatever the
size of the file, and a level that leaves one examination in a thousand with a leak that
is none.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import reduce
from typing import Any, Literal, TypeAlias

from riskcore.assessment.roles import ALLOWED, UNIQUE_SHARE
from riskcore.common.words import by_count, joined, printable, quoted, sentence

Rule: TypeAlias = Literal["equal", "between", "code", "members", "finer", "order"]
Kind: TypeAlias = Literal[
    "identifier",
    "unique",
    "weight",
    "ids",
    "composition",
    "numbers",
    "no effect",
    "attributes",
    "elimination",
    "reveals",
    "harmless",
]

# Records that stand within this many places of each other are neighbors.
NEAR = 10
LEVEL = 1e-3  # the probability that chance opens a leak in one examination
_HOW = {
    "equal": "they can be read off the records that have the same value",
    "between": "they can be read off the records next to them in its order",
    "members": "the number of records of a household gives them",
    "finer": "its values, their number or their order follow the codes",
}


@dataclass(frozen=True, slots=True)
class Shown:
    """What one column shows of suppressed or recoded values, or of the order.

    Attributes
    ----------
    key : column name or None
        The column whose values show; None stands for the order that the records had.
    column : column name or None
        The column that shows them; None stands for the order of the records as written.
    rule : {"equal", "between", "code", "members", "finer", "order"}
        How, see `riskcore.disclosure.hidden_values`; of the first three, which are
        counted together, the rule that shows more.
    count : int
        The number of values shown, or of records that are back where they were.
    of : int
        The number of values suppressed or recoded, or of all records.
    unit : {"record", "household"}
        What is counted: households where members share the value and its blank.
    """

    key: Hashable | None
    column: Hashable | None
    rule: Rule
    count: int
    of: int
    unit: Literal["record", "household"] = "record"

    def __str__(self) -> str:
        n, of, key, where = self.count, self.of, quoted(self.key), quoted(self.column)
        if self.rule == "order":
            return sentence(
                "the places that {n} of {of} records had before show in {column}: "
                "sorted by it, records stand within {near} of where they stood",
                *(n, of, where, NEAR),
            )
        what = sentence("{n} of {of} suppressed values of {key}", n, of, key)
        if self.rule == "finer":
            what = sentence("{n} of {of} values of {key} before recoding", n, of, key)
        elif self.unit == "household":
            what = sentence(
                "suppressed values of {key} in {n} of {of} households", key, n, of
            )
        how = sentence("each of its values goes with one value of {key}", key)
        if self.column is None:
            where = sentence("the order of the records")
            how = sentence("they can be read off the records before and after them")
            if self.rule == "finer":
                how = sentence("records of one code stand together")
        elif self.rule != "code":
            how = sentence(_HOW[self.rule])
        return by_count(
            2 if self.unit == "household" else n,
            "{values} shows in {column}: {how}",
            "{values} show in {column}: {how}",
            *(what, where, how),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Remedy:
    """One way to close a leak, in words and as settings that do it.

    Attributes
    ----------
    words : str
        What is done.
    settings : dict
        The settings of `riskcore.protect` and of `write` that do it, by name; empty if
        no setting does. Columns in ``drop`` and entries of ``roles`` and ``treat`` are
        added to those that are there; other settings are complete.

    Examples
    --------
    >>> str(Remedy("leave it out", {"drop": ["pay"]}))
    'leave it out: --drop pay'
    """

    words: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return joined(": ", filter(None, [self.words, self.options]))

    @property
    def options(self) -> str:
        """The options of the command that do it."""
        return " ".join(
            " ".join([_option(name), *map(_quoted, _entries(value))])
            for name, value in self.settings.items()
        )


def in_words(remedies: Iterable[Remedy]) -> str:
    """Return remedies, each of which is enough, as a sentence."""
    words = [*map(str, remedies)] or [""]
    return reduce(lambda a, b: sentence("{remedies}; or {last}", a, b), words)


def _option(name: str) -> str:
    """Return the option of a setting."""
    return "--role" if name == "roles" else f"--{name.replace('_', '-')}"


def _quoted(word: str) -> str:
    return shlex.quote(printable(word))


def _entries(value: Any) -> Iterator[str]:
    """Yield the arguments of an option; a switch has none."""
    if isinstance(value, Mapping):
        for name, entry in value.items():
            if isinstance(entry, Mapping):
                yield from _entries({f"{name}[{x}]": part for x, part in entry.items()})
            else:
                parts = entry if isinstance(entry, list) else [entry]
                yield from (f"{name}={x}" for x in parts)
    elif isinstance(value, list):
        yield from map(str, value)
    elif value is not True:
        yield str(value)


@dataclass(frozen=True, slots=True)
class Leak:
    """A column, or the order of the records, by which the file gives something away.

    Attributes
    ----------
    of : tuple of column name or None
        The columns, whose acceptance counts; None stands for the order of the records.
    kind : {"identifier", "unique", "weight", "ids", "composition", "numbers", ...}
        What the column is or does: an identifier by its name and values; values that
        only one record or household has; weights of that kind; household ids that were
        kept, or that show households which are alone with the keys of their members;
        numbers that find persons; a treatment with no effect; a sensitive value that
        the keys tell; people who are left over; "reveals": it reveals
        suppressed or recoded values; "harmless": columns that were given this role all
        at once, without being examined.
    text : str
        What leaks.
    remedies : tuple of Remedy
        What can be done; each is enough.
    accepted : str or None
        Why the leak may stay open; None if it was not accepted.
    shown : Shown or None
        The values that the column reveals.
    of_all : bool
        Whether all of them must be accepted; otherwise one is enough.
    """

    of: tuple[Hashable | None, ...]
    kind: Kind
    text: str
    remedies: tuple[Remedy, ...]
    accepted: str | None = None
    shown: Shown | None = None
    of_all: bool = False

    @property
    def advice(self) -> str:
        """What can be done, in words."""
        return in_words(self.remedies)

    @property
    def column(self) -> Hashable | None:
        """The column, or the names of several; None stands for the order."""
        return self.of[0] if len(self.of) == 1 else " + ".join(map(str, self.of))

    def under(self, accepted: Callable[[Hashable | None], str | None]) -> Leak:
        """Return the leak, accepted or open by the reasons given for its columns."""
        reasons = [accepted(name) for name in self.of]
        distinct_reasons = list(dict.fromkeys(filter(None, reasons)))
        if self.of_all:
            reason = "; ".join(distinct_reasons) if all(reasons) else None
        else:
            reason = next(iter(distinct_reasons), None)
        return replace(self, accepted=reason)

    def to_dict(self) -> dict[str, Any]:
        """Return the leak as plain data for JSON."""
        return {
            "column": None if self.column is None else str(self.column),
            "kind": self.kind,
            "text": self.text,
            "advice": self.advice,
            "accepted": self.accepted,
            "shown": None if self.shown is None else self.shown.to_dict(),
        }


def too_many(count: float, records: int) -> bool:
    """Return whether more than three records, or 1 % of a small file, are told."""
    return count > min(ALLOWED, UNIQUE_SHARE * records)


def by_chance(count: float, chance: float, comparisons: int) -> bool:
    """Return whether chance finds as many in one of so many comparisons.

    By Chernoff's bound of the tail of a sum of probabilities (of a Poisson variable).
    """
    if count <= chance:
        return True
    if chance <= 0.0:
        return False
    exponent = chance - count + count * math.log(count / chance)
    return exponent <= -math.log(LEVEL / max(comparisons, 1))
