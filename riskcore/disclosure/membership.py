"""Membership: whether a release is denser about people of the original than it should.

The reference is one half of a holdout, people of the same population by the same design
who were not in the original; the other half is told from the original, and then the
halves change places. The ratio of the two densities is the attack DOMIAS of van
Breugel, Sun, Qian and van der Schaar (2023).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from riskcore.common import arguments
from riskcore.common.scatter import selected
from riskcore.common.sheet import Part
from riskcore.disclosure.gower import (
    MOST,
    Floats,
    MixedRecords,
    Nearest,
    gower_scale,
    nearest_of_all,
)
from riskcore.disclosure.shared_columns import SharedColumn

PAIRS = 2 * 10**9  # of two records that are compared
_BLOCKS = 15  # of the holdout, in turn of either half: most households stay together
_SHRINKAGE = 0.7  # of the log density of the reference, which has an error
_TINY = 2.0**-30  # a distance of equal records


@dataclass(frozen=True, slots=True)
class Membership:
    """How well the release tells the original from a holdout.

    Attributes
    ----------
    people : tuple of int
        People of the original and of the holdout whose score is known.
    area : float
        P(s < h) + P(s = h)/2 for the scores s of the original and h of the holdout, of
        both halves: 1/2 if the release tells nothing.
    error : float
        Its standard deviation.
    files : tuple of int
        People of the original and of the holdout; if there are more than in ``people``,
        those are a selection that is the same in every run.
    """

    people: tuple[int, int]
    area: float
    error: float
    files: tuple[int, int]

    @classmethod
    def of(cls, halves: Sequence[tuple[Floats, Floats]]) -> Membership:
        """Compare scores of the original and of people of the holdout, by halves."""
        asked = [scores for scores in halves if len(scores[1])]
        nearer = np.mean([_nearer(s, h) for s, h in asked], axis=0)
        farther = np.concatenate([1.0 - _nearer(h, s) for s, h in asked])
        spread = sum(
            float(np.var(shares, ddof=1)) / len(shares) if len(shares) > 1 else math.nan
            for shares in (nearer, farther)
        )
        people = len(nearer), len(farther)
        area = math.fsum(nearer.tolist()) / len(nearer)
        return cls(people, area, math.sqrt(spread), people)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return an interval for the area (DeLong, DeLong and Clarke-Pearson 1988)."""
        reach = arguments.normal_reach(level) * self.error
        return max(self.area - reach, 0.0), min(self.area + reach, 1.0)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data for JSON; no single record is in them."""
        low, high = self.interval()
        return {
            "people": list(self.people),
            "files": list(self.files),
            "area": self.area,
            "area_interval": None if math.isnan(self.error) else [low, high],
        }

    def _parts(self) -> list[Part]:
        """Return the figures as facts."""
        low, high = self.interval()
        interval = "" if math.isnan(self.error) else f" ({low:.3f} to {high:.3f})"
        facts = [
            (name, f"{asked:,} of {everybody:,} people")
            for name, asked, everybody in zip(
                ("original", "holdout"), self.people, self.files, strict=True
            )
        ]
        facts.append(("told from the holdout, AUC", f"{self.area:.3f}{interval}"))
        said = "0.5: whether somebody was in the original does not show."
        return [Part("Membership by the closest records", facts, sentences=(said,))]


def membership(
    keys: Sequence[SharedColumn],
    numbers: Sequence[tuple[Floats, ...]],
    *,
    pairs: int = PAIRS,
) -> Membership:
    """Return how well at most ``pairs`` distances tell the original from a holdout."""
    if not keys and not numbers:
        raise ValueError(
            "membership without keys and numbers: give at least one column"
        )
    if len(keys[0].codes if keys else numbers[0]) != 3:
        raise ValueError(
            "membership needs a holdout: people who were not in the original"
        )
    n, m, h = (len(column) for column in (keys[0].codes if keys else numbers[0]))
    for what, size in zip(("original", "release", "holdout"), (n, m, h), strict=True):
        if not size:
            raise ValueError(f"the {what} has no records: there is no distance")
    (original, released, holdout), levels = _files(keys, numbers)
    most = min(max(pairs // (2 * (m + h)), 1), MOST)
    scale = np.array([gower_scale(files) for files in numbers])

    def nearest(people: MixedRecords, records: MixedRecords) -> Nearest:
        values = people.numbers, records.numbers
        return nearest_of_all(people.codes, records.codes, levels, values, scale)

    members, rows = original.at(selected(n, most)), selected(h, most)
    half, halves = np.arange(h) * _BLOCKS // h % 2, []
    first = nearest(members, released).first
    for reference in (0, 1):
        beside = holdout.at(np.flatnonzero(half == reference))
        others = holdout.at(rows[half[rows] != reference])
        there = _score(nearest(others, released).first, nearest(others, beside))
        halves.append((_score(first, nearest(members, beside)), there))
    return replace(Membership.of(halves), files=(n, h))


def _score(first: Floats, beside: Nearest) -> Floats:
    """Return scores: the smaller, the denser the release is beside the reference."""
    second = np.where(np.isinf(beside.second), beside.first, beside.second)
    second[np.isinf(second)] = 1.0  # without a reference
    score: Floats = np.log(first + _TINY) - _SHRINKAGE * np.log(second + _TINY)
    return score


def _files(
    keys: Sequence[SharedColumn], numbers: Sequence[tuple[Floats, ...]]
) -> tuple[list[MixedRecords], list[int]]:
    """Return the files, where it is a code whether a number is missing, and levels."""
    codes = [column.codes for column in keys]
    levels = [column.levels for column in keys]
    for files in numbers:
        lacking = tuple(np.isnan(column).astype(np.uint32) for column in files)
        if any(column.any() for column in lacking):
            codes.append(lacking)
            levels.append(2)
    records = [
        MixedRecords.of(
            [column[at] for column in codes], [column[at] for column in numbers]
        )
        for at in range(len([*codes, *numbers][0]))
    ]
    return records, levels


def _nearer(distances: Floats, others: Floats) -> Floats:
    """Return than which share of others each distance is smaller; a tie is a half."""
    rising = np.sort(others)
    below = np.searchsorted(rising, distances, side="left")
    upto = np.searchsorted(rising, distances, side="right")
    share: Floats = 1.0 - (below + upto) / (2.0 * len(others))
    return share
