"""Rake weights: change them little, so that they add to known totals."""

from __future__ import annotations

import csv
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from riskcore.common.words import counted
from riskcore.data.files.labels import code_text
from riskcore.protection.treatments.rules import (
    Floats,
    Given,
    Names,
    Treatment,
    checked_number,
    enter,
    number_of,
    shown_number,
)

Weights = NDArray[np.float64]
Codes = NDArray[Any]

# Largest relative error of a total that counts as reached, and rounds of raking.
TOLERANCE = 1e-9
MOST_ROUNDS = 1000
# Steps to the root of one category: the brackets halve at least.
_STEPS = 200


class Margin(NamedTuple):
    """A variable with known totals: the category of each record, and each total."""

    codes: Codes  # shape (n,), from 0
    totals: NDArray[np.float64]  # shape (L,)


@dataclass(frozen=True, slots=True, eq=False)
class Raked:
    """Weights raked to known totals.

    Attributes
    ----------
    weights : float64 ndarray, shape (n,)
    factors : float64 ndarray, shape (n,)
        The g-weights: new weights over old ones.
    converged : bool
        Whether all totals are reached.
    rounds : int
        Passes over the margins.
    largest_error : float
        Largest relative difference between a total and the weights of its records.
    """

    weights: Weights
    factors: Weights
    converged: bool
    rounds: int
    largest_error: float

    def to_dict(self) -> dict[str, Any]:
        """Return what happened as plain values."""
        return {
            "converged": self.converged,
            "rounds": self.rounds,
            "largest_error": self.largest_error,
            "smallest_factor": float(self.factors.min()),
            "largest_factor": float(self.factors.max()),
        }


def rake(
    weights: Weights,
    margins: Mapping[Hashable, Margin],
    *,
    bounds: tuple[float, float] | None = None,
    tolerance: float = TOLERANCE,
    rounds: int = MOST_ROUNDS,
) -> Raked:
    """Change weights as little as possible so that they add to known totals.

    Parameters
    ----------
    weights : float64 ndarray, shape (n,)
        Positive weights.
    margins : mapping of names to Margin
        See `margins_of`.
    bounds : (low, high), optional
        Limits of the g-weights, new weights over old ones, with 0 <= low < 1 < high.
    tolerance : float
        Relative error of a total that counts as reached.
    rounds : int
        Most passes over the margins.

    Returns
    -------
    Raked
        If ``converged`` is false, the totals cannot be reached, not within the bounds,
        or not in that many rounds; the weights are those of the last round.

    Raises
    ------
    ValueError
        If the bounds are not such numbers.

    Notes
    -----
    The raking ratio of Deville and Särndal (1992), Journal of the American Statistical
    Association 87, 376-382: of all weights with these totals, and within the bounds,
    those with the smallest sum of w (g log g - g + 1). Each round multiplies the
    records of one category after the other by a factor (iterative proportional
    fitting); with bounds, the product of a record's factors is cut to them.

    Examples
    --------
    >>> weights = np.array([10.0, 10.0, 10.0, 10.0])
    >>> sex = Margin(np.array([0, 0, 1, 1]), np.array([24.0, 26.0]))
    >>> area = Margin(np.array([0, 1, 0, 1]), np.array([20.0, 30.0]))
    >>> found = rake(weights, {"sex": sex, "area": area})
    >>> found.weights.round(2), found.converged
    (array([ 9.6, 14.4, 10.4, 15.6]), True)
    """
    low, high = (0.0, np.inf) if bounds is None else bounds
    if not 0 <= low < 1 < high:
        raise ValueError(
            f"bounds={bounds}: need two numbers, the first in [0, 1), the second "
            "above 1"
        )
    product = np.ones(len(weights))
    error, done = _error(weights, margins), 0
    while error > tolerance and done < rounds:
        for margin in margins.values():
            product *= _factors(weights, product, margin, low, high)[margin.codes]
        new = weights * np.clip(product, low, high)
        done, before, error = done + 1, error, _error(new, margins)
        if not np.isfinite(product).all() or (bounds and error == before):
            break
    factors = np.clip(product, low, high)
    return Raked(weights * factors, factors, error <= tolerance, done, error)


def margins_of(
    columns: Mapping[Hashable, tuple[Codes, NDArray[Any]]],
    totals: Mapping[Hashable, Mapping[Any, float]],
) -> dict[Hashable, Margin]:
    """Return the margins of coded columns; refuse totals that cannot be reached.

    Parameters
    ----------
    columns : mapping of names to (codes, labels)
        For each variable the code of each record and the label of each code; a code
        without a label is missing.
    totals : mapping of names to mappings of labels to totals
        The total of each category, the known number of people.

    Returns
    -------
    dict of name to Margin

    Raises
    ------
    ValueError
        If a column has missing values, a category has no total, a total is not
        positive and finite or has no records, or the totals of two variables differ.

    Examples
    --------
    >>> sex = np.array([0, 1, 1]), np.array(["f", "m"])
    >>> margins_of({"sex": sex}, {"sex": {"f": 60, "m": 40}})["sex"].totals
    array([60., 40.])
    """
    found = {}
    for name, known in totals.items():
        codes, labels = columns[name]
        missing = int(np.count_nonzero(codes >= len(labels)))
        if missing:
            raise ValueError(
                f"margin {name!r}: missing in {counted(missing, 'record')}; a record "
                "without a category cannot be raked"
            )
        present = labels.tolist()
        _refuse("no total is given for", name, set(present) - set(known))
        _refuse("no record has", name, set(known) - set(present))
        numbers = np.array([known[label] for label in present], np.float64)
        if not ((numbers > 0) & (numbers < np.inf)).all():
            raise ValueError(f"margin {name!r}: a total is positive and finite")
        found[name] = Margin(codes, numbers)
    _refuse_unequal(found)
    return found


def _refuse(fault: str, name: Hashable, labels: set[Any]) -> None:
    """Refuse labels of a margin that have a fault."""
    if labels:
        listed = ", ".join(sorted(map(repr, labels))[:5])
        raise ValueError(f"margin {name!r}: {fault} {listed}")


def _refuse_unequal(margins: Mapping[Hashable, Margin]) -> None:
    """Refuse margins whose totals add to different populations."""
    sums = {name: fsum(one.totals.tolist()) for name, one in margins.items()}
    if sums and max(sums.values()) > min(sums.values()) * (1 + TOLERANCE):
        listed = ", ".join(f"{name!r} to {total:,.15g}" for name, total in sums.items())
        raise ValueError(
            f"margins: the totals add to different populations, {listed}; they must "
            "agree"
        )


def _sums(weights: Weights, margin: Margin) -> NDArray[np.float64]:
    """Return the weights of each category, added in the order of the records."""
    sums = np.bincount(margin.codes, weights, len(margin.totals))
    return np.asarray(sums, np.float64)


def _error(weights: Weights, margins: Mapping[Hashable, Margin]) -> float:
    """Return the largest relative error of a total."""
    errors = [
        float(abs(_sums(weights, one) / one.totals - 1).max())
        for one in margins.values()
    ]
    return max(errors, default=0.0)


def _factors(
    weights: Weights, product: Weights, margin: Margin, low: float, high: float
) -> NDArray[np.float64]:
    """Return for each category the factor with which its total is reached.

    With bounds the sum is piecewise linear in the factor: a Newton step that leaves the
    bracket is replaced by its geometric mean.
    """
    codes, totals = margin
    factor = totals / _sums(weights * product, margin)
    if (low, high) == (0.0, np.inf):
        return factor
    floor, ceiling = _bracket(product, margin, factor, low, high)
    factor = np.clip(factor, floor, ceiling)
    for _ in range(_STEPS):
        raw = product * factor[codes]
        free = (raw > low) & (raw < high)
        sums = _sums(weights * np.clip(raw, low, high), margin)
        slope = _sums(weights * raw * free, margin) / factor
        if ((abs(sums - totals) <= 1e-14 * totals) | (floor == ceiling)).all():
            break
        floor = np.where(sums < totals, factor, floor)
        ceiling = np.where(sums > totals, factor, ceiling)
        with np.errstate(divide="ignore", invalid="ignore"):
            newton = factor + (totals - sums) / slope
        inside = (newton > floor) & (newton < ceiling)
        factor = np.where(inside, newton, np.sqrt(floor * ceiling))
    return factor


def _bracket(
    product: Weights, margin: Margin, free: NDArray[np.float64], low: float, high: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return two factors of each category between which its total is reached.

    By ``free`` it would be reached without bounds, which is too little if only small
    weights are raised, and too much if only large ones are cut.
    """
    smallest, largest = np.full((2, len(free)), [[np.inf], [0.0]])
    np.minimum.at(smallest, margin.codes, product)
    np.maximum.at(largest, margin.codes, product)
    floor = low / largest if low > 0 else free
    return floor, high / smallest if high < np.inf else free


@enter
@dataclass(frozen=True, slots=True)
class Raking(Treatment):
    """Weights are raked to known totals, after all other treatments.

    Attributes
    ----------
    totals : tuple of (column, category, total)
        The known number of people of each category.
    """

    totals: tuple[tuple[str, str, float], ...]

    kind = "rake"
    last = True

    def __post_init__(self) -> None:
        rows = tuple(map(_checked_total, self.totals or [()]))
        known = [row[:2] for row in rows]
        twice = [row for row in dict.fromkeys(known) if known.count(row) > 1]
        if twice:
            raise ValueError(f"totals: {' '.join(twice[0])} appears twice")
        object.__setattr__(self, "totals", rows)

    @property
    def margins(self) -> dict[str, dict[str, float]]:
        """The totals by column and category."""
        found: dict[str, dict[str, float]] = {}
        for column, category, total in self.totals:
            found.setdefault(column, {})[category] = total
        return found

    @property
    def needs(self) -> Names:
        """The columns whose categories have totals."""
        return tuple(self.margins)

    @classmethod
    def parsed(cls, words: str) -> Self:
        """Return the rule of a CSV file, or of ``SEX,f,510;SEX,m,490``."""
        if "," in words:
            rows = [line.split(",") for line in words.split(";")]
        else:
            rows = _rows_of_file(Path(words))
        short = [row for row in rows if len(row) != 3]
        if short:
            raise ValueError(
                f"{','.join(short[0])!r}: need a column, a category and its total"
            )
        return cls(
            tuple(
                (
                    column,
                    category,
                    number_of(total, f"a total of {column}"),
                )
                for column, category, total in rows
            )
        )

    def words(self) -> str:
        """Return the totals."""
        return ";".join(
            f"{column},{category},{shown_number(total)}"
            for column, category, total in self.totals
        )

    def describe(self, public: bool) -> str:
        """Return "raked to known totals of REGION, SEX"."""
        return f"raked to known totals of {', '.join(self.margins)}"

    def treated(self, values: Sequence[Floats], given: Given) -> list[Floats]:
        """Return the raked weights, or refuse totals that cannot be reached."""
        (weights,) = values
        columns: dict[Hashable, Any] = {}
        totals: dict[Hashable, Any] = {}
        for name, known in self.margins.items():
            codes, labels = given.column(name)
            by_text = {code_text(label): label for label in labels.tolist()}
            columns[name] = codes, labels
            totals[name] = {by_text.get(c, c): total for c, total in known.items()}
        found = rake(weights, margins_of(columns, totals))
        if not found.converged:
            raise ValueError(
                f"{given.label[:80]}: the totals are not reached after {found.rounds} "
                f"rounds; they are {100 * found.largest_error:.3g} % away. Together "
                "they may be impossible: a combination of categories has no records"
            )
        given.tell(found.to_dict())
        return [found.weights]


def _checked_total(row: Any) -> tuple[str, str, float]:
    """Return a row of totals, or refuse it."""
    if not (isinstance(row, tuple | list) and len(row) == 3):
        raise ValueError("totals: need rows of a column, a category and a total")
    column, category, total = row
    if not (isinstance(column, str) and isinstance(category, str)):
        raise ValueError("totals: a column and a category are text")
    return column, category, checked_number(f"total of {column} {category}", total)


def _rows_of_file(path: Path) -> list[list[str]]:
    """Return the lines of a file of totals, without its header."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = [[one.strip() for one in row] for row in csv.reader(file) if row]
    except UnicodeDecodeError:
        raise ValueError(f"{path}: not a CSV file in UTF-8") from None
    if len(rows) < 2:
        raise ValueError(
            f"{path}: need a header, such as column,category,total, and a line for "
            "each category"
        )
    return rows[1:]
