"""The result of `audit`: what a released file tells an intruder."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any

from riskcore.audit.attributes import HOLDOUT, AttributeGuesses
from riskcore.audit.claims import IdentityClaims
from riskcore.common.sheet import OnASheet, Part, Sheet
from riskcore.common.words import counted, printable

LEVEL = 0.95


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Audit(OnASheet):
    """What a released file tells an intruder about the people of the original.

    Attributes
    ----------
    keys : tuple of hashable
        What the intruder knows of a person.
    records : tuple of int
        Records of the original and of the released file.
    identity : IdentityClaims
        The claims that a released record is a person, one for each that is unique.
    attributes : tuple of AttributeGuesses
        For each target, the guesses about the people of the original and about others.

    Examples
    --------
    >>> import riskcore
    >>> data = {"sex": ["f", "m", "f"], "age": [31, 47, 31], "w": [10.0, 20.0, 15.0]}
    >>> made = {"sex": ["f", "m", "m"], "age": [47, 47, 31]}
    >>> found = riskcore.audit(data, made, ["sex", "age"], "w")
    >>> found.claims, round(found.expected_right_claims, 4)
    (3, 0.1577)
    """

    keys: tuple[Hashable, ...]
    records: tuple[int, int]
    identity: IdentityClaims
    attributes: tuple[AttributeGuesses, ...] = ()

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
    def verdict(self) -> str:
        """The answer in a sentence."""
        low, high = self.expected_right_claims_interval()
        if not self.claims:
            return "No released record is unique by the keys: nobody can be claimed."
        of = counted(self.claims, "claim")
        right = f"{self.expected_right_claims:,.4g} ({low:,.4g} to {high:,.4g})"
        return (
            f"Of {of} that a released record is a person with its keys, {right} are "
            "right."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data for JSON; no single record is in them.

        Returns
        -------
        dict
        """
        low, high = self.expected_right_claims_interval()
        return {
            "keys": [str(name) for name in self.keys],
            "records": {"original": self.records[0], "released": self.records[1]},
            "claims": self.claims,
            "expected_right_claims": self.expected_right_claims,
            "expected_right_claims_interval": [low, high],
            "attributes": [_plain(one) for one in self.attributes],
        }

    def _sheet(self) -> Sheet:
        """Return the figures as facts and tables."""
        figures = self.to_dict()
        facts = [
            ("keys", " x ".join(printable(name) for name in figures["keys"])),
            ("original", counted(self.records[0], "record")),
            ("released", counted(self.records[1], "record")),
        ]
        return Sheet("Audit", facts, [*_parts(figures)], self.verdict)

    def text(self) -> str:
        """Return the figures as text, for internal use.

        Returns
        -------
        str
        """
        return self._sheet().text("audit") + f"\n\n  {self.verdict}"

    def __repr__(self) -> str:
        return (
            f"<Audit: {counted(self.claims, 'claim')}, "
            f"{self.expected_right_claims:.5g} expected to be right>"
        )


def _plain(one: AttributeGuesses) -> dict[str, Any]:
    """Return guesses as plain data."""
    return {
        "target": str(one.target),
        "guessed": one.guessed,
        "right": one.share,
        "compared_with": one.by,
        "guessed_there": one.guessed_there,
        "right_there": one.share_there,
        "excess": one.excess,
        "excess_interval": list(one.excess_interval()),
    }


def _parts(figures: dict[str, Any]) -> Iterator[Part]:
    """Yield the tables of the figures of `Audit.to_dict`."""
    if figures["attributes"]:
        rows = [["target", "people", "right", "others", "excess", "95 % interval"]]
        for one in figures["attributes"]:
            low, high = one["excess_interval"]
            others = (
                "of the holdout" if one["compared_with"] == HOLDOUT else "by the model"
            )
            rows.append(
                [
                    printable(one["target"]),
                    f"{one['guessed']:,}",
                    _percent(one["right"]),
                    f"{_percent(one['right_there'])} {others}",
                    _percent(one["excess"]),
                    f"{_percent(low)} to {_percent(high)}",
                ]
            )
        yield Part(
            "Guesses of a target from the released records", rows=rows, sides="<>"
        )


def _percent(share: float) -> str:
    return "-" if math.isnan(share) else f"{100 * share:.3g} %"
