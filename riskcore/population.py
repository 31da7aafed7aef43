"""The risk of cells by a model of the population, in place of the weights alone.

By weights every population frequency is a priori as likely as 1/F, whatever the keys of
the cell say. A model of the cells (`riskcore.models`) gives each its own law of F = f +
X, and the risk is E[1/(f + X)].
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.common import arguments
from riskcore.common.progress import Lines
from riskcore.common.threads import in_parts, parts_of, usual_threads
from riskcore.microdata.cells import Cells
from riskcore.microdata.count import THREADED
from riskcore.models.cell_model import CellModel, CellPrior
from riskcore.models.cell_table import CellTable
from riskcore.models.known_population import KnownPopulation
from riskcore.models.latent_class import LatentClass
from riskcore.models.log_linear import LogLinear
from riskcore.risk.threshold import RiskDistribution

Risks = NDArray[np.float64]

# Fitted to the cells that are assessed.
FITTED: dict[str, Any] = {"latent-class": LatentClass, "log-linear": LogLinear}
# The column of a frame of counts.
COUNT = "population_frequency"


def check_model(population: Any, method: str) -> None:
    """Refuse a population that is no model, or goes with none, before data are read.

    Raises
    ------
    TypeError
        If it is neither a name, nor a model of cells, nor a frame.
    ValueError
        If the name is unknown, the model has no estimate, or another method than
        "exact" is asked for.
    """
    if isinstance(population, str):
        arguments.one_of("population", population, ("weights", *FITTED))
    elif isinstance(population, CellModel):
        if not population.converged:
            raise ValueError(f"population: no estimate, {population.reason}")
    elif population is None or np.isscalar(population):
        raise TypeError(
            "population: need a name, a fitted model of riskcore.models or a frame of "
            f"counts, got {arguments.shown(population)}"
        )
    if method != "exact":
        raise ValueError(
            f"method={method!r}: the formula knows weights only; with another "
            "population than 'weights' the method is 'exact'"
        )


def model_of(
    population: Any, keys: Sequence[Hashable], cells: Cells, say: Lines
) -> CellModel:
    """Return the model of a population, fitted to the cells if it is a name.

    Parameters
    ----------
    population : str, CellModel or frame
        As for `riskcore.assess`, checked by `check_model`.
    keys : sequence of column names
    cells : Cells
        Of the sample.
    say : callable
        Called with a line of text.

    Returns
    -------
    CellModel

    Raises
    ------
    ValueError
        If the model has no estimate.
    """
    if isinstance(population, CellModel):
        return population
    if not isinstance(population, str):
        return KnownPopulation(population, keys, COUNT, missing=cells.missing)
    say(f"fitting the {population} model to {len(cells)} cells")
    model: CellModel = FITTED[population].fit(cells)
    if not model.converged:
        raise ValueError(f"population={population!r}: no estimate, {model.reason}")
    return model


def risks_of(model: CellModel, cells: Cells) -> tuple[Risks, Risks]:
    """Return E[1/F] and P(F = 1 | f) of cells by a model, each of shape (K,)."""
    prior = model.prior(cells)
    return risk_by(prior), prior.unique_probability()


def risk_of_margins(
    model: CellModel,
    cells: Cells,
    f: Risks,
    F: Risks,
    codes: Sequence[NDArray[Any] | None],
) -> Risks:
    """Return the risk of combinations of some keys, see `CellTable.of_margins`."""
    return risk_by(model.prior(CellTable.of_margins(cells, codes, f, F)))


def risk_by(prior: CellPrior) -> Risks:
    """Return E[1/F] of each cell by what is known of its F.

    Parameters
    ----------
    prior : CellPrior

    Returns
    -------
    float64 ndarray, shape (K,)
    """
    from riskcore.risk.prior import individual_risk_poisson, individual_risk_with_prior

    f = prior.records
    risk = np.empty(len(f))

    def compute(start: int, stop: int) -> None:
        part = slice(start, stop)
        if prior.mu is not None:
            individual_risk_poisson(f[part], prior.mu[part], out=risk[part])
        elif prior.shape is not None and prior.p is not None:
            individual_risk_with_prior(
                f[part], prior.shape[part], prior.p[part], out=risk[part]
            )

    threads = 1 if len(f) < THREADED else usual_threads()
    in_parts(threads, compute, parts_of(len(f), threads))
    if prior.population is not None:
        known = ~np.isnan(prior.population)
        risk[known] = 1.0 / prior.population[known]
    return risk


def deviation_by(prior: CellPrior) -> Risks:
    """Return the standard deviation of 1/F of each cell; 0 where F is known."""
    from riskcore.risk.prior import (
        individual_risk_second_moment_poisson,
        individual_risk_second_moment_with_prior,
    )

    f, risk = prior.records, risk_by(prior)
    if prior.mu is not None:
        second = individual_risk_second_moment_poisson(f, prior.mu)
    elif prior.shape is not None:
        second = individual_risk_second_moment_with_prior(f, prior.shape, prior.p)
    else:
        second = risk * risk
    deviation: Risks = np.sqrt(np.maximum(second - risk * risk, 0.0))
    if prior.population is not None:
        deviation[~np.isnan(prior.population)] = 0.0
    return deviation


def name_of(model: CellModel) -> str:
    """Return how reports call a model of the population.

    Examples
    --------
    >>> from riskcore.models import LogLinear
    >>> name_of(LogLinear.fit([[0, 1], [0, 1]]))
    'log-linear'
    """
    words = re.findall("[A-Z][a-z]*", type(model).__name__)
    return "-".join(words).lower()


def plain(
    model: CellModel, by_weights: RiskDistribution, uniques: float
) -> dict[str, Any]:
    """Return the figures of a file that are of its population model.

    Parameters
    ----------
    model : CellModel
    by_weights : RiskDistribution
        Of the risk by the weights alone.
    uniques : float
        The expected population uniques among the sample uniques.

    Returns
    -------
    dict
        Of text, numbers and None.
    """
    return {
        "population_model": name_of(model),
        "population_model_fit": repr(model)[1:-1].partition(": ")[2],
        "population_uniques": uniques,
        "by_weights": by_weights.expected_reidentifications,
    }
