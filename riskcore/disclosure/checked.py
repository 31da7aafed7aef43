"""The result of `check`: each goal of a release, and whether the file keeps all."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from riskcore.assessment.assess_settings import Level
from riskcore.assessment.goals import Goal
from riskcore.common.results import WithPublicReport
from riskcore.common.sheet import OnASheet, Part, Sheet
from riskcore.common.text_table import aligned
from riskcore.common.words import counted, listed, printable
from riskcore.disclosure.leaks import Leak
from riskcore.disclosure.two_releases import TwoReleases
from riskcore.disclosure.verdict import Verdict, in_public, no_role_text

# Of the table of rules, as in `aligned`.
_SIDES = "<<<<>><"
_SAME = {
    True: "The file is the one that the record names.",
    False: "The file is NOT the one that the record names: it was changed or replaced.",
}
_DOUBT = (
    "Risks are by the weights alone, and the model to believe says that these say too "
    "little."
)
# States that the first word of the verdict says.
_PLAIN = ("safe", "not examined", "not safe")
_WORDS = {True: "passed", False: "FAILED", None: "not judged"}


@dataclass(frozen=True, slots=True, repr=False)
class Checked(OnASheet, WithPublicReport):
    """The result of `check`: the rules, and whether all are kept.

    Attributes
    ----------
    records : int
        Number of records; with ``level="household"``, of households.
    rules : tuple of Goal
    same_file : bool or None
        Whether the file is the one that the record names, by its SHA-256; None without
        a record, or for data in memory.
    level : {"record", "household"}
        What was counted.
    notes : tuple of str
        How many records have missing keys, which figures are those of the record, and
        why a rule was not judged.
    recorded_state : str or None
        The state of the file when it was written, by its record; None without one.
    leaks : tuple of Leak
        Leaks of the columns of the file, unless the record names exactly this file.
    not_examined : tuple of column names
        Columns of the file that the settings of its protection give no role.
    together : tuple of TwoReleases
        What the file and an earlier release tell together, by set of keys.
    unknown : tuple of str
        Evidence that is judged record by record beside the original, and was not.
    weights_doubted : bool
        Whether the model to believe says that the weights, by which risks were judged
        on request, may say too little.

    Examples
    --------
    >>> import riskcore
    >>> data = {"sex": list("ffmmm"), "age": list("12333")}
    >>> result = riskcore.check(data, ["sex", "age"], k=2, max_rate=0.7)
    >>> result
    <Checked: 5 records, 1 of 2 rules broken>
    >>> result.passed, result.state, result.rules[0].found, result.rules[0].records
    (False, 'not safe', 1, 2)
    >>> print(result.text())
      rule                    keys       limit  found  records failing  cells failing
      k-anonymity             sex x age  2      1                    2              2  FAILED
      re-identification rate  sex x age  0.7    0.6                  -              -  passed
      FAILED: 1 of 2 rules broken (5 records checked).
    """  # noqa: E501

    records: int
    rules: tuple[Goal, ...]
    same_file: bool | None = None
    level: Level = "record"
    notes: tuple[str, ...] = ()
    recorded_state: str | None = None
    leaks: tuple[Leak, ...] = ()
    not_examined: tuple[Hashable, ...] = ()
    together: tuple[TwoReleases, ...] = ()
    unknown: tuple[str, ...] = ()
    weights_doubted: bool = False

    @property
    def broken(self) -> tuple[Goal, ...]:
        """The rules that are broken."""
        return tuple(rule for rule in self.rules if rule.passed is False)

    @property
    def not_judged(self) -> tuple[Goal, ...]:
        """The rules that the file alone does not answer."""
        return tuple(rule for rule in self.rules if rule.passed is None)

    @property
    def state(self) -> str:
        """The state of the file, as in `riskcore.disclosure.verdict.Verdict`.

        It is not better than the state in the record.
        """
        if self.same_file is False:
            return "not safe"
        judged = tuple(rule for rule in self.rules if rule.passed is not None)
        names = (*(rule.title for rule in self.not_judged), *self.unknown)
        own = Verdict(judged, self.leaks, self.not_examined, names).state
        recorded = self.recorded_state or "safe"
        if own == "not safe" or recorded.startswith("safe"):
            return recorded if own == "safe" else own
        return recorded

    @property
    def passed(self) -> bool:
        """Whether all rules are kept, by the safe file that a record names."""
        return self.state.startswith("safe")

    @property
    def notes_and_verdict(self) -> tuple[str, ...]:
        """The sentences below the table of rules."""
        open_ = [finding for finding in self.leaks if finding.accepted is None]
        said = [f"Leak: {finding.text}; {finding.advice}." for finding in open_]
        if self.not_examined:
            said.append(f"Not examined: {no_role_text(self.not_examined)}.")
        said += dict.fromkeys(finding.sentence for finding in self.together)
        return (*self.notes, *said, self.verdict)

    @property
    def verdict(self) -> str:
        """Whether the file passes, in words."""
        broken, open_, of = len(self.broken), len(self.not_judged), len(self.rules)
        rules = counted(of, "rule")
        checked = f" ({counted(self.records, self.level)} checked)"
        checked = checked if self.records else ""  # households that nobody can tell
        tally = f"{of - open_} of {rules} kept"
        if broken:
            tally = f"{broken} of {rules} broken"
        if open_:
            tally += f", {open_} not judged"
        same = "" if self.same_file is None else f" {_SAME[self.same_file]}"
        word = "NOT EXAMINED" if self.state == "not examined" else "FAILED"
        word = "Passed" if self.passed else word
        unsafe = ""
        if self.state not in _PLAIN:
            unsafe = f" State of the file: {self.state}."
        if self.recorded_state not in (None, "safe", self.state):
            unsafe += f" Its state in the record: {self.recorded_state}."
        lacking = ""
        if open_ or self.unknown:
            names = dict.fromkeys(rule.title for rule in self.not_judged)
            names |= dict.fromkeys(self.unknown)
            lacking = f" Not judged: {listed(names)}."
        return f"{word}: {tally}{checked}.{lacking}{same}{unsafe}"

    @property
    def verdict_in_public(self) -> str:
        """Whether the file passes, in words for everybody."""
        broken, of = len(self.broken), counted(len(self.rules), "rule")
        if broken:
            said = f"NOT kept: {broken} of {of}."
        elif self.same_file is False:
            said = _SAME[False]
        elif self.state == "safe":
            said = "All rules are kept."
        elif self.not_judged:
            said = f"Not judged: {len(self.not_judged)} of {of}."
        else:
            said = in_public(self.state)
        return f"{said} {_DOUBT}" if self.weights_doubted else said

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data for JSON.

        Returns
        -------
        dict
            "passed", "state", "records", "level", "same_file", "recorded_state",
            "notes", "leaks", "not_examined", "not_judged", "together" and "rules", a
            list with a dict of the attributes of each `Goal`.

        Examples
        --------
        >>> import riskcore
        >>> result = riskcore.check({"age": [31, 31, 47]}, ["age"], k=2)
        >>> result.to_dict()["rules"][0]["found"]
        1
        """
        return {
            "passed": self.passed,
            "state": self.state,
            "records": self.records,
            "level": self.level,
            "same_file": self.same_file,
            "recorded_state": self.recorded_state,
            "notes": list(self.notes),
            "leaks": [entry.to_dict() for entry in self.leaks],
            "not_examined": [str(name) for name in self.not_examined],
            "not_judged": list(self.unknown),
            "together": [entry.to_dict() for entry in self.together],
            "rules": [entry.to_dict() for entry in self.rules],
        }

    def text(self, title: str | None = None) -> str:
        """Return a table of the rules, with a line for each, and the verdict.

        Parameters
        ----------
        title : str, optional
            A line above it.

        Returns
        -------
        str
        """
        lines = [*([title] if title else []), *aligned(self._rows(), _SIDES)]
        return "\n".join([*lines, *(f"  {note}" for note in self.notes_and_verdict)])

    def _sheet(self) -> Sheet:
        """Return the result as facts and a table."""
        facts = [(f"{self.level}s", f"{self.records:,}")]
        rules = Part("Rules", rows=self._rows(), sides=_SIDES)
        facts += [("note", note) for note in self.notes_and_verdict[:-1]]
        return Sheet("Check", facts, [rules], self.verdict)

    def _rows(self) -> list[tuple[str, ...]]:
        """Return the table of the rules, with its header."""
        head = (
            "rule",
            "keys",
            "limit",
            "found",
            f"{self.level}s failing",
            "cells failing",
            "",
        )
        return [head, *map(_line, self.rules)]

    def __repr__(self) -> str:
        tally = f"{len(self.broken)} of {counted(len(self.rules), 'rule')} broken"
        if self.not_judged:
            tally += f", {len(self.not_judged)} not judged"
        return f"<Checked: {counted(self.records, 'record')}, {tally}>"


def _line(rule: Goal) -> tuple[str, ...]:
    """Return the line of a rule in the table."""
    word = _WORDS[rule.passed] + (", as recorded" if rule.recorded else "")
    return (
        rule.title,
        printable(rule.of),
        _number(rule.asked),
        _number(rule.found),
        "-" if rule.records is None else f"{rule.records:,}",
        "-" if rule.cells is None else f"{rule.cells:,}",
        word,
    )


def _number(value: float) -> str:
    """Return a limit or a figure as text."""
    if math.isnan(value):
        return "unknown"
    return f"{value:,}" if isinstance(value, int) else f"{value:.6g}"
