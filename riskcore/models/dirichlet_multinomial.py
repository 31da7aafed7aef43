"""The symmetric Dirichlet-multinomial model."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Self

from riskcore.common import arguments
from riskcore.core.special.gamma.functions import (
    digamma_deficit,
    digamma_difference,
    expm1,
    log,
    log_gamma_ratio,
    log_rising_excess,
    log_rising_factorial,
    trigamma_deficit,
    trigamma_difference,
)
from riskcore.models.polya_urn import PolyaUrn
from riskcore.models.size_indices import SizeIndices
from riskcore.models.solve import positive_root
from riskcore.models.superpopulation import check_cells

METHODS = ("ml", "moments")
DIGITS = 2.0**-26  # share of the information that must remain for 8 digits of alpha
_MULTINOMIAL = 2.0**90  # stands for infinity: no digit differs from equal cells
_FAINT = 2.0**-60  # below it 1 + alpha is 1, and (alpha)_j is split
_LEAST = 2.0**-140  # stands for smaller numbers, where they change nothing


@dataclass(frozen=True, repr=False)
class DirichletMultinomial(PolyaUrn):
    """Dirichlet-multinomial model: K cells, Dirichlet distributed cell probabilities.

    The size indices of n people in u of K cells have the probability

        K!/(K-u)! n!/(K alpha)_n prod_j [(alpha)_j/j!]^s_j / s_j!.

    Attributes
    ----------
    K : int
        Number of cells, occupied or not: all combinations that can occur.
    alpha : float
        Any positive double; the smaller, the more unequal the cells. Infinity is the
        multinomial model of equally likely cells, from which alpha >= 2^90 (1e27) does
        not differ in any digit.

    Notes
    -----
    The thesis on the Dirichlet-multinomial estimate of tau. The expected number of
    cells is E K_N = K (1 - ((K-1) alpha)_N/(K alpha)_N).

    Examples
    --------
    >>> model = DirichletMultinomial(20_000, 1.0)
    >>> model.uniqueness(300_000, 1_000_000)
    0.0984230499...
    >>> round(DirichletMultinomial(1000, 0.5).expected_cells(1000), 3)
    422.939
    >>> sizes = SizeIndices({1: 3, 2: 1})
    >>> round(DirichletMultinomial(100, 1.0).log_probability(sizes), 6)
    -1.768683
    """

    names: ClassVar[tuple[str, ...]] = ("alpha",)

    K: int
    alpha: float

    def __post_init__(self) -> None:
        if self.K < 1:
            raise ValueError(f"K: need at least one cell, got {self.K}")
        if self.converged:
            arguments.number_in("alpha", self.alpha, "(0, inf]")

    @classmethod
    def fit(cls, sizes: SizeIndices, K: int, method: str = "ml") -> Self:
        """Fit alpha to a sample.

        Parameters
        ----------
        sizes : SizeIndices
            The sample.
        K : int
            Number of cells, occupied or not.
        method : {"ml", "moments"}
            - "ml": maximum likelihood;
            - "moments": as many pairs of records in the same cell as expected, sum
              f(f-1) = n (n-1)(1+alpha)/(1+K alpha).

        Returns
        -------
        DirichletMultinomial
            With infinite alpha if sum f(f-1) <= n (n-1)/K: the cells of the sample are
            not more unequal than equally likely cells would be. Not converged if all
            records are in one cell, where alpha falls to 0. Only "ml" has a standard
            error, from the observed information.

        Raises
        ------
        TypeError
            If ``K`` is not an integer.
        ValueError
            If there are more occupied cells than K, or the method is unknown.

        Notes
        -----
        The likelihood has one maximum, which is finite unless that condition holds:
        Levin and Reeds (1977), on Good's conjecture.

        Examples
        --------
        >>> DirichletMultinomial.fit(SizeIndices({1: 30, 2: 10, 9: 5}), K=200)
        <DirichletMultinomial: alpha 0.2013153 (s.e. 0.0492), by ml>
        """
        arguments.one_of("method", method, METHODS)
        K = check_cells(K, sizes)
        if sizes.u == 1:
            why = "all records are in one cell: alpha falls to 0"
            return cls.none(method, why, K=K)
        alpha = _alpha_of_pairs(sizes, K)
        error = {}
        if method == "ml" and alpha < math.inf:
            alpha = positive_root(lambda a: a * _score(a, K, sizes), start=alpha)
            information = _information(alpha, K, sizes)
            if not information > 0.0:
                return cls.none(
                    method, "alpha is too large to determine in doubles", K=K
                )
            error = {"alpha": 1.0 / math.sqrt(information)}
        boundary = "boundary alpha = infinity: the multinomial model"
        reason = boundary if math.isinf(alpha) else ""
        model = cls(K, alpha, method=method, reason=reason, standard_errors=error)
        return replace(model, log_likelihood=model.log_probability(sizes))

    def _log_probability(self, sizes: SizeIndices) -> float:
        return log_probability(sizes, self.K, self.alpha)

    def _expected_cells(self, N: int) -> float:
        """Return K (1 - ((K-1) alpha)_N/(K alpha)_N)."""
        if self.K == 1:
            return 1.0
        if self.alpha < _FAINT:
            # The first person's cell, and any other with the chance that one of N - 1
            # finds it. Below the least argument of Gamma functions it is nothing.
            alpha = max(self.alpha, _LEAST)
            empty = float(log_gamma_ratio(1.0 + (self.K - 1) * alpha, alpha, N - 1))
            return 1.0 - (self.K - 1) * float(expm1(empty))
        alpha = min(self.alpha, _MULTINOMIAL)
        empty = float(log_gamma_ratio((self.K - 1) * alpha, alpha, N))
        return -self.K * float(expm1(empty))

    def _weights(self) -> tuple[Fraction, Fraction]:
        alpha = Fraction(min(self.alpha, _MULTINOMIAL))
        return (self.K - 1) * alpha, 1 + alpha


def log_probability(sizes: SizeIndices, K: int, alpha: float) -> float:
    """Return the log-probability of size indices given n; -inf beyond K cells."""
    n, u = sizes.n, sizes.u
    if u > K:
        return -math.inf
    whole = [sizes.log_arrangements(), float(log_rising_factorial(float(K - u + 1), u))]
    if alpha < _FAINT:  # (alpha)_j = alpha (1 + alpha)_(j-1), and alpha^(u-1) is left
        later = sizes.total(log_rising_factorial(1.0 + alpha, sizes.sizes - 1.0))
        every = -float(log_rising_factorial(1.0 + K * alpha, n - 1))
        first = (u - 1) * float(log(alpha))
        return math.fsum([*whole, first, later, every, -float(log(float(K)))])
    alpha = min(alpha, _MULTINOMIAL)
    return math.fsum(
        [
            *whole,
            sizes.total(log_rising_excess(alpha, sizes.sizes)),
            -float(log_rising_excess(K * alpha, n)),
            -n * float(log(float(K))),
        ]
    )


def crowded(alpha: float, sizes: SizeIndices) -> bool:
    """Return whether sums over cells keep more digits than sums over records."""
    # sum_j s_j (psi(alpha+j) - psi(alpha)) is near u/alpha for small alpha and near
    # n/alpha for large alpha. This part cancels in a score, so it is left out exactly.
    return alpha < 1.0 and sizes.n > 2 * sizes.u


def _score(alpha: float, K: int, sizes: SizeIndices) -> float:
    """Return the derivative; 1/alpha for each cell, or n/alpha, cancels in both terms.

    It is sum_j s_j (psi(alpha+j) - psi(alpha)) - K (psi(K alpha + n) - psi(K alpha)).
    """
    if crowded(alpha, sizes):
        later = sizes.total(digamma_difference(alpha + 1.0, sizes.sizes - 1.0))
        every = K * float(digamma_difference(K * alpha + 1.0, sizes.n - 1))
        return (sizes.u - 1) / alpha + later - every
    cells = sizes.total(digamma_deficit(alpha, sizes.sizes))
    return K * float(digamma_deficit(K * alpha, sizes.n)) - cells


def _information(alpha: float, K: int, sizes: SizeIndices) -> float:
    """Return minus the second derivative of the log-likelihood; 0 if it cancels."""
    if crowded(alpha, sizes):
        cells = sizes.total(trigamma_difference(alpha + 1.0, sizes.sizes - 1.0))
        larger = (sizes.u - 1) / alpha / alpha + cells
        smaller = K * (K * float(trigamma_difference(K * alpha + 1.0, sizes.n - 1)))
    else:
        larger = K * (K * float(trigamma_deficit(K * alpha, sizes.n)))
        smaller = sizes.total(trigamma_deficit(alpha, sizes.sizes))
    left = larger - smaller
    return left if left > DIGITS * larger else 0.0


def _alpha_of_pairs(sizes: SizeIndices, K: int) -> float:
    """Return (n(n-1) - c)/(K c - n(n-1)), c = sum f(f-1), from whole numbers."""
    n, same = sizes.n, sizes.same_cell
    excess = K * same - n * (n - 1)
    return float(Fraction(n * (n - 1) - same, excess)) if excess > 0 else math.inf
