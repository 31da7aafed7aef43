"""Make sampling weights coarser: round them, or share the mean of a class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

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
    alters = True
    random = True

    def __post_init__(self) -> None:
        base = checked_number("base", self.base)
        if not base > 0.0:
            raise ValueError(f"base={shown_number(base)}: need a number above 0")
        object.__setattr__(self, "base", base)
        checked_names(self.within)

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
