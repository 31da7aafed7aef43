"""Numeric risk: the risk from an intruder who knows numbers, such as an income."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.assessment.exact_matches import ExactMatches
from riskcore.assessment.reported_figures import label
from riskcore.common.results import Summary
from riskcore.common.sheet import OnASheet, Part, Sheet
from riskcore.common.words import counted, printable

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]

NUMBERS, BOTH = "numbers", "keys and numbers"
RANK, SPREAD = "rank", "spread"
KEYS = "keys"  # what keys without names are called


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RecordLinkage:
    """How often a way to link released records finds their originals.

    Attributes
    ----------
    known : {"numbers", "keys and numbers"}
        What the intruder knows of a person.
    measure : {"equal values", "standardized distance", "robust distance"}
        How the original is sought: among the records with equal numbers, or as the
        nearest one, by the distance of the numbers over their standard deviations, or
        over their median absolute deviations.
    right : float64 ndarray, shape (n,)
        The probability that the link of each released record is right: 1/m if its own
        original is among m equal (or equally near) ones, otherwise 0.
    second : float64 ndarray, shape (n,), or None
        The probability that its original is the second nearest.
    candidates : int64 ndarray, shape (n,)
        Number of original records that it could be linked to; 0 if its own is not one
        of them.
    """

    known: str
    measure: str
    right: Floats
    second: Floats | None
    candidates: Integers

    @property
    def expected(self) -> float:
        """Expected number of right links, correctly rounded."""
        return _sum(self.right)

    @property
    def rate(self) -> float:
        """Expected number of right links over the number of records."""
        return self.expected / len(self.right)

    @property
    def single(self) -> int:
        """Number of records that are linked to one record only, and it is right."""
        return int(np.count_nonzero(self.right == 1.0))

    @property
    def second_rate(self) -> float | None:
        """The same for the second nearest record."""
        return None if self.second is None else _sum(self.second) / len(self.second)

    @property
    def chance_rate(self) -> float:
        """The rate of an intruder who picks one of the candidates by chance."""
        chance = np.zeros(len(self.candidates))
        np.divide(1.0, self.candidates, out=chance, where=self.candidates > 0)
        return _sum(chance) / len(chance)

    @property
    def beyond_chance(self) -> float:
        """The rate less the rate of chance."""
        return self.rate - self.chance_rate

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data for JSON."""
        return {
            "known": self.known,
            "measure": self.measure,
            "expected": self.expected,
            "rate": self.rate,
            "single": self.single,
            "second_rate": self.second_rate,
            "chance_rate": self.chance_rate,
            "beyond_chance": self.beyond_chance,
        }

    def __repr__(self) -> str:
        return (
            f"<RecordLinkage: {self.known} by {self.measure}, "
            f"rate {self.rate:.6%}, by chance {self.chance_rate:.6%}>"
        )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class IntervalDisclosure:
    """The original numbers that lie in an interval around the released ones.

    Attributes
    ----------
    measure : {"rank", "spread"}
        What the interval is measured by: ranks of the released numbers, or their
        standard deviation.
    width : float
        The interval reaches so far on each side: a share of the records, or of the
        standard deviation.
    columns : tuple of hashable
        Names of the columns, d of them.
    inside : bool ndarray, shape (n, d)
        Whether an original number is in the interval. A number that is missing in
        either file is not.
    given : bool ndarray, shape (n, d)
        Whether there is an original number.
    released : bool ndarray, shape (n, d)
        Whether there is one in both files.
    """

    measure: str
    width: float
    columns: tuple[Hashable, ...]
    inside: Mask
    given: Mask
    released: Mask

    @property
    def shares(self) -> dict[Hashable, float]:
        """By column, the share of the original numbers that are inside; nan of none."""
        inside = np.count_nonzero(self.inside, axis=0).tolist()
        given = np.count_nonzero(self.given, axis=0).tolist()
        return {
            name: a / b if b else math.nan
            for name, a, b in zip(self.columns, inside, given, strict=True)
        }

    @property
    def mean_share(self) -> float:
        """Mean of the shares of the columns that have numbers; nan of none."""
        shares = [one for one in self.shares.values() if not math.isnan(one)]
        return math.fsum(shares) / len(shares) if shares else math.nan

    @property
    def record_share(self) -> Floats:
        """Share of the original numbers of each record that are inside, shape (n,)."""
        given = np.count_nonzero(self.given, axis=1)
        share: Floats = np.count_nonzero(self.inside, axis=1) / np.maximum(given, 1)
        return share

    @property
    def disclosed(self) -> Mask:
        """Records with numbers in both files, all of them inside, shape (n,)."""
        found: Mask = (self.inside == self.released).all(1) & self.released.any(1)
        return found

    @property
    def disclosed_rate(self) -> float:
        """Share of the records that are disclosed."""
        return int(np.count_nonzero(self.disclosed)) / len(self.inside)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data for JSON; nan is None."""
        mean = self.mean_share
        return {
            "measure": self.measure,
            "width": self.width,
            "shares": {
                str(name): None if math.isnan(share) else share
                for name, share in self.shares.items()
            },
            "mean_share": None if math.isnan(mean) else mean,
            "disclosed_rate": self.disclosed_rate,
        }

    def __repr__(self) -> str:
        return (
            f"<IntervalDisclosure: by {self.measure} {self.width:g}, mean share "
            f"{self.mean_share:.6%}, disclosed records {self.disclosed_rate:.6%}>"
        )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class NumericRisk(OnASheet):
    """What an intruder finds who knows numbers of the persons of a file.

    Attributes
    ----------
    columns : tuple of hashable
        Names of the columns of numbers.
    matches : tuple of ExactMatches
        The risk if numbers are known exactly: each one alone, all, and all with the
        keys.
    linkages : tuple of RecordLinkage
        Of a released file and its original: how often records are linked, by the
        numbers and, if there are keys, by keys and numbers, in three ways each.
    intervals : tuple of IntervalDisclosure
        Of a released file and its original: the original numbers close around the
        released ones, by rank and by spread.

    Examples
    --------
    >>> import riskcore
    >>> data = {"sex": ["f", "m", "f"], "income": [310, 310, 240], "w": [9.0, 5.0, 8.0]}
    >>> found = riskcore.assess(data, ["sex"], "w", numeric=["income"]).numeric
    >>> found
    <NumericRisk: income; 1 of 3 records unique, 0.52229 expected re-identifications>
    >>> [one.sample_uniques for one in found.matches]
    [1, 3]
    >>> list(found.to_dict())
    ['columns', 'records', 'matches', 'linkages', 'intervals']
    """

    columns: tuple[Hashable, ...]
    matches: tuple[ExactMatches, ...]
    linkages: tuple[RecordLinkage, ...] = ()
    intervals: tuple[IntervalDisclosure, ...] = ()

    def linkage(self, measure: str, *, known: str = NUMBERS) -> RecordLinkage:
        """Return one way to link records.

        Parameters
        ----------
        measure : {"equal values", "standardized distance", "robust distance"}
            How records are linked.
        known : {"numbers", "keys and numbers"}
            What the intruder knows.

        Returns
        -------
        RecordLinkage

        Raises
        ------
        ValueError
            If there is no such linkage, such as of a single file.

        Examples
        --------
        >>> import riskcore
        >>> found = riskcore.numeric_risk({"age": [31, 47]}, {"age": [30, 45]})
        >>> found.linkage("robust distance").rate
        1.0
        """
        for one in self.linkages:
            if (one.measure, one.known) == (measure, known):
                return one
        raise _nothing(
            "linkage", [f"{x.measure!r} of {x.known}" for x in self.linkages]
        )

    def interval(self, measure: str) -> IntervalDisclosure:
        """Return the intervals by one measure.

        Parameters
        ----------
        measure : {"rank", "spread"}
            What the width of the intervals is a share of.

        Returns
        -------
        IntervalDisclosure

        Raises
        ------
        ValueError
            If there are no such intervals, such as of a single file.

        Examples
        --------
        >>> import riskcore
        >>> found = riskcore.numeric_risk({"age": [31, 47]}, {"age": [30, 47]})
        >>> found.interval("spread").shares
        {'age': 0.5}
        """
        for one in self.intervals:
            if one.measure == measure:
                return one
        raise _nothing("interval", [repr(one.measure) for one in self.intervals])

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data for JSON.

        Returns
        -------
        dict
        """
        return {
            "columns": [str(name) for name in self.columns],
            "records": len(self.matches[0].individual_risk),
            "matches": [one.to_dict() for one in self.matches],
            "linkages": [one.to_dict() for one in self.linkages],
            "intervals": [one.to_dict() for one in self.intervals],
        }

    def summary(self, title: str = "numeric risk") -> Summary:
        """Return the figures as text, for internal use.

        Parameters
        ----------
        title : str
            The first line.

        Returns
        -------
        str
            A string that a prompt shows line by line.

        Examples
        --------
        >>> import riskcore
        >>> print(riskcore.numeric_risk({"age": [31, 47]}).summary().splitlines()[1])
          numbers  age
        """
        return Summary(self._sheet().text(title))

    def _sheet(self) -> Sheet:
        """Return the figures as facts and tables."""
        figures = self.to_dict()
        facts = [
            ("numbers", ", ".join(label(name) for name in figures["columns"])),
            ("records", f"{figures['records']:,}"),
        ]
        return Sheet("Numeric risk", facts, list(numeric_parts(figures)))

    def __repr__(self) -> str:
        known = self.matches[len(self.columns) if len(self.columns) > 1 else 0]
        names = ", ".join(printable(str(name)) for name in self.columns)
        return (
            f"<NumericRisk: {names}; {known.sample_uniques:,} of "
            f"{counted(len(known.individual_risk), 'record')} unique, "
            f"{known.expected_reidentifications:.6g} expected re-identifications>"
        )


def _nothing(what: str, there: Sequence[str]) -> ValueError:
    known = f"they are {', '.join(there)}" if there else "a single file has none"
    return ValueError(f"no such {what}: {known}")


def numeric_parts(figures: dict[str, Any]) -> Iterator[Part]:
    """Yield the parts of a sheet about the figures of `NumericRisk.to_dict`."""
    rows = [["known exactly", "sample uniques", "expected re-identifications", "rate"]]
    for one in figures["matches"]:
        names = _known(one["columns"])
        expected = f"{one['expected_reidentifications']:,.6g}"
        rate = _percent(one["reidentification_rate"])
        rows.append([names, f"{one['sample_uniques']:,}", expected, rate])
    yield Part("Risk if numbers are known", rows=rows, sides="<>")
    if figures["linkages"]:
        rows = [["known", "link by", "right", "single", "second", "by chance"]]
        rows += _linkage_rows(figures["linkages"])
        yield Part("Released records linked to their originals", rows=rows, sides="<<>")
    for one in figures["intervals"]:
        rows = [["column", "numbers inside"]]
        rows += [[label(n), _percent(x)] for n, x in one["shares"].items()]
        if len(one["shares"]) > 1:
            rows.append(["mean", _percent(one["mean_share"])])
            rows.append(["records with all inside", _percent(one["disclosed_rate"])])
        by_rank = one["measure"] == RANK
        width = (
            f"{100 * one['width']:g} % of the ranks"
            if by_rank
            else (f"{one['width']:g} standard deviations")
        )
        title = f"Original numbers within {width} of the released ones"
        yield Part(title, rows=rows, sides="<>")


def _known(columns: Sequence[str]) -> str:
    """Return the names of known columns, with unnamed keys together."""
    keys = [name for name in columns if re.fullmatch(rf"{KEYS}( \d+)?", name)]
    others = [label(name) for name in columns if name not in keys]
    return ", ".join(["the keys"] * bool(keys) + others)


def _linkage_rows(linkages: Sequence[dict[str, Any]]) -> Iterator[list[str]]:
    """Yield the ways to link records, without a distance that finds the same."""
    before: list[str] = []
    for one in linkages:
        row = _linkage_row(one)
        found = row[:1] + row[2:] if one["measure"].endswith("distance") else []
        if not found or found != before:
            yield row
        before = found


def _linkage_row(one: dict[str, Any]) -> list[str]:
    return [
        one["known"],
        one["measure"],
        _percent(one["rate"]),
        f"{one['single']:,}",
        _percent(one["second_rate"]),
        _percent(one["chance_rate"]),
    ]


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.4g} %"


def _sum(values: Floats) -> float:
    return math.fsum(values[values > 0.0].tolist())
