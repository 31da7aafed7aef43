"""The number of people in at least one of several circles of acquaintances."""

from __future__ import annotations

import decimal
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from riskcore.core.compiled.jit import native
from riskcore.core.compiled.ufunc_maker import Contract
from riskcore.intruder.arguments import (
    LARGEST,
    Floats,
    Ints,
    as_circle,
    as_population,
    whole,
)
from riskcore.intruder.hazards import expected_union
from riskcore.intruder.risk import disclosure_risk

_DROPPED = 1e-300  # smaller probabilities are left out during the computation
_KEPT = 1e-270  # the smallest probability in the result
_STEPS = 256  # between two cuts of the tails
_MOST = 1e7  # circles
# Multiplications for the distribution, about a minute, and for the time of a call.
_MOST_WORK, CALL = 5e11, 5e4


def expected_acquaintances(N: ArrayLike, a: ArrayLike, m: ArrayLike) -> Any:
    """Return E a_m, the expected number of people in at least one of m random circles.

    E a_m = N - N (1 - a/N)^m.

    Parameters
    ----------
    N : array_like
        Size of the population, positive, up to 2^53.
    a : array_like
        Size of each circle, a real number from 0 to N.
    m : array_like
        Number of circles, a whole number >= 1.

    Returns
    -------
    float or ndarray
        Error below 3 ulp; the largest found is 2.44 ulp.

    Raises
    ------
    TypeError
        If an argument is not numbers.
    ValueError
        If an argument is outside its domain.

    See Also
    --------
    acquaintances_distribution : the distribution, also for unequal circles.

    Notes
    -----
    Mokken et al. (1992), equation 21.

    Examples
    --------
    >>> expected_acquaintances(63_624, 300, [1, 10, 1000]).round(2)
    array([  300.  ,  2937.14, 63060.37])
    """
    N = as_population(N)
    return expected_union(N, as_circle("a", a, N), m, "m")[()]


def acquaintances_distribution(
    N: int, a: ArrayLike, m: int | None = None
) -> AcquaintancesDistribution:
    """Return the distribution of a_m, the number of people in the union of circles.

    Parameters
    ----------
    N : int
        Size of the population, positive, up to 2^53.
    a : int or array_like of int
        Size of each of the m circles, 0 to N; without ``m``, the sizes of all circles.
    m : int, optional
        Number of circles, 1 to 1e7.

    Returns
    -------
    AcquaintancesDistribution
        The distribution, computed when it is asked for.

    Raises
    ------
    TypeError
        If an argument is not whole numbers.
    ValueError
        If an argument is outside its domain, or ``m`` is given with several sizes or
        missing for one.

    Examples
    --------
    >>> distribution = acquaintances_distribution(10, 3, 2)
    >>> distribution.mean, round(distribution.variance, 3)
    (5.1, 0.49)
    >>> distribution.acquaintances
    array([3, 4, 5, 6])
    >>> distribution.probability.round(4)
    array([0.0083, 0.175 , 0.525 , 0.2917])
    """
    people = int(whole("N", N, 1.0, LARGEST))
    sizes = whole("a", a, 0.0, float(people))
    if sizes.size > _MOST:
        raise ValueError(f"a: {sizes.size:,} circles, need at most {_MOST:,.0f}")
    if m is not None:
        circles = int(whole("m", m, 1.0, _MOST))
        if sizes.ndim:
            raise ValueError(f"a: one size for m = {circles} circles, not {sizes.size}")
        sizes = np.full(circles, int(sizes))
    if sizes.ndim != 1 or not sizes.size:
        raise ValueError(f"a: need the sizes of the circles, got shape {sizes.shape}")
    return AcquaintancesDistribution(people, np.sort(sizes)[::-1])


@dataclass(frozen=True, eq=False)
class AcquaintancesDistribution:
    """The distribution of the number of people in the union of random circles.

    Use `acquaintances_distribution`.

    Attributes
    ----------
    N : int
        Size of the population.
    circles : ndarray of int64, shape (m,)
        Sizes of the circles, falling.

    Notes
    -----
    Mokken et al. (1992), equation 20, an alternating sum. Here a circle of a people is
    drawn in a steps: with z people in no circle, step i = 0, ..., a-1 goes to z - 1
    with probability z/(N-i). It multiplies E C(z, r) by 1 - r/(N-i), and all steps by
    C(N-r, a)/C(N, a), as a circle does. All terms are positive.

    Examples
    --------
    >>> found = acquaintances_distribution(20, 8, 2)
    >>> found.N, found.circles
    (20, array([8, 8]))
    """

    N: int
    circles: Ints

    @cached_property
    def mean(self) -> float:
        """E a_m = N - N prod(1 - a_l/N), correctly rounded (equation 21)."""
        with decimal.localcontext(self._context()):
            return float(self.N - self.N * self._left_out(1))

    @cached_property
    def variance(self) -> float:
        """The variance of a_m, correctly rounded.

        N q_1 + N(N-1) q_2 - (N q_1)^2, where q_r is the probability that r people are
        in no circle.
        """
        with decimal.localcontext(self._context()):
            N, single = self.N, self._left_out(1)
            two = self._left_out(2) if N > 1 else decimal.Decimal(0)
            return float(N * single + N * (N - 1) * two - (N * single) ** 2)

    @property
    def acquaintances(self) -> Ints:
        """The numbers of people with a probability of at least 1e-270, rising."""
        first, probability = self._distribution
        return first + np.arange(len(probability))

    @property
    def probability(self) -> Floats:
        """The probability of each of them.

        It takes half a second for 1000 circles of 1000 in 63,624 people, some 6 seconds
        in 1e6 people. The relative error is 1e-13.

        Raises
        ------
        ValueError
            If it would take minutes, unlike ``mean`` and ``variance``.
        """
        return self._distribution[1]

    def disclosure_risk(
        self, n: float, unique_fraction: float, form: str = "hypergeometric"
    ) -> float:
        """Return E R_m, the mean risk over the distribution of the acquaintances.

        The risk is concave in their number: the mean is below the risk at the expected
        number, equation 19, which the function `disclosure_risk` returns.

        Parameters
        ----------
        n : float
            Records in the sample.
        unique_fraction : float
            Fraction of the population that is unique.
        form : {"hypergeometric", "binomial", "exponential"}
            As in the function `disclosure_risk`.

        Returns
        -------
        float

        Examples
        --------
        >>> distribution = acquaintances_distribution(20, 8, 2)
        >>> distribution.disclosure_risk(10, 0.25)
        0.90486...
        >>> float(disclosure_risk(10, 20, 8, 0.25, investigators=2))
        0.90712...
        """
        risk = disclosure_risk(
            n, self.N, self.acquaintances, unique_fraction, form=form
        )
        return math.fsum(self.probability * risk)

    @cached_property
    def _distribution(self) -> tuple[int, Floats]:
        # The probabilities of least, least + 1, ... people in no circle.
        least = self.N - int(self.circles[0])
        probability = np.ones(1)
        for size in self.circles[1 : self._circles_that_count()]:
            for first in range(0, int(size), _STEPS):
                steps = min(_STEPS, int(size) - first)
                below = min(steps, least)
                probability = np.concatenate([np.zeros(below), probability])
                least -= below
                _leave_out(probability, len(probability), least, self.N, first, steps)
                least, probability = _trimmed(least, probability, _DROPPED)
        least, probability = _trimmed(least, probability, _KEPT)
        return self.N - least - len(probability) + 1, probability[::-1]

    def _circles_that_count(self) -> int:
        """Return the number of circles after which all people are in one."""
        with np.errstate(divide="ignore"):
            left = math.log(self.N) + np.cumsum(np.log1p(-self.circles / self.N))
        count = int(np.searchsorted(-left, -math.log(_DROPPED))) + 1
        sizes = self.circles[1:count]
        # The tails end some 40 standard deviations from the mean, sqrt(N)/2 at most.
        width = min(self.N + 1.0, 40.0 * math.sqrt(self.N))
        work = float(sizes.sum()) * width + float((sizes // _STEPS + 1).sum()) * CALL
        if work > _MOST_WORK:
            raise ValueError(
                f"a: the union of {len(self.circles):,} circles of up to "
                f"{self.circles[0]:,} in {self.N:,} people would take minutes; use its "
                "mean and variance, or disclosure_risk(..., investigators=m)"
            )
        return count

    def _left_out(self, r: int) -> decimal.Decimal:
        """Return the probability that r people, one or two, are in no circle."""
        product = decimal.Decimal(1)
        for size, count in zip(
            *np.unique(self.circles, return_counts=True), strict=True
        ):
            for i in range(r):
                left = max(self.N - i - int(size), 0)
                product *= (decimal.Decimal(left) / (self.N - i)) ** int(count)
        return product

    def _context(self) -> decimal.Context:
        """Return a context for the variance, which cancels to 1/N^3 of its terms."""
        return decimal.Context(
            prec=40 + 6 * len(str(self.N)),
            Emin=decimal.MIN_EMIN,
            Emax=decimal.MAX_EMAX,
            traps=[],
        )


def _trimmed(least: int, probability: Floats, floor: float) -> tuple[int, Floats]:
    """Return the probabilities without both tails below a floor."""
    kept = np.flatnonzero(probability >= floor)
    return least + int(kept[0]), probability[kept[0] : kept[-1] + 1]


@native("float64*, int64, int64, int64, int64, int64")
def _leave_out(
    probability: Any, count: int, least: int, N: int, first: int, steps: int
) -> None:
    """Take steps of the chain on the states ``least``, ..., ``least + count - 1``."""
    for i in range(first, first + steps):
        people = float(N - i)
        for k in range(count):
            z = float(least + k)
            above = probability[k + 1] * (z + 1.0) if k + 1 < count else 0.0
            after = (probability[k] * (people - z) + above) / people
            # Smaller numbers would be slow, and do not change the result.
            probability[k] = after if after >= _DROPPED else 0.0


# From bench/search.py; a test evaluates the witnesses again.
CONTRACTS = (
    Contract("expected_acquaintances", ulps=3, worst=2.44,
             witness=("0x1.fp+4", "0x1.281cc9cfa5341p-20", "0x1.aeep+11")),
)  # fmt: skip
