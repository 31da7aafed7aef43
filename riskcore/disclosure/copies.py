"""Copies: released records that the release would hardly have by its own law.

The law of the release is a model of latent classes, fitted to its records: a smooth
one, as a generator that learned only the population would have. A combination k of
values has the probability q_k by it, and f_k/n if it is a copy of one of the n records
of the original, drawn by chance. The score of a released record is the likelihood
ratio f_k/(n q_k): a rare combination that somebody in the original has all the same.
The share of copies c is that of the most likely mixture,

    sum over released records of log(c f_k/n + (1 - c) q_k).

A release that follows the population more closely than the model does looks as if it
had copies. It then looks as if it had copies of people who were never in the original,
too: with a holdout, of m people and h_k records, the mixture is

    c f_k/n + d h_k/m + (1 - c - d) q_k,

and what counts is the excess c - d n/m. A release that knows nothing of single people
has no use for one file rather than the other, so c and d are as n to m then.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from riskcore.common import arguments
from riskcore.common.arrays import Floats, Integers
from riskcore.common.sheet import Part
from riskcore.core.special.gamma.functions import log
from riskcore.disclosure.figures_in_words import percent, plain
from riskcore.disclosure.shared_columns import SharedColumn, number_together
from riskcore.models.cell_table import CellTable
from riskcore.models.latent_class import LatentClass
from riskcore.models.solve import root

LEVEL = 0.95
# Shares end next to 0 and 1, where a record that cannot be a copy has no likelihood.
_TINY = 2.0**-40
_ROUGH = 2.0**-26  # tolerance of the shares


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CopiedShare:
    """The share of copies in a mixture, by maximum likelihood.

    Attributes
    ----------
    share : float
        In [0, 1]; nan without scores.
    score : float64 ndarray, shape (S,)
        The distinct likelihood ratios of the records, rising.
    records : int64 ndarray, shape (S,)
        Number of records with each.
    """

    share: float
    score: Floats
    records: Integers

    @classmethod
    def of(cls, scores: Floats) -> CopiedShare:
        """Return the most likely share for the scores of records."""
        score, records = np.unique(scores, return_counts=True)
        if not len(score) or math.isnan(score[-1]):
            return cls(math.nan, score, records)

        def slope(share: float) -> float:
            mixed = 1.0 + share * (score - 1.0)
            return float((records * (score - 1.0) / mixed).sum())

        most = 1.0 if score[0] > 0.0 else 1.0 - _TINY
        return cls(_top(slope, 0.0, most), score, records)

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """Return an interval for the share, by the likelihood ratio (Wilks 1938)."""
        least = self._height(self.share) - _fall(level)
        if math.isnan(least):
            return math.nan, math.nan
        most = max(self.share, 1.0 - _TINY)
        return _ends(lambda c: self._height(c) - least, self.share, 0.0, most)

    def _height(self, share: float) -> float:
        """Return the log-likelihood of a share, with 0 for no copies."""
        mixed: Floats = (1.0 - share) + share * self.score
        return float((self.records * log(mixed)).sum())


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CopiedBeside:
    """The shares of copies of the original and of a holdout in one mixture.

    Attributes
    ----------
    share : float
        c, the share of copies of records of the original.
    share_there : float
        d n/m, the same of a holdout of as many people.
    ratio : float
        n/m, people of the original over people of the holdout.
    scores : tuple of float64 ndarray, shape (S,)
        Distinct pairs of likelihood ratios of the released records.
    records : int64 ndarray, shape (S,)
        Number of records with each.
    """

    share: float
    share_there: float
    ratio: float
    scores: tuple[Floats, Floats]
    records: Integers

    @classmethod
    def of(cls, scores: tuple[Floats, Floats], ratio: float) -> CopiedBeside:
        """Return the most likely shares for the scores of records."""
        pairs, records = np.unique(scores[0] + 1j * scores[1], return_counts=True)
        distinct = pairs.real.copy(), pairs.imag.copy()
        unknown = cls(math.nan, math.nan, ratio, distinct, records)

        def there(share: float) -> float:
            most = max(1.0 - share - _TINY, 0.0)
            return _top(lambda d: unknown._slopes(share, d)[1], 0.0, most)

        share = _top(lambda c: unknown._slopes(c, there(c))[0], 0.0, 1.0 - _TINY)
        return replace(unknown, share=share, share_there=ratio * there(share))

    @property
    def excess(self) -> float:
        """How much more looks copied from the original than from the holdout."""
        return self.share - self.share_there

    def excess_interval(self, level: float = LEVEL) -> tuple[float, float]:
        """Return an interval for `excess`, by its profile likelihood."""
        least = self._height(self.share, self.share_there / self.ratio) - _fall(level)

        def above(excess: float) -> float:
            there = self._likely_there(excess)
            return self._height(excess + self.ratio * there, there) - least

        ends = -self.ratio * (1.0 - 2.0 * _TINY), 1.0 - 2.0 * _TINY
        return _ends(above, min(max(self.excess, ends[0]), ends[1]), *ends)

    def _likely_there(self, excess: float) -> float:
        """Return the most likely d for an excess."""

        def slope(there: float) -> float:
            here, at = self._slopes(excess + self.ratio * there, there)
            return self.ratio * here + at

        low = max(0.0, -excess / self.ratio)
        high = max((1.0 - _TINY - excess) / (1.0 + self.ratio), low)
        return _top(slope, low, high)

    def _slopes(self, share: float, there: float) -> tuple[float, float]:
        """Return the derivatives of the log-likelihood by both shares."""
        here, other = (score - 1.0 for score in self.scores)
        weight = self.records / (1.0 + share * here + there * other)
        return float((weight * here).sum()), float((weight * other).sum())

    def _height(self, share: float, there: float) -> float:
        """Return the log-likelihood of shares, with 0 for no copies."""
        here, other = self.scores
        mixed: Floats = (1.0 - share - there) + share * here + there * other
        return float((self.records * log(mixed)).sum())


def _top(slope: Callable[[float], float], low: float, high: float) -> float:
    """Return where a concave function with this slope is largest."""
    if slope(low) <= 0.0 or high <= low:
        return low
    return high if slope(high) >= 0.0 else root(slope, low, high, _ROUGH)


def _fall(level: float) -> float:
    """Return how far the log-likelihood falls to the ends of an interval."""
    return arguments.normal_reach(level) ** 2 / 2.0


def _ends(
    above: Callable[[float], float], top: float, low: float, high: float
) -> tuple[float, float]:
    """Return where a concave function falls below 0 on both sides of its top."""
    first = root(above, low, top, _ROUGH) if above(low) < 0.0 < above(top) else low
    last = root(above, top, high, _ROUGH) if above(high) < 0.0 < above(top) else high
    return first, 1.0 if last >= 1.0 - 4.0 * _TINY else last


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Copies:
    """Which released records look like copies of records of the original.

    Attributes
    ----------
    score : float64 ndarray, shape (m,)
        f/(n q) of each released record: how many times more probable it is as a copy
        than by the law of the release; 0 if nobody in the original has its values. nan
        without an estimate.
    alone : CopiedShare
        The share of copies of records of the original.
    beside : CopiedBeside or None
        With a holdout, that share and the holdout's in one mixture.
    reason : str
        Why an estimate is missing, else empty.
    """

    score: Floats
    alone: CopiedShare
    beside: CopiedBeside | None = None
    reason: str = field(default="", kw_only=True)

    @property
    def share(self) -> float:
        """The share of released records that look like copies; nan if unknown."""
        return self.alone.share

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """Return an interval for `share`, with the law of the release as known."""
        return self.alone.interval(level)

    @property
    def share_there(self) -> float:
        """The same for as many people of the holdout; nan without one."""
        return math.nan if self.beside is None else self.beside.share_there

    @property
    def excess(self) -> float:
        """How much more looks copied than of the holdout; nan without one."""
        return math.nan if self.beside is None else self.beside.excess

    def excess_interval(self, level: float = LEVEL) -> tuple[float, float]:
        """Return an interval for `excess`; nan without a holdout."""
        if self.beside is None:
            return math.nan, math.nan
        return self.beside.excess_interval(level)

    @property
    def probability(self) -> Floats:
        """The probability that each released record is a copy, by the mixture."""
        copied = self.share * self.score
        made = 1.0 - self.share
        both = made + copied
        return np.divide(copied, both, out=np.ones(len(both)), where=both != 0.0)

    @property
    def in_words(self) -> str:
        """The share and its interval as percentages."""
        return _in_words(self.share, self.interval())

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data for JSON; no single record is in them."""
        return {
            "share": plain(self.share),
            "share_interval": [*map(plain, self.interval())],
            "share_there": plain(self.share_there),
            "excess": plain(self.excess),
            "excess_interval": [*map(plain, self.excess_interval())],
            "reason": self.reason,
        }

    def _parts(self) -> list[Part]:
        """Return the figures as facts."""
        said = f"unknown: {self.reason}" if self.reason else self.in_words
        facts = [("as if copied", said)]
        if self.beside is not None:
            there = percent(self.share_there)
            facts += [
                ("as if copied from the holdout", there),
                ("more than that", _in_words(self.excess, self.excess_interval())),
            ]
        return [Part("Released records that look like copies", facts)]


def _in_words(share: float, interval: tuple[float, float]) -> str:
    """Return a share and its interval as percentages."""
    low, high = map(percent, interval)
    return f"{percent(share)} ({low} to {high})"


def copies(columns: Sequence[SharedColumn]) -> Copies:
    """Return which records of the second file look like copies of the first."""
    original, released, *holdout = number_together(columns)
    if not len(released):
        return _unknown(0, "there are no released records")
    model = LatentClass.fit(
        [column.codes[1].astype(np.int64) for column in columns],
        levels=tuple(column.levels for column in columns),
        overdispersion=False,
    )
    if not model.converged:
        return _unknown(len(released), model.reason)
    size = max(int(x.max(initial=-1)) for x in (original, released, *holdout)) + 1
    frequencies = [np.bincount(x, minlength=size) for x in (original, *holdout)]
    law = _law(model, columns, released, np.sum(frequencies, axis=0))
    scores = [_ratios(frequency, law)[released] for frequency in frequencies]
    alone = CopiedShare.of(scores[0])
    if not holdout or not len(holdout[0]):
        return Copies(scores[0], alone)
    ratio = len(original) / len(holdout[0])
    return Copies(scores[0], alone, CopiedBeside.of((scores[0], scores[1]), ratio))


def _unknown(records: int, reason: str) -> Copies:
    """Return the result for records without an estimate."""
    score = np.full(records, math.nan)
    return Copies(score, CopiedShare.of(score), reason=reason)


def _law(
    model: LatentClass,
    columns: Sequence[SharedColumn],
    released: Integers,
    others: Integers,
) -> Floats:
    """Return q of the combinations that are released and in another file, else nan."""
    row = np.full(len(others), -1)
    row[released] = np.arange(len(released))
    asked = np.flatnonzero((row >= 0) & (others > 0))
    codes = tuple(column.codes[1][row[asked]].astype(np.int64) for column in columns)
    once = np.ones(len(asked), np.int64)
    levels, names = model.sample.levels, model.sample.keys
    table = CellTable(codes, levels, once, once.astype(np.float64), names)
    law = np.full(len(row), math.nan)
    law[asked] = model.probability(table)
    return law


def _ratios(frequency: Integers, law: Floats) -> Floats:
    """Return f/(n q) of each combination, 0 where f = 0."""
    expected = int(frequency.sum()) * law
    return np.divide(frequency, expected, out=np.zeros(len(law)), where=frequency > 0)
