"""The role of each column of a file: given by the user, or proposed with a reason.

A proposal is a hint from the name, the label and the values. It never stands for the
user's word: a column without a given role has not been examined.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping
from typing import Literal, NamedTuple, TypeAlias

from riskcore.common.words import sentence
from riskcore.data.profile import ColumnProfile

Role: TypeAlias = Literal[
    "key",
    "household key",
    "household",
    "weight",
    "numeric",
    "sensitive",
    "identifier",
    "harmless",
]
# The roles that a user gives by name; keys, weight and household have arguments.
GIVEN_ROLES = ("numeric", "sensitive", "identifier", "harmless")
# From this share of records with a value of their own, a column singles out records.
UNIQUE_SHARE = 0.01
ALLOWED = 3  # records, whatever the size of the file
# From this share on, it is like an identifier.
_MOSTLY = 0.95
# Numbers with more distinct values are amounts, not categories.
_CATEGORIES = 50
# Text of this length is written by hand, or is an address.
_LONG = 40
# Households have fewer members on average, and more than one.
_LARGE_HOUSEHOLD = 10
_SMALL_HOUSEHOLD = 1.2
# Fewer records by value than this: a value is as good as an identifier.
_FEW = 3
# With so many values they are numbers of groups even if the records were shuffled.
_MANY_GROUPS = 500


_OWN = {
    "record": "{n} of {of} records have a value that no other record has",
    "household": "{n} of {of} records have a value that no other household has",
    "person": "{n} of {of} records have a value that no other person has",
}


class Proposal(NamedTuple):
    """A proposed role, None for no proposal, and the reason."""

    role: Role | None
    reason: str


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Words of names and labels, in English, German and French.
_IDENTIFIER = _words(
    "id ids pid hid hhid uid uuid guid caseid personid respid recid rowid indid userid "
    "identifier ident name names surname firstname lastname forename address street "
    "phone telephone mobile email mail ssn nino passport iban licence license plate "
    "serial latitude longitude lat lon gps coordinates vorname nachname anschrift "
    "adresse strasse telefon persnr nom prenom rue courriel nombre apellido telefono"
)
# Other names that end with "ID" are identifiers, but not these.
_NO_IDENTIFIER = _words(
    "paid unpaid prepaid aid medicaid covid void valid invalid bid acid solid kid grid "
    "hybrid rapid humid mid thyroid"
)
_HOUSEHOLD = _words(
    "household households hid hhid hh hhnr householdid family haushalt menage couple "
    "partner spouse mother father parent"
)
_WEIGHT = _words(
    "weight weights wt wgt wght pweight fweight pwt perwt hhwt perweight hhweight "
    "asecwt asecwth earnwt wtfinl finalwt gewicht hochrechnungsfaktor poids ponderation"
)
_KEY = _words(
    "sex gender age birth yearbirth birthyear region area province district county "
    "canton state municipality country citizenship nationality marital marstat "
    "education educ school occupation profession job industry employment ethnic "
    "ethnicity etni race language urban rural urbrur size relation religion hhsize "
    "hsize relat relate nation degree cluster clust psu nace isco isced nuts "
    "geschlecht alter kanton gemeinde bildung beruf sexe naissance pays metier "
    "dob birthday birthdate"
)
_SENSITIVE = _words(
    "health disease illness diagnosis disability hiv drug alcohol crime conviction "
    "abortion violence vote party union sexual suicide gesundheit krankheit sante "
    "maladie"
)
# Values that tell what a column without a telling name holds.
_FIRST_NAMES = _words(
    "aaron abdul ahmed ali ana anna anne carlos chen david emma eva fatima ivan james "
    "jan jean john jose juan julia luis maria mary mohammed olga omar pedro peter sara "
    "sarah sofia thomas wei william yusuf zoe"
)
_TRAITS = _words(
    "male female man woman men women boy girl other mann frau homme femme hombre mujer "
    "accountant baker carpenter clerk cook doctor driver engineer farmer lawyer nurse "
    "physician police student teacher technician alabama arizona california florida "
    "georgia illinois maine ohio oregon texas utah virginia washington wyoming"
)
_OF_ANOTHER_MARK = re.compile(r"\s*[+-]?[0-9]+[.,][0-9]+\s*")
_DAY_OR_MONTH = re.compile(r"\d\d?([-./])\d\d?\1(\d\d|\d{4})( .*)?")
_BREAK = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=\bID)(?=[a-z])|[\W\d_]+")


def words_of(column: ColumnProfile) -> frozenset[str]:
    """Return the words of the name and the label of a column, in lower case."""
    text = f"{column.name} {column.label or ''}"
    return frozenset(word.lower() for word in _BREAK.split(text) if word)


def singles_out(column: ColumnProfile) -> bool:
    """Return whether too many records have a value of a column that nobody else has."""
    return column.single >= min(ALLOWED + 1, UNIQUE_SHARE * column.records) and (
        column.single > 0
    )


def has_many_values(column: ColumnProfile) -> bool:
    """Return whether a column has more values than categories have."""
    return column.distinct > _CATEGORIES


def shared_by_few(column: ColumnProfile) -> bool:
    """Return whether a value is shared by hardly more than two records, on average."""
    present = column.records - column.missing
    return has_many_values(column) and present < _FEW * column.distinct


def own_values(column: ColumnProfile, group: str = "household") -> str:
    """Return in words how many records have a value of their own."""
    unit = "record" if column.constant is None else group
    return sentence(_OWN[unit], column.single, column.records)


def propose(column: ColumnProfile) -> Proposal:
    """Return the role that a column seems to have, and why."""
    words = words_of(column)
    if _looks_like(_OF_ANOTHER_MARK, column):
        return Proposal(
            None,
            sentence(
                "text like numbers: was the right decimal mark given for the file?"
            ),
        )
    if _looks_like(_DAY_OR_MONTH, column):
        reason = sentence(
            "text like dates: is the day first or the month? say so, as month:dmy; "
            "years need four digits"
        )
        return Proposal("key" if words & _KEY else None, reason)
    named = words & _WEIGHT or any(word.endswith("wgt") for word in words)
    positive = column.smallest is None or not column.is_number or column.smallest > 0
    if named and column.is_number and column.distinct and positive:
        return Proposal("weight", sentence("its name"))
    if column.distinct <= 1:
        return Proposal("harmless", sentence("one value for all records"))
    return _identifier(column, words) or _variable(column, words)


def _variable(column: ColumnProfile, words: frozenset[str]) -> Proposal:
    """Return what kind of variable a column seems to be."""
    many = has_many_values(column)
    if column.type != "number" and any(word.endswith("code") for word in words):
        return Proposal("key", sentence("its name"))
    own = column.single >= UNIQUE_SHARE * column.records
    if words & _KEY and not (column.is_number and many and own):
        return Proposal("key", sentence("its name"))
    if column.is_number and many:
        reason = sentence("{n} different numbers", column.distinct)
        return Proposal("numeric", reason)
    if words & _SENSITIVE:
        return Proposal("sensitive", sentence("its name"))
    ends = {str(end).strip().lower() for end in (column.smallest, column.largest)}
    if ends <= _FIRST_NAMES or ends <= _TRAITS:
        role: Role = "key" if ends <= _TRAITS else "identifier"
        return Proposal(role, sentence("its values"))
    return Proposal(None, own_values(column) if singles_out(column) else "")


def _looks_like(form: re.Pattern[str], column: ColumnProfile) -> bool:
    """Return whether the first and the last text have a form."""
    extremes = column.smallest, column.largest
    return column.type == "text" and all(
        isinstance(extreme, str) and form.fullmatch(extreme) for extreme in extremes
    )


def _identifier(column: ColumnProfile, words: frozenset[str]) -> Proposal | None:
    """Return that a column is an identifier of records or households, or None."""
    mostly = column.single >= _MOSTLY * (column.records - column.missing)
    many = mostly or has_many_values(column)
    if words & _HOUSEHOLD and _is_grouping(column) and not mostly:
        reason = sentence("its name, and few records share a value")
        return Proposal("household", reason)
    if mostly and _names_identifier(words):
        reason = sentence("its name, and nearly all values are unique")
        return Proposal("identifier", reason)
    if many and _names_identifier(words) and not words & _KEY and _is_code(column):
        reason = sentence("its name, and {n} values", column.distinct)
        return Proposal("identifier", reason)
    if mostly:
        return _unique(column)
    if column.type == "text" and many and column.longest > _LONG:
        return Proposal("identifier", sentence("text, free text"))
    return None if words & _KEY else _group(column)


def _unique(column: ColumnProfile) -> Proposal | None:
    """Return that values, nearly all of them unique, identify records; or None."""
    if column.type == "text":
        reason = sentence("text, nearly all values are unique")
        return Proposal("identifier", reason)
    if column.type != "whole number":
        return None
    if _is_running(column):
        return Proposal("identifier", sentence("a running number"))
    if column.order == "ascending" and column.distinct == column.single:
        reason = sentence("unique whole numbers in ascending order")
        return Proposal("identifier", reason)
    return None


def _names_identifier(words: frozenset[str]) -> bool:
    """Return whether words name an identifier of persons or units."""
    return bool(words & _IDENTIFIER) or any(
        word.endswith(("id", "name")) for word in words - _NO_IDENTIFIER
    )


def _is_code(column: ColumnProfile) -> bool:
    """Return whether values can be numbers or names of units."""
    return column.type in ("whole number", "text")


def _group(column: ColumnProfile) -> Proposal | None:
    """Return that values number small groups of records, by how they stand; or None."""
    if not _is_grouping(column):
        return None
    numbered = column.type == "whole number" and _is_running(column)
    in_order = column.order == "ascending" or column.type == "text"
    if column.order is not None and (numbered or in_order):
        reason = sentence("few records share a value, and they stand together")
        return Proposal("household", reason)
    if numbered and column.distinct > _MANY_GROUPS:
        reason = sentence("running numbers that few records share")
        return Proposal("household", reason)
    return None


def _is_grouping(column: ColumnProfile) -> bool:
    """Return whether values stand for small groups of the records that have one."""
    members = (column.records - column.missing) / max(column.distinct, 1)
    return (
        _is_code(column)
        and has_many_values(column)
        and _SMALL_HOUSEHOLD <= members <= _LARGE_HOUSEHOLD
    )


def _is_running(column: ColumnProfile) -> bool:
    """Return whether whole numbers count the records."""
    if column.smallest is None:
        return True
    span = int(column.largest) - int(column.smallest) + 1
    return span <= 2 * column.distinct


def roles_of(
    keys: Iterable[Hashable],
    weight: Hashable | None,
    household: Hashable | None,
    roles: Mapping[Hashable, str],
    household_keys: Iterable[Hashable] = (),
) -> dict[Hashable, Role]:
    """Return the role of each column that has one; refuse a second role."""
    taken: dict[Hashable, Role] = dict.fromkeys(keys, "key")
    taken |= dict.fromkeys(household_keys, "household key")
    taken |= {weight: "weight"} if weight is not None else {}
    taken |= {household: "household"} if household is not None else {}
    for name, role in roles.items():
        if role not in GIVEN_ROLES:
            role_names = ", ".join(map(repr, GIVEN_ROLES))
            raise ValueError(
                f"roles: {role!r} of column {name!r} is not a role that can be given; "
                f"give {role_names}, or name it as a key, the weight or the household"
            )
        if name in taken:
            raise ValueError(
                f"roles: column {name!r} is {taken[name]} already; give it one role"
            )
    return taken | dict(roles)  # type: ignore[return-value]
