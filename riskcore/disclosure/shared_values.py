"""Sensitive values that a released file tells of people, with no doubt which record.

Whoever knows a person's keys looks at the released records that fit them, a blank
standing for any value. If all of them have the same value, the person has it. One blank
record that fits everybody hides this in form only: so a person is told of as well if
the people who fit the own released record share the value.

Of numbers a narrow band tells nearly as much as a value: (k, e)-anonymity asks for a
range of e (Zhang, Koudas, Srivastava and Yu 2007). Here a band is narrow if it is no
wider than 1/20 of the interquartile range of the column, and far out in a tail no wider
than 1/20 of the distance from the median: shares of the spread, as a share of the value
would depend on where the scale begins.

A missing value tells nothing, and hides nothing either: what the other records of a
cell share is told of those who have a value.

Small cells share values by chance. What chance gives is the probability that as many
values, drawn from those of the file, are equal or in such a band; of a value that 99 %
have this is nearly 1, and it is no finding that many share it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from riskcore.common.arrays import Floats, Integers, Mask
from riskcore.disclosure.kept_keys import (
    cells,
    kept_sets,
    with_missing_drawn,
)

MANY_VALUES = 20  # a number with more distinct values is told by a band
BAND = 1 / 20  # of the interquartile range, or of the distance from the median
_VALUES = 4096  # of which the law of a column is made, at most
# The chance of more draws than these is that of the next less in a geometric row.
_FEW, _STEP = 32, 1.1
# Of Chernoff's bound: the least by the largest cell, the most, and their number.
_LEAST_TILT, _MOST_TILT, _TILTS = 1e-3, 50.0, 160


@dataclass(frozen=True, slots=True, eq=False)
class SharedValues:
    """The people of whom a released file tells the value of a column."""

    told: Mask  # whose released records, or whose record's people, share a value
    guessed: float  # how many have the value that a guess by its share would be
    by_chance: float  # told of by values at random, in cells of these sizes
    log_chance: float  # logarithm of a bound that chance tells of as many
    # How often what the others of a cell share is right: for people outside the file.
    right_of_others: float
    # Of a band that counts as one value, on the scale of `in_bands`; 0 for equal ones.
    width: float

    @property
    def people(self) -> int:
        """The number of people told of."""
        return int(np.count_nonzero(self.told))

    @property
    def beyond_chance(self) -> float:
        """How many more people are told of than by chance."""
        return self.people - self.by_chance

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data for JSON."""
        right = self.right_of_others
        return {
            "people": self.people,
            "guessed": self.guessed,
            "by_chance": self.by_chance,
            "right_of_others": None if math.isnan(right) else right,
            "width": self.width,
        }


def in_bands(values: Floats) -> tuple[Floats, float]:
    """Return a column on the scale of its bands, and the width of a band there."""
    # That is asinh((x - median)/IQR), even in the middle and logarithmic in the tails.
    # Values that are few, or half of them equal, count as they are.
    observations = values[~np.isnan(values)]
    if len(np.unique(observations)) <= MANY_VALUES:
        return values, 0.0
    low, median, high = np.quantile(observations, [0.25, 0.5, 0.75])
    if high == low:
        return values, 0.0
    return np.arcsinh((values - median) / (high - low)), BAND


class Told(NamedTuple):
    """The people of whom a value is told, and the groups that tell it."""

    told: Mask
    cell: Integers  # of each person
    size: Integers  # people of each cell who have a value
    rows_of: Integers  # rows with a value that fit the people of each cell
    people_of: Integers  # people with a value who fit each row

    @classmethod
    def of(
        cls, codes: NDArray[np.integer], blanked: Mask, values: Floats, width: float
    ) -> Told:
        """Return who is told of by untreated keys, their blanks, and a column."""
        people = with_missing_drawn(codes.astype(np.int64))
        blanked = blanked | (codes < 0)
        cell = cells(people, range(codes.shape[1]))
        observed = ~np.isnan(values)
        size = np.bincount(cell, observed).astype(np.int64)
        member = np.zeros(len(size), np.int64)
        member[cell] = np.arange(len(cell))
        codes_of_cells = people[member]
        of_cells = _ranges(cell, values, values, len(size))
        # The rows that fit the people of a cell, and the people who fit a row.
        row_low, row_high = np.full(len(size), np.inf), np.full(len(size), -np.inf)
        person_low, person_high = np.zeros((2, len(values)))
        rows_of, people_of = np.zeros_like(size), np.zeros_like(cell)
        for kept, rows in kept_sets(blanked):
            group = cells(codes_of_cells, kept)
            own, number = group[cell[rows]], int(group.max()) + 1
            low, high = _ranges(own, values[rows], values[rows], number)
            np.minimum(row_low, low[group], out=row_low)
            np.maximum(row_high, high[group], out=row_high)
            rows_of += np.bincount(own, observed[rows], number).astype(np.int64)[group]
            low, high = _ranges(group, *of_cells, number)
            person_low[rows], person_high[rows] = low[own], high[own]
            people_of[rows] = np.bincount(group, size)[own]
        told: Mask = (row_high - row_low <= width)[cell]
        told |= person_high - person_low <= width
        return cls(told & observed, cell, size, rows_of, people_of)


def shared_values(
    codes: NDArray[np.integer], blanked: Mask, values: Floats, width: float = 0.0
) -> SharedValues:
    """Return the people of whom a released file tells the value of a column."""
    told, cell, size, rows_of, people_of = Told.of(codes, blanked, values, width)
    observed = ~np.isnan(values)
    law = _Law.of(values, width)
    rows_of = rows_of[cell]
    # Both groups have the person's own cell: together they have so many records.
    both = rows_of + people_of - size[cell]
    chance = law.chance(rows_of) + law.chance(people_of) - law.chance(both)
    chance = np.clip(chance, 0.0, 1.0) * observed
    guessed, by_chance = float(law.near(values[told]).sum()), float(chance.sum())
    cell, values, chance = cell[observed], values[observed], chance[observed]
    log_chance = _log_chance(int(told.sum()), cell, chance)
    right = _right_of_others(cell, values, width)
    return SharedValues(told, guessed, by_chance, log_chance, right, width)


def _ranges(
    group: Integers, least: Floats, most: Floats, number: int
) -> tuple[Floats, Floats]:
    """Return the least and largest value of each group, without missing ones."""
    low, high = np.full(number, np.inf), np.full(number, -np.inf)
    np.fmin.at(low, group, least)
    np.fmax.at(high, group, most)
    return low, high


@dataclass(frozen=True, slots=True, eq=False)
class _Law:
    """The values of a column that are drawn at random."""

    values: Floats  # sorted, without missing ones
    width: float

    @classmethod
    def of(cls, values: Floats, width: float) -> _Law:
        """Return the law of a column, thinned if it has many values."""
        observations = np.sort(values[~np.isnan(values)])
        if len(observations) > _VALUES and len(np.unique(observations)) > _VALUES:
            at = np.linspace(0, len(observations) - 1, _VALUES).astype(np.int64)
            observations = observations[at]
        return cls(observations, width)

    def near(self, values: Floats) -> Floats:
        """Return the share of values no farther than the width from some values."""
        first = np.searchsorted(self.values, values - self.width)
        last = np.searchsorted(self.values, values + self.width, side="right")
        return (last - first) / max(len(self.values), 1)

    def chance(self, draws: Integers) -> Floats:
        """Return the probability that so many draws are in one band."""
        step = np.floor(np.log(np.maximum(draws, _FEW) / _FEW) / math.log(_STEP))
        draws = np.where(draws <= _FEW, draws, (_FEW * _STEP**step).astype(np.int64))
        numbers, place = np.unique(draws, return_inverse=True)
        # With the least draw v all are in the band above v, but not above the next.
        least = np.unique(self.values)
        n = max(len(self.values), 1)
        below, up_to, end = (
            np.searchsorted(self.values, *where) / n
            for where in ((least,), (least, "right"), (least + self.width, "right"))
        )
        terms = ((end - below) ** m - (end - up_to) ** m for m in numbers.tolist())
        return np.array([float(term.sum()) for term in terms])[place.reshape(-1)]


def _log_chance(people: int, cell: Integers, chance: Floats) -> float:
    """Return Chernoff's bound of the chance that cells tell of as many people."""
    size = np.bincount(cell)
    size, of_all = size[size > 0], np.bincount(cell, chance)[size > 0]
    mean = np.minimum(of_all / size, 1.0)
    kinds, number = np.unique(np.stack([size, mean]), axis=1, return_counts=True)
    with np.errstate(divide="ignore"):
        no, yes = np.log1p(-kinds[1]), np.log(kinds[1])
    tilts = np.geomspace(_LEAST_TILT / size.max(initial=1), _MOST_TILT, _TILTS)
    bounds = [number @ np.logaddexp(no, yes + t * kinds[0]) - t * people for t in tilts]
    return float(min(0.0, *bounds))


def _right_of_others(cell: Integers, values: Floats, width: float) -> float:
    """Return how often the others of a person's cell share that person's value."""
    # Of whom the others share a value, only those who have the least or the largest
    # value of the cell can have another one.
    order = np.lexsort((values, cell))
    size = np.bincount(cell)
    size = size[size > 0]
    last = np.cumsum(size) - 1
    first = last - size + 1
    value = values[order]
    several = size > 1
    right = several & (value[last] - value[first] <= width)
    first, last = (positions[several & ~right] for positions in (first, last))
    wrong = int(np.count_nonzero(value[last] - value[first + 1] <= width))
    differs = value[last - 1] - value[first] <= width
    wrong += int(np.count_nonzero(differs))
    told = int(size[right].sum()) + wrong
    return int(size[right].sum()) / told if told else math.nan
