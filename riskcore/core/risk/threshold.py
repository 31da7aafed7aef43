"""Risk thresholds: from a rate or a number of unsafe records, and back.

The rule throughout: a record is unsafe when its risk r >= t, the threshold. So the
threshold 0 makes every record unsafe, and an infinite one makes every record safe.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from riskcore.common import arguments
from riskcore.common.words import counted
from riskcore.core.compiled.jit import Native, native
from riskcore.core.risk.file_risk import (
    Counts,
    Risks,
    as_frequency,
    as_risk,
    as_threshold,
    sum_of_products,
)
from riskcore.core.special.floats import fast_two_sum, two_product, two_sum

# Risks in a block: prefix sums are kept between blocks.
_BLOCK = 1024
# Log2 of the number of classes into which risks go before each class is sorted.
_CLASS_BITS = 12


class RiskDistribution:
    """The distribution of risk over records: every threshold by look-up.

    Built once by sorting, in O(K log K); each look-up is then O(log K). Cells of equal
    risk are merged and sums are compensated, so the order of the cells does not matter.
    It takes 12 bytes for each cell, 16 if there are 2**31 records or more.

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
        if counts is None:
            counts = np.ones(len(risk), np.int32)
        self._take(risk + 0.0, counts.astype(_narrow(int(counts.sum()))))

    @classmethod
    def of_own(
        cls, risk: Risks, frequency: NDArray[np.signedinteger[Any]]
    ) -> RiskDistribution:
        """Return the distribution made of two arrays in place.

        Parameters
        ----------
        risk : float64 ndarray, shape (K,)
            Risk of each cell, in [0, 1]; it is sorted.
        frequency : int32 or int64 ndarray, shape (K,)
            Records of each cell, >= 0, reordered too. int64 if their sum needs it.

        Returns
        -------
        RiskDistribution

        Examples
        --------
        >>> risk, records = np.array([0.5, 0.125]), np.array([1, 4], np.int32)
        >>> RiskDistribution.of_own(risk, records).n, risk
        (5, array([0.125, 0.5  ]))
        """
        distribution = cls.__new__(cls)
        as_frequency(frequency, len(as_risk(risk)))
        risk += 0.0  # a negative zero is zero
        distribution._take(risk, frequency)
        return distribution

    def _take(self, risk: Risks, counts: NDArray[np.signedinteger[Any]]) -> None:
        """Build the distribution from arrays that it owns."""
        sort_pairs(risk, counts)
        kept = np.zeros(1, np.int64)
        _by_width(counts, merge_equal_32, merge_equal_64)(risk, counts, len(risk), kept)
        self.risk, self._counts = risk[: kept[0]], counts[: kept[0]]
        blocks = -(-len(self.risk) // _BLOCK)
        self._below = np.zeros(blocks + 1, np.int64)
        self._high = np.zeros(blocks + 1)
        self._low = np.zeros(blocks + 1)
        _by_width(counts, prefix_sums_32, prefix_sums_64)(
            self.risk, self._counts, len(self.risk), self._below, self._high, self._low
        )
        self.n = int(self._below[-1])
        self.max_risk = float(self.risk[-1])
        self.expected_reidentifications = sum_of_products(self.risk, self._counts)
        self.reidentification_rate = self.expected_reidentifications / self.n

    @property
    def frequency(self) -> Counts:
        """The number of records at each risk."""
        return self._counts.astype(np.int64)

    def __repr__(self) -> str:
        return (
            f"<RiskDistribution of {counted(self.n, 'record')}: "
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
        return self._records_from(self._safe_risks(threshold))

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

        After protection the rate of the file lies between this rate, reached if unsafe
        records cannot be re-identified at all, and `capped_rate`.

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

        Its relative error is near 1e-30; rounded to a double it is correct unless it is
        that close to the midpoint of two doubles.

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

        mu-Argus shows it as the actual threshold. Applied as a threshold it also makes
        the records with this risk unsafe.

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
            Correctly rounded, except for rounding in the prefix sums (relative error
            near 1e-30); infinity if the file's own rate is at most ``rate``: every
            record is safe. A rate of 0 gives 0: every record is unsafe.

        Raises
        ------
        ValueError
            If the rate is nan or outside [0, 1].

        Notes
        -----
        Between two neighboring risks g is a straight line, so that no iteration is
        needed: t = (n rate - sum of f r below) / (number of records not below).
        """
        rate = _as_rate(rate)
        if rate >= self.reidentification_rate:
            return math.inf
        last = len(self.risk) - 1
        target = Fraction(rate) * self.n
        k = bisect_left(range(last), target, key=self._capped_sum_at)
        exact = (target - self._sum_below(k)) / self._records_from(k)
        # A rate between the exact xi and the rounded xi reaches beyond max_risk.
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
        ``count`` records unsafe, this one makes as many unsafe as it can below that.

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
        safe = self.n - count
        # The last block with at most these records before it.
        block = max(int(np.searchsorted(self._below[:-1], safe)) - 1, 0)
        start = block * _BLOCK
        inside = np.cumsum(self._counts[start : start + _BLOCK], dtype=np.int64)
        before = self._below[block] + np.append(0, inside)
        k = start + int(np.searchsorted(before, safe))
        return float(self.risk[k]) if k < len(self.risk) else math.inf

    def _safe_risks(self, threshold: float) -> int:
        """Return the number of distinct risks below the threshold."""
        return int(np.searchsorted(self.risk, as_threshold(threshold)))

    def _sum_below(self, k: int) -> Fraction:
        """Return the sum of f r over the k smallest risks."""
        _, high, low = self._before(k)
        return Fraction(high) + Fraction(low)

    def _records_from(self, k: int) -> int:
        """Return the number of records beyond the k smallest risks."""
        return self.n - self._before(k)[0]

    def _before(self, k: int) -> tuple[int, float, float]:
        """Return the records of the k smallest risks, and their sum as two doubles."""
        block, rest = divmod(k, _BLOCK)
        below, high, low = (
            np.array([column[block], 0])
            for column in (self._below, self._high, self._low)
        )
        if rest:
            part = slice(block * _BLOCK, k)
            _by_width(self._counts, prefix_sums_32, prefix_sums_64)(
                self.risk[part], self._counts[part], rest, below, high, low
            )
        at = 1 if rest else 0
        return int(below[at]), float(high[at]), float(low[at])

    def _capped_sum(self, k: int, threshold: float) -> Fraction:
        """Return n g(threshold), the k smallest risks being below the threshold."""
        return self._sum_below(k) + self._records_from(k) * Fraction(threshold)

    def _capped_sum_at(self, k: int) -> Fraction:
        return self._capped_sum(k, float(self.risk[k]))


def _as_rate(value: float) -> float:
    return arguments.number_in("rate", value, "[0, 1]", "a fraction")


def _narrow(records: int) -> Any:
    """Return the integer type that holds this number of records."""
    return np.int32 if records < 1 << 31 else np.int64


def _by_width(counts: NDArray[Any], narrow: Native, wide: Native) -> Native:
    """Return the compiled function for the type of the numbers of records."""
    return narrow if counts.dtype.itemsize == 4 else wide


def sort_pairs(risk: Risks, counts: NDArray[np.signedinteger[Any]]) -> None:
    """Sort risks (not negative, no nan), and numbers of records with them, in place.

    Risks first go into classes, whose bounds are evenly spaced among the doubles; then
    each class is sorted. So it needs little memory beyond the arrays.
    """
    if not len(risk):
        return
    bits = risk.view(np.uint64)  # in the order of the doubles that are not negative
    low = int(bits.min())
    shift = max((int(bits.max()) - low).bit_length() - _CLASS_BITS, 0)
    sizes = np.zeros(1 << _CLASS_BITS, np.int64)
    count_classes(bits, len(bits), low, shift, sizes)
    ends = np.cumsum(sizes)
    if shift or len(risk) > _BLOCK:
        distribute = _by_width(counts, distribute_32, distribute_64)
        distribute(bits, counts, ends - sizes, ends, low, shift, len(sizes))
        if not shift:
            return  # one value in each class
        classes = [(int(e - s), int(e)) for s, e in zip(sizes, ends, strict=True) if s]
    else:
        classes = [(0, len(risk))]
    for start, stop in classes:
        part = risk[start:stop]
        if stop - start > 1 and part.min() < part.max():
            order = np.argsort(part)
            risk[start:stop] = part[order]
            counts[start:stop] = counts[start:stop][order]


@native("uint64*, int64, uint64, int64, int64*")
def count_classes(bits: Any, n: int, low: int, shift: int, sizes: Any) -> None:
    """Count the risks of each class."""
    for i in range(n):
        sizes[(bits[i] - low) >> np.uint64(shift)] += 1


def _by_bits(function: Callable[..., None], signature: str) -> tuple[Native, Native]:
    """Return a kernel compiled for numbers of records of 32 and of 64 bits."""
    identity = f"{function.__module__}.{function.__name__}"
    narrow, wide = (
        Native(function, signature.format(kind), f"{identity}_{kind[3:]}")
        for kind in ("int32", "int64")
    )
    return narrow, wide


def _distribute(
    bits: Any, counts: Any, first: Any, end: Any, low: int, shift: int, classes: int
) -> None:
    """Move each risk to its class, and its records with it; this uses up ``first``."""
    for class_index in range(classes):
        while first[class_index] < end[class_index]:
            i = first[class_index]
            key = bits[i]
            count = counts[i]
            to = (key - low) >> np.uint64(shift)
            while to != class_index:
                j = first[to]
                first[to] = j + 1
                other = bits[j]
                records = counts[j]
                bits[j] = key
                counts[j] = count
                key = other
                count = records
                to = (key - low) >> np.uint64(shift)
            bits[i] = key
            counts[i] = count
            first[class_index] = i + 1


def _merge_equal(risk: Any, counts: Any, n: int, kept: Any) -> None:
    """Keep each risk in order once, with all its records, if it has any."""
    last = -1
    for i in range(n):
        if counts[i] > 0:
            if last >= 0 and risk[last] == risk[i]:
                counts[last] += counts[i]
            else:
                last += 1
                risk[last] = risk[i]
                counts[last] = counts[i]
    kept[0] = last + 1


def _prefix_sums(
    risk: Any, counts: Any, n: int, below: Any, highs: Any, lows: Any
) -> None:
    """Write the records and the sums of f r, as double-doubles, after each block.

    The first element of each array is the sum before the first block.
    """
    records = below[0]
    high = highs[0]
    low = lows[0]
    for start in range(0, n, _BLOCK):
        stop = start + _BLOCK if start + _BLOCK < n else n
        for i in range(start, stop):
            product, error = two_product(float(counts[i]), risk[i])
            high, rest = two_sum(high, product)
            high, low = fast_two_sum(high, rest + (low + error))
            records += counts[i]
        at = start // _BLOCK + 1
        below[at] = records
        highs[at] = high
        lows[at] = low


distribute_32, distribute_64 = _by_bits(
    _distribute, "uint64*, {}*, int64*, int64*, uint64, int64, int64"
)
merge_equal_32, merge_equal_64 = _by_bits(_merge_equal, "float64*, {}*, int64, int64*")
prefix_sums_32, prefix_sums_64 = _by_bits(
    _prefix_sums, "float64*, {}*, int64, int64*, float64*, float64*"
)
