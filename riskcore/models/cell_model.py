"""Common parts of all models of cell probabilities: priors, uniques, intervals.

The individual risk uses only the records f and the weights of a cell. A model of many
keys gives each cell k a probability pi_k and so a prior for its population frequency F
= f + X, where X is negative binomial with shape s and success probability p, or Poisson
with mean mu.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from riskcore.common import arguments, html
from riskcore.common.threads import in_threads, usual_threads
from riskcore.common.words import counted, listed
from riskcore.core.special.gamma.functions import exp, log, log1p
from riskcore.models.cell_table import SAME, CellTable, error_of_draw
from riskcore.models.clusters import groups_of
from riskcore.models.codes import Ints
from riskcore.models.overdispersion import (
    ALONE,
    Overdispersion,
    Seen,
    fit_overdispersion,
    kind_of,
    likely_laws,
    part_of,
)
from riskcore.models.poisson_binomial import PoissonBinomial
from riskcore.models.shares import Shares, over_keys, telling_keys
from riskcore.models.smoothed_weights import SmoothedWeights
from riskcore.models.solve import EXACT, root

Floats = NDArray[np.float64]
Figure: TypeAlias = "Callable[[CellModel], float]"  # of a file

FEW_CLUSTERS = 30  # fewer cannot tell how much clusters differ
GROUPS = 20  # of records or clusters; each group is left out once
ONE_CELL = "all records are in one cell: the sample has no information on other cells"
_ASYMPTOTIC = 30  # degrees of freedom from which an expansion is used
_ROUGH = 2.0**-20  # tolerance of the overdispersion without a group
_CERTAIN = 2.0**-30  # the relative variance of what is known
_NOBODY = 2.0**-100  # practically no people
# Shape of sample uniques below which records may be copies, and records that tell.
_CLUMPED, _TELLING = 0.05, 1000


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CellPrior:
    """The distribution of the population frequency of cells: F = f + X.

    Attributes
    ----------
    records : float64 ndarray, shape (K,)
        f_k.
    shape, p, q : float64 ndarray, shape (K,), or None
        X is negative binomial: real shape s > 0, success probability p in (0, 1], and q
        = 1 - p with full precision.
    mu : float64 ndarray, shape (K,), or None
        X is Poisson with this mean; None if X is negative binomial.
    population : float64 ndarray, shape (K,), or None
        F_k where it is known, else nan. Where F_k is known, the others do not matter.

    Examples
    --------
    >>> prior = CellPrior(np.array([1.0, 2.0]), mu=np.array([0.5, 0.5]))
    >>> prior
    <CellPrior: 2 cells, Poisson>
    >>> prior.unique_probability().round(4)
    array([0.6065, 0.    ])
    """

    records: Floats
    shape: Floats | None = None
    p: Floats | None = None
    q: Floats | None = None
    mu: Floats | None = None
    population: Floats | None = None

    def unique_probability(self) -> Floats:
        """Return P(F = 1 | f) of each cell: 0 unless f = 1.

        Returns
        -------
        ndarray of float64, shape (K,)
            p^s or e^-mu; 1 or 0 where F is known.
        """
        unique = self.records == 1.0
        chance = np.zeros(len(self.records))
        if self.mu is not None:
            chance[unique] = exp(-self.mu[unique])
        elif self.shape is not None and self.p is not None and self.q is not None:
            p, q = self.p[unique], self.q[unique]
            # For small p, q has lost digits; for small q, p has.
            rate = np.where(p < 0.5, log(p), log1p(-np.minimum(q, 0.5)))
            chance[unique] = exp(self.shape[unique] * rate)
        if self.population is not None:
            known_cells = ~np.isnan(self.population)
            chance[known_cells] = (unique & (self.population == 1.0))[known_cells]
        return chance

    def __repr__(self) -> str:
        kind = "Poisson" if self.shape is None else "negative binomial"
        if self.population is not None:
            number = int(np.count_nonzero(~np.isnan(self.population)))
            rest = f", {kind}" if number < len(self.records) else ""
            kind = f"{number} known{rest}"
        return f"<CellPrior: {counted(len(self.records), 'cell')}, {kind}>"


class CellLaw(NamedTuple):
    """The law of cells before their records are seen, in records of a sample."""

    mean: Floats
    error: Floats  # relative variance of the mean, by the shares
    shape: Floats | None = None  # of the number G; None without overdispersion
    evenness: Floats | None = None  # shape over mean
    fellows: float = 0.0  # others of a cell whom each of its people brings along
    nearby: float = 0.0  # people of a cell in its own clusters, outside the sample

    def of_another_sample(self) -> CellLaw:
        """Return the law of cells whose records tell of the shares as well."""
        if self.shape is None and not self.error.any():
            return self
        with np.errstate(divide="ignore"):
            spread = self.error + (0.0 if self.shape is None else 1.0 / self.shape)
            shape = 1.0 / np.maximum(spread, _CERTAIN)
            shape[self.mean == 0.0] = 1.0
            none, evenness = np.zeros(len(shape)), shape / self.mean
            return CellLaw(self.mean, none, shape, evenness, *self[-2:])

    def of_cells(self, cells: Ints) -> CellLaw:
        """Return the law of some cells."""
        mean, error = self.mean[cells], self.error[cells]
        shape, evenness = (x if x is None else x[cells] for x in self[2:4])
        return CellLaw(mean, error, shape, evenness, *self[-2:])

    def given(self, f: Floats, others: Floats) -> CellPrior:
        """Return the law of F of cells of f records, of so many others each."""
        mean, error = self.mean, self.error
        if self.shape is not None and self.evenness is not None:
            # Given f records, the number G of the cell is gamma of shape f + t.
            shape = f + self.shape
            mean, error = shape / (1.0 + self.evenness), error + 1.0 / shape
        mean = mean * others + self.nearby * (others > 0.0)
        # People who come in groups make X a compound Poisson number.
        error = error + self.fellows / np.maximum(mean, _NOBODY)
        if not error.any():
            return CellPrior(f, mu=mean)
        error = np.maximum(error, _CERTAIN)
        odds = mean * error
        p, q = 1.0 / (1.0 + odds), odds / (1.0 + odds)
        return CellPrior(f, shape=1.0 / error, p=p, q=q)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CellModel(ABC):
    """A model of the probability of each cell, fitted to a sample.

    Attributes
    ----------
    sample : CellTable
        The sample to which the model was fitted.
    overdispersion : Overdispersion
        How far the frequencies of cells are from n pi: the law of their shapes t_k.
    smoothing : SmoothedWeights or None
        How the weights are smoothed; None if each cell has the mean of its own.
    converged : bool
        Whether there is an estimate; if not, all results are nan.
    reason : str
        Why an estimate is missing, or on which boundary it lies; else empty.
    log_likelihood : float
        sum_k f_k log pi_k of the sample, comparable between models of the same cells.
    parameters : int
        Number of free parameters of pi.
    shares : Shares or None
        What the sizes of categories say of their shares; None without an estimate.
    fellows : float
        How many others of its cell a person of a rare cell has in its cluster, beyond
        those that chance brings; 0 without clusters.
    nearby : float
        How many people of a cell its own clusters have outside the sample, 0 if they
        were drawn whole.

    Examples
    --------
    >>> from riskcore.models import LogLinear
    >>> codes, weights = [[0, 0, 1, 1, 2], [0, 1, 0, 0, 1]], [10.0, 9.0, 8.0, 8.0, 5.0]
    >>> model = LogLinear.fit(codes, weight_sum=weights, overdispersion=False)
    >>> model.probability().round(3)
    array([0.24, 0.16, 0.24, 0.08])
    >>> prior = model.prior()
    >>> prior.p.round(3)
    array([0.192, 0.228, 0.234, 0.403])
    >>> model.unique_probability().round(4)
    array([0.1603, 0.2039, 0.    , 0.3953])
    >>> round(model.tau(), 4), model.tau_interval(groups=0)
    (0.7595, (0, 2))
    >>> found = model.interval(None, CellPrior.unique_probability, groups=0)
    >>> [round(each, 4) for each in found]
    [0.7595, 0.7595, 0.7595]
    >>> model.with_overdispersion("dirichlet-multinomial").overdispersion.reason
    'boundary A = infinity: no overdispersion'
    >>> noisy = LogLinear.fit([[0, 0, 1, 1]], weight_sum=[5.0, 9.0, 12.0, 14.0])
    >>> noisy.smoothing
    <SmoothedWeights: spread 0.28 within cells, 0.00 between>
    >>> noisy.with_smoothed_weights(False).smoothing is None
    True
    """

    label: ClassVar[str] = "a model of cells"
    """What reports call the model."""

    # Standard deviations of sums and of tau because no model is right, as shares of
    # them, in populations of known truth (bench/results/calibration_of_cells.md).
    _wrong: ClassVar[float] = 0.03
    _wrong_tau: ClassVar[float] = 0.06

    sample: CellTable = field(repr=False)
    overdispersion: Overdispersion = field(default_factory=Overdispersion)
    smoothing: SmoothedWeights | None = None
    converged: bool = True
    reason: str = ""
    log_likelihood: float = math.nan
    parameters: int = 0
    shares: Shares | None = None
    fellows: float = 0.0
    nearby: float = 0.0

    @property
    def n(self) -> int:
        """Records of the sample that the model was fitted to."""
        return self.sample.n

    @property
    def aic(self) -> float:
        """Akaike's criterion, 2 (number of parameters) - 2 log-likelihood."""
        return 2.0 * self.parameters - 2.0 * self.log_likelihood

    @property
    def bic(self) -> float:
        """Schwarz's criterion, log(n) (number of parameters) - 2 log-likelihood."""
        return math.log(self.n) * self.parameters - 2.0 * self.log_likelihood

    @abstractmethod
    def _probability(self, table: CellTable) -> Floats:
        """Return pi of cells with the codes of the model's sample."""

    def _prior_probability(self, table: CellTable) -> Floats:
        """Return pi for the prior: a cell's own records should enter only once."""
        return self._probability(table)

    def _prior_probability_of(self, cells: Ints) -> Floats:
        """Return pi for the prior of some cells of the sample, by their positions."""
        return self._prior_probability(self.sample)[cells]

    @abstractmethod
    def _refitted(self, records: Ints) -> Self:
        """Return the model fitted to other records of its cells, starting from self."""

    def with_overdispersion(self, kind: str | bool = True) -> Self:
        """Return the model with its overdispersion estimated from its sample.

        Parameters
        ----------
        kind : bool or {"power", "dirichlet-multinomial", "none"}
            See `riskcore.models.Overdispersion`; True is "power", False "none".

        Returns
        -------
        CellModel
            Not converged if there is no estimate.

        Raises
        ------
        ValueError
            If the kind is unknown.
        """
        kind = kind_of(kind)
        if not self.converged:
            return self
        overdispersion = self._fitted_overdispersion(self.sample.records, kind)
        return replace(
            self,
            overdispersion=overdispersion,
            fellows=self._found_fellows(),
            reason=overdispersion.reason or self.reason,
            converged=not math.isnan(overdispersion.scale),
        )

    def with_smoothed_weights(self, smooth: bool = True) -> Self:
        """Return the model with the weights of cells smoothed, or as they are.

        Parameters
        ----------
        smooth : bool
            Whether the mean weight of a cell comes from all records that share its
            categories, and its own as far as cells differ more than chance makes them.
            Otherwise it is W/f.

        Returns
        -------
        CellModel
            The weights stay as they are if the records of each cell have one weight,
            all cells have one record, or the weights of records are not known.
        """
        smoothing = SmoothedWeights.of(self._weighed) if smooth else None
        return replace(self, smoothing=smoothing)

    @property
    def _weighed(self) -> CellTable:
        """The cells by which weights are smoothed."""
        return self.sample

    def _dispersed_again(self, refit: Self, records: Ints) -> Self:
        """Return a refit with shares, overdispersion and smoothing of its records."""
        old, smoothing = self.overdispersion, self.smoothing
        start = 1.0 if old.poisson else old.scale
        refit = replace(refit, shares=refit._shares_of(records))
        overdispersion = refit._fitted_overdispersion(records, old.kind, start, _ROUGH)
        # By all cells, which know the spread of weights.
        if smoothing is not None and self.sample.drawn is None:
            smoothing = self._smoothed_without(smoothing, records)
        return replace(refit, overdispersion=overdispersion, smoothing=smoothing)

    def _shares_of(self, records: Ints, whole: bool = True) -> Shares:
        """Return the laws of shares for other records of the sample."""
        cells = replace(self._fitted_cells, clusters=self.sample.clusters)
        if cells.clusters is None:
            cells = cells.with_records(records)
        return Shares.of(cells, whole, self.sample.people)

    @property
    def _fitted_cells(self) -> CellTable:
        """The cells of the sample as pi knows them."""
        return self.sample

    def _laws_of(self, table: CellTable) -> tuple[CellTable, Shares | None]:
        """Return cells as the laws of shares know them, and the laws."""
        return table, self.shares

    def _smoothed_without(
        self, smoothing: SmoothedWeights, records: Ints
    ) -> SmoothedWeights:
        """Return the smoothing with other records of the sample."""
        return smoothing.without(self.sample, records)

    def _mean_weight(self, table: CellTable) -> Floats:
        """Return the mean weight of the people of cells."""
        if self.smoothing is None:
            return table.frequency_weight / table.frequency
        return self.smoothing.mean_weight(table, self.sample)

    def _fitted_overdispersion(
        self, records: Ints, kind: str, start: float = 1.0, tolerance: float = EXACT
    ) -> Overdispersion:
        """Return the most likely law for records of the sample's cells."""
        seen, share = self._seen(records)
        law = fit_overdispersion(seen, kind, start=start, tolerance=tolerance)
        between = law.reason == ALONE and self.sample.clusters is not None
        reason = law.reason + between * " of different clusters"
        return replace(law.in_records(share), reason=reason)

    def _seen(self, records: Ints) -> tuple[Seen, float]:
        """Return what records of cells see of others, and what share of them counts."""
        clusters, drawn = self.sample.clusters, self.sample.drawn
        if drawn is not None:
            records = self.sample.records * drawn.even
        cells = part_of(records)
        expected = self.n * self._probability_of_others(cells)
        own = records[cells]
        if clusters is None:
            return Seen.of(expected, own, own), 1.0
        in_clusters = clusters.in_cells(len(records))[cells]
        return Seen.of_clusters(expected, own, in_clusters, in_clusters)

    def _found_fellows(self) -> float:
        """Return how many others of a rare cell a cluster has, beyond chance."""
        clusters = self.sample.clusters
        if clusters is None:
            return 0.0
        pi = self._prior_probability_of(np.arange(len(self.sample)))[clusters.cell]
        size = clusters.sizes[clusters.cluster]
        weight = clusters.records / (1.0 + self.n * pi)
        # The mean is over records, with the weight 1/(1 + n pi).
        beyond = weight * (clusters.records - 1.0 - (size - 1.0) * pi)
        return max(math.fsum(beyond.tolist()) / math.fsum(weight.tolist()), 0.0)

    def _probability_of_others(self, cells: Ints) -> Floats:
        """Return pi of cells of the sample for the others of a record in each."""
        others, clusters = self._prior_probability_of(cells), self.sample.clusters
        # A part of the own records is left out; this is the change by all of them.
        whole = self._probability(self.sample.some(cells))
        change = np.divide(others, whole, out=np.ones(len(others)), where=whole > 0.0)
        if clusters is not None:
            part = float(clusters.own_parts[clusters.kept].mean())
            change[change > 0.0] = exp(log(change[change > 0.0]) * (1.0 / part - 1.0))
        others *= change
        coded, shares = self._laws_of(self.sample)
        if shares is not None:
            others = others * over_keys(shares.others, coded.some(cells))
        return others

    def probability(self, cells: Any = None) -> Floats:
        """Return pi_k of given cells.

        Parameters
        ----------
        cells : CellTable, Cells or other argument of `CellTable.of`, optional
            By default the cells of the sample to which the model was fitted.

        Returns
        -------
        ndarray of float64, shape (K,)
            In the order of ``CellTable.of(cells)``; nan if there is no estimate.

        Raises
        ------
        TypeError, ValueError
            As `CellTable.of`; or if a category does not occur in the model's sample.
        """
        table = self._table(cells)
        if not self.converged:
            return np.full(len(table), math.nan)
        return self._probability(table)

    def prior(self, cells: Any = None) -> CellPrior:
        """Return the law of F given f of each cell.

        Parameters
        ----------
        cells : optional
            As in `probability`, with the same errors.

        Returns
        -------
        CellPrior
            X has the mean m (W/f - 1), where m = n pi (f + t)/(n pi + t) with the shape
            t of the cell, n pi without overdispersion; and the shape s of

                1/s = 1/(f + t) + sum_j v_j + c/E[X],

            with the relative variances v_j of the shares of the cell's categories, and
            c fellows: people of a cluster are alike, so that X comes in clumps.
            Without any, X is Poisson. Unequal sampling rates enter by the cell's own
            weights; where weights differ within cells, W/f is smoothed, see
            `with_smoothed_weights`. Where W/f is below 1, the cell has no other people:
            p = 1, mu = 0.
        """
        table = self._table(cells)
        f = table.frequency.astype(np.float64)
        if not self.converged:
            return CellPrior(f, mu=np.full(len(table), math.nan))
        law = self._law(table, self._prior_probability(table))
        return law.given(f, self._people_per_record(table))

    def in_another_sample(self, cells: CellTable) -> tuple[CellLaw, CellLaw, Floats]:
        """Return what another sample of the same size would hold of given cells.

        Parameters
        ----------
        cells : CellTable
            As in `probability`, with the same errors.

        Returns
        -------
        records, people : CellLaw
            The laws of the cells' records in the other sample, and of their people. The
            people of cells of the sample are known without a part of their own record.
        others : ndarray of float64, shape (K,)
            The people outside a sample for each of its records.

        Examples
        --------
        >>> from riskcore.models import CellTable, LogLinear
        >>> cells = CellTable.of([[0, 1, 1]], weight_sum=[9.0, 9.0, 9.0])
        >>> records, people, others = LogLinear.fit(cells).in_another_sample(cells)
        >>> records.mean.round(2), others
        (array([0.74, 0.93]), array([8., 8.]))
        """
        table = self._table(cells)
        drawn = self._law(table, self.probability(table))
        people = self._law(table, self._prior_probability(table))
        laws = drawn.of_another_sample(), people.of_another_sample()
        return *laws, self._people_per_record(table)

    def _people_per_record(self, table: CellTable) -> Floats:
        """Return how many people of cells outside the sample a record stands for."""
        return np.maximum(self._mean_weight(table) - 1.0, 0.0)

    def _law(self, table: CellTable, pi: Floats) -> CellLaw:
        """Return the law of cells of probability pi before their records are seen."""
        mean, error = self.n * pi, np.zeros(len(table))
        coded, shares = self._laws_of(table)
        if shares is not None:
            mean, error = mean * over_keys(shares.gain, coded), shares.error_of(coded)
        if self.overdispersion.poisson:
            return CellLaw(mean, error, None, None, self.fellows, self.nearby)
        cells = self._summed_cells(table)
        shape, evenness = self.overdispersion.shape, self.overdispersion.evenness
        shapes = shape(mean) * cells, evenness(mean) * cells
        return CellLaw(mean, error, *shapes, self.fellows, self.nearby)

    def _summed_cells(self, table: CellTable) -> Floats:
        """Return how many times the shape of a cell combinations of some keys have."""
        # The sum of the gamma laws of N cells, as if alike, is taken as gamma of the
        # same mean and variance: N^(1 - b) times the shape of a cell of pi.
        rest, cells = 1.0 - self.overdispersion.exponent, np.ones(len(table))
        open_ = np.flatnonzero(~table.complete)
        if len(open_) and rest > 0.0:
            some = table.some(open_)
            pi, squares = self._probability(some), self._squares(some)
            mask = squares > 0.0
            alike = np.maximum(pi[mask] * pi[mask] / squares[mask], 1.0)
            cells[open_[mask]] = exp(rest * log(alike))
        return cells

    def _squares(self, table: CellTable) -> Floats:
        """Return the sum of pi^2 over the cells that combinations stand for."""
        pi = self._probability(table)
        return pi * pi

    def unique_probability(self, cells: Any = None) -> Floats:
        """Return P(F = 1 | f) of each cell: 0 unless it is a sample unique.

        Parameters
        ----------
        cells : optional
            As in `probability`, with the same errors.

        Returns
        -------
        ndarray of float64, shape (K,)
        """
        table = self._table(cells)
        if not self.converged:
            return np.full(len(table), math.nan)
        return self.prior(table).unique_probability()

    def tau(self, cells: Any = None) -> float:
        """Return the expected number of sample uniques that are population uniques.

        Parameters
        ----------
        cells : optional
            As in `probability`, with the same errors.

        Returns
        -------
        float
            nan if there is no estimate.
        """
        table = self._table(cells)
        chances = self.unique_probability(table) * (table.stands_for * table.unique)
        return math.fsum(chances.tolist())

    def tau_interval(
        self, cells: Any = None, level: float = 0.95, *, groups: int = GROUPS
    ) -> tuple[float, float]:
        """Return an interval for tau that allows for the error of the fit.

        With the fit taken as known, tau is a sum of independent events. The distances
        of the ends of its law, and the error of the fit, are added as squares. The
        error of the fit is found by a jackknife: the records are split into ``groups``
        random groups of equal size, the same in every run; the model is fitted without
        each group, and tau of the same cells computed. In a sample of clusters, the
        groups are of whole clusters, with equally many clusters of each stratum. Where
        no overdispersion was found, the ends also allow for the overdispersion that the
        sample could hide. And no model is right: 6 % of tau, times the share of the
        population outside the sample, are added as a standard deviation.

        Parameters
        ----------
        cells : optional
            As in `probability`.
        level : float
            Probability of the interval, in (0, 1).
        groups : int
            Number of groups, from 2 to the number of records, or of clusters. 0 takes
            the fit as known.

        Returns
        -------
        low, high : int
            nan if there is no estimate.

        Raises
        ------
        TypeError, ValueError
            As `probability`; or if level or groups are out of range.
        """
        table = self._table(cells)
        refuse_shared(table)
        level = arguments.number_in("level", level, "(0, 1)")
        groups = self._as_groups(groups)
        if not self.converged:
            return math.nan, math.nan
        tau, chances = self.tau(table), self.unique_probability(table)[table.unique]
        low, high = PoissonBinomial.of(chances).interval(level)
        if table.drawn is not None:
            events = table.stands_for[table.unique] * chances * (1.0 - chances)
            spread = math.hypot(math.sqrt(events.sum()), error_of_draw(table, chances))
            spread *= arguments.normal_reach(level)
            low, high = math.floor(tau - spread), math.ceil(tau + spread)
        if not groups:
            return low, high
        below, above = self._error(
            lambda model: model.tau(table), level, groups, self._wrong_tau
        )
        least = math.floor(tau - math.hypot(tau - low, below))
        most = math.ceil(tau + math.hypot(high - tau, above))
        return max(least, 0), min(most, int(table.stands_for[table.unique].sum()))

    def interval(
        self,
        cells: Any,
        function: Callable[[CellPrior], Floats],
        level: float = 0.95,
        *,
        deviation: Callable[[CellPrior], Floats] | None = None,
        groups: int = GROUPS,
    ) -> tuple[float, float, float]:
        """Return the sum of a function of the prior over records, with an interval.

        Parameters
        ----------
        cells
            As in `probability`.
        function : callable
            Takes a `CellPrior` and returns a number for each cell, such as the risk
            E[1/F]. It counts for each record of the cell.
        level : float
            Probability of the interval, in (0, 1).
        deviation : callable, optional
            Takes a `CellPrior` and returns a standard deviation for each cell, such as
            the deviation of 1/F: for an interval of the sum itself, not of its mean.
            Cells are independent; the records of a cell are not.
        groups : int
            As in `tau_interval`.

        Returns
        -------
        total, low, high : float
            The sum and the ends of its interval, not below 0; nan if there is no
            estimate.

        Raises
        ------
        TypeError, ValueError
            As `tau_interval`.
        """
        table = self._table(cells)
        refuse_shared(table)
        level = arguments.number_in("level", level, "(0, 1)")
        groups = self._as_groups(groups)
        if not self.converged:
            return math.nan, math.nan, math.nan

        def total(model: CellModel) -> float:
            values = table.stands_for * function(model.prior(table))
            return math.fsum(values.tolist())

        estimate = total(self)
        below = above = spread = 0.0
        if groups:
            below, above = self._error(total, level, groups, self._wrong)
        if deviation is not None:
            deviations = table.records * deviation(self.prior(table))
            squares = deviations * deviations * (table.stands_for / table.records)
            spread = math.sqrt(math.fsum(squares.tolist()))
        if table.drawn is not None:
            by_draw = error_of_draw(table, function(self.prior(table)))
            spread = math.hypot(spread, by_draw)
        spread *= arguments.normal_reach(level)
        below, above = math.hypot(below, spread), math.hypot(above, spread)
        return estimate, max(estimate - below, 0.0), estimate + above

    def _error(
        self, figure: Figure, level: float, groups: int, wrong: float
    ) -> tuple[float, float]:
        """Return how far an interval of a figure reaches, for the error of the fit."""
        # ``wrong`` is a standard deviation for a wrong model, as a share of the figure
        # outside the sample. Few groups tell the spread, so it is by Student's law.
        models = self._replicates(groups)
        figures = in_threads(usual_threads(), figure, [(model,) for model in models])
        mean = math.fsum(figures) / groups
        squares = math.fsum((value - mean) ** 2 for value in figures)
        spread = math.sqrt((groups - 1) / groups * squares)
        error, rule = student(level, groups - 1) * spread, self._rule_error(figure)
        z = arguments.normal_reach(level)
        if rule != 0.0:
            error = math.hypot(error, z * rule)
        if wrong:
            outside = max(1.0 - self.n / self.sample.people, 0.0)
            error = math.hypot(error, z * wrong * figure(self) * outside)
        below, above = self._border_errors(figure)
        return math.hypot(error, z * below), math.hypot(error, z * above)

    def _border_errors(self, figure: Figure) -> tuple[float, float]:
        """Return how far a figure may lie below and above that on the border."""
        # The jackknife stays on the border, so these are over the laws that are likely.
        if not self.overdispersion.poisson or self.overdispersion.kind == "none":
            return 0.0, 0.0
        laws, chances = zip(*self._likely_laws(), strict=True)
        at = figure(self)
        calls = [(replace(self, overdispersion=law),) for law in laws]
        off = np.array(in_threads(usual_threads(), figure, calls)) - at
        squares = np.array(chances) * off * off
        sides = squares[off < 0.0], squares[off > 0.0]
        below, above = (math.sqrt(math.fsum(side.tolist())) for side in sides)
        return below, above

    def _likely_laws(self) -> list[tuple[Overdispersion, float]]:
        """Return laws of the shape that the sample allows, and their chances."""
        seen, share = self._seen(self.sample.records)
        laws = likely_laws(seen, self.overdispersion.kind)
        return [(law.in_records(share), chance) for law, chance in laws]

    def _rule_error(self, figure: Figure) -> float:
        """Return a standard deviation for what no fit without a group shows."""
        return 0.0

    @cached_property
    def _fits_without(self) -> dict[int, list[Self]]:
        return {}

    def _replicates(self, groups: int) -> list[Self]:
        """Return the models fitted without each group of records or clusters."""
        sample, clusters = self.sample, self.sample.clusters
        if groups not in self._fits_without:
            cell, group = groups_of(sample.fitted, groups)

            def refit(out: int) -> CellModel:
                if clusters is None:
                    gone = np.bincount(cell[group == out], minlength=len(sample))
                    return self._refitted(sample.fitted - gone)
                left = clusters.without(out, groups)
                model = replace(self, sample=replace(sample, clusters=left))
                return model._refitted(left.records_in_cells(len(sample)))

            calls = [(out,) for out in range(groups)]
            self._fits_without[groups] = in_threads(usual_threads(), refit, calls)
        return self._fits_without[groups]

    def _as_groups(self, groups: int) -> int:
        if arguments.whole("groups", groups) == 0:
            return 0
        clusters = self.sample.clusters
        most = self.n if clusters is None else len(clusters)
        groups = min(arguments.whole_from("groups", groups, 2, 2**31), most)
        return groups if groups > 1 else 0

    def _table(self, cells: Any) -> CellTable:
        if cells is None or cells is self.sample:
            return self.sample
        table = CellTable.of(cells, any_value=True)
        refuse_other_windows(table, self.sample)
        table = table.coded_as(self.sample)
        return self.sample if _same_cells(table, self.sample) else table

    def _describe(self) -> str:
        """Return the fit in words, for `repr`."""
        law, clusters = self.overdispersion, self.sample.clusters
        words = f"overdispersion of shape {law.scale:.5g} (n pi)^{law.exponent:g}"
        if law.poisson:
            words = "Poisson"
        if clusters is None or law.kind == "none":
            return words
        return f"{words}, {clusters.in_words}"

    def _repr_html_(self) -> str:
        rows = [
            ("records", f"{self.n:,}"),
            ("cells", f"{len(self.sample):,}"),
            ("log-likelihood", html.known(self.log_likelihood, ",.7g")),
            ("AIC", html.known(self.aic, ",.7g")),
            ("BIC", html.known(self.bic, ",.7g")),
            ("frequencies", self._describe()),
        ]
        if self.smoothing is not None:
            rows.append(("weights", f"smoothed by the keys: {self.smoothing.in_words}"))
        reason = self.reason if self.converged else f"no estimate, {self.reason}"
        return html.figures(type(self).__name__, html.escape(reason), rows)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.fit_in_words}>"

    @property
    def caution(self) -> str:
        """Why the risk may be far from the estimate; empty without a reason."""
        clusters = self.sample.clusters
        if not self.converged:
            return ""
        reasons = []
        if clusters is not None and len(clusters) < FEW_CLUSTERS:
            how = "half or twice" if len(clusters) > 3 else "far from"
            reasons.append(
                f"{counted(len(clusters), 'cluster')} cannot tell how much clusters "
                f"differ ({FEW_CLUSTERS} or more can): the risk may be {how} the "
                "estimate"
            )
        if keys := telling_keys(self.sample):
            tell = "tells" if len(keys) == 1 else "tell"
            reasons.append(
                f"{listed(map(str, keys))} {tell} the cluster: if only a part of each "
                "cluster was drawn, others in it share its values, and the risk is "
                "lower than the estimate; name the strata if it is one of them"
            )
        if not reasons and self.n >= _TELLING and self._shape_of_uniques() < _CLUMPED:
            reasons.append(
                "More records have the same keys than the keys let expect: if records "
                "were copied, such as by imputation, the risk is several times the "
                "estimate"
            )
        return ". ".join(reasons)

    def _shape_of_uniques(self) -> float:
        """Return the median shape of the law of sample uniques, infinite if Poisson."""
        uniques = np.flatnonzero(self.sample.unique)
        if self.overdispersion.poisson or not len(uniques):
            return math.inf
        some = self.sample.some(uniques)
        shape = self._law(some, self._prior_probability_of(uniques)).shape
        return math.inf if shape is None else float(np.median(shape))

    @property
    def fit_in_words(self) -> str:
        """The fit in a few words, or why there is no estimate."""
        if not self.converged:
            return f"no estimate, {self.reason}"
        reason = f", {self.reason}" if self.reason else ""
        weights, mean = "", self.sample.weight_sum / self.sample.records
        if self.smoothing is not None:
            weights = f", weights smoothed by the keys ({self.smoothing.in_words})"
        elif self.sample.weight_spread is None and mean.max() > mean.min() * (1 + SAME):
            weights = ", weights as they are: those of single records are not known"
        records = counted(self.n, "record")
        if self.sample.drawn is not None:
            records += f", of {len(self.sample):,} drawn cells"
        return f"{records}, {self._describe()}{weights}{reason}"


def refuse_other_windows(table: CellTable, sample: CellTable) -> None:
    """Refuse cells whose windows are not those of the sample of a model."""
    mine, theirs = (
        None if cells.matching is None else cells.matching.windows
        for cells in (table, sample)
    )
    if mine is None and theirs is None:
        return
    if mine is None or theirs is None or mine.tolerance != theirs.tolerance:
        words = "none" if theirs is None else theirs.in_words
        raise ValueError(
            f"tolerance: that of the model is {words}; give cells with the same one"
        )
    if mine is not theirs and not all(
        np.array_equal(table.categories[key], sample.categories[key])
        for key in mine.key
        if table.categories is not None and sample.categories is not None
    ):
        raise ValueError(
            "tolerance: the cells have other numbers than the sample of the model, "
            "which says nothing of them; fit a model to these records"
        )


def refuse_shared(table: CellTable) -> None:
    """Refuse an interval for cells that share records."""
    if table.matching is not None and table.matching.windows.wide:
        raise ValueError(
            f"tolerance ({table.matching.windows.in_words}): cells share records, so "
            "they are not independent and there cannot be an interval"
        )


def refuse_windows(table: CellTable, model: str) -> None:
    """Refuse a sample with a tolerance, for models that do not take it."""
    if table.matching is not None:
        raise ValueError(
            f"tolerance: {model} does not take the order of numbers; fit "
            "riskcore.models.LatentClass, or leave out the tolerance"
        )


def _same_cells(table: CellTable, other: CellTable) -> bool:
    """Return whether tables have the same codes, records and weights."""
    mine = (*table.codes, table.records, table.weight_sum, table.frequency)
    theirs = (*other.codes, other.records, other.weight_sum, other.frequency)
    return len(mine) == len(theirs) and all(map(np.array_equal, mine, theirs))


def student(level: float, freedom: int) -> float:
    """Return the half-width of a central interval of Student's law."""
    if freedom < _ASYMPTOTIC:
        # The angle theta, tan theta = t/sqrt(freedom), has the chance of the interval.
        theta = root(lambda x: _central(x, freedom) - level, 0.0, math.pi / 2.0)
        return math.sqrt(freedom) * math.tan(theta)
    z = arguments.normal_reach(level)
    g1 = (z**3 + z) / 4.0
    g2 = (5.0 * z**5 + 16.0 * z**3 + 3.0 * z) / 96.0
    g3 = (3.0 * z**7 + 19.0 * z**5 + 17.0 * z**3 - 15.0 * z) / 384.0
    return z + g1 / freedom + g2 / freedom**2 + g3 / freedom**3


def _central(theta: float, freedom: int) -> float:
    """Return P(|T| < sqrt(freedom) tan theta), a finite sum (Student 1908)."""
    cosine, total = math.cos(theta), 0.0
    odd = freedom % 2
    term = cosine if odd else 1.0
    for k in range(1 + odd, freedom, 2):
        total += term
        term *= cosine * cosine * k / (k + 1)
    total *= math.sin(theta)
    return (theta + total) * 2.0 / math.pi if odd else total
