"""Examine every column of a protected file: leaks, and columns that have no role.

A file is safe if its goals are met and no leak is open. A leak is a column that singles
out records (an identifier, a column nobody gave a role whose values are unique, weights
that name households, household ids that were kept), or a column or an order that
reveals suppressed or recoded values. Each leak is mended, or accepted by name.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from riskcore.assessment.numeric_risk import NumericRisk
from riskcore.assessment.roles import (
    UNIQUE_SHARE,
    own_values,
    propose,
    singles_out,
)
from riskcore.common.words import listed, printable
from riskcore.data.columns import Records, code_keys
from riskcore.data.derived import derived_of_coded
from riskcore.data.profile import ColumnProfile
from riskcore.protection.leaks.composition import records_by_composition
from riskcore.protection.leaks.disclosure import Shown
from riskcore.protection.leaks.showing import advice_on
from riskcore.protection.numbers import NumericRisks
from riskcore.protection.protected_records import ProtectedRecords
from riskcore.protection.settings import Settings

Kind: TypeAlias = Literal[
    "identifier", "unique", "weight", "ids", "composition", "numbers", "reveals"
]

# Columns that are named in a sentence; more are counted.
_NAMED = 12


@dataclass(frozen=True, slots=True)
class Leak:
    """A column, or the order of the records, by which the file gives something away.

    Attributes
    ----------
    column : column name or None
        None stands for the order of the records.
    kind : {"identifier", "unique", "weight", "ids", "composition", "numbers", ...}
        What the column is or does: an identifier by its name and values; values that
        only one record or household has; weights of that kind; household ids that were
        kept, or that show households which are alone with the keys of their members;
        numbers by which records are linked to the original; "reveals": it reveals
        suppressed or recoded values.
    text, advice : str
        What leaks, and what can be done.
    accepted : str or None
        Why the leak may stay open; None if it was not accepted.
    shown : Shown or None
        The values that the column reveals.
    """

    column: Hashable | None
    kind: Kind
    text: str
    advice: str
    accepted: str | None = None
    shown: Shown | None = None

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


@dataclass(frozen=True, slots=True)
class Examination:
    """What was found about the columns of a protected file.

    Attributes
    ----------
    leaks : tuple of Leak
        Open leaks first.
    not_examined : tuple of column names
        The columns that stay in the file without a role, and without a leak.
    numeric : NumericRisks or None
        The risk from numbers, before and after.
    """

    leaks: tuple[Leak, ...] = ()
    not_examined: tuple[Hashable, ...] = ()
    numeric: NumericRisks | None = None

    @property
    def open(self) -> tuple[Leak, ...]:
        """The leaks that were not accepted."""
        return tuple(one for one in self.leaks if one.accepted is None)

    def to_dict(self) -> dict[str, Any]:
        """Return the examination as plain data for JSON."""
        return {
            "leaks": [one.to_dict() for one in self.leaks],
            "not_examined": [str(name) for name in self.not_examined],
            "numeric": None
            if self.numeric is None
            else {
                stage: one.to_dict() for stage, one in self.numeric._asdict().items()
            },
        }


def examine(
    result: ProtectedRecords,
    shown: Iterable[Shown],
    numeric: NumericRisks | None = None,
    *,
    dropped: Collection[Hashable] = (),
    renumbered: Collection[Hashable] = (),
    shuffled: bool = False,
) -> Examination:
    """Return the leaks of a protected file, and the columns without a role.

    ``shown`` are the values that its columns and its order reveal, ``numeric`` is the
    risk from its numbers, ``renumbered`` are the columns that get new ids.
    """
    settings = result.settings
    left_out = {str(name) for name in (*dropped, *settings.with_role("identifier"))}
    gone = left_out | set(map(str, renumbered))
    profiles = [one for one in result.profiles if str(one.name) not in gone]
    found = [*_of_columns(profiles, settings)]
    household = settings.household
    if household is not None and str(household) not in gone:
        found.append(_kept_ids(household, settings.accepted(household)))
    if household is not None and str(household) not in left_out:
        found += _by_composition(result)
    if numeric is not None and not gone.issuperset(map(str, numeric.protected.columns)):
        found += _of_numbers(numeric.protected, settings)
    found += _copies(result, gone)
    found += [
        Leak(
            one.column,
            "reveals",
            str(one),
            advice_on(result, one, shuffled=shuffled),
            settings.accepted(one.column),
            one,
        )
        for one in shown
    ]
    known = {
        *settings.roles_of_columns,
        *result.numbers_known,
        *(one.column for one in found),
    }
    return Examination(
        tuple(sorted(found, key=lambda leak: leak.accepted is not None)),
        tuple(
            name
            for name in result.source.names
            if name not in known and str(name) not in gone
        ),
        numeric,
    )


def _of_columns(
    profiles: Iterable[ColumnProfile], settings: Settings
) -> Iterator[Leak]:
    """Yield the weights and the columns without a role that single out records."""
    for one in profiles:
        if not singles_out(one):
            continue
        accepted = settings.accepted(one.name)
        if one.name == settings.weight:
            yield Leak(one.name, "weight", _text(one), _WEIGHT_ADVICE, accepted)
            continue
        proposed = propose(one)
        kind: Kind = "identifier" if proposed.role == "identifier" else "unique"
        like = f"seems to be an identifier ({proposed.reason}): " * (
            kind == "identifier"
        )
        text, advice = _text(one, like), _advice(proposed.role)
        yield Leak(one.name, kind, text, advice, accepted)


def _text(column: ColumnProfile, like: str = "") -> str:
    return f"{printable(str(column.name))!r}: {like}{own_values(column)}"


_WEIGHT_ADVICE = (
    "make the weights coarser or drop them; or accept this with a reason, such as that "
    "nobody else has the weights"
)


def _advice(proposed: str | None) -> str:
    """Return what can be done about a column that has no role."""
    mend = {
        "identifier": "give it the role of an identifier, or new ids",
        "household": "name it as the household, give it new ids, or drop it",
        "numeric": "round it, code its top, or drop it",
        "weight": "name it as the weight, or drop it",
    }.get(str(proposed), "recode it, make it a key, or drop it")
    return f"{mend}; or give it a role, or accept this with a reason"


def _of_numbers(risk: NumericRisk, settings: Settings) -> Iterator[Leak]:
    """Yield the ways in which numbers single out records, or link them."""
    names, n = risk.columns, len(risk.matches[0].individual_risk)
    reasons = [settings.accepted(name) for name in names]
    accepted = "; ".join(dict.fromkeys(filter(None, reasons)))
    text = ", ".join(repr(printable(str(name))) for name in names)
    column = names[0] if len(names) == 1 else " + ".join(map(str, names))
    altered = {name for each in settings.altered for name in each}
    said = []
    alone = risk.matches[-1].sample_uniques
    if alone > UNIQUE_SHARE * n and not altered.issuperset(names):
        said.append(
            f"{alone:,} of {n:,} records are alone with their keys and these numbers"
        )
    for known, by in _LINKS.items():
        ways = [one for one in risk.linkages if one.known == known]
        nearest = max(ways, key=lambda one: one.beyond_chance)
        if nearest.beyond_chance > UNIQUE_SHARE:
            said.append(
                f"{100 * nearest.rate:.3g} % of the records are found by {by} "
                f"({100 * nearest.chance_rate:.2g} % by chance)"
            )
    if said:
        mend = accepted if all(reasons) else None
        advice = _NUMBERS
        if len(names) > 1:
            advice = advice.replace("accept this", "accept each of them")
        yield Leak(column, "numbers", f"{text}: {'; '.join(said)}", advice, mend)


_LINKS = {
    "numbers": "these numbers alone",
    "keys and numbers": "the keys and these numbers",
}
_NUMBERS = (
    "swap them within the keys, make them much coarser, or drop them; or accept this "
    "with a reason"
)


def _by_composition(result: ProtectedRecords) -> Iterator[Leak]:
    """Yield that households are found by all their members together."""
    household, n = result.settings.household, result.n
    found = records_by_composition(result)
    if found > UNIQUE_SHARE * n:
        text = (
            f"{printable(str(household))!r}: {found:,} of {n:,} records are in a "
            "household that is alone with the keys of all its members"
        )
        accepted = result.settings.accepted(household)
        yield Leak(household, "composition", text, _COMPOSITION, accepted)


_COMPOSITION = (
    "drop the household ids, which also shuffles members apart; make the keys coarser; "
    "or accept this with a reason, such as a contract with the users"
)


def _copies(result: ProtectedRecords, gone: Collection[str]) -> Iterator[Leak]:
    """Yield the columns of the file that give the altered values of others back."""
    treated, settings = result.treated, result.settings
    altered = [name for names in settings.altered for name in names]
    if treated is None or not altered:
        return
    written = {
        name: column
        for name, column in Records.of(result.rows).columns.items()
        if str(name) not in gone and name not in treated.after
    }
    for name in altered:
        if str(name) in gone:
            continue
        records = Records.of({**written, name: treated.before[name]})
        coded = {one.name: one for one in code_keys(records, [*records.columns])}
        for one in derived_of_coded(coded, result.household_of, pairs=False):
            if one.column == name and one.kind != "household count":
                (source,) = one.of
                text = (
                    f"{printable(str(source))!r}: it gives back the values of "
                    f"{printable(str(name))!r} that were altered"
                )
                advice = "treat both in the same way, or drop one of them"
                accepted = settings.accepted(source)
                yield Leak(source, "reveals", text, advice, accepted)


def _kept_ids(household: Hashable, accepted: str | None) -> Leak:
    """Return the leak of household ids that are those of the original."""
    name = printable(str(household))
    text = f"{name!r}: the original household ids are kept"
    return Leak(household, "ids", text, "give them new ids", accepted)


def not_examined_text(names: Collection[Hashable]) -> str:
    """Return the sentence on columns that have no role, empty if all have one."""
    if not names:
        return ""
    shown = listed_columns(names)
    return (
        f"Not examined, as they have no role: {shown}."
        if len(names) > 1
        else f"Not examined, as it has no role: {shown}."
    )


def listed_columns(names: Collection[Hashable]) -> str:
    """Return columns in a sentence; many are counted."""
    shown = [printable(str(name)) for name in names]
    if len(shown) > _NAMED:
        shown = [*shown[:_NAMED], f"{len(shown) - _NAMED:,} more"]
    return listed(shown)
