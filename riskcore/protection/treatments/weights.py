"""Make sampling weights coarser: round them, or share the mean of a class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.common.arrays import Floats, Integers
from riskcore.common.words import counted, sentence
from riskcore.data.integers import code_integers
from riskcore.data.ranks import random_order, stable_order
from riskcore.protection.treatments.rules import (
    Given,
    Names,
    Treatment,
    enter,
    number_of,
    refuse_fewer,
    shown_number,
    whole_of,
)
from riskcore.protection.treatments.strata import combined


@enter
@dataclass(frozen=True, slots=True)
class WeightRounding(Treatment):
    """Weights become multiples of a base at random, and keep their sum in strata."""

    base: float
    within: Names = ()

    kind = "round-weights"
    alters = True
    random = True

    def check(self) -> None:
        """Refuse a base that is not above 0."""
        if not self.base > 0.0:
            raise ValueError(f"base={shown_number(self.base)}: need a number above 0")

    @classmethod
    def read(cls, argument: str) -> dict[str, Any]:
        """Return the base of ``10``."""
        return {"base": number_of(argument, "a base such as 10")}

    def describe(self, public: bool) -> str:
        """Return "rounded to multiples of 10, keeping the sum"."""
        return sentence(
            "rounded to multiples of {n}, keeping the sum", shown_number(self.base)
        )

    def treated(self, values: Sequence[Floats], context: Given) -> list[Floats]:
        """Return the rounded weights."""
        (weights,) = values
        _refuse_missing(weights, context.label)
        numbers = context.numbers(len(weights) + 1)
        return [round_weights(weights, self.base, numbers, context.stratum)]


@enter
@dataclass(frozen=True, slots=True)
class WeightSharing(Treatment):
    """Records of a class, or of a stratum, share the mean of their weights."""

    classes: int  # of about as many records each; 1: the mean of the stratum
    within: Names = ()

    kind = "share-weights"

    def check(self) -> None:
        """Refuse fewer than one class."""
        refuse_fewer("classes", self.classes, 1)

    @classmethod
    def read(cls, argument: str) -> dict[str, Any]:
        """Return the number of classes of ``5``."""
        return {"classes": whole_of(argument, "a number of classes")}

    def describe(self, public: bool) -> str:
        """Return "replaced by the means of 5 classes"."""
        if self.classes == 1:
            return sentence("replaced by the mean{within}", self.in_strata())
        return sentence(
            "replaced by the means of {n} classes{within}",
            *(self.classes, self.in_strata()),
        )

    def treated(self, values: Sequence[Floats], context: Given) -> list[Floats]:
        """Return the shared weights."""
        (weights,) = values
        _refuse_missing(weights, context.label)
        strata = [] if context.stratum is None else [context.stratum]
        # Records without a weight stay without, and take none from others.
        groups = combined([*strata, (weights == 0).astype(np.int64)], len(weights))
        if self.classes > 1:
            groups = _classes_within(weights, self.classes, groups)
        sizes = np.bincount(groups)
        context.tell({"groups": len(sizes), "smallest_group": int(sizes.min())})
        return [share_weights(weights, groups)]


def _refuse_missing(weights: Floats, label: str) -> None:
    """Refuse missing weights."""
    missing = int(np.count_nonzero(np.isnan(weights)))
    if missing:
        raise ValueError(f"{label}: {counted(missing, 'weight')} missing")


def _classes_within(weights: Floats, classes: int, strata: Integers) -> Integers:
    """Return the classes of the weights of each stratum, from 0 on."""
    class_of, start = np.empty(len(weights), np.int64), 0
    labels, codes = code_integers(strata)
    order = stable_order(codes, len(labels))
    for rows in np.split(order, np.flatnonzero(np.diff(strata[order])) + 1):
        class_of[rows] = start + weight_classes(weights[rows], classes)
        start = int(class_of[rows].max()) + 1
    return class_of


def round_weights(
    weights: Floats,
    base: float,
    numbers: NDArray[np.uint64],
    strata: Integers | None = None,
) -> Floats:
    """Round weights to multiples of a base at random, keeping their sum.

    A weight becomes the multiple below or above it, with probabilities that give the
    weight on average; multiples stay. The sum of the file, and of each stratum, is a
    multiple of the base less than one base from the old sum. ``numbers`` are n + 1
    secret random numbers of 64 bits.

    Systematic sampling of the remainders in a secret order within strata: Cox (1987),
    Journal of the American Statistical Association 82, 520-524, for one dimension.
    """
    below = int(np.count_nonzero((weights < base) & (weights != 0)))
    if below:
        raise ValueError(
            f"round weights to {base:g}: {counted(below, 'weight')} below {base:g} "
            f"could become 0; the smallest weight is {weights[weights != 0].min():g}, "
            "take a base of at most that"
        )
    values, value = np.unique(weights, return_inverse=True)
    wholes, rest = np.divmod(values, base)
    exact = _multiples(np.rint(values / base), base) == values
    wholes[exact], rest[exact] = np.rint(values[exact] / base), 0.0
    # In units of 2**-64 of the base, so that sums wrap around at each multiple.
    parts = (rest / base * 2.0**53).astype(np.uint64) << np.uint64(11)
    if strata is None:
        strata = np.zeros(len(weights), np.int64)
    labels, codes = code_integers(strata)
    order = random_order(codes, len(labels), numbers[:-1])
    own = parts[value[order]]
    up = np.empty(len(weights), bool)
    up[order] = np.cumsum(own) + numbers[-1] < own  # it wrapped
    return _multiples(wholes[value] + up, base)


def _multiples(numbers: Floats, base: float) -> Floats:
    """Return multiples of a base: of 0.1 as the nearest doubles of 0.1, 0.2, 0.3."""
    parts = round(1.0 / base) if base < 1 else 0
    return numbers / parts if parts and 1.0 / parts == base else numbers * base


def share_weights(weights: Floats, groups: Integers) -> Floats:
    """Give all records of a group, numbered from 0, the mean of their weights."""
    with np.errstate(invalid="ignore"):
        means = np.bincount(groups, weights) / np.bincount(groups)
    return means[groups]


def weight_classes(weights: Floats, classes: int) -> Integers:
    """Return weights in about equal classes, smallest first, equal ones together."""
    _, codes = np.unique(weights, return_inverse=True)
    count = np.bincount(codes)
    middle = np.cumsum(count) - count / 2
    class_of = (middle * classes / len(weights)).astype(np.int64)
    return np.unique(class_of, return_inverse=True)[1][codes]
