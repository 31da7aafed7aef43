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
from typing import Any, NamedTuple

import numpy as np

from riskcore.common import arguments
from riskcore.common.arrays import Floats, Integers, Mask
from riskcore.common.threads import in_threads, usual_threads
from riskcore.common.words import printable
from riskcore.disclosure.figures_in_words import percent, plain
from riskcore.disclosure.other_people import HOLDOUT, MODEL, parts_of_records
from riskcore.disclosure.shared_columns import SharedColumn, number_together
from riskcore.models.cell_table import ANY, CellTable
from riskcore.models.latent_class import LatentClass


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
    by : {"holdout", "model", ""}
        With what they are compared.
    guessed_there : int
        People of the comparison about whom there is a guess.
    right_there : float
        Right guesses about them.
    commonest : float
        Right guesses about the original's people by the commonest value of all.
    model_error : float
        By how much the model has the share of right guesses about others too small, as
        guesses between parts of the original tell; 0 for a holdout.
    learner : bool
        Whether a random forest guesses; only the guesses that it is sure of count.
    """

    target: Hashable
    guessed: int
    right: float
    by: str
    guessed_there: int
    right_there: float
    commonest: float = math.nan
    model_error: float = 0.0
    learner: bool = False

    @property
    def label(self) -> str:
        """What is guessed, in words."""
        return printable(str(self.target)) + " by a learner" * self.learner

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
        (1998), and wider by the error of the model: few guesses, all of them right by
        luck, are no leak.
        """
        reach = arguments.normal_reach(level)
        two = self.by == HOLDOUT
        here, variance = _careful(self.right, self.guessed, 1.0 if two else 2.0)
        there = self.share_there
        if two:
            there, more = _careful(self.right_there, self.guessed_there, 1.0)
            variance += more
        error = reach * math.sqrt(variance)
        low, high = here - there - error, here - there + error
        return low - max(self.model_error, 0.0), high - min(self.model_error, 0.0)

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
            "right": plain(self.share),
            "compared_with": self.by or None,
            "guessed_there": self.guessed_there,
            "right_there": plain(self.share_there),
            "excess": plain(self.excess),
            "excess_interval": [*map(plain, self.excess_interval())],
            "model_error": plain(self.model_error),
            "commonest": plain(self.commonest / self.guessed) if self.guessed else None,
        }


def _careful(right: float, n: int, more: float) -> tuple[float, float]:
    """Return a share with some right and some wrong guesses added, and its variance."""
    if not n:
        return math.nan, math.nan
    n_careful = n + 2.0 * more
    share = (right + more) / n_careful
    return share, share * (1.0 - share) / n_careful


def attribute_guesses(
    target: Hashable, shared: Sequence[SharedColumn], of_target: SharedColumn
) -> AttributeGuesses:
    """Return the guesses from the second of two or three files about the others."""
    rows = [np.flatnonzero(codes < of_target.levels - 1) for codes in of_target.codes]
    columns = [column.at(rows) for column in (*shared, of_target)]
    pairs = _Pairs.of(columns)
    original, released, *holdout = pairs.records
    chance = pairs.chances(released)
    guessed, right = pairs.guessed(chance, original)
    error = 0.0
    if holdout:
        by, (guessed_there, right_there) = HOLDOUT, pairs.guessed(chance, holdout[0])
    else:
        by, guessed_there = MODEL, guessed
        share = _shares(columns, pairs, original, chance > 0.0)
        right_there = pairs.expected(chance, original, share)
        error = _beyond_model(columns, pairs, original)
    mask = chance > 0.0
    mask = np.bincount(pairs.cell, mask, pairs.cells)[pairs.cell] > 0
    values = np.bincount(pairs.value[mask], original[mask], 1)
    most_common = np.bincount(pairs.value, original, 1).argmax()
    commonest = float(values[most_common]) if most_common < len(values) else 0.0
    return AttributeGuesses(
        target, guessed, right, by, guessed_there, right_there, commonest, error
    )


class _Pairs(NamedTuple):
    """Pairs of keys and a value of the target, and their records in each file."""

    records: tuple[Integers, ...]  # of each file, shape (P,)
    cell: Integers  # the keys of each pair, shape (P,)
    value: Integers  # its value, shape (P,)
    cells: int  # number of combinations of keys
    rows: Integers  # a record of each pair, of all files one after the other

    @classmethod
    def of(cls, columns: Sequence[SharedColumn]) -> _Pairs:
        """Return the pairs of files; the target is the last column."""
        of_keys = np.concatenate(number_together(columns[:-1]))
        of_pairs = number_together(columns)
        together = np.concatenate(of_pairs)
        _, rows = np.unique(together, return_index=True)
        value = np.concatenate(columns[-1].codes)[rows].astype(np.int64)
        records = tuple(np.bincount(x, minlength=len(rows)) for x in of_pairs)
        cells = int(of_keys.max(initial=-1)) + 1
        return cls(records, of_keys[rows], value, cells, rows)

    def chances(self, released: Integers) -> Floats:
        """Return the chance that each pair is guessed: 1/m of m commonest values."""
        most = np.zeros(self.cells, np.int64)
        np.maximum.at(most, self.cell, released)
        guess = (released > 0) & (released == most[self.cell])
        ties = np.bincount(self.cell[guess], minlength=self.cells)
        chance = np.zeros(len(self.cell))
        chance[guess] = 1.0 / ties[self.cell[guess]]
        return chance

    def guessed(self, chance: Floats, people: Integers) -> tuple[int, float]:
        """Return about how many people there is a guess, and how many are right."""
        there = np.bincount(self.cell[chance > 0.0], minlength=self.cells) > 0
        right = math.fsum((chance * people).tolist())
        return int(people[there[self.cell]].sum()), right

    def expected(self, chance: Floats, people: Integers, share: Floats) -> float:
        """Return the right guesses about people with other values of the target."""
        same_keys = np.bincount(self.cell, people, self.cells)[self.cell]
        return math.fsum((share * chance * same_keys).tolist())


def _shares(
    columns: Sequence[SharedColumn], pairs: _Pairs, people: Integers, asked: Mask
) -> Floats:
    """Return the share of pairs among people with their keys; nan without a model."""
    share = np.zeros(len(pairs.cell))
    if not people.any():
        return share
    levels = tuple(column.levels for column in columns)
    positions = np.flatnonzero(people)
    codes = [np.concatenate(x.codes).astype(np.int64)[pairs.rows] for x in columns]
    chosen, number = [variable[positions] for variable in codes], people[positions]
    model = LatentClass.fit(
        chosen, levels=levels, frequency=number, overdispersion=False
    )
    if not model.converged:
        return np.full(len(share), math.nan)
    once = np.ones(np.count_nonzero(asked), np.int64)
    guesses = [variable[asked] for variable in codes]
    of_pairs = CellTable(
        tuple(guesses), levels, once, np.ones(len(once)), model.sample.keys
    )
    of_keys = replace(of_pairs, codes=(*guesses[:-1], np.full(len(once), ANY)))
    whole = model.probability(of_keys)
    share[asked] = np.divide(  # nobody has keys without a probability
        model.probability(of_pairs), whole, out=np.zeros(len(once)), where=whole > 0.0
    )
    return share


def _beyond_model(
    columns: Sequence[SharedColumn], pairs: _Pairs, original: Integers
) -> float:
    """Return how much more often guesses between parts are right than by a model."""

    def compare(released: Integers) -> tuple[int, float]:
        people = original - released
        chance = pairs.chances(released)
        share = _shares(columns, pairs, people, chance > 0.0)
        guessed, right = pairs.guessed(chance, people)
        return guessed, right - pairs.expected(chance, people, share)

    parts = [(part,) for part in parts_of_records(original)]
    comparisons = in_threads(usual_threads(), compare, parts)
    n = sum(guessed for guessed, _ in comparisons)
    return math.fsum(more for _, more in comparisons) / n if n else 0.0
