"""The verdict on a file: one state, which every door shows and follows.

A file may leave if its goals are met, no leak is open, every column that stays has a
role, and nothing is left to judge. What was accepted is never called safe without
saying so.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from riskcore.assessment.goals import Goal
from riskcore.common.words import counted, joined, listed, printable, sentence
from riskcore.disclosure.leaks import Leak

# Columns that are named in a sentence; more are counted.
_NAMED = 12
# What the state of a file is in public, without figures of the original.
_IN_PUBLIC = {
    "safe": "Safe: no leak is open.",
    "accepted": "Safe except for accepted leaks.",
    "leaks": "NOT SAFE: the goals are met, but leaks are open.",
    "not examined": "NOT EXAMINED: not all was examined.",
    "not safe": "NOT SAFE: the goals are not met.",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was found about a file, and what follows from it.

    Attributes
    ----------
    goals : tuple of Goal
    leaks : tuple of Leak
        Open leaks and accepted ones.
    not_examined : tuple of column names
        The columns that stay in the file without a role.
    not_judged : tuple of str
        What could not be judged, by name.
    on_goals, on_goals_in_public : str
        With which keys the goals are met, and at what price; and the same without
        figures of the original or the recoded file.

    Examples
    --------
    >>> met = Goal("k", ("age",), None, 3, 4, 0, 0, True)
    >>> Verdict((met,)).state, Verdict((met,), not_examined=("job",)).state
    ('safe', 'not examined')
    """

    goals: tuple[Goal, ...]
    leaks: tuple[Leak, ...] = ()
    not_examined: tuple[Hashable, ...] = ()
    not_judged: tuple[str, ...] = ()
    on_goals: str = ""
    on_goals_in_public: str = ""

    @property
    def goals_met(self) -> bool:
        """Whether all goals are met."""
        return all(goal.passed is not False for goal in self.goals)

    @property
    def open(self) -> tuple[Leak, ...]:
        """The leaks that were not accepted."""
        return tuple(leak for leak in self.leaks if leak.accepted is None)

    @property
    def accepted(self) -> tuple[Leak, ...]:
        """The leaks that were accepted."""
        return tuple(leak for leak in self.leaks if leak.accepted is not None)

    @property
    def _kind(self) -> str:
        """The kind of the state, the worst that holds."""
        if not self.goals_met:
            return "not safe"
        if self.open:
            return "leaks"
        if (
            self.not_examined
            or self.not_judged
            or not all(goal.passed for goal in self.goals)
        ):
            return "not examined"
        return "accepted" if self.accepted else "safe"

    @property
    def state(self) -> str:
        """The state of the file.

        "safe", "safe except for N accepted leaks", "goals met, N leaks open", "not
        examined" or "not safe".
        """
        kind = self._kind
        if kind == "leaks":
            leaks = counted(len(self.open), "leak")
            return sentence("goals met, {leaks} open", leaks)
        if kind == "accepted":
            leaks = counted(len(self.accepted), "accepted leak")
            return sentence("safe except for {leaks}", leaks)
        return kind

    @property
    def safe(self) -> bool:
        """Whether the file may leave: it is safe, or safe except for accepted leaks."""
        return self._kind in ("safe", "accepted")

    @property
    def headline(self) -> str:
        """The state as a sentence, and what is lacking."""
        kind = self._kind
        if kind == "leaks":
            if len(self.open) == 1:
                return sentence("NOT SAFE: the goals are met, but 1 leak is open.")
            return sentence(
                "NOT SAFE: the goals are met, but {n} leaks are open.", len(self.open)
            )
        if kind == "accepted":
            leaks = counted(len(self.accepted), "accepted leak")
            called = [
                sentence("{leak}: {reason}.", leak.text, leak.accepted)
                for leak in self.accepted
                if leak.kind == "harmless"
            ]
            return joined(" ", [sentence("Safe except for {leaks}.", leaks), *called])
        if kind == "not examined":
            said = [no_role_text(self.not_examined)] if self.not_examined else []
            if self.not_judged:
                lacking = listed(self.not_judged)
                said.append(sentence("not judged: {what}", lacking))
            return sentence("NOT EXAMINED: {what}.", joined("; ", said))
        return sentence(_IN_PUBLIC[kind])

    @property
    def sentence(self) -> str:
        """The state, and how the goals are met, for internal use."""
        return joined(" ", filter(None, (self.headline, self.on_goals)))

    @property
    def public_sentence(self) -> str:
        """The state, and how the goals are met, for everybody."""
        said = (_IN_PUBLIC[self._kind], self.on_goals_in_public)
        return " ".join(filter(None, said))

    @property
    def lines(self) -> list[tuple[str, str]]:
        """The five lines of the terminal: the state, and what it follows from."""
        met = sum(goal.passed is True for goal in self.goals)
        leaks = f"{len(self.open):,} open, {len(self.accepted):,} accepted"
        return [
            ("state", self.state),
            ("goals", f"{met:,} of {len(self.goals):,} met"),
            ("leaks", leaks),
            ("columns without a role", listed_columns(self.not_examined) or "none"),
            ("not judged", listed(map(printable, self.not_judged)) or "nothing"),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as plain data for JSON.

        Returns
        -------
        dict
        """
        return {
            "state": self.state,
            "safe": self.safe,
            "goals_met": self.goals_met,
            "goals": [entry.to_dict() for entry in self.goals],
            "leaks": [entry.to_dict() for entry in self.leaks],
            "not_examined": [str(name) for name in self.not_examined],
            "not_judged": list(self.not_judged),
            "verdict": self.sentence,
            "verdict_in_public": self.public_sentence,
            "lines": [list(line) for line in self.lines],
        }


def in_public(state: str) -> str:
    """Return the sentence for everybody on the state of a file.

    >>> in_public("safe except for 2 accepted leaks"), in_public("not examined")
    ('Safe except for accepted leaks.', 'NOT EXAMINED: not all was examined.')
    """
    kinds = {"safe except": "accepted", "goals met": "leaks"}
    kind = next((kinds[prefix] for prefix in kinds if state.startswith(prefix)), state)
    return _IN_PUBLIC[kind]


def tiles(verdict: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return the tiles of a report: name, figure and note, from `Verdict.to_dict`."""
    met = sum(entry["passed"] is True for entry in verdict["goals"])
    open_ = sum(entry["accepted"] is None for entry in verdict["leaks"])
    accepted = len(verdict["leaks"]) - open_
    lacking = len(verdict["not_examined"])
    note = "not examined" if lacking else "every column has one"
    return [
        ("Goals met", f"{met:,}", f"of {len(verdict['goals']):,}"),
        ("Open leaks", f"{open_:,}", f"{accepted:,} accepted"),
        ("Columns without a role", f"{lacking:,}", note),
    ]


def no_role_text(names: Collection[Hashable]) -> str:
    """Return that columns have no role, and what to do, in words."""
    return sentence(
        "{columns} has no role; give it one (--role COLUMN=ROLE, "
        "or --role '*=harmless:REASON' for all the others)"
        if len(names) == 1
        else "{columns} have no role; give each one (--role COLUMN=ROLE, "
        "or --role '*=harmless:REASON' for all the others)",
        listed_columns(names),
    )


def listed_columns(names: Collection[Hashable]) -> str:
    """Return columns in a sentence; many are counted."""
    shown = [printable(str(name)) for name in names]
    if len(shown) > _NAMED:
        more = sentence("{n} more", len(shown) - _NAMED)
        shown = [*shown[:_NAMED], more]
    return listed(shown)
