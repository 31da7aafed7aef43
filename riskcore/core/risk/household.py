"""Household risk: the probability that at least one member is re-identified.

The recurrence h <- h + r (1 - h) over the members has no negative term and loses
nothing to cancellation, however small or close to 1 the risks are. It runs in
double-double arithmetic with a proven error bound; if the bound does not decide the
last bit of a household, rational arithmetic does. So every household risk is correctly
rounded, and does not depend on the order of the records.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from riskcore.common import arguments
from riskcore.core.compiled.jit import native
from riskcore.core.compiled.ufunc_maker import Contract
from riskcore.core.risk.file_risk import Counts, Risks, as_doubles, as_threshold
from riskcore.core.risk.threshold import RiskDistribution
from riskcore.core.special.floats import fast_two_sum, two_product, two_sum

Ids = NDArray[Any]


def household_risk(risk: ArrayLike, household: ArrayLike) -> Risks:
    """Return the risk of each record's household, 1 - prod(1 - r_i) over its members.

    Parameters
    ----------
    risk : array_like, shape (n,)
        Individual risk of each record, in [0, 1]; nan makes its household's risk nan.
    household : array_like, shape (n,)
        Identifier of each record's household: integers, strings, dates or any
        hashable objects, in any order.

    Returns
    -------
    ndarray of float64, shape (n,)
        One value for each record, in the order of the records; all members of a
        household have the same. Correctly rounded, whatever the order of the records.

    Raises
    ------
    TypeError
        If the risks are not numbers or an identifier is not hashable.
    ValueError
        If a risk is outside [0, 1], an identifier is missing (None, nan, NaT), or the
        two arrays are not one-dimensional and of one length.

    See Also
    --------
    households : one value for each household, rates and thresholds.

    Notes
    -----
    CASC (2004) deliverable 1.2-D3, equations 18 and 19. The members are taken to be
    re-identified independently of each other.

    Examples
    --------
    >>> household_risk([0.5, 1e-20, 0.5, 1e-20], ["a", "b", "a", "b"])
    array([7.5e-01, 2.0e-20, 7.5e-01, 2.0e-20])
    """
    grouping = households(risk, household)
    return grouping.risk[grouping.inverse]


@dataclass(frozen=True, eq=False)
class Households:
    """The households of a file with their risks, and what follows for the file.

    Returned by `households`. Source: CASC (2004), deliverable 1.2-D3.

    Attributes
    ----------
    ids : ndarray, shape (G,)
        Identifiers, rising; objects in the order of their first records, and so are
        identifiers given as a list unless all are integers.
    size : ndarray of int64, shape (G,)
        Number of records |g| of each household.
    risk : ndarray of float64, shape (G,)
        Household risk, nan if the risk of a member is.
    inverse : ndarray of int64, shape (n,)
        Position of each record's household in the three arrays above.

    Examples
    --------
    >>> found = households([0.1, 0.2, 0.05], ["a", "a", "b"])
    >>> len(found), found.risk.round(3)
    (2, array([0.28, 0.05]))
    >>> found.unsafe(0.1)
    array([ True, False])
    >>> round(found.threshold_for_rate(0.1), 6)
    0.125
    >>> found.member_threshold(0.1)
    array([0.05, 0.1 ])
    """

    ids: Ids
    size: Counts
    risk: Risks
    inverse: Counts

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def distribution(self) -> RiskDistribution:
        """The household risks, weighted by the number of members.

        It answers every question on thresholds; it counts records in unsafe households.

        Raises
        ------
        ValueError
            If the risk of a household is nan.
        """
        return RiskDistribution(self.risk, self.size)

    @property
    def reidentification_rate(self) -> float:
        """xi^h = (1/n) sum |g| r_g, the rate of households (CASC 2004, 5.2)."""
        return self.distribution.reidentification_rate

    def threshold_for_rate(self, rate: float) -> float:
        """Return the household threshold r^h* at which the capped rate is ``rate``.

        See `RiskDistribution.threshold_for_rate`.

        Parameters
        ----------
        rate : float
            Household re-identification rate, a fraction.

        Returns
        -------
        float
            Infinity if no household need be unsafe.
        """
        return self.distribution.threshold_for_rate(rate)

    def member_threshold(self, threshold: float) -> Risks:
        """Return delta_g = threshold/|g| for each household (CASC 2004, 5.2).

        While all members' risks are below it, the household's is below ``threshold``.

        Parameters
        ----------
        threshold : float
            A household risk.

        Returns
        -------
        ndarray of float64, shape (G,)

        Notes
        -----
        Two readings say which records are then unsafe: all with r_i >= delta_g (CASC
        2004, 5.2), or only those in households with r_g >= threshold (mu-Argus, and
        CASC 2004, 7.4.1).
        """
        return as_threshold(threshold) / self.size

    def unsafe(self, threshold: float) -> NDArray[np.bool_]:
        """Return for each household whether its risk is >= threshold.

        Parameters
        ----------
        threshold : float
            A household risk.

        Returns
        -------
        ndarray of bool, shape (G,)

        Raises
        ------
        ValueError
            If the threshold is nan or negative, or the risk of a household is nan.
        """
        unknown = np.count_nonzero(np.isnan(self.risk))
        if unknown:
            raise ValueError(f"household risk: {unknown} of {len(self)} are nan")
        return self.risk >= as_threshold(threshold)


def households(risk: ArrayLike, household: ArrayLike) -> Households:
    """Group the records of a file into households and compute each one's risk.

    Parameters and errors are those of `household_risk`.

    Examples
    --------
    >>> found = households([0.5, 0.25, 0.5], [12, 7, 12])
    >>> found.ids, found.size, found.risk
    (array([ 7, 12]), array([1, 2]), array([0.25, 0.75]))
    >>> found.unsafe(0.5)
    array([False,  True])
    """
    risk = as_doubles("risk", risk)
    arguments.refuse("risk", (risk < 0.0) | (risk > 1.0), "in [0, 1]")
    ids, inverse = _group(_present(household, len(risk)))
    size = np.bincount(inverse, minlength=len(ids)).astype(np.int64, copy=False)
    return Households(ids, size, _household_risks(risk, inverse, len(ids)), inverse)


def _present(household: ArrayLike, length: int) -> Ids:
    """Return the identifiers as an array; refuse missing ones."""
    missing = np.ma.getmaskarray(household) if np.ma.isMA(household) else False
    ids = np.asarray(household)
    integers = ids.ndim == 1 and ids.dtype.kind in "iu"
    if isinstance(household, (list, tuple)) and not integers:
        # NumPy's common type would turn nan into text and round large integers.
        ids = np.fromiter(household, dtype=object, count=len(household))
    if ids.shape != (length,):
        raise ValueError(f"household: shape {ids.shape}, but {length} risks")
    if ids.dtype.kind in "fc":
        missing = missing | np.isnan(ids)
    elif ids.dtype.kind in "mM":
        missing = missing | np.isnat(ids)
    elif ids.dtype.kind == "O":
        missing = missing | np.fromiter(map(_is_missing, ids), bool, length)
    count = np.count_nonzero(missing)
    if count:
        raise ValueError(f"household: {count} of {length} identifiers are missing")
    return ids


def _is_missing(value: Any) -> bool:
    if value is None:
        return True
    unequal = value != value  # nan and NaT; pandas' NA gives NA, which has no truth
    return not isinstance(unequal, (bool, np.bool_)) or bool(unequal)


def _group(ids: Ids) -> tuple[Ids, Counts]:
    """Return the distinct identifiers and, for each record, the position of its own."""
    n = len(ids)
    if n == 0:
        return ids, np.zeros(0, dtype=np.int64)
    if ids.dtype.kind == "O":
        return _group_objects(ids)
    changes = ids[1:] != ids[:-1]
    if np.all((ids[1:] > ids[:-1]) | ~changes):
        first = np.concatenate([[True], changes])
        return ids[first], np.cumsum(first) - 1
    if ids.dtype.kind in "iu":
        low, high = int(ids.min()), int(ids.max())
        # A table of all identifiers in the range costs less than sorting records.
        if high - low < 4 * n and low >= -(2**63) and high < 2**63:
            return _group_range(ids.astype(np.int64), low, high)
    distinct, inverse = np.unique(ids, return_inverse=True)
    return distinct, inverse.astype(np.int64, copy=False)


def _group_range(ids: Counts, low: int, high: int) -> tuple[Ids, Counts]:
    offset = ids - low
    present = np.zeros(high - low + 1, dtype=bool)
    present[offset] = True
    position = np.cumsum(present) - 1
    return np.flatnonzero(present) + low, position[offset]


def _group_objects(ids: Ids) -> tuple[Ids, Counts]:
    position: dict[Hashable, int] = {}
    inverse = np.fromiter(
        (position.setdefault(identifier, len(position)) for identifier in ids),
        np.int64,
        len(ids),
    )
    distinct = np.empty(len(position), dtype=object)
    distinct[:] = list(position)
    return distinct, inverse


def _household_risks(risk: Risks, inverse: Counts, count: int) -> Risks:
    high = np.zeros(count)
    low = np.zeros(count)
    members = np.zeros(count, dtype=np.int64)
    undecided = np.zeros(count, dtype=np.int64)
    _accumulate(risk, inverse, len(risk), high, low, members)
    _decide(high, low, members, count, undecided)
    if undecided.any():
        _round_exactly(risk, inverse, undecided, high)
    return high


def _round_exactly(
    risk: Risks, inverse: Counts, undecided: Counts, result: Risks
) -> None:
    """Replace the undecided households' risks by rational arithmetic, rounded."""
    records = np.flatnonzero(undecided[inverse])
    records = records[np.argsort(inverse[records], kind="stable")]
    groups, first = np.unique(inverse[records], return_index=True)
    for g, members in zip(groups, np.split(risk[records], first[1:]), strict=True):
        result[g] = float(1 - math.prod(1 - Fraction(r) for r in members.tolist()))


@native("float64*, int64*, int64, float64*, float64*, int64*")
def _accumulate(
    risk: Any, household: Any, n: int, highs: Any, lows: Any, members: Any
) -> None:
    """Fold each record's risk into its household's; count members with r != 0.

    One step h + r (1 - h) loses at most 16 u^2 of its result, u = 2^-53, plus one
    unit of underflow; earlier losses never grow relative to h.
    """
    for i in range(n):
        r = risk[i]
        if r != 0.0:
            g = household[i]
            rest, rest_low = two_sum(1.0, -highs[g])
            rest_low -= lows[g]
            product, product_low = two_product(r, rest)
            total, total_low = two_sum(highs[g], product)
            total_low += lows[g] + (product_low + r * rest_low)
            highs[g], lows[g] = fast_two_sum(total, total_low)
            members[g] += 1


@native("float64*, float64*, int64*, int64, int64*")
def _decide(highs: Any, lows: Any, members: Any, count: int, undecided: Any) -> None:
    """Mark the households whose error bound does not decide the last bit."""
    for g in range(count):
        k = members[g]
        if k > 1:
            # Twice the loss, to cover the rounding of the two sums below.
            bound = 32.0 * k * 2.0**-106 * highs[g] + k * 2.0**-1073
            least = highs[g] + (lows[g] - bound)
            most = highs[g] + (lows[g] + bound)
            if least < most:
                undecided[g] = 1


# An error bound decides the last bit, or else exact arithmetic. The error is half a
# unit if the exact value is a tie.
CONTRACTS = (
    Contract(
        "household_risk",
        ulps=0.5,
        worst=0.5,
        witness=(),
        region="all risks in [0, 1]",
        shown="proved",
    ),
)
