"""Linkage of released records to the people that they look like most.

The intruder has the values of keys and numbers of people whose names are known, and
links each released record to the person that fits best, by the largest weight of
Fellegi and Sunter (1969). Of t people that fit equally well
one is taken at random. Whether released records stand for people is known by their ids,
or not known: then right links are estimated by what strangers look like.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from riskcore.common import arguments
from riskcore.common.scatter import selected
from riskcore.common.sheet import Part
from riskcore.common.words import counted, printable
from riskcore.disclosure.best_links import Best, best_links
from riskcore.disclosure.compared_records import (
    Compared,
    Floats,
    Integers,
    Strangers,
    strangers_agree,
)
from riskcore.disclosure.fellegi_sunter import fit, weights_of
from riskcore.disclosure.figures_in_words import number, percent, plain
from riskcore.disclosure.patterns import patterns_of
from riskcore.disclosure.shared_columns import SharedColumn
from riskcore.disclosure.strangers import right_beyond

PAIRS = 10**9  # that are compared


class ColumnAgreement(NamedTuple):
    """How often a column is equal, nearly equal or different, if both values are there.

    ``strangers`` are pairs of anybody, ``linked`` those of one person by the fit.
    """

    name: Hashable
    strangers: list[float]
    linked: list[float]


@dataclass(frozen=True, slots=True, eq=False)
class Linkage:
    """How many released records are linked to the right person.

    Attributes
    ----------
    released : int
        Number of released records.
    attacked : int
        Number of these for which a person was sought: all, or a selection that is the
        same in every run.
    people : tuple of int
        People of the original and of the holdout among whom a person was sought.
    known : bool
        Whether the original of each released record is known.
    right : float
        Right links: expected over ties if ``known``, otherwise estimated.
    error : float
        Standard deviation of an estimate; nan if ``known``, or with a holdout.
    chance : float
        Right links expected of an intruder who picks anybody.
    to_original : float
        Links to people of the original, right or not.
    effective : float
        How many independent links tell as much of the share of the original: a person
        may have many.
    by_model : float
        Right links as the fitted model says, without comparison with strangers. Too
        many if records of strangers look alike in several columns.
    share : float
        Share of the released records that have an original, by the model.
    columns : tuple of ColumnAgreement
        The probabilities behind the weights.
    converged : bool
        Whether the fit of these settled.
    """

    released: int
    attacked: int
    people: tuple[int, int]
    known: bool
    right: float
    error: float
    chance: float
    to_original: float
    effective: float
    by_model: float = math.nan
    share: float = math.nan
    columns: tuple[ColumnAgreement, ...] = ()
    converged: bool = True

    @property
    def rate(self) -> float:
        """Right links over the records attacked."""
        return self.right / self.attacked

    @property
    def original_share(self) -> float:
        """The share of the links that go to people of the original."""
        return self.to_original / self.attacked

    @property
    def people_share(self) -> float:
        """The share of the people who are of the original."""
        return self.people[0] / sum(self.people)

    def original_share_interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return Wilson's (1927) interval for `original_share`."""
        return _wilson(self.original_share, self.effective, level)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return an interval for `right`: which records are attacked is random.

        Wilson's (1927) if the originals are known, or of the share of the links to the
        original if there is a holdout, for people who are random as well; else normal,
        by a jackknife over the records.
        """
        if self.known:
            low, high = _wilson(self.rate, self.attacked, level)
            return low * self.attacked, high * self.attacked
        if self.people[1]:
            found = self.original_share_interval(level)
            low, high = (self._beyond_holdout(one * self.attacked) for one in found)
        else:
            reach = _normal(level) * self.error
            low, high = self.right - reach, self.right + reach
        return max(low, 0.0), min(max(high, 0.0), float(self.attacked))

    def _beyond_holdout(self, to_original: float) -> float:
        """Return the right links if so many links go to the original."""
        return _right_in_pool(to_original, self.attacked, self.people)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data for JSON; no single record is in them."""
        low, high = self.interval()
        both = self.original_share_interval()
        held = self.people[1] > 0
        return {
            "released": self.released,
            "attacked": self.attacked,
            "people": list(self.people),
            "originals_known": self.known,
            "right": plain(self.right),
            "right_interval": [plain(low), plain(high)],
            "right_by_chance": self.chance,
            "right_by_model": plain(self.by_model),
            "to_original": self.original_share if held else None,
            "to_original_interval": list(both) if held else None,
            "original_among_people": self.people_share if held else None,
            "share_with_original": plain(self.share),
            "converged": self.converged,
            "columns": [
                {"name": str(name), "strangers": u, "linked": m}
                for name, u, m in self.columns
            ],
        }

    def _parts(self) -> list[Part]:
        """Return the figures as facts, a table of the agreements, and sentences."""
        low, high = self.interval()
        what = "right links" if self.known else "right, if each has one"
        facts = [
            ("attacked", f"{self.attacked:,} of {counted(self.released, 'record')}"),
            (what, f"{number(self.right)} ({number(low)} to {number(high)})"),
            ("right by chance", number(self.chance)),
        ]
        if not self.known:
            facts.append(("right by the model alone", number(self.by_model)))
        if self.people[1]:
            one, other = self.original_share_interval()
            interval = f"{percent(one)} to {percent(other)}"
            share = f"{percent(self.original_share)} ({interval})"
            facts.append(("links to the original", share))
            facts.append(("original among the people", percent(self.people_share)))
        rows = [["column", "equal", "near", "strangers equal", "near"]]
        for name, u, m in self.columns:
            row = [printable(str(name)), *map(percent, (m[0], m[1], u[0], u[1]))]
            rows.append(row)
        said = []
        if not self.converged:
            said.append("The fit did not settle: these links are no measure of risk.")
        if not self.known and not self.people[1]:
            said.append(
                "A cautious estimate: a tenth to a third too low if many values were "
                "swapped."
            )
        return [
            Part(
                "Linkage by Fellegi-Sunter weight",
                facts,
                rows,
                "<>",
                said,
            )
        ]


def link(
    keys: Sequence[SharedColumn],
    numbers: Sequence[tuple[Floats, ...]],
    names: Sequence[Hashable],
    own: Integers | None = None,
    *,
    pairs: int = PAIRS,
) -> Linkage:
    """Return the linkage by weights of files of people and a release.

    The files of each column are the original, the release and, if there is one, a
    holdout, among which the person is sought, too. ``names``: those of keys and
    numbers. ``own``: the row of the original of each released record, -1 for none, or
    None if that is not known. At most about ``pairs`` are compared.

    *Weight*: the sum of log2 m/u over the columns, see `fellegi_sunter`.
    Numbers are near if 5 % of all numbers of the column or fewer lie between them:
    neither outliers nor the unit matter. A value that the record lacks tells nothing.

    *Right links, if not known*. With a holdout, wrong links go to original and holdout
    by the number of their people: if L links go to the h people of the holdout,
    L (n + h)/h are wrong. Without one, see `strangers`: the estimate is cautious, and
    too low by a tenth to a third if many values were swapped.
    """
    _refuse_empty(keys, numbers)
    records = Compared.of(keys, numbers)
    people = records.people.shape[1]
    compares = own is None and people == records.original
    most = max(pairs // people // (2 if compares else 1), 1)
    attacked = selected(records.released.shape[1], most)
    strangers = strangers_agree(records)
    fitted = fit(patterns_of(records, attacked, strangers), strangers)
    weights = weights_of(strangers, fitted.linked)
    agreements = zip(names, strangers.tolist(), fitted.linked.tolist(), strict=True)
    return replace(
        _linked(weights, records, attacked, own),
        by_model=fitted.best * len(attacked),
        share=fitted.share,
        columns=tuple(ColumnAgreement(*one) for one in agreements),
        converged=fitted.converged,
    )


def _refuse_empty(
    keys: Sequence[SharedColumn], numbers: Sequence[tuple[Floats, ...]]
) -> None:
    """Refuse files without columns or records."""
    if not keys and not numbers:
        raise ValueError("linkage without keys and numbers: give at least one column")
    original, released = (keys[0].codes if keys else numbers[0])[:2]
    for what, one in (("original", original), ("released file", released)):
        if not len(one):
            raise ValueError(f"the {what} has no records: nobody can be linked")


def _linked(
    weights: NDArray[np.int32],
    records: Compared,
    attacked: Integers,
    own: Integers | None,
) -> Linkage:
    """Return the links of attacked records."""
    n, original = len(attacked), records.original
    people = (original, records.people.shape[1] - original)
    nobody = np.full(n, -1)
    mine = nobody if own is None else _placed(own[attacked], records.place)
    best = best_links(weights, records, attacked, mine, nobody)
    tied = best.ties.sum(axis=1)
    links = _fsums(best.ties / tied[:, None])
    runs = len(links) // 2 if people[1] else 1
    to_original = math.fsum(links[:runs])
    error = math.nan
    if own is not None:
        found = (mine >= 0) & (best.own == best.score)
        right = math.fsum((found / tied).tolist())
    elif people[1]:
        right = min(max(_right_in_pool(to_original, n, people), 0.0), float(n))
    else:
        right, error = _beyond_strangers(weights, records, attacked, best)
    return Linkage(
        released=records.released.shape[1],
        attacked=n,
        people=people,
        known=own is not None,
        right=right,
        error=error,
        chance=(n if own is None else np.count_nonzero(mine >= 0)) / sum(people),
        to_original=to_original,
        effective=_effective(links[:runs], links[runs:]),
    )


def _placed(own: Integers, place: Integers) -> Integers:
    """Return where the person of each record is, -1 for nobody."""
    found: Integers = np.where(own >= 0, place[np.maximum(own, 0)], -1)
    return found


def _fsums(table: Floats) -> list[float]:
    """Return the sums of columns, correctly rounded."""
    return [math.fsum(column.tolist()) for column in table.T]


def _effective(original: Sequence[float], holdout: Sequence[float]) -> float:
    """Return how many independent links tell as much of the share of the original.

    A person may have many links. The deviation of the share is that of sums over random
    runs of people; never less than that of independent links.
    """
    o, h = math.fsum(original), math.fsum(holdout)
    if not o or not h:
        return o + h
    p = o / (o + h)
    each = [len(one) * float(np.var(one, ddof=1)) for one in (original, holdout)]
    variance = ((1.0 - p) ** 2 * each[0] + p**2 * each[1]) / (o + h) ** 2
    return min(p * (1.0 - p) / variance, o + h) if variance > 0.0 else o + h


def _right_in_pool(to_original: float, links: int, people: tuple[int, int]) -> float:
    """Return the right links, as wrong ones go to anybody of original and holdout."""
    return links - (links - to_original) * sum(people) / people[1]


def _beyond_strangers(
    weights: NDArray[np.int32], records: Compared, attacked: Integers, best: Best
) -> tuple[float, float]:
    """Return the right links by comparison with strangers, and their deviation."""
    if records.original < 2 or records.released.shape[1] < 2:
        return math.nan, math.nan
    n, strangers = len(attacked), Strangers.of(records, attacked)
    nobody = np.full(len(strangers.rows), -1)
    theirs = best_links(
        weights, strangers.records, strangers.rows, nobody, strangers.alone
    )
    share, error = right_beyond(best.score, theirs.score, theirs.ties[:, 0])
    return n * min(max(share, 0.0), 1.0), n * error


def _wilson(share: float, n: float, level: float) -> tuple[float, float]:
    """Return Wilson's (1927) interval for a probability, from a share of n."""
    z = _normal(level)
    center = share + z * z / (2.0 * n)
    reach = z * math.sqrt(share * (1.0 - share) / n + (z / (2.0 * n)) ** 2)
    whole = 1.0 + z * z / n
    return max((center - reach) / whole, 0.0), min((center + reach) / whole, 1.0)


def _normal(level: float) -> float:
    """Return the quantile of the normal distribution for a two-sided level."""
    level = arguments.number_in("level", level, "(0, 1)")
    return NormalDist().inv_cdf((1.0 + level) / 2.0)
