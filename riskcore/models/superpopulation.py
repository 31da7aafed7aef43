"""The verbs of all superpopulation models: the fit and the sample uniques at risk."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from riskcore.common import arguments, html
from riskcore.models.size_indices import LARGEST, SizeIndices

_STEP = 1e-4  # of differences: their error is far below that of the delta method
_FARTHEST = 2.0**100
Ends = tuple[float, float]  # of an interval


@dataclass(frozen=True, kw_only=True, repr=False)
class Superpopulation(ABC):
    """A model of the cell frequencies of a population, given or fitted to a sample.

    Attributes
    ----------
    method : str
        How the model was fitted; "given" if the parameters were given.
    converged : bool
        Whether there is an estimate; if not, all parameters and results are nan.
    reason : str
        Why an estimate is missing, or on which boundary it lies; else empty.
    log_likelihood : float
        Logarithm of the probability of the sample's size indices given its n records;
        comparable between models.
    standard_errors : mapping of str to float
        For each parameter, if the method has them; none on a boundary.
    solutions : tuple of tuple of float
        The parameters of all solutions of the equations, boundaries included, if there
        can be several; the estimate is the most likely solution.

    Examples
    --------
    >>> from riskcore.models import Ewens, Pitman
    >>> sizes = SizeIndices({1: 300, 2: 60, 3: 20, 4: 9, 7: 4})
    >>> model = Pitman.fit(sizes)
    >>> round(model.unique_fraction(10_000), 4), round(model.tau(sizes, 10_000), 2)
    (0.105, 57.12)
    >>> model.tau_interval(sizes, 10_000), model.wide_tau_interval(sizes, 10_000)
    ((44, 70), (19, 95))
    >>> Ewens.none("ml", "all records are unique")
    <Ewens: no estimate by ml, all records are unique>
    """

    names: ClassVar[tuple[str, ...]]  # of the parameters that are estimated
    _first: ClassVar[int] = 1  # records after which P(F = 1) is that of a person

    method: str = "given"
    converged: bool = True
    reason: str = ""
    log_likelihood: float = math.nan
    standard_errors: Mapping[str, float] = field(default_factory=dict, hash=False)
    solutions: tuple[tuple[float, ...], ...] = ()

    @classmethod
    def none(cls, method: str, reason: str, **known: Any) -> Self:
        """Return the result of a fit without an estimate.

        Parameters
        ----------
        method, reason : str
            The method that was tried, and why there is no estimate.
        **known
            Parameters that are not estimated, such as K.

        Returns
        -------
        Superpopulation
            Not converged; all other parameters are nan.
        """
        unknown: dict[str, Any] = dict.fromkeys(cls.names, math.nan)
        return cls(**known, **unknown, method=method, converged=False, reason=reason)

    @property
    def aic(self) -> float:
        """Akaike's criterion, 2 (number of parameters) - 2 log-likelihood."""
        return 2.0 * len(self.names) - 2.0 * self.log_likelihood

    def log_probability(self, sizes: SizeIndices) -> float:
        """Return the log-probability of size indices, given their n.

        Parameters
        ----------
        sizes : SizeIndices
            The sample.

        Returns
        -------
        float
        """
        return self._log_probability(sizes)

    @abstractmethod
    def _log_probability(self, sizes: SizeIndices) -> float:
        """Return the log-probability of size indices, given their n."""

    def population_uniques(self, N: int) -> float:
        """Return the expected number of population uniques among N people, N P(F = 1).

        Parameters
        ----------
        N : int
            Size of the population, from 1 to 2^53.

        Returns
        -------
        float
            nan if there is no estimate.

        Raises
        ------
        ValueError
            If N is out of range.
        """
        _, N = check_sizes(1, N)
        return N * self._uniqueness(self._first, N) if self.converged else math.nan

    def unique_fraction(self, N: int) -> float:
        """Return the expected share of population uniques among N people.

        This is f_u of Mokken et al., an argument of functions in `riskcore.intruder`.

        Parameters
        ----------
        N : int
            Size of the population, from 1 to 2^53.

        Returns
        -------
        float
            nan if there is no estimate.
        """
        return self.population_uniques(N) / N

    def expected_cells(self, N: int) -> float:
        """Return the expected number of occupied cells among N people, E K_N.

        Parameters
        ----------
        N : int
            Size of the population, from 1 to 2^53.

        Returns
        -------
        float
            nan if there is no estimate.

        Raises
        ------
        ValueError
            If N is out of range.
        """
        _, N = check_sizes(1, N)
        return self._expected_cells(N) if self.converged else math.nan

    @abstractmethod
    def _expected_cells(self, N: int) -> float:
        """Return E K_N."""

    def expected_sizes(self, n: int, most: int) -> NDArray[np.float64]:
        """Return the expected numbers of cells of 1, 2, ... records, E S_j.

        Parameters
        ----------
        n : int
            Number of records, from 1 to 2^53.
        most : int
            The largest cell size to return, from 1 to 2^20.

        Returns
        -------
        ndarray of float64, shape (most,)
            0 for j > n; nan if there is no estimate.

        Raises
        ------
        TypeError, ValueError
            If n or most is not a whole number in its range.
        """
        n, _ = check_sizes(n, n)
        arguments.whole_from("most", most, 1, 2**20)
        if not self.converged:
            return np.full(most, math.nan)
        return self._expected_sizes(n, most)

    @abstractmethod
    def _expected_sizes(self, n: int, most: int) -> NDArray[np.float64]:
        """Return E S_j of n records, j = 1, ..., most."""

    def uniqueness(self, n: int, N: int) -> float:
        """Return P(F = 1 | f = 1): a sample unique is unique among the N people.

        Parameters
        ----------
        n : int
            Size of the sample, positive.
        N : int
            Size of the population, from n to 2^53.

        Returns
        -------
        float
            nan if there is no estimate.

        Raises
        ------
        ValueError
            If n or N is out of range.
        """
        n, N = check_sizes(n, N)
        return self._uniqueness(n, N) if self.converged else math.nan

    @abstractmethod
    def _uniqueness(self, n: int, N: int) -> float:
        """Return P(F = 1 | f = 1)."""

    def tau(self, sizes: SizeIndices, N: int) -> float:
        """Return the expected number of sample uniques that are population uniques.

        Given the sample, this is s_1 P(F = 1 | f = 1).

        Parameters
        ----------
        sizes : SizeIndices
            The sample.
        N : int
            Size of the population, from n to 2^53.

        Returns
        -------
        float
            nan if there is no estimate.

        Raises
        ------
        ValueError
            If N is out of range, or the sample has more cells than the model.
        """
        N = self._checked_population(sizes, N)
        return sizes[1] * self.uniqueness(sizes.n, N)

    def _checked_population(self, sizes: SizeIndices, N: int) -> int:
        """Return N; refuse it, or a sample with more cells than the model has."""
        cells = getattr(self, "K", math.inf)
        if sizes.u > cells:
            raise ValueError(f"sizes: {sizes.u} occupied cells, the model has {cells}")
        return check_sizes(sizes.n, N)[1]

    def tau_interval(self, sizes: SizeIndices, N: int, level: float = 0.95) -> Ends:
        """Return an interval for tau: equal tails given the sample and the parameters.

        Parameters
        ----------
        sizes : SizeIndices
            The sample.
        N : int
            Size of the population, from n to 2^53.
        level : float
            Least probability of the interval, in (0, 1).

        Returns
        -------
        low, high : int
            nan if there is no estimate.

        Raises
        ------
        ValueError
            As `tau`, and if the level is not in (0, 1).
        """
        N = self._checked_population(sizes, N)
        level = arguments.number_in("level", level, "(0, 1)")
        if not self.converged:
            return math.nan, math.nan
        return self._tau_interval(sizes, N, level)

    @abstractmethod
    def _tau_interval(self, sizes: SizeIndices, N: int, level: float) -> Ends:
        """Return equal tails of the law of tau."""

    def wide_tau_interval(
        self, sizes: SizeIndices, N: int, level: float = 0.95
    ) -> Ends:
        """Return an interval for tau that also allows for the error of the fit.

        The distances of `tau_interval` from tau, and the error of tau that follows from
        the errors of the parameters (delta method), are added as squares.

        Parameters
        ----------
        sizes, N, level
            As in `tau_interval`.

        Returns
        -------
        low, high : int
            nan if there is no estimate, or it has no standard errors.
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

    def _error(
        self, figure: Callable[[Self], float], sizes: SizeIndices, level: float
    ) -> float:
        """Return half the width of an interval of a figure, by the delta method."""
        slopes = [self._slope(name, figure) for name in self.names]
        terms = (
            slope * entry * other
            for slope, row in zip(slopes, self._covariance(sizes), strict=True)
            for entry, other in zip(row, slopes, strict=True)
        )
        return arguments.normal_reach(level) * math.sqrt(math.fsum(terms))

    def _covariance(self, sizes: SizeIndices) -> list[list[float]]:
        """Return the covariance matrix of the fitted parameters."""
        return np.diag([self.standard_errors[x] ** 2 for x in self.names]).tolist()

    def _slope(self, name: str, figure: Callable[[Self], float]) -> float:
        """Return the derivative of a figure by a parameter, as a central difference."""
        value = getattr(self, name)
        step = min(_STEP * max(abs(value), _STEP), self.standard_errors[name])
        changes: list[dict[str, Any]] = [{name: value - step}, {name: value + step}]
        below, above = (figure(replace(self, **change)) for change in changes)
        return float((above - below) / (2.0 * step))

    def __repr__(self) -> str:
        name = type(self).__name__
        if not self.converged:
            return f"<{name}: no estimate by {self.method}, {self.reason}>"
        parameters = ", ".join(map(self._describe, self.names))
        how = "given" if self.method == "given" else f"by {self.method}"
        reason = f", {self.reason}" if self.reason else ""
        return f"<{name}: {parameters}, {how}{reason}>"

    def _repr_html_(self) -> str:
        names = self.names if self.converged else ()
        rows = [(name, *self._value_and_error(name)) for name in names]
        rows += [("log-likelihood", html.known(self.log_likelihood, ",.7g"), "")]
        rows += [("AIC", html.known(self.aic, ",.7g"), "")]
        how = "given" if self.method == "given" else f"by {self.method}"
        how = how if self.converged else f"no estimate {how}"
        note = html.escape(", ".join([how, self.reason] if self.reason else [how]))
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
    """Refuse a parameter outside the domain of the models' functions."""
    if not 1.0 / _FARTHEST <= value <= _FARTHEST:
        raise ValueError(f"{name}: need a number from 2^-100 to 2^100, got {value}")


def check_sizes(n: int, N: int) -> tuple[int, int]:
    """Return the checked sizes of sample and population."""
    n, N = arguments.whole("n", n), arguments.whole("N", N)
    if not 1 <= n <= N <= LARGEST:
        raise ValueError(f"n, N: need 1 <= n <= N <= 2^53, got {n} and {N}")
    return n, N


def check_cells(K: int, sizes: SizeIndices) -> int:
    """Return the checked number of cells."""
    check_indices(sizes)
    K = arguments.whole("K", K)
    if not sizes.u <= K <= LARGEST:
        raise ValueError(f"K: need {sizes.u} occupied cells to 2^53, got {K}")
    return K


def check_indices(sizes: Any) -> None:
    """Refuse anything but size indices."""
    if not isinstance(sizes, SizeIndices):
        text = arguments.shown(sizes)
        raise TypeError(f"sizes: give riskcore.models.SizeIndices(...), not {text}")
