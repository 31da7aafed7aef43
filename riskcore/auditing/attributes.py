"""Guesses of an attribute: the commonest value among released records with the keys.

The intruder knows the keys of a person and wants another value, the target. What the
release teaches about everybody is not a leak of the original's people. So the right
guesses about them stand beside those about people who were not in the original, with a
holdout; or, without one, beside those about people who have the same keys and whose
target comes from a model of keys and target.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.auditing.shared_columns import SharedColumn, number_together
from riskcore.common import arguments
from riskcore.common.words import printable
from riskcore.models.cell_table import ANY, CellTable
from riskcore.models.latent_class import LatentClass

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

HOLDOUT, MODEL = "holdout", "model"


@dataclass(frozen=True, slots=True)
class AttributeGuesses:
    """How often a target is guessed rightly from the released records.

    Attributes
    ----------
    target : column name
    guessed : int
        People of the original whose keys are released, and whose target is known.
    right : float
        Right guesses expected among them; a tie of m values counts 1/m.
    by : {"holdout", "model"}
        With what they are compared.
    guessed_there : int
        People of the comparison about whom there is a guess.
    right_there : float
        Right guesses about them.
    commonest : float
        Right guesses about the original's people by the commonest value of all.
    """

    target: Hashable
    guessed: int
    right: float
    by: str
    guessed_there: int
    right_there: float
    commonest: float

    @property
    def share(self) -> float:
        """Right guesses as a share of the guesses; nan without a guess."""
        return self.right / self.guessed if self.guessed else math.nan

    @property
    def share_there(self) -> float:
        """The same for the people of the comparison."""
        there = self.guessed_there
        return self.right_there / there if there else math.nan

    @property
    def excess(self) -> float:
        """How much larger the share is for the people of the original."""
        return self.share - self.share_there

    def excess_interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return an interval for `excess`: both shares are of independent people.

        With a holdout by Agresti and Caffo (2000), otherwise by Agresti and Coull
        (1998): few guesses, all of them right by luck, are no leak.
        """
        level = arguments.number_in("level", level, "(0, 1)")
        two = self.by == HOLDOUT
        here, variance = _careful(self.right, self.guessed, 1.0 if two else 2.0)
        there = self.share_there
        if two:
            there, more = _careful(self.right_there, self.guessed_there, 1.0)
            variance += more
        error = NormalDist().inv_cdf((1.0 + level) / 2.0) * math.sqrt(variance)
        return here - there - error, here - there + error

    def row(self) -> list[str]:
        """Return the figures as a row of a table."""
        low, high = self.excess_interval()
        return [
            printable(str(self.target)),
            f"{self.guessed:,}",
            percent(self.share),
            percent(self.share_there),
            percent(self.excess),
            f"{percent(low)} to {percent(high)}",
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data for JSON."""
        return {
            "target": str(self.target),
            "guessed": self.guessed,
            "right": _plain(self.share),
            "compared_with": self.by,
            "guessed_there": self.guessed_there,
            "right_there": _plain(self.share_there),
            "excess": _plain(self.excess),
            "excess_interval": [*map(_plain, self.excess_interval())],
            "commonest": _plain(self.commonest / self.guessed)
            if self.guessed
            else None,
        }


def percent(share: float) -> str:
    """Return a share as a percentage of three digits."""
    return "-" if math.isnan(share) else f"{100 * share:.3g} %"


def _plain(value: float) -> float | None:
    """Return a number for JSON, which has no nan."""
    return None if math.isnan(value) else value


def _careful(right: float, n: int, more: float) -> tuple[float, float]:
    """Return a share with some right and some wrong guesses added, and its variance."""
    if not n:
        return math.nan, math.nan
    n_careful = n + 2.0 * more
    share = (right + more) / n_careful
    return share, share * (1.0 - share) / n_careful


def attribute_guesses(
    target: Hashable,
    shared: Sequence[SharedColumn],
    of_target: SharedColumn,
) -> AttributeGuesses:
    """Return the guesses from the second of two or three files about the others.

    The files are the original, the release and, if there is one, the holdout. Records
    without the target are left out of all.
    """
    rows = [np.flatnonzero(one < of_target.levels - 1) for one in of_target.codes]
    shared = [column.at(rows) for column in shared]
    of_target = of_target.at(rows)
    cell = number_together(shared)
    both = number_together([*shared, of_target])
    cells, size = (
        max(int(x.max(initial=-1)) for x in each) + 1 for each in (cell, both)
    )
    of_cell = np.zeros(size, np.int64)  # the keys of each combination
    of_cell[both[1]] = cell[1]
    records = np.bincount(both[1], minlength=size)
    most = np.zeros(cells, np.int64)
    np.maximum.at(most, of_cell, records)
    guess = np.flatnonzero((records > 0) & (records == most[of_cell]))
    ties = np.bincount(of_cell[guess], minlength=cells)
    chance = np.zeros(size)
    chance[guess] = 1.0 / ties[of_cell[guess]]
    known = [most[one] > 0 for one in cell]
    right = [math.fsum(chance[one].tolist()) for one in both]
    codes = of_target.codes[0]
    most_common = np.bincount(codes, minlength=1).argmax()
    commonest = np.count_nonzero(codes[known[0]] == most_common)
    guessed = int(np.count_nonzero(known[0]))
    if len(of_target.codes) == 3:
        there = HOLDOUT, int(np.count_nonzero(known[2])), right[2]
    else:
        people = np.bincount(cell[0], minlength=cells)
        there = (
            MODEL,
            guessed,
            _by_model([*shared, of_target], both, chance, people[of_cell]),
        )
    return AttributeGuesses(target, guessed, right[0], *there, float(commonest))


def _by_model(
    columns: Sequence[SharedColumn],
    both: Sequence[Integers],
    chance: Floats,
    people: Integers,
) -> float:
    """Return the right guesses about people with the same keys, by a model.

    The model is fitted to keys and target, the last column, of the original; of each
    person the target is drawn again, given the keys. ``people`` has the number of
    people of the original with the keys of each combination.
    """
    if not (chance.any() and people.any()):
        return 0.0
    levels = tuple(column.levels for column in columns)
    sample = [column.codes[0].astype(np.int64) for column in columns]
    model = LatentClass.fit(sample, levels=levels, overdispersion=False)
    if not model.converged:
        return math.nan
    found, first = np.unique(both[1], return_index=True)
    asked = (chance[found] > 0.0) & (people[found] > 0)
    found, first = found[asked], first[asked]
    codes = [column.codes[1][first].astype(np.int64) for column in columns]
    once = np.ones(len(found))
    names = model.sample.keys
    guesses = CellTable(tuple(codes), levels, once, once, names)
    keys = replace(guesses, codes=(*codes[:-1], np.full(len(found), ANY)))
    share = model.probability(guesses) / model.probability(keys)
    return math.fsum((share * chance[found] * people[found]).tolist())
