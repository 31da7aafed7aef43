"""Describe the columns of a file: what they hold, and which role they seem to have."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from riskcore.assessment.reported_figures import code
from riskcore.assessment.roles import (
    Proposal,
    Role,
    own_values,
    propose,
    roles_of,
    singles_out,
    words_of,
)
from riskcore.common import arguments
from riskcore.common.progress import Lines, silent
from riskcore.common.sheet import OnASheet, Part, Sheet
from riskcore.common.words import (
    counted,
    joined,
    on_one_line,
    one_of,
    printable,
    sentence,
    shortened,
)
from riskcore.data.columns import Records, code_column, household_codes
from riskcore.data.derived import Derived, derived
from riskcore.data.files.reading import Reading, with_household
from riskcore.data.likely_codes import in_words
from riskcore.data.missing_by_design import missing_by_design
from riskcore.data.profile import ColumnProfile, profile, profile_on_engine
from riskcore.data.source import Source

# Names and labels of more characters are cut in text, values everywhere.
_MOST = (24, 30, 0, 0, 0, 0, 0, 0, 0, 0)
_VALUE = 14
_HEAD = (
    "column",
    "label",
    "type",
    "distinct",
    "missing",
    "own value",
    "smallest",
    "largest",
    "role",
    "why",
)
_SIDES = "<<<>>>>><<"
_HELP = (
    "A role with a question mark is a proposal; you decide.",
    "It comes from the name, the label and the values of a column; - means none.",
    "Own value: the records whose value no other record, or other household, has.",
)
# Names of numbers that may be dates, and the days from which programs count.
_DATES = {"date", "dates", "datum", "dob", "bdate", "birthdate", "birthday", "fecha"}
_STARTS = {"Excel": date(1899, 12, 30), "SAS or Stata": date(1960, 1, 1)}
_FIRST, _LAST = date(1900, 1, 1).toordinal(), date(2060, 1, 1).toordinal()
_LIKE = {
    "dates": "looks like dates: recode them by year, quarter, month or age",
    "months": "looks like months: recode by year",
    "years": "looks like years",
}
_DERIVED = {
    "equal": "the same as {column}",
    "function": "a function of {column}",
    "square": "the square of {column}",
    "household count": "counts the members of {column}",
}


@dataclass(frozen=True, slots=True)
class DescribedColumn:
    """A column with its role.

    Attributes
    ----------
    profile : ColumnProfile
        What the column holds.
    role : str or None
        The role that was given.
    proposed : Proposal
        The role it seems to have, and why.
    derived : Derived or None
        What it is of another column: the same, a function, a square or, of the
        household, the number of its members.
    by_design : str
        For which categories of other keys it is missing by design; empty if for none.
    """

    profile: ColumnProfile
    role: Role | None
    proposed: Proposal
    derived: Derived | None = None
    by_design: str = ""

    @property
    def name(self) -> Hashable:
        """The name of the column."""
        return self.profile.name

    @property
    def reason(self) -> str:
        """Why it seems to have its role, and what it is of another column."""
        said = [self.proposed.reason]
        if self.derived is not None:
            source = self.derived.of[0]
            said.insert(0, sentence(_DERIVED[self.derived.kind], source))
        elif self.profile.constant and self.role is None:
            said.append(sentence("the same within households"))
        return joined("; ", filter(None, [*said, self.doubt]))

    @property
    def doubt(self) -> str:
        """The values that may be codes, and what is missing by design, in words."""
        codes = self.profile.codes
        may_be = sentence("may be codes: {codes}", in_words(codes)) if codes else ""
        return joined("; ", filter(None, [may_be, self._dates, self.by_design]))

    @property
    def _dates(self) -> str:
        """Which dates its whole numbers seem to be, and how to read them, in words."""
        of, said = self.profile, list[str]()
        if of.like:
            return sentence(_LIKE[of.like])
        if of.type == "whole number" and of.distinct and words_of(of) & _DATES:
            ends = [int(of.smallest), int(of.largest)]
            for program, start in _STARTS.items():
                days = [start.toordinal() + end for end in ends]
                if _FIRST <= days[0] < days[1] <= _LAST:
                    first = date.fromordinal(days[0])
                    start_day = program, str(ends[0]), str(first)
                    said.append(sentence("{program}, {number} is {day}", *start_day))
        if not said:
            return ""
        many = one_of(said)
        return sentence("looks like dates of {programs}: store them as dates", many)

    def to_dict(self) -> dict[str, Any]:
        """Return the column as plain data for JSON."""
        of = self.profile
        return {
            "column": str(of.name),
            "label": of.label,
            "type": of.type,
            "distinct": of.distinct,
            "missing": of.missing,
            "own_value": of.single,
            "smallest": code(of.smallest),
            "largest": code(of.largest),
            "constant_in_households": of.constant,
            "role": self.role,
            "proposed_role": self.proposed.role,
            "may_be_codes": [code._asdict() for code in of.codes],
            "reason": self.reason,
        }


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Description(OnASheet):
    """The columns of a file, as `describe` found them.

    Attributes
    ----------
    records : int
        Number of records.
    columns : tuple of DescribedColumn
        In the order of the file.

    Examples
    --------
    >>> import riskcore
    >>> data = {"sex": list("fmfm"), "name": ["Ann", "Bob", "Eve", "Dan"]}
    >>> found = riskcore.describe(data)
    >>> [(one.name, one.proposed.role) for one in found.columns]
    [('sex', 'key'), ('name', 'identifier')]
    >>> found.unexamined
    ('sex', 'name')
    """

    records: int
    columns: tuple[DescribedColumn, ...]

    @property
    def unexamined(self) -> tuple[Hashable, ...]:
        """The columns that were given no role."""
        return tuple(column.name for column in self.columns if column.role is None)

    @property
    def proposed_roles(self) -> dict[Hashable, Role]:
        """The proposed role of each column for which there is a proposal."""
        return {
            column.name: column.proposed.role
            for column in self.columns
            if column.proposed.role
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the columns as plain data for JSON.

        Returns
        -------
        dict
            With text, numbers, None, dicts and lists.

        Examples
        --------
        >>> import riskcore
        >>> found = riskcore.describe({"age": [31, 47, 31, 52]}).to_dict()
        >>> found["columns"][0]["own_value"], found["columns"][0]["proposed_role"]
        (2, 'key')
        """
        return {
            "records": self.records,
            "columns": [column.to_dict() for column in self.columns],
        }

    def _sheet(self) -> Sheet:
        rows = [_HEAD, *map(_row, self.columns)]
        used = [i for i in range(len(_HEAD)) if any(row[i] for row in rows[1:])]
        kept = [[row[i] for i in used] for row in rows]
        facts = [
            ("records", f"{self.records:,}"),
            ("columns", f"{len(self.columns):,}"),
        ]
        sides = "".join(_SIDES[i] for i in used)
        columns = Part("", rows=kept, sides=sides, most=[_MOST[i] for i in used])
        return Sheet("Columns", facts, [columns, Part(sentences=_HELP)])

    def __repr__(self) -> str:
        return (
            f"<Description: {counted(len(self.columns), 'column')} of "
            f"{counted(self.records, 'record')}>"
        )


def describe(
    data: Any,
    keys: Iterable[Hashable] = (),
    weight: Hashable | None = None,
    household: Hashable | None = None,
    *,
    roles: Mapping[Any, str] | None = None,
    reading: Reading | None = None,
    progress: Lines | None = None,
) -> Description:
    """Describe each column of a file: type, values, and the role it seems to have.

    Parameters
    ----------
    data : frame, mapping or path
        Records, one per row, as for `assess`. Data on an engine get no extremes.
    keys : iterable of column names, optional
        The key variables.
    weight, household : column name, optional
        The sampling weights, and the household of each record. With households, a
        value is "own" if no other household has it.
    roles : mapping of column names to str, optional
        Roles of further columns: "numeric" (known to an intruder as a number, to some
        precision), "sensitive" (not known to an intruder), "identifier" (to be
        dropped) or "harmless".
    reading : Reading, optional
        How to read the file, if ``data`` is a path.
    progress : callable, optional
        Called with a line of text at each step.

    Returns
    -------
    Description

    Raises
    ------
    KeyError
        If a column does not exist.
    TypeError, ValueError
        If a role does not exist, a column gets two roles, or there are no records.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import riskcore
    >>> data = {"id": [1, 2, 3, 4], "income": [1.5, 2.5, 2.5, 9.0]}
    >>> found = riskcore.describe(data, roles={"income": "numeric"})
    >>> found.columns[0].proposed
    Proposal(role='identifier', reason='its name, and nearly all values are unique')
    >>> found.columns[1].role, found.columns[1].profile.single
    ('numeric', 2)
    """
    say = progress or silent
    reading, household = with_household(reading, household)
    source = Source.of(data, reading)
    names = arguments.names("keys", keys)
    arguments.column_name("weight", weight)
    arguments.column_name("household", household)
    if not isinstance(roles, Mapping | None):
        raise TypeError(
            f"roles={arguments.shown(roles)}: need a mapping of columns to roles"
        )
    weight = source.weight if weight is None else weight
    household = source.household_of(household, [*names, weight, *(roles or {})])
    roles_by_column = roles_of(names, weight, household, roles or {})
    source.check(roles_by_column)
    say("looking at the columns")
    profiles = profiles_of(source, source.names, household, say)
    say("comparing the columns with each other")
    if source.engine is not None:
        return described(profiles, roles_by_column, {})
    relations = reversed(derived(source.records, household))
    derived_by = {relation.column: relation for relation in relations}
    description = described(profiles, roles_by_column, derived_by)
    return _with_designs(description, source.records)


def _with_designs(description: Description, records: Records) -> Description:
    """Return a description that says what is missing by design."""
    columns = {column.name: column for column in description.columns}
    keys, lacking = [], []
    for name, column in columns.items():
        if column.profile.missing:
            lacking.append(code_column(records, name))
        is_key = "key" in (column.role, column.proposed.role)
        if is_key and column.profile.type != "other":
            keys.append(code_column(records, name))
    for name, design in missing_by_design(lacking, keys).items():
        columns[name] = replace(columns[name], by_design=design.reason)
    return replace(description, columns=tuple(columns.values()))


def profiles_of(
    source: Source,
    names: Iterable[Hashable],
    household: Hashable | None,
    say: Lines = silent,
) -> list[ColumnProfile]:
    """Return the profiles of some columns of a source."""
    if source.engine is not None:
        return profile_on_engine(source.engine, names)
    codes = None
    if household is not None:
        codes = household_codes(source.records, household)
    decimal, labels = source.reading.decimal, source.labels
    records = source.records
    return profile(records, names, codes, decimal=decimal, labels=labels, say=say)


def described(
    profiles: Iterable[ColumnProfile],
    roles: Mapping[Hashable, Role],
    derived_by: Mapping[Hashable, Derived],
) -> Description:
    """Return the description of columns with given roles."""
    columns = tuple(
        DescribedColumn(
            column_profile,
            roles.get(column_profile.name),
            propose(column_profile),
            derived_by.get(column_profile.name),
        )
        for column_profile in profiles
    )
    return Description(columns[0].profile.records, columns)


def _row(column: DescribedColumn) -> tuple[str, ...]:
    of, proposed = column.profile, column.proposed
    role = column.role or (f"{proposed.role}?" if proposed.role else "-")
    why = column.reason
    if column.role:
        why = f"given; {column.doubt}" if column.doubt else "given"
    if column.role is None and singles_out(of) and not why:
        why = own_values(of)
    return (
        on_one_line(of.name),
        on_one_line(of.label or ""),
        of.type,
        f"{of.distinct:,}",
        f"{of.missing:,}" if of.missing else "",
        f"{of.single:,}",
        _shown(of.smallest),
        _shown(of.largest),
        role,
        printable(why),
    )


def _shown(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else shortened(value, _VALUE)
