"""Estimate the population uniques of a file by all models, side by side.

A sample unique is at risk if it is also unique in the population. The number of such
records is estimated by models of the population from the size indices of the sample, by
Lancaster's model from the keys, and by the weights alone. Where the estimates disagree,
do not trust any of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from riskcore.assessment.population import FITTED
from riskcore.assessment.suda import match_probability
from riskcore.common import arguments, html
from riskcore.common.progress import Lines, silent
from riskcore.common.results import Summary, WithReport, reports
from riskcore.common.words import counted
from riskcore.data.cells import Cells, tabulate_design
from riskcore.data.files.reading import Reading
from riskcore.models.cell_model import GROUPS, CellModel
from riskcore.models.cell_table import CellTable
from riskcore.models.dirichlet_multinomial import DirichletMultinomial
from riskcore.models.ewens import Ewens
from riskcore.models.lancaster import Lancaster
from riskcore.models.pitman import Pitman
from riskcore.models.poisson_gamma import PoissonGamma
from riskcore.models.size_indices import SizeIndices
from riskcore.models.superpopulation import Superpopulation
from riskcore.simulate.samples import uniques

MOST_CELLS = 10**10  # in Lancaster's c(lambda): more would take minutes
MOST_PEOPLE = 2**53  # every smaller whole number is a double
# If the estimates of these two models differ by a smaller factor, both were near the
# truth; else the model with the smallest AIC may be far off; see
# bench/results/calibration.md.
AGREE = 1.3
_RANGE = ("Dirichlet-multinomial", "Pitman")
SHRINKAGES = (0.0, 0.5, 1.0)
CELL_MODELS = ("latent-class",)
# Models of size indices, by name.
_FITS: dict[str, Callable[[SizeIndices, int], Superpopulation]] = {
    "Dirichlet-multinomial": DirichletMultinomial.fit,
    "Poisson-gamma": PoissonGamma.fit,
    "Ewens": lambda sizes, _: Ewens.fit(sizes),
    "Ewens, moments": lambda sizes, _: Ewens.fit(sizes, "moments"),
    "Pitman": lambda sizes, _: Pitman.fit(sizes),
    "Pitman, moments": lambda sizes, _: Pitman.fit(sizes, "moments"),
}


@dataclass(frozen=True, slots=True)
class Estimate:
    """The estimate of the population uniques by one model.

    Attributes
    ----------
    model : str
        Name and method of the model.
    parameters, standard_errors : dict of str to float
    converged : bool
        Whether there is an estimate; if not, the numbers are nan.
    reason : str
        Why an estimate is missing or in doubt, or on which boundary it lies.
    log_likelihood, aic : float
        nan for models without a likelihood of the size indices.
    population_uniques : float
        Expected number of uniques in the population; nan if the model has none.
    tau : float
        Expected number of sample uniques that are unique in the population.
    low, high : float
        Interval for tau, with the parameters taken as known; nan without an interval.
    wide_low, wide_high : float
        Interval for tau that also allows for the error of the fit, if there are
        standard errors.
    """

    model: str
    parameters: dict[str, float]
    standard_errors: dict[str, float]
    converged: bool
    reason: str
    log_likelihood: float
    aic: float
    population_uniques: float
    tau: float
    low: float = math.nan
    high: float = math.nan
    wide_low: float = math.nan
    wide_high: float = math.nan


@dataclass(frozen=True, slots=True, repr=False)
class UniquesEstimates(WithReport):
    """The estimates of all models for one sample.

    Attributes
    ----------
    sizes : SizeIndices
        The size indices of the sample.
    population : int
        N.
    cells : int
        K, the number of possible cells.
    level : float
        Probability of the intervals.
    estimates : tuple of Estimate
    truth : int or None
        For a simulation, the number of sample uniques that are unique in the
        population.
    pair_weight : float or None
        The sum of the weights in cells of two; None: all weights are N/n.

    Examples
    --------
    >>> data = {"age": list(range(40)) * 2 + [50, 51]}
    >>> found = estimate_uniques(data, ["age"], population=900)
    >>> found.sizes, found.cells, len(found.estimates)
    (<SizeIndices: 82 records in 42 cells, 2 sample uniques>, 42, 10)
    >>> sizes = found.fitted_sizes(3)
    >>> sizes["observed"], sizes["Ewens"].round(1)
    (array([ 2., 40.,  0.]), array([24.2,  8.6,  4.1]))
    >>> print(found.summary().splitlines()[1])
      records         82
    """

    sizes: SizeIndices
    population: int
    cells: int
    level: float
    estimates: tuple[Estimate, ...]
    truth: int | None = None
    pair_weight: float | None = None

    @property
    def dis(self) -> float:
        """DIS, see `riskcore.suda`; nan without cells of two, which tell of others."""
        pairs, people = 2 * self.sizes[2], self.pair_weight
        if people is None:
            people = pairs * (self.population / self.sizes.n)
        return match_probability(self.sizes[1], pairs, people) if pairs else math.nan

    @property
    def right_matches(self) -> float:
        """A lower bound for the sum of 1/F over the sample uniques: DIS times these."""
        return self.sizes[1] * self.dis

    @property
    def best(self) -> str | None:
        """The model with the smallest AIC, among the models with a likelihood."""
        fitted = [x for x in self.estimates if math.isfinite(x.aic)]
        return min(fitted, key=lambda x: x.aic).model if fitted else None

    @property
    def advice(self) -> str:
        """Advice on the smallest AIC; empty if no model has an AIC.

        The AIC judges the fit to the sample, not to the rest of the population. On
        known populations, the Dirichlet-multinomial and Pitman's model were both near
        the truth if they were near each other, and mostly on both sides of it if not.
        The advice also considers models that know the keys.
        """
        if self.best is None:
            return ""
        taus = {
            estimate.model: estimate.tau
            for estimate in self.estimates
            if estimate.model in (*_RANGE, *FITTED) and math.isfinite(estimate.tau)
        }
        beyond = "it judges the sample, not the population, and may be far off"
        if not taus.keys() >= set(_RANGE):
            both = " and ".join(_RANGE)
            return f"{beyond}: {both} do not both have an estimate to compare"
        named = f"{', '.join(list(taus)[:-1])} and {list(taus)[-1]}"
        low, high = min(taus.values()), max(taus.values())
        if high < AGREE * low:
            return f"{named} agree: where models do, they were near the truth"
        return (
            f"{beyond}: take {named} for a range, {html.readable(low)} to "
            f"{html.readable(high)}; with few keys even its lower end is too high"
        )

    def fitted_sizes(self, most: int = 10) -> dict[str, NDArray[np.float64]]:
        """Return the observed and expected numbers of cells of 1, 2, ... records.

        Parameters
        ----------
        most : int
            The largest cell size to return.

        Returns
        -------
        dict of str to float64 ndarray, each shape (most,)
            "observed", and the expected numbers E S_j of each model of size indices
            that has an estimate.

        Raises
        ------
        TypeError, ValueError
            If ``most`` is not a whole number of at least 1.
        """
        arguments.whole_from("most", most, 1, 2**20)
        observed = [float(self.sizes[j]) for j in range(1, most + 1)]
        by_model = {"observed": np.array(observed)}
        for estimate in self.estimates:
            if estimate.converged and estimate.model in _FITS:
                model = _FITS[estimate.model](self.sizes, self.cells)
                by_model[estimate.model] = model.expected_sizes(self.sizes.n, most)
        return by_model

    @property
    def disagreement(self) -> float:
        """The largest tau over the smallest; nan with fewer than two, or all 0."""
        low, high = self.range or (math.nan, math.nan)
        if low == 0.0:
            return math.inf if high > 0.0 else math.nan
        return high / low

    @property
    def range(self) -> tuple[float, float] | None:
        """The smallest and the largest tau; None with fewer than two estimates."""
        taus = [x.tau for x in self.estimates if math.isfinite(x.tau)]
        return (min(taus), max(taus)) if len(taus) > 1 else None

    def summary(self) -> Summary:
        """Return the summary that ``riskcore uniques`` prints.

        Returns
        -------
        str
            A string that a prompt shows line by line.
        """
        return reports().summary_of(self)

    def __repr__(self) -> str:
        between = ""
        if self.range is not None:
            low, high = self.range
            between = f", {low:,.4g} to {high:,.4g} unique in the population"
        return (
            f"<UniquesEstimates: {counted(self.sizes[1], 'sample unique')}{between}, "
            f"by {counted(len(self.estimates), 'model')}>"
        )

    def _repr_html_(self) -> str:
        rows = [
            (
                x.model,
                "no estimate" if math.isnan(x.tau) else html.readable(x.tau),
                _ends(x.low, x.high),
                _ends(x.wide_low, x.wide_high),
                html.known(x.aic, ",.1f"),
            )
            for x in self.estimates
        ]
        marks = [(x.model, x.tau, x.low, x.high) for x in self.estimates]
        note = (
            f"{counted(self.sizes[1], 'sample unique')} of "
            f"{counted(self.sizes.n, 'record')}, population {self.population:,}"
        )
        truth, scale = math.nan, "expected, with intervals"
        if self.truth is not None:
            truth = float(self.truth)
            note, scale = f"{note}; truth {self.truth:,}", f"{scale}; line: the truth"
        if self.best is not None:
            note = f"{note}. Smallest AIC: {self.best}; {self.advice}"
        interval = f"{100 * self.level:.4g} % interval"
        head = ["", "expected", interval, "with the error of the fit", "AIC"]
        title = "Sample uniques that are unique in the population"
        drawn = html.intervals(marks, scale, truth)
        return html.figures(title, html.escape(note), rows, drawn, head)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON; nan becomes None, infinity becomes "infinite"."""
        return {
            "records": self.sizes.n,
            "occupied_cells": self.sizes.u,
            "sample_uniques": self.sizes[1],
            "cells": self.cells,
            "population": self.population,
            "level": self.level,
            **({} if self.truth is None else {"truth": self.truth}),
            "dis": _plain(self.dis),
            "right_matches": _plain(self.right_matches),
            "best": self.best,
            "advice": self.advice,
            "disagreement": _plain(self.disagreement),
            "range": self.range,
            "estimates": [_plain(asdict(estimate)) for estimate in self.estimates],
        }


def estimate_simulated(
    population: ArrayLike,
    sampled: ArrayLike,
    *,
    cells: int | None = None,
    level: float = 0.95,
    progress: Lines | None = None,
) -> UniquesEstimates:
    """Estimate the population uniques of a simulated sample, and add the truth.

    Parameters
    ----------
    population, sampled : array_like of int, shape (K,)
        Frequencies of the cells in the population and in the sample, see
        `riskcore.simulate`.
    cells : int, optional
        Number of possible cells; by default K, the length of the arrays.
    level : float
        Probability of the intervals.
    progress : callable, optional
        Called with a line of text at each step.

    Returns
    -------
    UniquesEstimates
        The estimates by the models of size indices, with ``truth``.

    Raises
    ------
    TypeError, ValueError
        If the sample is not a subset of the population, there are more occupied cells
        than ``cells``, or the level is not in (0, 1).

    Examples
    --------
    >>> from riskcore import simulate
    >>> random = np.random.default_rng(2004)
    >>> population = simulate.zipf_population(100_000, 10_000, 0.9, random)
    >>> sampled = simulate.sample(population, 30_000, random)
    >>> found = estimate_simulated(population, sampled)
    >>> found.truth, found.best, round(found.estimates[4].tau)
    (413, 'Pitman', 1506)
    """
    arguments.number_in("level", level, "(0, 1)")
    both = uniques(population, sampled).both
    F, f = (np.asarray(frequencies, np.int64) for frequencies in (population, sampled))
    if cells is not None:
        arguments.whole("cells", cells)
    sizes = SizeIndices.from_frequencies(f)
    N, K = int(F.sum()), len(F) if cells is None else cells
    estimates = fit_all(sizes, N, K, level, progress or silent)
    return UniquesEstimates(sizes, N, K, level, tuple(estimates), truth=both)


def estimate_uniques(
    data: Any,
    keys: Iterable[Hashable],
    weight: Hashable | None = None,
    *,
    population: int | None = None,
    cells: int | None = None,
    missing: str = "refuse",
    shrinkages: Sequence[float] = SHRINKAGES,
    cell_models: Sequence[str] = CELL_MODELS,
    cluster: Hashable | None = None,
    strata: Iterable[Hashable] | None = None,
    level: float = 0.95,
    reading: Reading | None = None,
    progress: Lines | None = None,
) -> UniquesEstimates:
    """Estimate the number of sample uniques unique in the population, by all models.

    Parameters
    ----------
    data : frame, mapping or path
        Records, or the path of a file, as for `riskcore.tabulate`.
    keys : iterable of column names
        The key variables.
    weight : column name, optional
        Sampling weights. They give one more estimate, the sum of f/F over the sample
        uniques, and the size of the population.
    population : int, optional
        N, the size of the population; by default the sum of the weights, rounded.
    cells : int, optional
        K, the number of possible cells, up to 2^53; by default the product of the
        numbers of categories that occur, or 2^53 if that is less.
    missing : {"refuse", "category"}
        How to treat missing key values, see `riskcore.tabulate`.
    shrinkages : sequence of float
        Values of lambda for Lancaster's model.
    cell_models : sequence of {"latent-class", "log-linear"}
        Models of cells to fit, see `riskcore.models`. With many records, they take most
        of the time.
    cluster : column name, optional
        For the models of cells, the unit of sampling that records were drawn in, such
        as the household or the primary sampling unit, see `riskcore.assess`.
    strata : iterable of column names, optional
        The strata in which clusters were drawn.
    level : float
        Probability of the intervals.
    reading : Reading, optional
        How to read the file, if ``data`` is a path.
    progress : callable, optional
        Called with a line of text at each step.

    Returns
    -------
    UniquesEstimates
        An estimate that does not exist is nan, with a reason.

    Raises
    ------
    KeyError, TypeError, OSError
        As `riskcore.tabulate`.
    ValueError
        As `riskcore.tabulate`; or if neither population nor weights are given, N is
        below n, there are more occupied cells than K, or missing keys match any value,
        in which case there are no size indices.

    Notes
    -----
    Models, methods and intervals: `riskcore.models`. Given the sample, a sample unique
    is unique in the population with probability p = f/F if F - f is negative binomial,
    as for the individual risk; the sum of these p is the estimate of the weights.

    Examples
    --------
    >>> data = {"a": list("aabbccdd"), "b": list("xyxyxyxx")}
    >>> found = estimate_uniques(data, ["a", "b"], population=80)
    >>> found.sizes
    <SizeIndices: 8 records in 7 cells, 6 sample uniques>
    >>> [one.model for one in found.estimates][:2]
    ['Dirichlet-multinomial', 'Poisson-gamma']
    """
    if missing not in ("refuse", "category"):
        raise ValueError(
            f"missing={missing!r}: the models need each record in one cell; use "
            "'refuse' or 'category'"
        )
    for name, number in (("population", population), ("cells", cells)):
        if number is not None:
            arguments.whole(name, number)
    arguments.number_in("level", level, "(0, 1)")
    _check_cell_models(cell_models, cluster)
    report = progress or silent
    report("counting cells")
    tabulated, design = tabulate_design(
        data, keys, weight, missing, reading=reading, cluster=cluster, strata=strata
    )
    sizes = SizeIndices.from_frequencies(tabulated.records)
    if population is None and not tabulated.weighted:
        raise ValueError("give the size of the population, or a column of weights")
    N = round(math.fsum(tabulated.weight_sum)) if population is None else population
    K = cells
    if K is None:
        K = min(math.prod(map(len, tabulated.categories)), MOST_PEOPLE)
    if population is None and not sizes.n <= N <= MOST_PEOPLE:
        raise ValueError(
            f"the weights add to {N:.4g} people, but the sample has {sizes.n}; need at "
            "least as many people, and at most 2^53; or give the population"
        )
    estimates = fit_all(sizes, N, K, level, report)
    estimates += _lancaster(tabulated, N, shrinkages, report)
    if tabulated.weighted:
        estimates.append(_by_weights(tabulated))
    table = CellTable.of(tabulated)
    if population is not None:
        table = table.scaled(N / math.fsum(table.weight_sum.tolist()))
    pairs = math.fsum(table.weight_sum[table.records == 2].tolist())
    if design is not None:
        table = table.clustered(tabulated.inverse, design)
    for name in cell_models:
        report(f"fitting the {name} model to {counted(len(table), 'cell')}")
        model = FITTED[name].fit(table)
        report(f"interval of the {name} model, by {GROUPS} fits without some records")
        estimates.append(_of_cells(name, model, level))
    return UniquesEstimates(sizes, N, K, level, tuple(estimates), pair_weight=pairs)


def _check_cell_models(names: Sequence[str], cluster: Hashable | None) -> None:
    """Refuse unknown models of cells, and clusters that no model would use."""
    if isinstance(names, str):
        raise TypeError(f"cell_models: need a list of names, got {names!r}")
    for name in names:
        arguments.one_of("cell_models", name, tuple(FITTED))
    if cluster is not None and not names:
        raise ValueError(
            "cluster: only models of cells use it; name one in cell_models, or leave "
            "out cluster"
        )


def _of_cells(name: str, model: CellModel, level: float) -> Estimate:
    """Return the estimate of a model of cells. Its AIC is not comparable."""
    ends = *model.tau_interval(level=level, groups=0), *model.tau_interval(level=level)
    reason = "; ".join(filter(None, (model.reason, model.caution)))
    estimate = _without_likelihood(name, model.tau(), reason, ends)
    return replace(estimate, converged=model.converged)


def fit_all(
    sizes: SizeIndices, N: int, K: int, level: float, progress: Lines
) -> list[Estimate]:
    """Fit every model of size indices, and return the estimates."""
    if sizes.n > N:
        raise ValueError(f"population={N}: below the {sizes.n} records of the sample")
    if N > MOST_PEOPLE:
        raise ValueError(f"population={N}: need a number of people up to 2^53")
    if K > MOST_PEOPLE:
        raise ValueError(f"cells={K}: need a number of cells up to 2^53")
    if sizes.u > K:
        raise ValueError(f"cells={K}: below the {sizes.u} occupied cells of the sample")
    estimates = []
    for name, fit in _FITS.items():
        progress(f"fitting {name}")
        estimates.append(_of_model(name, fit(sizes, K), sizes, N, level))
    return estimates


def _of_model(
    name: str, model: Superpopulation, sizes: SizeIndices, N: int, level: float
) -> Estimate:
    return Estimate(
        name,
        {parameter: float(getattr(model, parameter)) for parameter in model.names},
        dict(model.standard_errors),
        model.converged,
        model.reason,
        model.log_likelihood,
        model.aic,
        model.population_uniques(N),
        model.tau(sizes, N),
        *model.tau_interval(sizes, N, level),
        *model.wide_tau_interval(sizes, N, level),
    )


def _lancaster(
    cells: Cells, N: int, shrinkages: Sequence[float], progress: Lines
) -> list[Estimate]:
    """Return the estimates of Lancaster's model, one for each value of lambda."""
    names = [f"Lancaster, lambda {shrinkage:g}" for shrinkage in shrinkages]
    levels = [len(labels) for labels in cells.categories]
    product = math.prod(levels)
    if product > MOST_CELLS:
        why = f"{product} cells, but at most {MOST_CELLS} can be summed"
        return [_without_likelihood(name, math.nan, why) for name in names]
    progress("fitting Lancaster's model")
    model = Lancaster.fit(cells.codes, levels, cells.records)
    unique = cells.records == 1
    uniques = [column[unique] for column in cells.codes]
    taus = np.atleast_1d(model.tau(uniques, N, list(shrinkages))).tolist()
    return [*map(_without_likelihood, names, taus)]


def _by_weights(cells: Cells) -> Estimate:
    """Return the expected number under the distribution of the individual risk."""
    unique = cells.records == 1
    fraction = np.minimum(cells.sampling_fraction[unique], 1.0)
    return _without_likelihood("weights, sum of f/F", math.fsum(fraction.tolist()))


def _without_likelihood(
    model: str, tau: float, reason: str = "", ends: Sequence[float] = ()
) -> Estimate:
    """Return an estimate of tau alone, and the ends of its two intervals."""
    nans = (math.nan,) * 3  # of the likelihood, the AIC and population uniques
    return Estimate(model, {}, {}, not reason, reason, *nans, tau, *ends)


def _ends(low: float, high: float) -> str:
    if not math.isfinite(low):
        return ""
    return f"{html.readable(low)} to {html.readable(high)}"


def _plain(value: Any) -> Any:
    """Return a value that JSON can hold."""
    if isinstance(value, dict):
        return {name: _plain(entry) for name, entry in value.items()}
    if isinstance(value, list):
        return [_plain(entry) for entry in value]
    if not isinstance(value, float) or math.isfinite(value):
        return value
    return None if math.isnan(value) else "infinite"
