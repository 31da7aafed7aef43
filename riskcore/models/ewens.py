"""The Ewens sampling formula."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Self

from riskcore.common import arguments
from riskcore.core.special.gamma.functions import (
    digamma_deficit,
    digamma_difference,
    log,
    log_rising_factorial,
    trigamma_deficit,
)
from riskcore.models.polya_urn import PolyaUrn
from riskcore.models.size_indices import SizeIndices
from riskcore.models.solve import positive_root
from riskcore.models.superpopulation import check_indices, check_parameter

METHODS = ("ml", "moments")


@dataclass(frozen=True, repr=False)
class Ewens(PolyaUrn):
    """Ewens model: no bound on the number of cells, one parameter.

    The size indices of n people have the probability

        n!/(theta)_n prod_j theta^s_j/(j^s_j s_j!).

    Attributes
    ----------
    theta : float
        From 2^-100 to 2^100; the expected number of cells, E K_N, is the sum of
        theta/(theta+i) over i < N.

    See Also
    --------
    Pitman : has a second parameter, sigma, which is 0 here.

    Notes
    -----
    Takemura, on the additive model; Ewens (1972).

    Examples
    --------
    >>> model = Ewens(50.0)
    >>> model.population_uniques(10_000), model.uniqueness(100, 10_000)
    (49.75619..., 0.01482...)
    >>> round(model.expected_cells(1000), 3)
    152.704
    >>> round(model.log_probability(SizeIndices({1: 3, 2: 1})), 6)
    -1.803691
    """

    names: ClassVar[tuple[str, ...]] = ("theta",)

    theta: float

    def __post_init__(self) -> None:
        if self.converged:
            arguments.number_in("theta", self.theta, "(0, inf)")
            check_parameter("theta", self.theta)

    @classmethod
    def fit(cls, sizes: SizeIndices, method: str = "ml") -> Self:
        """Fit theta to a sample.

        Parameters
        ----------
        sizes : SizeIndices
            The sample.
        method : {"ml", "moments"}
            - "ml": maximum likelihood, where E K_n = u;
            - "moments": E S_1 = s_1, so theta = s_1 (n-1)/(n-s_1), Takemura's estimate.

        Returns
        -------
        Ewens
            Not converged unless 1 < u < n ("ml") or 0 < s_1 < n ("moments").

        Raises
        ------
        TypeError, ValueError
            If the sample is not size indices, or the method is unknown.

        Examples
        --------
        >>> Ewens.fit(SizeIndices({1: 30, 2: 10, 9: 5}))
        <Ewens: theta 32.82723 (s.e. 7.32), by ml>
        """
        arguments.one_of("method", method, METHODS)
        check_indices(sizes)
        n, statistic = sizes.n, sizes.u if method == "ml" else sizes[1]
        if statistic == n:
            return cls.none(method, "all records are unique: theta grows to infinity")
        if sizes.u == 1:
            return cls.none(method, "all records are in one cell: theta falls to 0")
        if statistic == 0:
            return cls.none(method, "no sample uniques: theta falls to 0")
        if method == "ml":
            theta = _theta_of_cells(n, sizes.u)
        else:
            theta = sizes[1] * (n - 1) / (n - sizes[1])
        error = math.sqrt(variance_of_theta(theta, n, method))
        model = cls(theta, method=method, standard_errors={"theta": error})
        return replace(model, log_likelihood=model.log_probability(sizes))

    def _log_probability(self, sizes: SizeIndices) -> float:
        return math.fsum(
            [
                sizes.log_arrangements(),
                sizes.u * float(log(self.theta)),
                sizes.total(log_rising_factorial(1.0, sizes.sizes - 1.0)),
                -float(log_rising_factorial(self.theta, float(sizes.n))),
            ]
        )

    def _expected_cells(self, N: int) -> float:
        """Return theta (psi(theta+N) - psi(theta))."""
        return 1.0 + self.theta * float(digamma_difference(self.theta + 1.0, N - 1))

    def _weights(self) -> tuple[Fraction, Fraction]:
        return Fraction(self.theta), Fraction(1)


def _theta_of_cells(n: int, u: int) -> float:
    """Return the theta at which E K = u, for 1 < u < n."""
    # The equation is u - 1 = theta (psi(theta+n) - psi(theta+1)), or n - u = n - theta
    # (psi(theta+n) - psi(theta)): the smaller of the two counts keeps its digits.
    if 2 * u < n:
        return positive_root(
            lambda theta: u - 1 - theta * float(digamma_difference(theta + 1.0, n - 1)),
            start=float(u),
        )
    return positive_root(
        lambda theta: theta * float(digamma_deficit(theta, n)) - (n - u),
        start=n * (n / (n - u)),
    )


def variance_of_theta(theta: float, n: int, method: str) -> float:
    """Return the asymptotic variance of theta."""
    # "ml": 1/sum of i/(theta (theta+i)^2); moments: Var S_1/(d E S_1/d theta)^2.
    if method == "ml":
        spread = float(trigamma_deficit(theta, n)) * theta
        return theta / (spread - float(digamma_deficit(theta, n)))
    # n theta (n-1)(2 theta + n-2)/(a^2 (a-1)) over (n (n-1)/a^2)^2, a = theta + n - 1.
    a = theta + (n - 1)
    return theta * a / n * (a / (n - 1)) * ((2.0 * theta + (n - 2)) / (a - 1.0))
