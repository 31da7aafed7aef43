"""The Pitman sampling formula.

Sums over the u-1 cells after the first are written with phi = theta + sigma > 0 and
x = phi/sigma, so that nothing cancels for any sigma from 0 to 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Self

from riskcore.common import arguments
from riskcore.core.special.gamma.functions import (
    digamma_deficit,
    digamma_difference,
    expm1,
    gamma_ratio,
    log,
    log_gamma_ratio,
    log_rising_excess,
    log_rising_factorial,
    trigamma_deficit,
    trigamma_difference,
)
from riskcore.models.polya_urn import PolyaUrn
from riskcore.models.size_indices import SizeIndices
from riskcore.models.solve import all_roots, positive_root
from riskcore.models.superpopulation import check_indices, check_parameter

# Grid on which roots in sigma are searched.
_ENDS = (2.0**-50, 2.0**-36, 2.0**-24, 2.0**-12)
GRID = (0.0, *_ENDS, *(k / 64 for k in range(1, 64)), *(1 - e for e in _ENDS[::-1]))
_LARGE = 2.0**140  # from this phi/sigma on, sigma is practically 0


@dataclass(frozen=True, repr=False)
class Pitman(PolyaUrn):
    """Pitman's model: no bound on the number of cells, two parameters.

    The size indices of n people in u cells have the probability

        n!/(theta+1)_{n-1} prod_{i=1}^{u-1} (theta + i sigma)
            prod_j [(1-sigma)_{j-1}/j!]^s_j / s_j!.

    Attributes
    ----------
    theta : float
        theta > -sigma; theta + sigma from 2^-100 to 2^100.
    sigma : float
        0 <= sigma < 1, often called alpha. 0 is the Ewens model.

    See Also
    --------
    DirichletMultinomial : sigma < 0, a finite number of cells.

    Notes
    -----
    Takemura, on the additive model; Pitman (1995). The expected number of cells is
    E K_N = (theta/sigma) ((theta+sigma)_N/(theta)_N - 1).

    Examples
    --------
    >>> Pitman(500.0, 0.5).population_uniques(1_000_000)
    22360.6895...
    >>> round(Pitman(100.0, 0.5).expected_cells(1000), 3)
    464.079
    >>> round(Pitman(500.0, 0.5).log_probability(SizeIndices({1: 3, 2: 1})), 6)
    -4.619117
    """

    names: ClassVar[tuple[str, ...]] = ("theta", "sigma")

    theta: float
    sigma: float

    def __post_init__(self) -> None:
        if not self.converged:
            return
        arguments.number_in("sigma", self.sigma, "[0, 1)")
        if not -self.sigma < self.theta < math.inf:
            raise ValueError(
                f"theta: need a number > -sigma = {-self.sigma}, got {self.theta}"
            )
        check_parameter("theta + sigma", self.theta + self.sigma)

    @classmethod
    def fit(cls, sizes: SizeIndices, method: str = "ml") -> Self:
        """Fit theta and sigma to a sample.

        Parameters
        ----------
        sizes : SizeIndices
            The sample.
        method : {"ml", "moments"}
            Maximum likelihood with sigma >= 0; or E S_1 = s_1 and E K = u.

        Returns
        -------
        Pitman
            Not converged if all records are unique or in one cell, or if the method has
            no solution with 0 <= sigma < 1 and theta > -sigma. Only "ml" has standard
            errors, from the observed information.

        Raises
        ------
        TypeError, ValueError
            If the sample is not size indices, or the method is unknown.

        Notes
        -----
        For each sigma, one theta > -sigma maximizes the likelihood. Along these points
        all stationary points with sigma between 0 and 1 are found on a grid and
        refined, and the most likely is taken. If the likelihood falls from sigma = 0
        on, the estimate is the Ewens model, and the Dirichlet-multinomial model may fit
        better.

        Examples
        --------
        >>> Pitman.fit(SizeIndices({1: 30, 2: 10, 9: 5}))
        <Pitman: theta 7.74805 (s.e. 6.92), sigma 0.5549273 (s.e. 0.146), by ml>
        """
        arguments.one_of("method", method, tuple(_METHODS))
        check_indices(sizes)
        if sizes.u == sizes.n:
            return cls.none(method, "all records are unique: sigma rises to 1")
        if sizes.u == 1:
            return cls.none(method, _ONE_CELL)
        solutions = [
            (phi - sigma, sigma)
            for phi, sigma in _METHODS[method](sizes)
            if 0.0 <= sigma < 1.0 and 0.0 < phi < math.inf and phi - sigma > -sigma
        ]
        if not solutions:
            return cls.none(method, _NO_SOLUTION[method])
        models = [cls(theta, sigma) for theta, sigma in solutions]
        likelihoods = [model.log_probability(sizes) for model in models]
        best = likelihoods.index(max(likelihoods))
        return replace(
            models[best],
            method=method,
            reason="boundary sigma = 0: the Ewens model"
            if not solutions[best][1]
            else "",
            log_likelihood=likelihoods[best],
            standard_errors=_standard_errors(models[best], sizes, method),
            solutions=tuple(solutions),
        )

    def _log_probability(self, sizes: SizeIndices) -> float:
        phi = self.theta + self.sigma
        x = _over_sigma(phi, self.sigma)
        later = sizes.u - 1
        own = log_rising_factorial(1.0 - self.sigma, sizes.sizes - 1.0)
        every = log_rising_factorial(phi + (1.0 - self.sigma), float(sizes.n - 1))
        return math.fsum(
            [
                sizes.log_arrangements(),
                sizes.total(own),
                later * float(log(phi)),
                float(log_rising_excess(x, later)) if x < math.inf else 0.0,
                -float(every),
            ]
        )

    def score(self, sizes: SizeIndices) -> tuple[float, float]:
        """Return the derivatives of the log-probability by theta and sigma.

        Parameters
        ----------
        sizes : SizeIndices
            The sample.

        Returns
        -------
        float, float

        Examples
        --------
        >>> sizes = SizeIndices({1: 300, 2: 60, 3: 20, 4: 9, 7: 4})
        >>> tuple(round(slope, 6) for slope in Pitman(500.0, 0.5).score(sizes))
        (-0.073526, -93.160614)
        """
        phi = self.theta + self.sigma
        return _theta_score(phi, self.sigma, sizes), _sigma_score(
            phi, self.sigma, sizes
        )

    def information(
        self, sizes: SizeIndices
    ) -> tuple[tuple[float, float], tuple[float, float]]:
        """Return the observed information: minus the matrix of second derivatives.

        Parameters
        ----------
        sizes : SizeIndices
            The sample.

        Returns
        -------
        tuple of tuple of float

        Examples
        --------
        >>> sizes = SizeIndices({1: 300, 2: 60, 3: 20, 4: 9, 7: 4})
        >>> (first, mixed), (_, second) = Pitman.fit(sizes).information(sizes)
        >>> first * second > mixed**2  # a maximum
        True
        """
        theta_theta, theta_sigma, sigma_sigma = _opened_squares(
            self.theta + self.sigma, self.sigma, sizes.u - 1
        )
        theta_theta -= float(trigamma_difference(self.theta + 1.0, sizes.n - 1))
        own = trigamma_difference(1.0 - self.sigma, sizes.sizes - 1.0)
        return (
            (theta_theta, theta_sigma),
            (theta_sigma, sigma_sigma + sizes.total(own)),
        )

    def _covariance(self, sizes: SizeIndices) -> list[list[float]]:
        (a, b), (_, d) = self.information(sizes)
        determinant = a * d - b * b
        return [
            [d / determinant, -b / determinant],
            [-b / determinant, a / determinant],
        ]

    def _expected_cells(self, N: int) -> float:
        """Return (theta/sigma) ((theta+sigma)_N/(theta)_N - 1)."""
        return _expected_cells(self.theta + self.sigma, self.sigma, N)

    def _weights(self) -> tuple[Fraction, Fraction]:
        return Fraction(self.theta) + Fraction(self.sigma), 1 - Fraction(self.sigma)


_RESOLVED = 2.0**-32  # relative difference of two counts that is not rounding error
Points = list[tuple[float, float]]  # of phi = theta + sigma and sigma


# --- maximum likelihood ------------------------------------------------------------


def _most_likely(sizes: SizeIndices) -> Points:
    """Return the stationary points, and sigma = 0 if the likelihood falls from it."""

    def profile(sigma: float) -> float:
        return _sigma_score(_likely_phi(sigma, sizes), sigma, sizes)

    sigmas = all_roots(profile, GRID)
    if profile(0.0) <= 0.0:
        sigmas = [0.0, *sigmas]
    return [(_likely_phi(sigma, sizes), sigma) for sigma in sigmas]


def _likely_phi(sigma: float, sizes: SizeIndices) -> float:
    """Return the phi that maximizes the likelihood for a sigma."""
    # The score by theta has one zero (notes/population_models.md).
    return positive_root(
        lambda phi: phi * _theta_score(phi, sigma, sizes), start=float(sizes.u)
    )


def _theta_score(phi: float, sigma: float, sizes: SizeIndices) -> float:
    """Return sum_{i<u} 1/(theta + i sigma) - sum_{i<n} 1/(theta + i), from i = 1."""
    n, u, own = sizes.n, sizes.u, 1.0 - sigma
    x = _over_sigma(phi, sigma)
    if phi <= n:
        opened = (u - 1) / phi
        if x < math.inf:
            opened = float(digamma_difference(x, u - 1)) / sigma
        return opened - float(digamma_difference(phi + own, n - 1))
    # Both sums are nearly their number of terms over phi: these are counted exactly.
    short = x * float(digamma_deficit(x, u - 1)) if x < math.inf else 0.0
    every = (n - 1) * (own / (phi + own)) + phi * float(
        digamma_deficit(phi + own, n - 1)
    )
    return float(u - n + every - short) / phi


def _sigma_score(phi: float, sigma: float, sizes: SizeIndices) -> float:
    """Return sum_{i<u} i/(theta + i sigma) - sum_j s_j sum_{i<j} 1/(i - sigma)."""
    later = sizes.u - 1
    x = _over_sigma(phi, sigma)
    opened = later * (later + 1) / 2 / phi
    if x < math.inf:
        opened = x * float(digamma_deficit(x, later))
        opened = (opened + float(digamma_difference(x, later))) / sigma
    return opened - sizes.total(digamma_difference(1.0 - sigma, sizes.sizes - 1.0))


def _opened_squares(phi: float, sigma: float, later: int) -> tuple[float, float, float]:
    """Return the sums of 1, i, i^2 over (sigma (x + i - 1))^2 for i = 1, ..., later."""
    x = _over_sigma(phi, sigma)
    if math.isinf(x):
        first = later * (later + 1) / 2
        return (
            later / phi / phi,
            first / phi / phi,
            first * (2 * later + 1) / 3 / phi / phi,
        )
    ones = float(trigamma_difference(x, later))
    short = float(digamma_deficit(x, later))
    firsts = x * float(trigamma_deficit(x, later)) - short  # of k/(x+k)^2
    seconds = x * (short - firsts)  # of k^2/(x+k)^2
    square = sigma * sigma
    return (
        ones / square,
        (firsts + ones) / square,
        (seconds + 2.0 * firsts + ones) / square,
    )


def _standard_errors(
    model: Pitman, sizes: SizeIndices, method: str
) -> dict[str, float]:
    if method != "ml" or model.sigma == 0.0:
        return {}
    (a, b), (_, d) = model.information(sizes)
    determinant = a * d - b * b
    if not (determinant > 0.0 and d > 0.0):
        return {}
    return {"theta": math.sqrt(d / determinant), "sigma": math.sqrt(a / determinant)}


# --- moments -----------------------------------------------------------------------


def _uniques_and_cells(sizes: SizeIndices) -> Points:
    """Return the points where E S_1 = s_1 and E K = u."""

    def excess(sigma: float) -> float:
        return _expected_cells(_phi_of_uniques(sigma, sizes), sigma, sizes.n) - sizes.u

    def resolved(sigma: float) -> bool:
        """Return whether the excess beside a root is more than rounding errors."""
        below = max((x for x in GRID if x < sigma), default=sigma)
        above = min((x for x in GRID if x > sigma), default=sigma)
        return min(abs(excess(below)), abs(excess(above))) > _RESOLVED * sizes.u

    sigmas = filter(resolved, all_roots(excess, GRID) if sizes[1] else [])
    return [(_phi_of_uniques(sigma, sizes), sigma) for sigma in sigmas]


def _phi_of_uniques(sigma: float, sizes: SizeIndices) -> float:
    n = sizes.n
    return positive_root(
        lambda phi: sizes[1] - n * float(gamma_ratio(phi, 1.0 - sigma, n - 1)),
        start=float(sizes[1]),
    )


def _expected_cells(phi: float, sigma: float, n: int) -> float:
    """Return E K = 1 + (phi/sigma) ((phi+1)_{n-1}/(theta+1)_{n-1} - 1)."""
    first = phi + (1.0 - sigma)
    if sigma == 0.0:
        return 1.0 + phi * float(digamma_difference(first, n - 1))
    growth = float(expm1(-float(log_gamma_ratio(first, sigma, n - 1))))
    return 1.0 + phi * growth / sigma


def _over_sigma(phi: float, sigma: float) -> float:
    """Return phi/sigma, infinite if sigma is practically 0."""
    return phi / sigma if phi < _LARGE * sigma else math.inf


_METHODS: dict[str, Callable[[SizeIndices], Points]] = {
    "ml": _most_likely,
    "moments": _uniques_and_cells,
}
_ONE_CELL = "all records are in one cell: theta falls to -sigma"
_NO_SOLUTION = {
    "ml": "the equations have no solution in doubles",
    "moments": "no theta and sigma have E S_1 = s_1 and E K = u",
}
