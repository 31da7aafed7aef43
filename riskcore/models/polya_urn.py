"""The common formula of the Dirichlet-multinomial, Ewens and Pitman models.

People arrive one at a time. After m of them, in u cells, the next one joins a cell of
f people with probability (f - sigma)/(theta + m) and opens a new cell with probability
(theta + u sigma)/(theta + m). sigma = 0 is the Ewens model and 0 < sigma < 1 Pitman's;
sigma = -alpha with theta = K alpha is the Dirichlet-multinomial model.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from riskcore.core.compiled.ufunc_maker import ufunc_of
from riskcore.core.special.balls import dd_constant
from riskcore.core.special.double_double import DoubleDouble
from riskcore.core.special.uniques import power_of_share, unhit_polya_urn
from riskcore.models import posterior_uniques
from riskcore.models.size_indices import SizeIndices
from riskcore.models.superpopulation import Ends, Superpopulation, check_sizes

_HEAVIEST = 2.0**89  # of urns, at most 2^90; above it shares change by below 2^-36
_FAINT = 2.0**-700  # a weight that vanishes when added to 1, near the subnormals


@dataclass(frozen=True, repr=False)
class PolyaUrn(Superpopulation):
    """A superpopulation model in which people choose cells one at a time.

    Examples
    --------
    >>> from riskcore.models import Ewens
    >>> sizes = SizeIndices({1: 30, 2: 6, 5: 2})
    >>> model = Ewens.fit(sizes)
    >>> round(model.population_uniques(1000), 3), round(model.uniqueness(52, 1000), 6)
    (58.488, 0.106554)
    >>> round(model.tau(sizes, 1000), 3), round(model.asymptotic_tau(sizes, 1000), 3)
    (3.197, 1.56)
    >>> model.tau_interval(sizes, 1000), round(model.tau_variance(sizes, 1000), 3)
    ((0, 7), 2.778)
    >>> model.tau_distribution(sizes, 1000)[:3].round(4)
    array([0.0324, 0.1195, 0.2111])
    >>> model.expected_sizes(52, 3).round(2)
    array([28.54,  6.5 ,  1.95])
    """

    @abstractmethod
    def _weights(self) -> tuple[Fraction, Fraction]:
        """Return theta + sigma and 1 - sigma, exactly: weights after one person."""

    def _pairs(self, n: int) -> tuple[DoubleDouble, DoubleDouble]:
        """Return the weights of all but a unique, and of the unique, after n people."""
        others, own = self._weights()
        return dd_constant(n - 1 + others), dd_constant(own)

    def _uniqueness(self, n: int, N: int) -> float:
        """Return prod_{m=n}^{N-1} (1 - (1-sigma)/(theta+m)), a ratio of Gammas."""
        return unhit_polya_urn(*self._pairs(n), N - n)

    def _expected_sizes(self, n: int, most: int) -> NDArray[np.float64]:
        """Return E S_j, each from the one before."""
        # A given set of j people has a cell of its own if they come first, all join one
        # cell, and no one else does. From j to j + 1 the expectation changes by the
        # factor (n-j)/(j+1) (j-sigma)/(theta+sigma+n-1-j).
        sizes = np.zeros(most)
        exact, of_one = self._weights()
        if exact == 0:  # nobody ever opens a second cell
            sizes[n - 1 : n] = 1.0
            return sizes
        # Where a second cell is almost impossible, E S_1 is a multiple of that weight:
        # both are held as multiples of 2^-200, and E S_n is their quotient.
        unit = 2.0**-200 if n > 1 and exact < _FAINT else 1.0
        exact /= Fraction(unit)
        others, own = float(exact), float(of_one)
        pairs = dd_constant(exact), dd_constant(of_one)
        expected = n * unhit_polya_urn(*pairs, n - 1)
        for j in range(1, min(most, n) + 1):
            sizes[j - 1] = unit * expected
            if j == n - 1:
                expected *= 1.0 / (j + 1) * ((j - 1) + own) / others
                unit = 1.0
            elif j < n:
                weight = (n - 1 - j) + others * unit
                expected *= (n - j) / (j + 1) * ((j - 1) + own) / weight
        return sizes

    def asymptotic_tau(self, sizes: SizeIndices, N: int) -> float:
        """Return s_1 (n/N)^(1-sigma), the limit of `tau` for n far above theta.

        For the Dirichlet-multinomial model this is tau_1 of the thesis, s_1
        (n/N)^(1+alpha); there theta = K alpha is seldom far below n.

        Parameters
        ----------
        sizes : SizeIndices
            The sample.
        N : int
            Size of the population, from n to 2^53.

        Returns
        -------
        float
            nan if there is no estimate. Within 2 ulp of the exact value if the power is
            a normal double.

        Raises
        ------
        ValueError
            If N is out of range.
        """
        n, N = check_sizes(sizes.n, N)
        if not self.converged:
            return math.nan
        _, (own, own_low) = self._pairs(n)
        return sizes[1] * float(ufunc_of(power_of_share)(n, N, own, own_low))

    def _tau_interval(self, sizes: SizeIndices, N: int, level: float) -> Ends:
        return posterior_uniques.tau_interval(*self._urn(sizes, N), level)

    def tau_variance(self, sizes: SizeIndices, N: int) -> float:
        """Return the variance of tau given the sample, in closed form.

        Parameters
        ----------
        sizes, N
            As in `tau`.

        Returns
        -------
        float
            nan if there is no estimate.
        """
        N = self._checked_population(sizes, N)
        if not self.converged:
            return math.nan
        return posterior_uniques.tau_variance(*self._urn(sizes, N))

    def tau_distribution(self, sizes: SizeIndices, N: int) -> NDArray[np.float64]:
        """Return the posterior distribution of tau given the sample.

        The largest relative error found is 1e-13, for probabilities above 1e-20, N - n
        up to 1e10 and s_1 up to 1000. Tails of less than 1e-30 together are 0.

        Parameters
        ----------
        sizes, N
            As in `tau`.

        Returns
        -------
        ndarray of float64, shape (s_1 + 1,)
            Probabilities of 0, 1, ..., s_1; nan if there is no estimate.

        Raises
        ------
        ArithmeticError
            If the mean of the distribution disagrees with its closed form.
        """
        N = self._checked_population(sizes, N)
        if not self.converged:
            return np.full(sizes[1] + 1, math.nan)
        return posterior_uniques.tau_distribution(*self._urn(sizes, N))

    def _urn(self, sizes: SizeIndices, N: int) -> tuple[float, float, int, int]:
        """Return A, b, M and m1 of `posterior_uniques`."""
        others, own = self._weights()
        total = float(sizes.n - 1 + others + own)
        # A heavier urn has the same distribution: M <= 2^53 people add nothing to it.
        scale = min(1.0, _HEAVIEST / total)
        return total * scale, float(own) * scale, N - sizes.n, sizes[1]
