"""Risk thresholds: from a rate or a number of unsafe records, and back.

The rule throughout: a record is unsafe when its risk r >= t, the threshold. So the
threshold 0 makes every record unsafe, and an infinite one makes every record safe.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from riskcore.common import arguments
from riskcore.compiled.jit import native
from riskcore.risk.file_risk import (
    Counts,
    Risks,
    as_frequency,
    as_risk,
    as_threshold,
    expected_reidentifications,
    reidentification_rate,
)
from riskcore.special.floats import fast_two_sum, two_product, two_sum


class RiskDistribution:
    """How many records have which risk: every threshold by look-up.

    Built once by sorting, in O(K log K); each question is then O(log K).
    Cells of equal risk are merged and sums are compensated, so that the order of the
    cells does not matter.

    Parameters
    ----------
    risk : array_like, shape (K,)
        Risk of each cell (or record, or household), in [0, 1].
    frequency : array_like, shape (K,), optional
        Number of records of each cell (members of each household), whole numbers; by
        default 1. Cells without records do not count.

    Attributes
    ----------
    risk : ndarray of float64
        The distinct risks, rising.
    frequency : ndarray of int64
        The number of records at each.
    n : int
        The number of records.
    max_risk : float
        The largest risk.
    expected_reidentifications : float
        ER = sum f r.
    reidentification_rate : float
        xi = ER/n.

    Raises
    ------
    TypeError
        If risks or frequencies are not numbers.
    ValueError
        If a risk is nan or outside [0, 1], a frequency is negative or not whole, or
        there are no records.

    Notes
    -----
    CASC (2004) deliverable 1.2-D3, section 4. The capped rate

        g(t) = (1/n) sum f min(r, t)

    rises, continuous and concave, from g(0) = 0 to g(max_risk) = xi.

    Examples
    --------
    >>> file = RiskDistribution([0.5, 0.125, 0.25], frequency=[1, 4, 3])
    >>> file.reidentification_rate
    0.21875
    >>> file.threshold_for_rate(0.125)
    0.125
    >>> file.unsafe_count(0.25)
    4
    """

    def __init__(self, risk: ArrayLike, frequency: ArrayLike | None = None) -> None:
        risk = as_risk(risk)
        counts = as_frequency(frequency, len(risk))
        self.risk, self.frequency = _merge_equal(risk, counts)
        self._below = np.concatenate([[0], np.cumsum(self.frequency)])
        self.n = int(self._below[-1])
        self.max_risk = float(self.risk[-1])
        self._high = np.zeros(len(self.risk) + 1)
        self._low = np.zeros(len(self.risk) + 1)
        _prefix_sums(self.risk, self.frequency, len(self.risk), self._high, self._low)
        self.expected_reidentifications = expected_reidentifications(
            self.risk, self.frequency
        )
        self.reidentification_rate = reidentification_rate(self.risk, self.frequency)

    def __repr__(self) -> str:
        return (
            f"<RiskDistribution of {self.n} records: "
            f"rate {self.reidentification_rate:.6g}, max risk {self.max_risk:.6g}>"
        )

    def unsafe_count(self, threshold: float) -> int:
        """Return the number of unsafe records, those with risk >= threshold.

        Parameters
        ----------
        threshold : float
            A risk.

        Returns
        -------
        int
        """
        return self.n - int(self._below[self._safe_risks(threshold)])

    def capped_rate(self, threshold: float) -> float:
        """Return g(threshold), the rate with all larger risks lowered to the threshold.

        A file protected so that no risk is above the threshold has at most this rate.

        Parameters
        ----------
        threshold : float
            A risk.

        Returns
        -------
        float

        Examples
        --------
        >>> file = RiskDistribution([0.5, 0.125, 0.25], frequency=[1, 4, 3])
        >>> file.capped_rate(0.25)
        0.1875
        """
        safe = self._safe_risks(threshold)
        if safe == len(self.risk):
            return self.reidentification_rate
        return float(self._capped_sum(safe, threshold)) / self.n

    def safe_rate(self, threshold: float) -> float:
        """Return (1/n) sum f r over the safe cells: the rate without unsafe records.

        After protection the rate of the file lies between this one, reached if the
        unsafe records cannot be re-identified at all, and `capped_rate`.

        Parameters
        ----------
        threshold : float
            A risk.

        Returns
        -------
        float

        Examples
        --------
        >>> file = RiskDistribution([0.5, 0.125, 0.25], frequency=[1, 4, 3])
        >>> file.safe_rate(0.25)
        0.0625
        """
        safe = self._safe_risks(threshold)
        if safe == len(self.risk):
            return self.reidentification_rate
        return float(self._sum_below(safe)) / self.n

    def sum_below(self, threshold: float) -> Fraction:
        """Return the sum of f r over the safe cells, a sum of two doubles.

        Its error is near 1e-30 of its size; rounded to a double it is correct but for
        sums as close as that to the middle of two doubles.

        Parameters
        ----------
        threshold : float
            A risk.

        Returns
        -------
        fractions.Fraction

        Examples
        --------
        >>> file = RiskDistribution([0.5, 0.125, 0.25], frequency=[1, 4, 3])
        >>> file.sum_below(0.25)
        Fraction(1, 2)
        """
        return self._sum_below(self._safe_risks(threshold))

    def actual_threshold(self, threshold: float) -> float:
        """Return the largest safe risk, or 0 if no record is safe.

        It is what mu-Argus shows as the actual threshold. Applied as a threshold it
        makes the records that have it unsafe as well.

        Parameters
        ----------
        threshold : float
            A risk.

        Returns
        -------
        float

        Examples
        --------
        >>> file = RiskDistribution([0.5, 0.125, 0.25], frequency=[1, 4, 3])
        >>> file.actual_threshold(0.3)
        0.25
        """
        safe = self._safe_risks(threshold)
        return float(self.risk[safe - 1]) if safe else 0.0

    def threshold_for_rate(self, rate: float) -> float:
        """Return the threshold t with g(t) = rate, the continuous inverse of g.

        Parameters
        ----------
        rate : float
            Largest acceptable re-identification rate, a fraction in [0, 1].

        Returns
        -------
        float
            Correctly rounded but for the rounding of the prefix sums (near 1e-30 of
            their size); infinity if the file's own rate is no larger than ``rate``:
            every record is safe. A rate of 0 gives 0: every record is unsafe.

        Raises
        ------
        ValueError
            If the rate is nan or outside [0, 1].

        Notes
        -----
        Between two neighbouring risks g is a straight line, so that no iteration is
        needed: t = (n rate - sum of f r below) / (number of records not below).
        """
        rate = _as_rate(rate)
        if rate >= self.reidentification_rate:
            return math.inf
        last = len(self.risk) - 1
        target = Fraction(rate) * self.n
        k = bisect_left(range(last), target, key=self._capped_sum_at)
        exact = (target - self._sum_below(k)) / self._records_from(k)
        # A rate between the exact xi and the rounded one reaches beyond max_risk.
        return min(float(exact), float(self.risk[k]))

    def observed_threshold_for_rate(self, rate: float) -> float:
        """Return the largest observed risk t with g(t) < rate.

        This is equation 17 of the CASC deliverable to the letter, with the threshold
        one of the risks of the file.

        Parameters
        ----------
        rate : float
            Largest acceptable re-identification rate, a fraction in [0, 1].

        Returns
        -------
        float
            Infinity if the file's own rate is below ``rate``: every record is safe.
            Zero if no observed risk serves: every record is unsafe.

        Raises
        ------
        ValueError
            If the rate is nan or outside [0, 1].

        Examples
        --------
        >>> file = RiskDistribution([0.5, 0.125, 0.25], frequency=[1, 4, 3])
        >>> file.observed_threshold_for_rate(0.15)
        0.125
        """
        rate = _as_rate(rate)
        if rate > self.reidentification_rate:
            return math.inf
        target = Fraction(rate) * self.n
        k = bisect_left(range(len(self.risk)), target, key=self._capped_sum_at)
        return float(self.risk[k - 1]) if k else 0.0

    def threshold_for_unsafe(self, count: int) -> float:
        """Return the smallest observed risk at most ``count`` records reach.

        Records of equal risk are unsafe together: if no threshold makes exactly
        ``count`` records unsafe, this one makes fewer unsafe, and as many as possible.

        Parameters
        ----------
        count : int
            Number of records that may be unsafe, 0 to n.

        Returns
        -------
        float
            Infinity if even the records of the largest risk are too many, and for 0.

        Raises
        ------
        TypeError
            If the count is not an integer.
        ValueError
            If it is negative or above n.

        Examples
        --------
        >>> file = RiskDistribution([0.5, 0.125, 0.25], frequency=[1, 4, 3])
        >>> file.threshold_for_unsafe(3)
        0.5
        """
        count = arguments.whole("count", count)
        if not 0 <= count <= self.n:
            raise ValueError(f"count: need 0 to {self.n} records, got {count}")
        k = int(np.searchsorted(self._below[:-1], self.n - count))
        return float(self.risk[k]) if k < len(self.risk) else math.inf

    def _safe_risks(self, threshold: float) -> int:
        """Return the number of distinct risks below the threshold."""
        return int(np.searchsorted(self.risk, as_threshold(threshold)))

    def _sum_below(self, k: int) -> Fraction:
        """Return the sum of f r over the k smallest risks."""
        return Fraction(float(self._high[k])) + Fraction(float(self._low[k]))

    def _records_from(self, k: int) -> int:
        """Return the number of records beyond the k smallest risks."""
        return self.n - int(self._below[k])

    def _capped_sum(self, k: int, threshold: float) -> Fraction:
        """Return n g(threshold), the k smallest risks being below the threshold."""
        return self._sum_below(k) + self._records_from(k) * Fraction(threshold)

    def _capped_sum_at(self, k: int) -> Fraction:
        return self._capped_sum(k, float(self.risk[k]))


def _as_rate(value: float) -> float:
    return arguments.number_in("rate", value, "[0, 1]", "a fraction")


def _merge_equal(risk: Risks, frequency: Counts | None) -> tuple[Risks, Counts]:
    """Return the distinct risks, rising, and the number of records at each."""
    if frequency is None:
        ordered, counts = np.sort(risk), None
    else:
        occupied = np.flatnonzero(frequency)
        order = occupied[np.argsort(risk[occupied])]
        ordered, counts = risk[order], frequency[order]
    new: NDArray[np.bool_] = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    first = np.flatnonzero(new)
    distinct = ordered[first] + 0.0  # a negative zero is zero
    if counts is None:
        return distinct, np.diff(first, append=len(ordered))
    return distinct, np.add.reduceat(counts, first)


@native("float64*, int64*, int64, float64*, float64*")
def _prefix_sums(risk: Any, frequency: Any, n: int, highs: Any, lows: Any) -> None:
    """Write the sums of the first 1, 2, ..., n products f r as double-doubles."""
    high = 0.0
    low = 0.0
    for i in range(n):
        product, error = two_product(float(frequency[i]), risk[i])
        high, rest = two_sum(high, product)
        high, low = fast_two_sum(high, rest + (low + error))
        highs[i + 1] = high
        lows[i + 1] = low
