"""Treat sampling weights: round, share and rake them to known totals."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from riskcore.common import arguments
from riskcore.common.words import counted
from riskcore.protection.treatments.rules import (
    Floats,
    Given,
    Names,
    Treatment,
    checked_names,
    checked_number,
    checked_whole,
    enter,
    number_of,
    options_of,
    shown_number,
    shown_strata,
    strata_of,
    whole_of,
)

Weights = NDArray[np.float64]
Codes = NDArray[Any]

# Largest relative error of a total that counts as reached, and rounds of raking.
TOLERANCE = 1e-9
MOST_ROUNDS = 1000
# Steps to the root of one category: the brackets halve at least.
_STEPS = 200


@enter
@dataclass(frozen=True, slots=True)
class WeightRounding(Treatment):
    """Weights become multiples of a base at random, and keep their sum.

    Attributes
    ----------
    base : float
    within : tuple of str
        The columns of strata whose sums are kept, too.
    """

    base: float
    within: Names = ()

    kind = "round-weights"

    def __post_init__(self) -> None:
        base = checked_number("base", self.base)
        if not base > 0.0:
            raise ValueError(f"base={shown_number(base)}: need a number above 0")
        object.__setattr__(self, "base", base)
        checked_names(self.within)

    @property
    def alters(self) -> bool:
        """A multiple that is not the nearest may be taken."""
        return True

    @property
    def random(self) -> bool:
        """The multiple above or below is drawn."""
        return True

    @classmethod
    def parsed(cls, words: str) -> Self:
        """Return the rule of ``10`` or ``10:within=REGION``."""
        argument, options = options_of(words, ("within",))
        return cls(number_of(argument, "a base such as 10"), strata_of(options))

    def words(self) -> str:
        """Return the words of the rule."""
        return f"{shown_number(self.base)}{shown_strata(self.within)}"

    def describe(self, public: bool) -> str:
        """Return "rounded to multiples of 10, keeping the sum"."""
        return f"rounded to multiples of {shown_number(self.base)}, keeping the sum"

    def treated(self, values: Sequence[Floats], given: Given) -> list[Floats]:
        """Return the rounded weights."""
        (weights,) = values
        _refuse_missing(weights, given.label)
        numbers = given.numbers(len(weights) + 1)
        return [round_weights(weights, self.base, numbers, given.stratum)]


@enter
@dataclass(frozen=True, slots=True)
class WeightSharing(Treatment):
    """Records of a class of weights, or of a stratum, share the mean of their weights.

    Attributes
    ----------
    classes : int
        Number of classes of about as many records each; 1: the mean of the stratum.
    within : tuple of str
        The columns of strata, each with classes of its own.
    """

    classes: int = 1
    within: Names = ()

    kind = "share-weights"

    def __post_init__(self) -> None:
        checked_whole("classes", self.classes, 1)
        checked_names(self.within)

    @classmethod
    def parsed(cls, words: str) -> Self:
        """Return the rule of ``5`` or ``1:within=REGION``."""
        argument, options = options_of(words, ("within",))
        return cls(whole_of(argument, "a number of classes"), strata_of(options))

    def words(self) -> str:
        """Return the words of the rule."""
        return f"{self.classes}{shown_strata(self.within)}"

    def describe(self, public: bool) -> str:
        """Return "replaced by the means of 5 classes"."""
        within = f" within {', '.join(self.within)}" if self.within else ""
        of = "the mean" if self.classes == 1 else f"the means of {self.classes} classes"
        return f"replaced by {of}{within}"

    def treated(self, values: Sequence[Floats], given: Given) -> list[Floats]:
        """Return the shared weights."""
        (weights,) = values
        _refuse_missing(weights, given.label)
        groups = np.zeros(len(weights), np.int64)
        if given.stratum is not None:
            groups = np.unique(given.stratum, return_inverse=True)[1].reshape(-1)
        if self.classes > 1:
            groups = _classes_within(weights, self.classes, groups)
        sizes = np.bincount(groups)
        given.tell({"groups": len(sizes), "smallest_group": int(sizes.min())})
        return [share_weights(weights, groups)]


def _refuse_missing(weights: Weights, label: str) -> None:
    """Refuse missing weights."""
    missing = int(np.count_nonzero(np.isnan(weights)))
    if missing:
        raise ValueError(f"{label}: {counted(missing, 'weight')} missing")


def _classes_within(
    weights: Weights, classes: int, strata: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the classes of the weights of each stratum, from 0 on."""
    found, start = np.empty(len(weights), np.int64), 0
    order = np.argsort(strata, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(strata[order])) + 1):
        found[rows] = start + weight_classes(weights[rows], classes)
        start = int(found[rows].max()) + 1
    return found


def round_weights(
    weights: Weights,
    base: float,
    numbers: NDArray[np.uint64],
    strata: Codes | None = None,
) -> Weights:
    """Round weights to multiples of a base at random, keeping their sum.

    Parameters
    ----------
    weights : float64 ndarray, shape (n,)
        Positive weights.
    base : float
        Positive, at most the smallest weight, so that no weight becomes 0.
    numbers : uint64 ndarray, shape (n + 1,)
        Secret random numbers of 64 bits.
    strata : integer ndarray, shape (n,), optional
        Groups whose sums are kept, too.

    Returns
    -------
    float64 ndarray, shape (n,)
        The multiple of the base below or above each weight, with probabilities that
        give the weight on average. The sum of the file, and of each stratum, is a
        multiple of the base less than one base from the old sum; multiples of the base
        stay as they are.

    Raises
    ------
    TypeError, ValueError
        If the base is not a positive number, or some weights are below it.

    Notes
    -----
    Systematic sampling of the remainders in a secret order within strata: Cox (1987),
    Journal of the American Statistical Association 82, 520-524, for one dimension.

    Examples
    --------
    >>> numbers = np.arange(5, dtype=np.uint64) << np.uint64(60)
    >>> round_weights(np.array([12.5, 17.5, 20.0, 10.0]), 10.0, numbers)
    array([10., 20., 20., 10.])
    """
    arguments.number_in("base", base, "(0, inf)", "a weight")
    below = int(np.count_nonzero(weights < base))
    if below:
        raise ValueError(
            f"round weights to {base:g}: {counted(below, 'weight')} below {base:g} "
            f"could become 0; the smallest weight is {weights.min():g}, take a base of "
            "at most that"
        )
    wholes, rest = np.divmod(weights, base)
    exact = _multiples(np.rint(weights / base), base) == weights
    wholes[exact], rest[exact] = np.rint(weights[exact] / base), 0.0
    # In units of 2**-64 of the base, so that sums wrap around at each multiple.
    parts = (rest / base * 2.0**53).astype(np.uint64) << np.uint64(11)
    keys = (numbers[:-1],) if strata is None else (numbers[:-1], strata)
    order = np.lexsort(keys)
    sums = np.cumsum(parts[order]) + numbers[-1]
    up = np.empty(len(weights), bool)
    up[order] = sums < parts[order]  # it wrapped
    return _multiples(wholes + up, base)


def _multiples(numbers: Weights, base: float) -> Weights:
    """Return multiples of a base: of 0.1 as the nearest doubles of 0.1, 0.2, 0.3."""
    parts = round(1.0 / base) if base < 1 else 0
    return numbers / parts if parts and 1.0 / parts == base else numbers * base


def share_weights(weights: Weights, groups: Codes) -> Weights:
    """Give all records of a group the mean of their weights.

    Parameters
    ----------
    weights : float64 ndarray, shape (n,)
    groups : integer ndarray, shape (n,)
        The group of each record, from 0, such as strata or `weight_classes`.

    Returns
    -------
    float64 ndarray, shape (n,)

    Examples
    --------
    >>> share_weights(np.array([10.0, 20.0, 7.0]), np.array([0, 0, 1]))
    array([15., 15.,  7.])
    """
    with np.errstate(invalid="ignore"):
        means = np.bincount(groups, weights) / np.bincount(groups)
    return means[groups]


def weight_classes(weights: Weights, classes: int) -> NDArray[np.int64]:
    """Return classes of weights of about as many records each, from the smallest on.

    Parameters
    ----------
    weights : float64 ndarray, shape (n,)
    classes : int
        Number of classes, at least 1. Equal weights stay together, so there may be
        fewer.

    Returns
    -------
    int64 ndarray, shape (n,)
        From 0, without gaps.

    Examples
    --------
    >>> weight_classes(np.array([5.0, 9.0, 7.0, 8.0]), 2)
    array([0, 1, 0, 1])
    """
    if arguments.whole("classes", classes) < 1:
        raise ValueError(f"classes={classes}: need at least 1")
    _, inverse, count = np.unique(weights, return_inverse=True, return_counts=True)
    middle = np.cumsum(count) - count / 2
    found = (middle * classes / len(weights)).astype(np.int64)
    return np.unique(found[inverse.reshape(-1)], return_inverse=True)[1].reshape(-1)


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
    return np.bincount(margin.codes, weights, len(margin.totals))


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
