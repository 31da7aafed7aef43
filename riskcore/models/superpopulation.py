"""What all superpopulation models have: a fit, its quality, sample uniques at risk."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from riskcore.common import arguments, html
from riskcore.models.size_indices import SizeIndices

# Of differences: the error of the slope is far below that of the delta method.
_STEP = 1e-4
_FARTHEST = 2.0**100
LARGEST = 2**53  # records: every number below is a double


@dataclass(frozen=True, kw_only=True, repr=False)
class Superpopulation(ABC):
    """A model of the cell frequencies of a population, given or fitted to a sample.

    Attributes
    ----------
    method : str
        How it was fitted; "given" if the parameters were.
    converged : bool
        Whether there is an estimate; if not, all parameters and numbers are nan.
    reason : str
        Why there is none, or which boundary of the model the estimate is on; else
        empty.
    log_likelihood : float
        Logarithm of the probability of the sample's size indices given its n records,
        a number that can be compared between models.
    standard_errors : mapping of str to float
        Of each parameter, where the method has them, away from boundaries.
    solutions : tuple of tuple of float
        The parameters of all solutions of the equations that were found, boundaries
        included, where there can be more than one; the estimate is the most likely.
    """

    names: ClassVar[tuple[str, ...]]  # of the parameters that are estimated

    method: str = "given"
    converged: bool = True
    reason: str = ""
    log_likelihood: float = math.nan
    standard_errors: Mapping[str, float] = field(default_factory=dict, hash=False)
    solutions: tuple[tuple[float, ...], ...] = ()

    @classmethod
    def none(cls, method: str, reason: str, **known: Any) -> Self:
        """Return the result of a fit that found no estimate.

        Parameters
        ----------
        method : str
            The method that was tried.
        reason : str
            Why there is no estimate.
        **known
            Parameters that are not estimated, such as K.

        Returns
        -------
        Superpopulation
            With nan for the parameters; ``converged`` is False.

        Examples
        --------
        >>> from riskcore.models import Ewens
        >>> Ewens.none("ml", "all records are unique")
        <Ewens: no estimate by ml, all records are unique>
        """
        unknown: dict[str, Any] = dict.fromkeys(cls.names, math.nan)
        return cls(**known, **unknown, method=method, converged=False, reason=reason)

    @property
    def aic(self) -> float:
        """Akaike's criterion, 2 (number of parameters) - 2 log-likelihood."""
        return 2.0 * len(self.names) - 2.0 * self.log_likelihood

    @abstractmethod
    def population_uniques(self, N: int) -> float:
        """Return the expected number of population uniques among N people.

        Parameters
        ----------
        N : int
            Size of the population, positive.

        Returns
        -------
        float
            nan if there is no estimate.
        """

    def unique_fraction(self, N: int) -> float:
        """Return the expected share of population uniques among N people.

        f_u of Mokken et al., which the functions of `riskcore.intruder` take.

        Parameters
        ----------
        N : int
            Size of the population, positive.

        Returns
        -------
        float
            nan if there is no estimate.

        Examples
        --------
        >>> from riskcore.models import Ewens
        >>> sizes = SizeIndices({1: 30, 2: 6, 5: 2})
        >>> model = Ewens.fit(sizes)
        >>> round(model.unique_fraction(1000), 6)
        0.058488
        """
        return self.population_uniques(N) / N

    @abstractmethod
    def expected_cells(self, N: int) -> float:
        """Return the expected number of occupied cells among N people, E K_N.

        Parameters
        ----------
        N : int
            Size of the population, positive.

        Returns
        -------
        float
            nan if there is no estimate.
        """

    @abstractmethod
    def expected_sizes(self, n: int, most: int) -> NDArray[np.float64]:
        """Return the expected number of cells of 1, 2, ... of n records, E S_j.

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
        """

    def correctness(self, N: int) -> float:
        """Return the share of N people whom one guess by their cell finds, E K_N/N.

        Whoever knows the keys of everybody, and names one person for each cell, is
        right once in each occupied cell. It is the mean of 1/F over the people, and
        falls as the population grows (Rocher, Hendrickx and de Montjoye, 2025, for
        Pitman's model).

        Parameters
        ----------
        N : int
            Size of the population, positive.

        Returns
        -------
        float
            nan if there is no estimate.

        Examples
        --------
        >>> from riskcore.models import Pitman
        >>> model = Pitman(100.0, 0.5)
        >>> [round(model.correctness(N), 4) for N in (100, 10_000, 1_000_000)]
        [0.8302, 0.1812, 0.0198]
        """
        return self.expected_cells(N) / N

    @abstractmethod
    def uniqueness(self, n: int, N: int) -> float:
        """Return P(F = 1 | f = 1): a unique of n records is one of the N people.

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
        """

    def tau(self, sizes: SizeIndices, N: int) -> float:
        """Return the expected number of sample uniques that are population uniques.

        Given the sample: s_1 P(F = 1 | f = 1).

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

        Raises
        ------
        ValueError
            If N is below n or above 2^53.

        Examples
        --------
        >>> from riskcore.models import Ewens
        >>> sizes = SizeIndices({1: 30, 2: 6, 5: 2})
        >>> model = Ewens.fit(sizes)
        >>> round(model.tau(sizes, 1000), 3)
        3.197
        """
        self._check_sample(sizes)
        return sizes[1] * self.uniqueness(sizes.n, N)

    def _check_sample(self, sizes: SizeIndices) -> None:
        """Refuse a sample that there cannot be."""
        cells = getattr(self, "K", math.inf)
        if sizes.u > cells:
            raise ValueError(f"sizes: {sizes.u} occupied cells, the model has {cells}")

    @abstractmethod
    def tau_interval(
        self, sizes: SizeIndices, N: int, level: float = 0.95
    ) -> tuple[float, float]:
        """Return an interval for their number, equal tails given the sample.

        The parameters are taken as known. Parameters and errors as in `tau`.

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
        """

    def wide_tau_interval(
        self, sizes: SizeIndices, N: int, level: float = 0.95
    ) -> tuple[float, float]:
        """Return an interval for their number that allows for the error of the fit too.

        The distances of `tau_interval` from tau and the error of tau by the errors of
        the parameters (delta method) are added as squares. Errors are raised as by
        `tau_interval`.

        Parameters
        ----------
        sizes, N, level
            As in `tau_interval`.

        Returns
        -------
        low, high : int
            nan if there is no estimate, or it has no standard errors.

        Examples
        --------
        >>> from riskcore.models import Pitman
        >>> sizes = SizeIndices({1: 300, 2: 60, 3: 20, 4: 9, 7: 4})
        >>> model = Pitman.fit(sizes)
        >>> model.tau_interval(sizes, 10_000), model.wide_tau_interval(sizes, 10_000)
        ((44, 70), (19, 95))
        """
        low, high = self.tau_interval(sizes, N, level)
        if not self.standard_errors:
            return math.nan, math.nan
        tau = self.tau(sizes, N)
        error = self._error(lambda model: model.tau(sizes, N), sizes, level)
        return (
            max(math.floor(tau - math.hypot(tau - low, error)), 0),
            min(math.ceil(tau + math.hypot(high - tau, error)), sizes[1]),
        )

    def correctness_interval(
        self, sizes: SizeIndices, N: int, level: float = 0.95
    ) -> tuple[float, float]:
        """Return an interval for `correctness`, by the errors of the parameters.

        Parameters
        ----------
        sizes : SizeIndices
            The sample that the model was fitted to.
        N : int
            Size of the population, positive.
        level : float
            Its probability, between 0 and 1.

        Returns
        -------
        low, high : float
            By the delta method for its logarithm; nan if there is no estimate, or it
            has no standard errors.

        Raises
        ------
        ValueError
            If N is below 1 or above 2^53, or the level not in (0, 1).

        Examples
        --------
        >>> from riskcore.models import Ewens
        >>> sizes = SizeIndices({1: 300, 2: 60, 3: 20, 4: 9, 7: 4})
        >>> model = Ewens.fit(sizes)
        >>> low, high = model.correctness_interval(sizes, 10_000)
        >>> round(low, 3), round(model.correctness(10_000), 3), round(high, 3)
        (0.157, 0.179, 0.204)
        """
        level = arguments.number_in("level", level, "(0, 1)")
        share = self.correctness(N)
        if not self.standard_errors or math.isnan(share):
            return math.nan, math.nan
        error = self._error(lambda model: math.log(model.correctness(N)), sizes, level)
        return share * math.exp(-error), min(share * math.exp(error), 1.0)

    def _error(
        self, figure: Callable[[Self], float], sizes: SizeIndices, level: float
    ) -> float:
        """Return half the width of an interval of a figure, by the delta method."""
        slopes = [self._slope(name, figure) for name in self.names]
        covariance = self._covariance(sizes)
        spread = math.sqrt(
            math.fsum(
                slopes[i] * covariance[i][j] * slopes[j]
                for i in range(len(slopes))
                for j in range(len(slopes))
            )
        )
        return NormalDist().inv_cdf((1.0 + level) / 2.0) * spread

    def _covariance(self, sizes: SizeIndices) -> list[list[float]]:
        """Return the covariance matrix of the fitted parameters."""
        errors = [self.standard_errors[name] for name in self.names]
        return [
            [error**2 if i == j else 0.0 for j in range(len(errors))]
            for i, error in enumerate(errors)
        ]

    def _slope(self, name: str, figure: Callable[[Self], float]) -> float:
        """Return the derivative of a figure by a parameter, by a difference."""
        value = getattr(self, name)
        step = min(_STEP * max(abs(value), _STEP), self.standard_errors[name])
        changes: list[dict[str, Any]] = [{name: value - step}, {name: value + step}]
        below, above = (figure(replace(self, **change)) for change in changes)
        return float((above - below) / (2.0 * step))

    def __repr__(self) -> str:
        name = type(self).__name__
        if not self.converged:
            return f"<{name}: no estimate by {self.method}, {self.reason}>"
        given = ", ".join(map(self._describe, self.names))
        how = "given" if self.method == "given" else f"by {self.method}"
        reason = f", {self.reason}" if self.reason else ""
        return f"<{name}: {given}, {how}{reason}>"

    def _repr_html_(self) -> str:
        rows = [
            (name, *self._value_and_error(name))
            for name in self.names
            if self.converged
        ]
        rows += [("log-likelihood", html.known(self.log_likelihood, ",.7g"), "")]
        rows += [("AIC", html.known(self.aic, ",.7g"), "")]
        how = "given" if self.method == "given" else f"by {self.method}"
        said = [how, self.reason] if self.reason else [how]
        if not self.converged:
            said[0] = f"no estimate {how}"
        note = html.escape(", ".join(said))
        head = ["", "value", "standard error"]
        return html.figures(type(self).__name__, note, rows, head=head)

    def _value_and_error(self, name: str) -> tuple[str, str]:
        error = self.standard_errors.get(name, math.nan)
        spread = "" if math.isnan(error) else f"{error:.3g}"
        return f"{getattr(self, name):.7g}", spread

    def _describe(self, name: str) -> str:
        value, error = self._value_and_error(name)
        return f"{name} {value}" + (f" (s.e. {error})" if error else "")


def check_parameter(name: str, value: float) -> None:
    """Refuse a parameter that is beyond what the functions of the models compute."""
    if not 1.0 / _FARTHEST <= value <= _FARTHEST:
        raise ValueError(f"{name}: need a number from 2^-100 to 2^100, got {value}")


def check_sizes(n: int, N: int, least: int = 1) -> tuple[int, int]:
    """Return the sizes of sample and population, or refuse them."""
    n, N = arguments.whole("n", n), arguments.whole("N", N)
    if not least <= n <= N <= LARGEST:
        raise ValueError(f"n, N: need {least} <= n <= N <= 2^53, got {n} and {N}")
    return n, N


def check_cells(K: int, sizes: SizeIndices) -> int:
    """Return the number of cells, or refuse it."""
    check_indices(sizes)
    K = arguments.whole("K", K)
    if not sizes.u <= K <= LARGEST:
        raise ValueError(f"K: need {sizes.u} occupied cells to 2^53, got {K}")
    return K


def check_indices(sizes: Any) -> None:
    """Refuse what are not size indices."""
    if not isinstance(sizes, SizeIndices):
        given = arguments.shown(sizes)
        raise TypeError(f"sizes: give riskcore.models.SizeIndices(...), not {given}")


def check_method(method: str, methods: tuple[str, ...]) -> None:
    """Refuse a method that the model does not have."""
    arguments.one_of("method", method, methods)
