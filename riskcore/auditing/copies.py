"""Copies: released records that a model of everybody would hardly make.

The model is of latent classes, fitted to all columns of the original. A combination k
of values that it gives the probability pi_k, and that f_k of the n records of the
original have, is released with the probability pi_k if the model made the record, and
f_k/n if it is a copy of a record drawn from the original. The score of a released
record is the likelihood ratio f_k/(n pi_k): a rare combination that is in the original
all the same. The share of copies c is that of the most likely mixture,

    sum over released records of log(c f_k/n + (1 - c) pi_k).

A release that knows the population better than the model does looks as if it had
copies. It then looks as if it had copies of people who were never in the original, too:
a holdout of such people shows how many.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.auditing.shared_columns import SharedColumn, number_together
from riskcore.common import arguments
from riskcore.common.scatter import scattered
from riskcore.common.sheet import Part
from riskcore.core.special.gamma.functions import log
from riskcore.models.cell_table import CellTable
from riskcore.models.latent_class import LatentClass
from riskcore.models.solve import root

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

LEVEL = 0.95
_MOST = 1.0 - 2.0**-40  # share of copies next to 1, where a record cannot be one


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
            return float((records * (score - 1.0) / (1.0 + share * (score - 1.0))).sum())

        if slope(0.0) <= 0.0:
            share = 0.0
        elif slope(_MOST) >= 0.0:
            share = 1.0 if score[0] > 0.0 else _MOST
        else:
            share = root(slope, 0.0, _MOST)
        return cls(share, score, records)

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """Return an interval for the share, by the likelihood ratio (Wilks 1938)."""
        level = arguments.number_in("level", level, "(0, 1)")
        if math.isnan(self.share):
            return math.nan, math.nan
        z = NormalDist().inv_cdf((1.0 + level) / 2.0)
        least = self._height(self.share) - z * z / 2.0

        def above(share: float) -> float:
            return self._height(share) - least

        low, high, most = 0.0, 1.0, max(self.share, _MOST)
        if above(0.0) < 0.0:
            low = root(above, 0.0, self.share)
        if above(most) < 0.0:
            high = root(above, self.share, most)
        return low, high

    def _height(self, share: float) -> float:
        """Return the log-likelihood of a share, with 0 for no copies."""
        mixed: Floats = (1.0 - share) + share * self.score
        return float((self.records * log(mixed)).sum())


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Copies:
    """Which released records look like copies of records of the original.

    Attributes
    ----------
    score : float64 ndarray, shape (m,)
        f/(n pi) of each released record: how many times more probable it is as a copy
        than by the model of everybody; 0 if nobody in the original has its values. nan
        without an estimate.
    of_original : CopiedShare
        The share of copies of records of the original.
    compared : tuple of CopiedShare
        With a holdout, the shares of copies of equally many people of the original and
        of the holdout; otherwise empty.
    part : float
        The part of the original that is compared: below 1 if the holdout is smaller.
    reason : str
        Why an estimate is missing, else empty.
    """

    score: Floats
    of_original: CopiedShare
    compared: tuple[CopiedShare, ...] = ()
    part: float = 1.0
    reason: str = field(default="", kw_only=True)

    @property
    def share(self) -> float:
        """The share of released records that look like copies; nan if unknown."""
        return self.of_original.share

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """Return an interval for `share`, with the model taken as known."""
        return self.of_original.interval(level)

    @property
    def share_there(self) -> float:
        """The same for people of the holdout; nan without one."""
        return self.compared[1].share if self.compared else math.nan

    @property
    def excess(self) -> float:
        """How much more is copied of the original than of as large a holdout."""
        if not self.compared:
            return math.nan
        here, there = self.compared
        return (here.share - there.share) / self.part

    def excess_interval(self, level: float = LEVEL) -> tuple[float, float]:
        """Return an interval for `excess`, from both intervals (Zou and Donner 2008)."""
        if not self.compared:
            return math.nan, math.nan
        here, there = self.compared
        (low, high), (least, most) = here.interval(level), there.interval(level)
        down = math.hypot(here.share - low, most - there.share)
        up = math.hypot(high - here.share, there.share - least)
        return self.excess - down / self.part, self.excess + up / self.part

    @property
    def probability(self) -> Floats:
        """The probability that each released record is a copy, by the mixture."""
        copied = self.share * self.score
        chance: Floats = copied / (1.0 - self.share + copied)
        return chance

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data for JSON; no single record is in them."""
        return {
            "share": _plain(self.share),
            "share_interval": [*map(_plain, self.interval())],
            "share_there": _plain(self.share_there),
            "excess": _plain(self.excess),
            "excess_interval": [*map(_plain, self.excess_interval())],
            "reason": self.reason,
        }

    def _parts(self) -> list[Part]:
        """Return the figures as facts."""
        if self.reason:
            facts = [("share of copies", f"unknown: {self.reason}")]
        else:
            facts = [("as if copied", _in_words(self.share, self.interval()))]
        if self.compared:
            there = self.compared[1]
            facts += [
                (
                    "as if copied from the holdout",
                    _in_words(there.share, there.interval()),
                ),
                ("excess", _in_words(self.excess, self.excess_interval())),
            ]
        return [Part("Released records that look like copies", facts)]


def _in_words(share: float, interval: tuple[float, float]) -> str:
    """Return a share and its interval as percentages."""
    if math.isnan(share):
        return "-"
    low, high = (100.0 * end for end in interval)
    return f"{100.0 * share:.3g} % ({low:.3g} to {high:.3g})"


def _plain(value: float) -> float | None:
    """Return a number for JSON, which has no nan."""
    return None if math.isnan(value) else value


def copies(columns: Sequence[SharedColumn]) -> Copies:
    """Return which records of the second file look like copies of the first.

    The files are the original, the release and, if there is one, a holdout. The columns
    are keys and targets.
    """
    cells = number_together(columns)
    model = LatentClass.fit(
        [column.codes[0].astype(np.int64) for column in columns],
        levels=tuple(column.levels for column in columns),
        overdispersion=False,
    )
    if not model.converged:
        unknown = CopiedShare.of(np.full(1, math.nan))
        return Copies(np.full(len(cells[1]), math.nan), unknown, reason=model.reason)
    size = max(int(one.max(initial=-1)) for one in cells) + 1
    found = [np.bincount(one, minlength=size) for one in cells]
    pi = _probabilities(model, columns, cells[1], found)
    score = _ratios(found[0], pi)[cells[1]]
    of_original = CopiedShare.of(score)
    if len(cells) == 2:
        return Copies(score, of_original)
    people = min(len(cells[0]), len(cells[2]))
    compared = []
    for one in (cells[0], cells[2]):
        chosen = np.bincount(_some(one, people), minlength=size)
        compared.append(CopiedShare.of(_ratios(chosen, pi)[cells[1]]))
    return Copies(score, of_original, tuple(compared), people / len(cells[0]))


def _probabilities(
    model: LatentClass,
    columns: Sequence[SharedColumn],
    released: Integers,
    found: Sequence[Integers],
) -> Floats:
    """Return pi of the combinations that are released and in another file, else nan."""
    row = np.full(len(found[0]), -1)
    row[released] = np.arange(len(released))
    asked = np.flatnonzero((row >= 0) & (np.sum([found[0], *found[2:]], axis=0) > 0))
    codes = tuple(column.codes[1][row[asked]].astype(np.int64) for column in columns)
    once = np.ones(len(asked))
    levels, names = model.sample.levels, model.sample.keys
    pi = np.full(len(row), math.nan)
    pi[asked] = model.probability(CellTable(codes, levels, once, once, names))
    return pi


def _ratios(found: Integers, pi: Floats) -> Floats:
    """Return f/(n pi) of each combination, 0 where f = 0."""
    expected = int(found.sum()) * pi
    return np.divide(found, expected, out=np.zeros(len(pi)), where=found > 0)


def _some(cells: Integers, number: int) -> Integers:
    """Return the combinations of a random part of records, the same in every run."""
    order = np.argsort(scattered(np.arange(len(cells), dtype=np.uint64)), kind="stable")
    return cells[order[:number]]
