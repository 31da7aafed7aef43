"""The result of `audit`: what a released file tells an intruder."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from riskcore.assessment.goals import Goal
from riskcore.common import arguments
from riskcore.common.results import WithPublicReport
from riskcore.common.sheet import OnASheet, Part, Sheet
from riskcore.common.words import counted, listed, printable
from riskcore.data.cells import with_results
from riskcore.data.columns import plain_value
from riskcore.data.frame_types import DataT_co, OfData, frame
from riskcore.disclosure.attributes import AttributeGuesses
from riskcore.disclosure.checked import Checked
from riskcore.disclosure.claims import IdentityClaims
from riskcore.disclosure.copies import Copies
from riskcore.disclosure.figures_in_words import number, percent, plain
from riskcore.disclosure.known_measures import Measures
from riskcore.disclosure.membership import Membership
from riskcore.disclosure.number_links import NumberLink, part_of_links
from riskcore.disclosure.two_releases import TwoReleases

LEVEL = 0.95
_WIDE = 96  # of a line of the verdict
_COPIED = 0.01  # share of records: a poor model of the release has as many
_SEEN = 0.52  # area: margins alone, learned from a file, lie a little nearer to it
Interval = Callable[[float], tuple[float, float]]
# Columns that `Audit.released_records` adds to the released records.
RECORD_COLUMNS = ("original_frequency", "right_claim_probability", "copy_probability")
_FILES = ("original", "released", "holdout")
_OTHERS = {"holdout": "people of the holdout", "model": "people by the model"}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Audit(OnASheet, WithPublicReport, OfData[DataT_co]):
    """What a released file tells an intruder about the people of the original.

    Attributes
    ----------
    keys : tuple of hashable
        What the intruder knows of a person.
    records : tuple of int
        Records of the original, of the released file and, if given, of the holdout.
    identity : IdentityClaims
        The claims that a released record is a person, one for each that is unique.
    attributes : tuple of AttributeGuesses
        For each target, the guesses about the people of the original and about others.
    learned : tuple of AttributeGuesses
        With scikit-learn, the guesses that a random forest is sure of (RAPID).
    number_links : tuple of NumberLink
        With numbers, what the released records that fit a person's keys and numbers
        best tell of the person.
    membership : Membership or None
        With a holdout, whether distances tell who was in the original.
    copies : Copies or None
        Which released records look like copies of records of the original; None if an
        engine holds a file.
    measures : Measures or None
        The measures that others report, if they were asked for.
    together : TwoReleases or None
        What this file and an earlier release tell together.
    repeated_numbers : dict of column name to str
        Numbers that are often released exactly as single people have them, in words.
    notes : tuple of str
        What was noticed in the files, in words.

    Examples
    --------
    >>> import riskcore
    >>> data = {"sex": ["f", "m", "f"], "age": [31, 47, 31], "w": [10.0, 20.0, 15.0]}
    >>> made = {"sex": ["f", "m", "m"], "age": [47, 47, 31]}
    >>> found = riskcore.audit(data, made, ["sex", "age"], "w")
    >>> found.claims, round(found.expected_right_claims, 4), found.more_than_others
    (3, 0.1577, ())
    >>> found.text().splitlines()[0], found.to_dict()["claims"]
    ('Audit', 3)
    """

    keys: tuple[Hashable, ...]
    records: tuple[int, ...]
    identity: IdentityClaims
    attributes: tuple[AttributeGuesses, ...] = ()
    learned: tuple[AttributeGuesses, ...] = ()
    number_links: tuple[NumberLink, ...] = ()
    membership: Membership | None = None
    copies: Copies | None = None
    measures: Measures | None = None
    together: TwoReleases | None = None
    repeated_numbers: Mapping[Hashable, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    data: Any = field(default=None, repr=False)  # the released records

    @property
    def claims(self) -> int:
        """Number of claims: released records whose keys are unique in the release."""
        return len(self.identity)

    @property
    def expected_right_claims(self) -> float:
        """The expected number of right claims."""
        return self.identity.expected_right

    def expected_right_claims_interval(
        self, level: float = LEVEL
    ) -> tuple[float, float]:
        """Return an interval for the number of right claims.

        Parameters
        ----------
        level : float
            Probability of the interval, in (0, 1).

        Returns
        -------
        low, high : float

        Raises
        ------
        ValueError
            If the level is not in (0, 1).

        Examples
        --------
        >>> import riskcore
        >>> found = riskcore.audit({"age": [31, 47]}, {"age": [47, 50]}, ["age"])
        >>> found.expected_right_claims_interval()
        (1.0, 1.0)
        """
        return self.identity.interval(level)

    @property
    def more_than_others(self) -> tuple[str, ...]:
        """What the release tells more often of the original's people than of others.

        "claims", guesses of targets and, beside a holdout, "membership" and "copies":
        those whose interval lies above what it would be for others, that of
        membership above 0.52. The levels are those of Bonferroni: all comparisons
        together are right with 95 %. "numbers" are links by numbers that are right more
        often than by chance.
        """
        compared: list[tuple[str, Interval, float]] = [
            ("claims", self.identity.excess_interval, 0.0)
        ]
        for x in (*self.attributes, *self.learned):
            if x.by:
                compared.append((f"guesses of {x.label}", x.excess_interval, 0.0))
        if self.membership is not None:
            compared.append(("membership", self.membership.interval, _SEEN))
        if self.copies is not None and not math.isnan(self.copies.excess):
            compared.append(("copies", self.copies.excess_interval, 0.0))
        level = 1.0 - (1.0 - LEVEL) / len(compared)
        more = [name for name, of, other in compared if of(level)[0] > other]
        more += ["numbers"] * any(link.leaks for link in self.number_links)
        return tuple(dict.fromkeys(more))

    @property
    def verdict(self) -> str:
        """The answer in a sentence or two."""
        more = self.more_than_others
        excess = [self.identity.excess, *(x.excess for x in self.attributes)]
        compared = not all(map(math.isnan, excess))
        if more:
            second = (
                " The release tells more of the original's people than of others, by "
                f"{listed(more)}."
            )
        elif self.repeated_numbers:
            names = listed(printable(str(name)) for name in self.repeated_numbers)
            second = f" Exact values of single people are released: {names}."
        elif compared and not self.records[2:]:
            second = " No more than about other people was found, by the model."
        elif compared:
            second = " No risk beyond the holdout was found."
        else:
            second = ""
        return self._answer + second + self._copied

    @property
    def _copied(self) -> str:
        """How many released records look like copies, in a sentence, if some do."""
        copies = self.copies
        if copies is None or not copies.interval()[0] > _COPIED:
            return ""
        if copies.excess_interval()[0] <= 0.0:  # beside a holdout: as of anybody
            return ""
        return f" As if {copies.in_words} of its records were copied."

    @property
    def _answer(self) -> str:
        """How many claims are right, in a sentence."""
        if not self.claims:
            return "No released record is unique by the keys, so nobody can be claimed."
        low, high = self.expected_right_claims_interval()
        right = self.expected_right_claims
        verb = "is" if self.claims == 1 else "are"
        claims = f"{counted(self.claims, 'claim')} that a released record is a certain"
        estimate = f"{number(right)} ({number(low)} to {number(high)})"
        return f"Of {claims} person, {estimate} {verb} expected to be right."

    def check(
        self,
        *,
        max_right_claims: float | None = None,
        max_claim_excess: float | None = None,
        max_guess_excess: float | None = None,
        max_copy_excess: float | None = None,
    ) -> Checked:
        """Check the release against limits, for a pipeline.

        Parameters
        ----------
        max_right_claims : float, optional
            Largest share of the claims that may be right, in [0, 1]: the expected
            number over the number of claims.
        max_claim_excess : float, optional
            The same beyond chance: without the claims that would be right about other
            people.
        max_guess_excess : float, optional
            For each target, by how much the share of right guesses, by keys or by a
            learner, may be larger for the original's people than for others, in [0, 1].
        max_copy_excess : float, optional
            Largest share of released records that look like copies, beyond those that
            look like copies of people of the holdout, in [0, 1].

        Returns
        -------
        Checked
            What is unknown is not judged.

        Raises
        ------
        ValueError
            If no limit is given, a limit is not in [0, 1], or there are no targets for
            ``max_guess_excess``.

        Examples
        --------
        >>> import riskcore
        >>> data = {"sex": ["f", "m"], "age": [31, 47], "w": [10.0, 20.0]}
        >>> found = riskcore.audit(data, data, ["sex", "age"], "w")
        >>> found.check(max_right_claims=0.05).passed
        False
        """
        limits = {
            "max_right_claims": max_right_claims,
            "max_claim_excess": max_claim_excess,
            "max_guess_excess": max_guess_excess,
            "max_copy_excess": max_copy_excess,
        }
        if all(limit is None for limit in limits.values()):
            raise ValueError(f"give a limit: {', '.join(limits)}")
        if max_guess_excess is not None and not self.attributes:
            raise ValueError("max_guess_excess needs targets: give target")
        claims, copies = max(self.claims, 1), self.copies
        copied = math.nan if copies is None else copies.share
        if self.records[2:] and copies is not None:
            copied = copies.excess
        guesses = {x.target: x.excess if x.guessed else 0.0 for x in self.attributes}
        for x in self.learned:  # what is unknown is not larger
            guesses[x.target] = max(guesses[x.target], x.excess)
        shares: dict[str, list[tuple[Hashable | None, float]]] = {
            "max_right_claims": [(None, self.expected_right_claims / claims)],
            "max_claim_excess": [(None, self.identity.excess / claims)],
            "max_guess_excess": [*guesses.items()],
            "max_copy_excess": [(None, copied)],
        }
        rules = []
        for name, limit in limits.items():
            if limit is None:
                continue
            most = arguments.number_in(name, limit, "[0, 1]")
            for target, share in shares[name]:
                passed = None if math.isnan(share) else share <= most
                goal = Goal(name, self.keys, target, most, share, None, None, passed)
                rules.append(goal)
        return Checked(self.records[1], tuple(rules))

    @frame
    def released_records(self) -> Any:
        """The released records with three columns added, same type and order.

        ``original_frequency``: how many records of the original have the keys, 0 also
        where the record is not unique in the release; ``right_claim_probability``: the
        probability that the claim about the record is right; ``copy_probability``: that
        the record is a copy of one of the original, by `copies`.

        Raises
        ------
        TypeError
            If an engine holds the released records.
        ValueError
            If they already have a column of one of these names, ignoring case.
        """
        claims = self.identity
        if claims.rows is None or self.copies is None:
            raise TypeError(
                "released_records: an engine holds the records; collect them first"
            )
        frequency = np.zeros(self.records[1], np.int64)
        right = np.zeros(self.records[1])
        frequency[claims.rows], right[claims.rows] = claims.frequency, claims.right
        columns = frequency, right, self.copies.probability
        return with_results(self.data, dict(zip(RECORD_COLUMNS, columns, strict=True)))

    def riskiest(self, count: int = 10) -> list[dict[Hashable, Any]]:
        """Return the claims that are most probably right, for internal use.

        Parameters
        ----------
        count : int
            Number of claims to return; claims that cannot be right are left out.

        Returns
        -------
        list of dict
            The key values by name, then "record", the position of the released record
            from 1 on (None if an engine holds it), "original_frequency" and
            "right_claim_probability".

        Raises
        ------
        ValueError
            If the count is negative.

        Examples
        --------
        >>> import riskcore
        >>> found = riskcore.audit({"age": [31, 47]}, {"age": [47, 50]}, ["age"])
        >>> found.riskiest()
        [{'age': 47, 'record': 1, 'original_frequency': 1, 'right_claim_probability': 1.0}]
        """  # noqa: E501
        if arguments.whole("count", count) < 0:
            raise ValueError(f"count: need a number >= 0, got {count}")
        claims = self.identity
        order = np.argsort(-claims.right, kind="stable")[:count]
        categories = claims.cells.categories or ()
        rows = []
        for i in order[claims.right[order] > 0.0]:
            row: dict[Hashable, Any] = {}
            for name, codes, labels in zip(
                self.keys, claims.cells.codes, categories, strict=True
            ):
                row[name] = None if codes[i] < 0 else plain_value(labels[codes[i]])
            row["record"] = None if claims.rows is None else int(claims.rows[i]) + 1
            row[RECORD_COLUMNS[0]] = int(claims.frequency[i])
            row[RECORD_COLUMNS[1]] = float(claims.right[i])
            rows.append(row)
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data for JSON; no single record is in them.

        Returns
        -------
        dict
        """
        low, high = self.expected_right_claims_interval()
        identity = self.identity
        there = identity.others
        return {
            "verdict": self.verdict,
            "keys": [str(name) for name in self.keys],
            "records": dict(zip(_FILES, self.records, strict=False)),
            "claims": self.claims,
            "claims_of_somebody": identity.matched,
            "expected_right_claims": self.expected_right_claims,
            "expected_right_claims_interval": [low, high],
            "population_model": None
            if identity.model is None
            else identity.model.label,
            "drawn_from_population": identity.draws.share,
            "compared_with": None if there is None else there.by,
            "right_claims_about_others": None if there is None else plain(there.right),
            "claims_excess": plain(identity.excess),
            "model_error": None if there is None else plain(there.error),
            "claims_excess_interval": [*map(plain, identity.excess_interval())],
            "attributes": [scenario.to_dict() for scenario in self.attributes],
            "learned": [scenario.to_dict() for scenario in self.learned],
            "number_links": [scenario.to_dict() for scenario in self.number_links],
            "membership": None
            if self.membership is None
            else self.membership.to_dict(),
            "copies": None if self.copies is None else self.copies.to_dict(),
            "measures": None if self.measures is None else self.measures.to_dict(),
            "together": None if self.together is None else self.together.to_dict(),
            "more_than_others": list(self.more_than_others),
            "notes": list(self.notes),
        }

    def _sheet(self) -> Sheet:
        """Return the figures as facts and tables."""
        facts = [("keys", " x ".join(printable(str(name)) for name in self.keys))]
        for name, n in zip(_FILES, self.records, strict=False):
            facts.append((name, counted(n, "record")))
        return Sheet("Audit", facts, [*self._parts()], self.verdict, self.notes)

    def _parts(self) -> Iterator[Part]:
        """Yield the scenarios."""
        yield self._identity_part()
        head = ["target", "people", "right", "others", "excess", "95 % interval"]
        if self.attributes:
            rows = [head, *(guesses.row() for guesses in self.attributes)]
            by = _OTHERS[self.attributes[0].by]
            yield Part(
                f"Guesses of a target by the keys, beside {by}", rows=rows, sides="<>"
            )
        if self.learned:
            rows = [head, *(guesses.row() for guesses in self.learned)]
            yield Part("Sure guesses by a learner (RAPID)", rows=rows, sides="<>")
        if self.number_links:
            yield part_of_links(self.number_links)
        for scenario in (self.membership, self.copies, self.together, self.measures):
            if scenario is not None:
                yield from scenario._parts()

    def _identity_part(self) -> Part:
        identity = self.identity
        low, high = self.expected_right_claims_interval()
        model = identity.model
        right = f"{number(identity.expected_right)} ({number(low)} to {number(high)})"
        facts = [
            ("claims", f"{self.claims:,}"),
            ("with the keys of somebody", f"{identity.matched:,}"),
            ("expected to be right", right),
            ("population", "by the weights" if model is None else model.label),
        ]
        if identity.draws.share > 0.0:
            facts.append(("drawn from the population", percent(identity.draws.share)))
        if identity.others is not None:
            low, high = identity.excess_interval()
            of = _OTHERS[identity.others.by]
            more = f"{number(identity.excess)} ({number(low)} to {number(high)})"
            facts += [
                (f"right about {of}", number(identity.others.right)),
                ("more than about them", more),
            ]
        return Part("Claims that a released record is a certain person", facts)

    def text(self, title: str | None = "Audit") -> str:
        """Return the figures, and then the verdict, as text for internal use.

        Parameters
        ----------
        title : str or None, optional
            A line above it.

        Returns
        -------
        str
        """
        verdict = textwrap.wrap(self.verdict, _WIDE)
        return "\n  ".join([OnASheet.text(self, title), "", *verdict])

    def __repr__(self) -> str:
        return (
            f"<Audit: {counted(self.claims, 'claim')}, "
            f"{self.expected_right_claims:.5g} expected to be right>"
        )
