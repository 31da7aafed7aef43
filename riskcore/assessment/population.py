"""The risk of cells by a model of the population instead of the weights.

With weights, the prior probability of a population frequency F is proportional to 1/F
for any keys of the cell. A model of the cells (`riskcore.models`) gives each cell
its own distribution of F = f + X, and the risk is E[1/(f + X)].
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from riskcore.assessment.assess_settings import AUTO, BOTH, LATENT_CLASS, WEIGHTS
from riskcore.assessment.cell_risk import Ends, Risks
from riskcore.common import arguments
from riskcore.common.progress import Lines
from riskcore.common.scatter import scattered
from riskcore.common.threads import over
from riskcore.common.words import counted
from riskcore.core.risk import individual, posterior, prior
from riskcore.core.risk.threshold import RiskDistribution
from riskcore.data.cells import Cells
from riskcore.data.engine_cells import HeldCells, draw_of
from riskcore.data.sample_design import SampleDesign
from riskcore.models.cell_model import CellModel, CellPrior
from riskcore.models.cell_table import ANY, CellTable, Drawn, Rows
from riskcore.models.known_population import KnownPopulation
from riskcore.models.latent_class import LatentClass
from riskcore.models.log_linear import LogLinear
from riskcore.models.poisson_binomial import PoissonBinomial

CellsT = TypeVar("CellsT", bound=Cells)

# Populations by name that are not one model.
NAMED = (BOTH, WEIGHTS, AUTO)
# Models that are fitted to the assessed cells.
FITTED: dict[str, Any] = {LATENT_CLASS: LatentClass, "log-linear": LogLinear}
COUNT = "population_frequency"  # the column of a frame of counts
# Cells are drawn by the hashes of other numbers than those that thin the draw.
_APART = 1 << 32


def check_model(population: Any, method: str) -> None:
    """Refuse an invalid population or method before data are read."""
    if isinstance(population, str):
        arguments.one_of("population", population, (*NAMED, *FITTED))
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
            f"method={method!r}: the formula is for weights only; with a "
            "population other than 'weights', give method='exact'"
        )


def model_of(
    population: Any,
    keys: Sequence[Hashable],
    cells: Cells,
    say: Lines,
    design: SampleDesign | None = None,
) -> CellModel:
    """Return the model of a population, fitted to the cells if it is a name."""
    if isinstance(population, CellModel):
        return population
    if not isinstance(population, str):
        # Missing keys may match any value in the sample, but not in a register.
        rule = "category" if cells.missing == "category" else "refuse"
        return KnownPopulation(population, keys, COUNT, missing=rule)
    say(f"fitting the {population} model to {counted(len(cells), 'cell')}")
    if cells.windows is None and cells.shared:
        table = CellTable.of_complete(cells, design)
    else:
        table = CellTable.of(cells)
        if design is not None:
            table = table.clustered(cells.inverse, design)
    model: CellModel = FITTED[population].fit(table)
    if not model.converged:
        raise ValueError(f"population={population!r}: no estimate, {model.reason}")
    return model


def drawn_model(cells: Cells) -> CellModel:
    """Return the latent-class model, fitted to cells that are drawn."""
    if isinstance(cells, HeldCells):
        some, large, small = cells.drawn
        table = CellTable.of(some)
    else:
        whole = CellTable.of(cells)
        large, small = draw_of(cells.n, len(cells))
        numbers = np.arange(_APART, _APART + len(cells), dtype=np.uint64)
        share = scattered(numbers) / 2.0**64
        at = np.flatnonzero((share * small < 1) | (share * large < whole.records))
        place = np.full(len(cells), -1)
        place[at] = np.arange(len(at))
        table = replace(whole.some(at), rows=Rows.of(cells, place[cells.rows]))
    drawn = Drawn.of(table.records, cells.n, large, small)
    model = LatentClass.fit(replace(table, drawn=drawn))
    if not model.converged:
        raise ValueError(model.reason)
    return model


def risks_of(
    model: CellModel, cells: CellsT, table: CellTable | None = None
) -> tuple[Risks, Risks, CellsT]:
    """Return E[1/F] and P(F = 1) of cells by a model, and cells with its F."""
    cell_prior = model.prior(cells if table is None else table)
    if cell_prior.population is not None:
        mask = ~np.isnan(cell_prior.population)
        F = np.where(mask, cell_prior.population, cells.population_frequency)
        cells = replace(cells, population_frequency=F)
    return risk_by(cell_prior), cell_prior.unique_probability(), cells


def risk_of_margins(
    model: CellModel,
    cells: Cells,
    f: Risks,
    F: Risks,
    codes: Sequence[NDArray[Any] | None],
) -> Risks:
    """Return the risk of combinations of some keys, see `CellTable.of_margins`."""
    return risk_by(model.prior(CellTable.of_margins(cells, codes, f, F)))


def risk_by(cell_prior: CellPrior) -> Risks:
    """Return E[1/F] of each cell from the distribution of its F."""
    f = cell_prior.records
    risk = np.empty(len(f))

    def compute(start: int, stop: int) -> None:
        part = slice(start, stop)
        if cell_prior.mu is not None:
            prior.individual_risk_poisson(f[part], cell_prior.mu[part], out=risk[part])
        elif cell_prior.shape is not None and cell_prior.p is not None:
            prior.individual_risk_with_prior(
                f[part], cell_prior.shape[part], cell_prior.p[part], out=risk[part]
            )

    over(len(f), compute)
    if cell_prior.population is not None:
        mask = ~np.isnan(cell_prior.population)
        risk[mask] = 1.0 / cell_prior.population[mask]
    return risk


def deviation_by(cell_prior: CellPrior) -> Risks:
    """Return the standard deviation of 1/F of each cell; 0 where F is known."""
    f, risk = cell_prior.records, risk_by(cell_prior)
    if cell_prior.mu is not None:
        second = prior.individual_risk_second_moment_poisson(f, cell_prior.mu)
    elif cell_prior.shape is not None:
        second = prior.individual_risk_second_moment_with_prior(
            f, cell_prior.shape, cell_prior.p
        )
    else:
        second = risk * risk
    deviation: Risks = np.sqrt(np.maximum(second - risk * risk, 0.0))
    if cell_prior.population is not None:
        deviation[~np.isnan(cell_prior.population)] = 0.0
    return deviation


def sum_interval(model: CellModel | None, cells: Cells, level: float) -> Ends:
    """Return an interval for the sum of 1/F over records, see `Assessment`."""
    level = _level(cells, level)
    return sum_over_patterns(model, cells, cells.records, level)


def sum_over_patterns(
    model: CellModel | None,
    table: CellTable | Cells,
    released: NDArray[np.int64],
    level: float,
    off: float = 0.0,
) -> Ends:
    """Return an interval for the sum of 1/F over released records of some patterns."""
    reach = arguments.normal_reach(level)
    f = table.records.astype(np.float64)
    shares = released / f
    if model is not None:
        total, low, high = model.interval(
            table, lambda cell_prior: risk_by(cell_prior) * shares, level
        )
        deviation = deviation_by(model.prior(table)) * released
    else:
        F = np.maximum(table.weight_sum, f)
        risk = individual.individual_risk_from_frequencies(f, F)
        total = low = high = math.fsum((risk * released).tolist())
        deviation = posterior.individual_risk_deviation(f, f / F) * released
    # Patterns of the same keys have no person in common; those of others may have the
    # same people, and their errors add up.
    kinds = [column == ANY for column in table.codes]
    kind = np.unique(kinds, axis=1, return_inverse=True)[1].reshape(-1)
    squares = np.bincount(kind, deviation * deviation)
    error = math.hypot(float(np.sqrt(squares).sum()), off * total)
    error *= reach
    below, above = math.hypot(total - low, error), math.hypot(high - total, error)
    return max(total - below, 0.0), total + above


def uniques_interval(model: CellModel | None, cells: Cells, level: float) -> Ends:
    """Return an interval for the sample uniques with F = 1, see `Assessment`."""
    level = _level(cells, level)
    if model is not None:
        return model.tau_interval(cells, level)
    alone = cells.population_frequency[cells.sample_frequency == 1]
    return PoissonBinomial.of(1.0 / np.maximum(alone, 1.0)).interval(level)


def _level(cells: Cells, level: float) -> float:
    """Refuse an invalid level, and cells that share records."""
    if cells.shared:
        raise ValueError(
            f"{cells.shared_by}, so the cells are not independent and there cannot be "
            "an interval"
        )
    return arguments.number_in("level", level, "(0, 1)")


def model_figures(
    model: CellModel, by_weights: RiskDistribution, uniques: float
) -> dict[str, Any]:
    """Return the figures of a file that come from its population model."""
    population = (
        {"population": float(model.n)} if isinstance(model, KnownPopulation) else {}
    )
    return {
        **population,
        "population_model": model.label,
        "population_model_fit": model.fit_in_words,
        "population_uniques": uniques,
        "by_weights": by_weights.expected_reidentifications,
    }
