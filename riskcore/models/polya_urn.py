"""The one formula behind the Dirichlet-multinomial, Ewens and Pitman models.

People come one by one: after m of them, in u cells, the next joins a cell of f people
with probability (f - sigma)/(theta + m) and opens a new one with probability
(theta + u sigma)/(theta + m). sigma = 0 is Ewens, 0 < sigma < 1 Pitman, sigma = -alpha
with theta = K alpha the Dirichlet-multinomial model.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from riskcore.common import arguments
from riskcore.core.compiled.ufunc_maker import ufunc_of
from riskcore.core.special.balls import dd_constant
from riskcore.core.special.double_double import DoubleDouble
from riskcore.core.special.uniques import power_of_share, unhit_polya_urn
from riskcore.models import posterior_uniques
from riskcore.models.size_indices import SizeIndices
from riskcore.models.superpopulation import Superpopulation, check_sizes

# The distribution of tau takes urns up to 2^90; beyond this, shares change by below
# 2^-36.
_HEAVIEST = 2.0**89
_FAINT = 2.0**-700  # a weight that is nothing beside 1, and next to the subnormals


@dataclass(frozen=True, repr=False)
class PolyaUrn(Superpopulation):
    """A superpopulation model in which people choose cells one by one."""

    @abstractmethod
    def _weights(self) -> tuple[Fraction, Fraction]:
        """Return theta + sigma and 1 - sigma, exactly.

        The weights, when one person has come, of all other cells and of that person's.
        """

    def _pairs(self, n: int) -> tuple[DoubleDouble, DoubleDouble]:
        """Return the weights after n people as pairs: of all but a unique, of that."""
        others, own = self._weights()
        return dd_constant(n - 1 + others), dd_constant(own)

    def population_uniques(self, N: int) -> float:
        """Return the expected number of population uniques among N people.

        N P(F = 1) = N prod_{m=1}^{N-1} (1 - (1-sigma)/(theta+m)), exact for finite N.

        Parameters
        ----------
        N : int
            Size of the population, positive.

        Returns
        -------
        float
            nan if there is no estimate.

        Raises
        ------
        ValueError
            If N is below 1 or above 2^53.

        Examples
        --------
        >>> from riskcore.models import Ewens
        >>> sizes = SizeIndices({1: 30, 2: 6, 5: 2})
        >>> model = Ewens.fit(sizes)
        >>> round(model.population_uniques(1000), 3)
        58.488
        """
        return N * self.uniqueness(1, N)

    def uniqueness(self, n: int, N: int) -> float:
        """Return P(F = 1 | f = 1): a unique of n records is one of the N people.

        prod_{m=n}^{N-1} (1 - (1-sigma)/(theta+m)), by a ratio of Gamma functions.

        Parameters
        ----------
        n : int
            Size of the sample, positive.
        N : int
            Size of the population, at least n.

        Returns
        -------
        float
            nan if there is no estimate.

        Raises
        ------
        ValueError
            If n is below 1, or N below n or above 2^53.

        Examples
        --------
        >>> from riskcore.models import Ewens
        >>> sizes = SizeIndices({1: 30, 2: 6, 5: 2})
        >>> model = Ewens.fit(sizes)
        >>> round(model.uniqueness(52, 1000), 6)
        0.106554
        """
        n, N = check_sizes(n, N)
        if not self.converged:
            return math.nan
        return unhit_polya_urn(*self._pairs(n), N - n)

    def expected_sizes(self, n: int, most: int) -> NDArray[np.float64]:
        """Return the expected number of cells of 1, 2, ... of n records, E S_j.

        Some j people have a cell of their own if they come first, all to one cell, and
        nobody joins them: from one j to the next the expectation changes by the factor
        (n-j)/(j+1) (j-sigma)/(theta+sigma+n-1-j).

        Parameters
        ----------
        n : int
            Number of records, positive.
        most : int
            The largest size of a cell to tell, positive.

        Returns
        -------
        ndarray of float64, shape (most,)
            0 beyond n; nan if there is no estimate.

        Raises
        ------
        TypeError, ValueError
            If n or most is not a whole number from 1 to 2^53.

        Examples
        --------
        >>> from riskcore.models import Ewens
        >>> Ewens.fit(SizeIndices({1: 30, 2: 6, 5: 2})).expected_sizes(52, 3).round(2)
        array([28.54,  6.5 ,  1.95])
        """
        n, _ = check_sizes(n, n)
        arguments.whole_from("most", most, 1, 2**20)
        if not self.converged:
            return np.full(most, math.nan)
        found = np.zeros(most)
        exact, of_one = self._weights()
        if exact == 0:  # nobody ever opens a second cell
            found[n - 1 : n] = 1.0
            return found
        # Where a second cell is next to impossible, E S_1 is a multiple of that weight:
        # both are held as multiples of 2^-200, and E S_n is their quotient.
        unit = 2.0**-200 if n > 1 and exact < _FAINT else 1.0
        exact /= Fraction(unit)
        others, own = float(exact), float(of_one)
        pairs = dd_constant(exact), dd_constant(of_one)
        expected = n * unhit_polya_urn(*pairs, n - 1)
        for j in range(1, min(most, n) + 1):
            found[j - 1] = unit * expected
            if j == n - 1:
                expected *= 1.0 / (j + 1) * ((j - 1) + own) / others
                unit = 1.0
            elif j < n:
                weight = (n - 1 - j) + others * unit
                expected *= (n - j) / (j + 1) * ((j - 1) + own) / weight
        return found

    def asymptotic_tau(self, sizes: SizeIndices, N: int) -> float:
        """Return s_1 (n/N)^(1-sigma), to which `tau` tends for n far above theta.

        The thesis's tau_1, s_1 (n/N)^(1+alpha) for the Dirichlet-multinomial model,
        whose theta = K alpha is seldom far below n. Errors are raised as by `tau`.

        Parameters
        ----------
        sizes : SizeIndices
            The sample.
        N : int
            Size of the population, at least n.

        Returns
        -------
        float
            nan if there is no estimate.

        Notes
        -----
        Right to 2 ulp wherever the power is a normal double: its logarithm is a pair.

        Examples
        --------
        >>> from riskcore.models import Ewens
        >>> sizes = SizeIndices({1: 30, 2: 6, 5: 2})
        >>> model = Ewens.fit(sizes)
        >>> round(model.tau(sizes, 1000), 3)
        3.197
        >>> round(model.asymptotic_tau(sizes, 1000), 3)
        1.56
        """
        n, N = check_sizes(sizes.n, N)
        if not self.converged:
            return math.nan
        _, (own, own_low) = self._pairs(n)
        return sizes[1] * float(ufunc_of(power_of_share)(n, N, own, own_low))

    def tau_interval(
        self, sizes: SizeIndices, N: int, level: float = 0.95
    ) -> tuple[float, float]:
        """Return an interval for tau, equal tails of its exact posterior distribution.

        The parameters are taken as known.

        Parameters
        ----------
        sizes, N
            As in `tau`.
        level : float
            Its probability, at least, between 0 and 1.

        Returns
        -------
        low, high : int
            nan if there is no estimate.

        See Also
        --------
        riskcore.models.posterior_uniques.tau_interval : the distribution, and how it is
        found.

        Examples
        --------
        >>> from riskcore.models import Ewens
        >>> sizes = SizeIndices({1: 30, 2: 6, 5: 2})
        >>> model = Ewens.fit(sizes)
        >>> model.tau_interval(sizes, 1000)
        (0, 7)
        """
        urn = self._urn(sizes, N)
        if urn is None:
            return math.nan, math.nan
        low, high = posterior_uniques.tau_interval(*urn, level)
        return low, high

    def tau_variance(self, sizes: SizeIndices, N: int) -> float:
        """Return the variance of tau given the sample.

        Parameters
        ----------
        sizes : SizeIndices
            The sample.
        N : int
            Size of the population, at least n.

        Returns
        -------
        float
            nan if there is no estimate.

        See Also
        --------
        riskcore.models.posterior_uniques.tau_variance : the closed form.

        Examples
        --------
        >>> from riskcore.models import Ewens
        >>> sizes = SizeIndices({1: 30, 2: 6, 5: 2})
        >>> model = Ewens.fit(sizes)
        >>> round(model.tau_variance(sizes, 1000), 3)
        2.778
        """
        urn = self._urn(sizes, N)
        return math.nan if urn is None else posterior_uniques.tau_variance(*urn)

    def tau_distribution(self, sizes: SizeIndices, N: int) -> NDArray[np.float64]:
        """Return the distribution of tau given the sample.

        Parameters
        ----------
        sizes : SizeIndices
            The sample.
        N : int
            Size of the population, at least n.

        Returns
        -------
        ndarray of float64, shape (s_1 + 1,)
            Probabilities of 0, 1, ..., s_1; nan if there is no estimate.

        See Also
        --------
        riskcore.models.posterior_uniques.tau_distribution : how it is found.

        Examples
        --------
        >>> from riskcore.models import Ewens
        >>> sizes = SizeIndices({1: 30, 2: 6, 5: 2})
        >>> model = Ewens.fit(sizes)
        >>> model.tau_distribution(sizes, 1000)[:3].round(4)
        array([0.0324, 0.1195, 0.2111])
        """
        urn = self._urn(sizes, N)
        if urn is None:
            return np.full(sizes[1] + 1, math.nan)
        return posterior_uniques.tau_distribution(*urn)

    def _urn(self, sizes: SizeIndices, N: int) -> tuple[float, float, int, int] | None:
        """Return weight of the urn, of a unique, unseen people and uniques, if any."""
        self._check_sample(sizes)
        n, N = check_sizes(sizes.n, N)
        if not self.converged:
            return None
        others, own = self._weights()
        whole = float(n - 1 + others + own)
        # A heavier urn has the same distribution: what M <= 2^53 people add to it is
        # nothing.
        scale = min(1.0, _HEAVIEST / whole)
        return whole * scale, float(own) * scale, N - n, sizes[1]
