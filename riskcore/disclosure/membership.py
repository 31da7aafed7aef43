"""Membership: whether a release is denser about people of the original than it should.

How dense it should be, the other people of a file tell: of the original for its people,
of a holdout by the same design for those who were not in it. The ratio of two densities
is the attack DOMIAS of van Breugel, Sun, Qian and van der Schaar (2023); with two files
of one size and design, members of a household are as near in either.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from riskcore.common import arguments
from riskcore.common.arrays import Floats
from riskcore.common.scatter import selected
from riskcore.common.sheet import Part
from riskcore.disclosure.gower import (
    MOST,
    MixedRecords,
    gower_scale,
    nearest_of_all,
)
from riskcore.disclosure.shared_columns import SharedColumn

PAIRS = 2 * 10**9  # of two records that are compared
_SHRINKAGE = 0.7  # of the log density of other people, which has an error
_TINY = 2.0**-30  # a distance of equal records


@dataclass(frozen=True, slots=True)
class Membership:
    """How well the release tells the original from a holdout.

    Attributes
    ----------
    people : tuple of int
        People of the original and of the holdout whose score is known.
    area : float
        P(s < h) + P(s = h)/2 for the scores s of the original and h of the holdout: 1/2
        if the release tells nothing.
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
    def of(cls, original: Floats, holdout: Floats) -> Membership:
        """Compare the scores of both files."""
        nearer = _nearer(original, holdout)  # than so large a share of the holdout
        farther = 1.0 - _nearer(holdout, original)
        # Two more people, one at each end: few do not tell how far scores are spread.
        spread = sum(
            float(np.var([*shares, 0.0, 1.0], ddof=1)) / len(shares)
            for shares in (nearer, farther)
        )
        people = len(original), len(holdout)
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
            "area_interval": [low, high],
        }

    def _parts(self) -> list[Part]:
        """Return the figures as facts."""
        low, high = self.interval()
        facts = [
            (name, f"{asked:,} of {everybody:,} people")
            for name, asked, everybody in zip(
                ("original", "holdout"), self.people, self.files, strict=True
            )
        ]
        told = f"{self.area:.3f} ({low:.3f} to {high:.3f})"
        facts.append(("told from the holdout, AUC", told))
        said = "0.5: whether somebody was in the original does not show."
        return [Part("Membership by the closest records", facts, sentences=(said,))]


def membership(
    keys: Sequence[SharedColumn],
    numbers: Sequence[tuple[Floats, ...]],
    *,
    pairs: int = PAIRS,
) -> Membership:
    """Return how well at most ``pairs`` distances tell the original from a holdout."""
    n, m, h = (len(column) for column in (keys[0].codes if keys else numbers[0]))
    (original, released, holdout), levels = _files(keys, numbers)
    # Files of one size, so that other people are as near in either.
    most = min(max(pairs // (2 * (m + min(n, h))), 1), MOST, n, h)
    scale = np.array([gower_scale(files) for files in numbers])
    scores = []
    for people, size in ((original, n), (holdout, h)):
        columns = [*people.codes, *people.numbers.T]
        columns.sort(key=lambda column: np.sort(column).tobytes())
        rows = np.lexsort(columns)  # the same in any order of records and columns
        asked = people.at(rows[selected(size, most)])
        first, second = (
            nearest_of_all(
                asked.codes, file.codes, levels, (asked.numbers, file.numbers), scale
            )
            for file in (released, asked)
        )
        other = np.minimum(second.second, MOST)  # a single person has no other
        scores.append(np.log(first.first + _TINY) - _SHRINKAGE * np.log(other + _TINY))
    return replace(Membership.of(*scores), files=(n, h))


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
    return 1.0 - (below + upto) / (2.0 * len(others))
