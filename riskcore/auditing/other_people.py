"""Right claims about other people: what a release tells that knows nobody of a file.

A released record may have the keys of somebody in the original by chance. How often,
other people tell: those of a holdout; or, without one, those whom a model of the keys
draws as another sample of the same size from the same population.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from riskcore.assessment.population import risk_by
from riskcore.core.risk import individual
from riskcore.models.cell_model import CellModel, CellPrior
from riskcore.models.cell_table import CellTable
from riskcore.models.known_population import KnownPopulation
from riskcore.models.latent_class import LatentClass

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

HOLDOUT, MODEL = "holdout", "model"
_LEAST = 1e-6  # chances of more records of a cell that are left out
_MOST = 64  # records of a cell: with more, 1/F is nearly that of as many


@dataclass(frozen=True, slots=True)
class OtherPeople:
    """How many claims would be right about as many other people.

    Attributes
    ----------
    by : {"holdout", "model"}
        Where they come from.
    right : float
        Expected number of right claims, for as many people as the original has; nan
        without an estimate.
    matched : float
        Claims whose keys somebody of them has.
    variance : float
        Variance of ``right``, as these people are drawn by chance.
    error : float
        By how much the model has ``right`` too small, as halves of the original tell:
        as many claims about people of one half, from the records of the other, are
        right beyond those that the model expects. 0 for a holdout.
    """

    by: str
    right: float
    matched: float
    variance: float
    error: float = 0.0


def by_holdout(
    claims: CellTable,
    holdout: CellTable,
    cells: CellTable,
    model: CellModel | None,
) -> OtherPeople:
    """Return what the people of a holdout tell; ``cells`` are the original's."""
    hits = claims.matches_in(holdout)
    found = np.flatnonzero(hits)
    asked = claims.some(found)
    if isinstance(model, KnownPopulation):
        right = 1.0 / np.maximum(asked.matches_in(model.sample), 1)
    elif model is None:
        right = _mean_risks(cells, int(hits.max(initial=1)))[hits[found]]
    else:
        right = np.zeros(len(found))
        known = asked.known_in(model.sample)
        each = asked.weight_sum / asked.records
        asked = replace(asked, records=hits[found], weight_sum=hits[found] * each)
        right[known] = risk_by(model.prior(asked.some(known)))
    scale = cells.n / holdout.n
    total = math.fsum(right.tolist())
    squares = math.fsum((right * right).tolist())
    matched = scale * len(found)
    return OtherPeople(HOLDOUT, scale * total, matched, scale * scale * squares)


def by_model(
    claims: CellTable, cells: CellTable, model: CellModel | None
) -> OtherPeople:
    """Return what other samples of the population tell, by a model of the keys."""
    if isinstance(model, KnownPopulation):
        return _by_population(claims.matches_in(model.sample), cells)
    law = model or _fitted(cells)
    if law is None:
        return OtherPeople(MODEL, math.nan, math.nan, math.nan)
    asked = claims.some(claims.known_in(law.sample))
    each = asked.weight_sum / asked.records
    once = replace(asked, records=np.ones(len(asked), np.int64), weight_sum=each)
    prior = law.prior(once)
    expected = law.n * law.probability(once)
    shape = np.full(len(once), math.inf)
    if prior.shape is not None:
        shape = prior.shape - 1.0
    means = None if model is not None else _mean_risks(cells, _MOST)
    chance = np.exp(_log_nobody(expected, shape))
    left = 1.0 - chance
    matched = math.fsum(left.tolist())
    right, squares = [], []
    rows = np.arange(len(once))
    for f in range(1, _MOST + 1):
        chance = chance * _step(f, expected[rows], shape[rows])
        each = chance if f < _MOST else left
        risk = _risks(f, prior, rows) if means is None else means[f]
        right.append(math.fsum((each * risk).tolist()))
        squares.append(math.fsum((each * risk * risk).tolist()))
        left = left - chance
        keep = left > _LEAST
        rows, chance, left = rows[keep], chance[keep], left[keep]
    total = math.fsum(right)
    error = total * (_beyond_model(law) - 1.0)
    return OtherPeople(MODEL, total, matched, math.fsum(squares), error)


def _beyond_model(law: CellModel) -> float:
    """Return how many claims between halves of a sample match, over those expected.

    The halves know nothing of each other but what the population has in common, which
    a model has in part.
    """
    records = law.sample.records
    half = halves_of(records)[0]
    other = records - half
    expected = law.n * law.probability() / 2.0
    prior = law.prior(law.sample.with_records(np.ones_like(records)))
    shape = np.full(len(records), math.inf)
    if prior.shape is not None:
        shape = prior.shape - 1.0
    somebody = 1.0 - np.exp(_log_nobody(expected, shape))
    found = wanted = 0.0
    for released, there in ((half, other), (other, half)):
        claims = released == 1
        found += float(np.count_nonzero(there[claims]))
        wanted += math.fsum(somebody[claims].tolist())
    return found / wanted if wanted else 1.0


def halves_of(records: Integers) -> tuple[Integers, Integers]:
    """Return the records of each cell in two random halves; the same each time."""
    cell = np.repeat(np.arange(len(records)), records)
    chosen = np.random.default_rng(0).permutation(len(cell))[: len(cell) // 2]
    half = np.bincount(cell[chosen], minlength=len(records))
    return half, records - half


def _fitted(cells: CellTable) -> CellModel | None:
    """Return a model of the records that have all keys, None without an estimate."""
    whole = np.logical_and.reduce([column >= 0 for column in cells.codes])
    if not whole.any():
        return None
    known = replace(cells.some(whole), certain=True)
    law = LatentClass.fit(known, overdispersion=False)
    return law if law.converged else None


def _log_nobody(expected: Floats, shape: Floats) -> Floats:
    """Return the log of the chance that a sample has nobody in a cell."""
    with np.errstate(invalid="ignore"):
        dispersed = -shape * np.log1p(expected / shape)
    return np.where(np.isinf(shape), -expected, dispersed)


def _step(f: int, expected: Floats, shape: Floats) -> Floats:
    """Return P(f)/P(f - 1) of a cell's records in another sample."""
    with np.errstate(invalid="ignore"):
        dispersed = (shape + f - 1.0) / f * expected / (shape + expected)
    return np.where(np.isinf(shape), expected / f, dispersed)


def _risks(f: int, prior: CellPrior, rows: Integers) -> Floats:
    """Return E[1/F] of cells with f records each, by a model."""
    records = np.full(len(rows), float(f))
    if prior.shape is None:
        assert prior.mu is not None
        return risk_by(CellPrior(records, mu=prior.mu[rows]))
    assert prior.p is not None
    assert prior.q is not None
    shape = prior.shape[rows] + (f - 1.0)
    return risk_by(CellPrior(records, shape, prior.p[rows], prior.q[rows]))


def _mean_risks(cells: CellTable, most: int) -> Floats:
    """Return the mean of E[1/F] by weights over cells with f records, f <= most.

    Weights differ, and a mean weight would give too small a risk. Where the original
    has no cell of f records it must do.
    """
    f = np.arange(most + 1.0)
    mean = math.fsum(cells.weight_sum.tolist()) / cells.n
    found = np.zeros(most + 1)
    found[1:] = individual.individual_risk_from_frequencies(
        f[1:], f[1:] * max(mean, 1.0)
    )
    few = cells.records <= most
    records = cells.records[few]
    F = np.maximum(cells.weight_sum[few], records)
    risk = individual.individual_risk_from_frequencies(records.astype(np.float64), F)
    number = np.bincount(records, minlength=most + 1)
    sums = np.bincount(records, risk, most + 1)
    return np.divide(sums, number, out=found, where=number > 0)


def _by_population(people: Integers, cells: CellTable) -> OtherPeople:
    """Return what samples of a known population tell, each with the same chance."""
    F = people[people > 0].astype(np.float64)
    mean_weight = math.fsum(cells.weight_sum.tolist()) / cells.n
    somebody = 1.0 - (1.0 - 1.0 / max(mean_weight, 1.0)) ** F
    return OtherPeople(
        MODEL,
        math.fsum((somebody / F).tolist()),
        math.fsum(somebody.tolist()),
        math.fsum((somebody / F / F).tolist()),
    )
