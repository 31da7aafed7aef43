"""The Poisson-gamma model of Mokken et al."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from riskcore.common import arguments
from riskcore.core.compiled.ufunc_maker import ufunc_of
from riskcore.core.special.gamma.functions import (
    digamma_deficit,
    digamma_difference,
    expm1,
    log1p,
    log1pmx,
    trigamma_deficit,
    trigamma_difference,
)
from riskcore.core.special.uniques import unhit_poisson_gamma
from riskcore.models import dirichlet_multinomial
from riskcore.models.binomial import interval
from riskcore.models.size_indices import SizeIndices
from riskcore.models.solve import positive_root
from riskcore.models.superpopulation import (
    Ends,
    Superpopulation,
    check_cells,
    check_parameter,
)

METHODS = ("ml", "moments")


@dataclass(frozen=True, repr=False)
class PoissonGamma(Superpopulation):
    """Poisson-gamma model: the frequencies of K cells are negative binomial.

    In n records of N people, f and F of a cell are Poisson with means n g and N g,
    where g has a gamma distribution with shape alpha = 1/(K beta) and scale beta. So
    E f = n/K and E F = N/K, and f and F - f are independent given g.

    Attributes
    ----------
    K : int
        Number of cells, occupied or not; k in the source.
    beta : float
        0, or beta and K beta from 2^-100 to 2^100; the larger, the more unequal the
        cells. 0 is the Poisson model of equally likely cells.

    Notes
    -----
    Mokken, Kooiman, Pannekoek and Willenborg (1992), section 2.3. For N people:

    - N (1 + N beta)^-(1+alpha) population uniques, equation 10;
    - P(F = 1 | f = 1) = ((1 + n beta)/(1 + N beta))^(1+alpha), within 1 ulp if this is
      a normal double; with n = 0 it is `riskcore.intruder.unique_fraction`;
    - E K_N = K (1 - (1 + N beta)^-alpha), for N people on average.

    Given n, this is the Dirichlet-multinomial model with the same alpha.
    ``expected_sizes`` and ``log_likelihood`` refer to that model, so the latter is
    comparable with other models; "ml" maximizes the likelihood of the cell frequencies,
    which also determine n. Given the sample and beta, sample uniques are independent,
    so `tau_interval` has equal tails of a binomial distribution.

    Examples
    --------
    >>> model = PoissonGamma(1108, 0.0074057310216)
    >>> round(model.population_uniques(63_624), 4), round(model.expected_cells(1000), 3)
    (63.624, 253.203)
    >>> round(model.uniqueness(1000, 63_624), 6)
    0.010896
    >>> model.tau_interval(SizeIndices({1: 100, 2: 30, 5: 10}), 1000)
    (18, 35)
    >>> PoissonGamma(1000, 0.001).expected_sizes(500, 2).round(2)
    array([222.44,  74.15])
    >>> round(PoissonGamma(100, 0.01).log_probability(SizeIndices({1: 3, 2: 1})), 6)
    -1.768683
    """

    names: ClassVar[tuple[str, ...]] = ("beta",)
    _first: ClassVar[int] = 0

    K: int
    beta: float

    def __post_init__(self) -> None:
        if self.K < 1:
            raise ValueError(f"K: need at least one cell, got {self.K}")
        if self.converged:
            arguments.number_in("beta", self.beta, "[0, inf)")
        if self.converged and self.beta > 0.0:
            check_parameter("beta", self.beta)
            check_parameter("K beta", self.K * self.beta)

    @classmethod
    def fit(cls, sizes: SizeIndices, K: int, method: str = "ml") -> Self:
        """Fit beta to a sample.

        Parameters
        ----------
        sizes : SizeIndices
            The sample.
        K : int
            Number of cells, occupied or not.
        method : {"ml", "moments"}
            - "ml": maximum likelihood;
            - "moments": beta = (s^2/m - 1)/n, where m = n/K is the mean of the cell
              frequencies and s^2 their variance with divisor K.

        Returns
        -------
        PoissonGamma
            With beta = 0 if the variance of the cells does not exceed their mean; for
            "ml", if sum f(f-1) <= n^2/K. Only "ml" has a standard error, from the
            observed information.

        Raises
        ------
        TypeError
            If ``K`` is not an integer.
        ValueError
            If there are more occupied cells than K, or the method is unknown.

        Notes
        -----
        The source does not say which divisor it uses; K - 1 differs by the factor
        K/(K - 1). The likelihood has one maximum (Simonsen 1976).

        Examples
        --------
        >>> PoissonGamma.fit(SizeIndices({1: 30, 2: 10, 9: 5}), K=200)
        <PoissonGamma: beta 0.02... (s.e. ...), by ml>
        """
        arguments.one_of("method", method, METHODS)
        K = check_cells(K, sizes)
        beta, error = _beta_of_variance(sizes, K), {}
        if method == "ml" and beta > 0.0:
            start = 1.0 / (K * beta)
            beta = 1.0 / (K * positive_root(lambda a: a * _score(a, K, sizes), start))
            alpha = 1.0 / (K * beta)
            information = _information(alpha, K, sizes)
            if not information > 0.0:
                why = "beta is too small to determine in doubles"
                return cls.none(method, why, K=K)
            error = {"beta": beta / alpha / math.sqrt(information)}
        model = cls(
            K,
            beta,
            method=method,
            reason="" if beta > 0.0 else "boundary beta = 0: the Poisson model",
            standard_errors=error,
            solutions=((beta,),),
        )
        return replace(model, log_likelihood=model.log_probability(sizes))

    @property
    def alpha(self) -> float:
        """The shape 1/(K beta) of the gamma distribution; infinite for beta = 0."""
        return 1.0 / (self.K * self.beta) if self.beta > 0.0 else math.inf

    def _uniqueness(self, n: int, N: int) -> float:
        """Return ((1 + n beta)/(1 + N beta))^(1+alpha)."""
        unhit = ufunc_of(unhit_poisson_gamma)
        return float(unhit(float(n), float(N), float(self.K), self.beta))

    def _expected_cells(self, N: int) -> float:
        """Return K (1 - (1 + N beta)^-alpha)."""
        if self.beta == 0.0:
            return -self.K * float(expm1(-N / self.K))
        return -self.K * float(expm1(-self.alpha * float(log1p(N * self.beta))))

    def _expected_sizes(self, n: int, most: int) -> NDArray[np.float64]:
        model = dirichlet_multinomial.DirichletMultinomial(self.K, self.alpha)
        return model.expected_sizes(n, most)

    def _tau_interval(self, sizes: SizeIndices, N: int, level: float) -> Ends:
        """Return equal tails of a binomial law: sample uniques are independent."""
        return interval(sizes[1], self._uniqueness(sizes.n, N), level)

    def _log_probability(self, sizes: SizeIndices) -> float:
        return dirichlet_multinomial.log_probability(sizes, self.K, self.alpha)


def _beta_of_variance(sizes: SizeIndices, K: int) -> float:
    """Return the beta with the variance m + n m beta, m = n/K; 0 if it is negative."""
    n = sizes.n
    squares = Fraction(K * (sizes.same_cell + n) - n * n, K)
    return max(float((squares - n) / (n * n)), 0.0)


def _score(alpha: float, K: int, sizes: SizeIndices) -> float:
    """Return sum_j s_j (psi(alpha+j) - psi(alpha)) - K log1p(y), y = n/(K alpha)."""
    y = sizes.n / K / alpha
    if dirichlet_multinomial.crowded(alpha, sizes):
        later = sizes.total(digamma_difference(alpha + 1.0, sizes.sizes - 1.0))
        return sizes.u / alpha + later - K * float(log1p(y))
    return -sizes.total(digamma_deficit(alpha, sizes.sizes)) - K * float(log1pmx(y))


def _information(alpha: float, K: int, sizes: SizeIndices) -> float:
    """Return minus the second derivative by alpha; 0 if it cancels."""
    y = sizes.n / K / alpha
    slope = K * y / (alpha * (1.0 + y))
    if dirichlet_multinomial.crowded(alpha, sizes):
        later = sizes.total(trigamma_difference(alpha + 1.0, sizes.sizes - 1.0))
        larger, smaller = sizes.u / alpha / alpha + later, slope
    else:
        larger = slope * y
        smaller = sizes.total(trigamma_deficit(alpha, sizes.sizes))
    left = larger - smaller
    return left if left > dirichlet_multinomial.DIGITS * larger else 0.0
