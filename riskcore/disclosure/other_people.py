"""Right claims about other people: what a release tells that knows nobody of a file.

A released record may have the keys of somebody in the original by chance. How often,
other people tell: those of a holdout; or, without one, those whom a model of the keys
draws as another sample of the same size from the same population.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from riskcore.assessment.population import risk_by
from riskcore.common.threads import in_threads, usual_threads
from riskcore.core.risk import individual
from riskcore.models.cell_model import CellModel
from riskcore.models.cell_table import ANY, CellTable
from riskcore.models.known_population import KnownPopulation
from riskcore.models.latent_class import LatentClass

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

HOLDOUT, MODEL = "holdout", "model"
PARTS = 3  # of the original, to see what a model has wrong
_MANY = 100_000
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
        By how much the model has ``right`` too small, as parts of the original tell:
        so many more claims from one part match people of the others than a model of
        these expects. 0 for a holdout.
    """

    by: str
    right: float
    matched: float
    variance: float
    error: float = 0.0

    def scaled(self, factor: float) -> OtherPeople:
        """Return what so many times as many people tell."""
        return OtherPeople(
            self.by,
            self.right * factor,
            self.matched * factor,
            self.variance * factor * factor,
            self.error * factor,
        )


def by_holdout(
    claims: CellTable,
    holdout: CellTable,
    cells: CellTable,
    model: CellModel | None,
    n: int,
) -> OtherPeople:
    """Return what people of a holdout with all keys tell, as of ``n``."""
    whole = np.logical_and.reduce([column != ANY for column in holdout.codes])
    if whole.any():
        holdout = holdout.some(whole)
    hits = claims.matches_in(holdout)
    means = None if model is not None else mean_risks(cells)
    right = _risks_of_hits(model, claims, hits, means)
    scale = n / holdout.n
    squares = math.fsum((right * right).tolist())
    return OtherPeople(
        HOLDOUT,
        scale * math.fsum(right.tolist()),
        scale * np.count_nonzero(hits),
        scale * scale * squares,
    )


def by_model(
    claims: CellTable, cells: CellTable, model: CellModel | None
) -> OtherPeople:
    """Return what other samples of the population tell, by a model of the keys."""
    if isinstance(model, KnownPopulation):
        share = cells.n / model.n
        return _by_population(claims.matches_in(model.sample), share)
    law = model or fitted_to(cells)
    if law is None:
        return OtherPeople(MODEL, math.nan, math.nan, math.nan)
    means = None if model is not None else mean_risks(cells)
    right, matched, variance = expected_claims(law, claims, means)
    hits, wanted = _between_parts(law, means)
    error = 0.0
    if wanted:
        error = right * (math.fsum(hits.tolist()) / wanted - 1.0)
        variance += math.fsum((hits * hits).tolist()) * (right / wanted) ** 2
    return OtherPeople(MODEL, right, matched, variance, error)


def _risks_of_hits(
    model: CellModel | None, claims: CellTable, hits: Integers, means: Floats | None
) -> Floats:
    """Return E[1/F] of the claims that match so many people of a file; others are 0.

    By weights it is the mean for as many people, by a model the claim's own. Of people
    with a category that the model does not know, the mean counts.
    """
    if means is not None:
        return means[np.minimum(hits, _MOST)]
    assert model is not None
    right = np.zeros(len(claims))
    matched_claims = np.flatnonzero(hits)
    asked = claims.some(matched_claims)
    if isinstance(model, KnownPopulation):
        right[matched_claims] = 1.0 / np.maximum(asked.matches_in(model.sample), 1)
        return right
    is_known = asked.known_in(model.sample)
    known_claims, new = matched_claims[is_known], matched_claims[~is_known]
    asked = _with_records(claims.some(known_claims), hits[known_claims])
    right[known_claims] = risk_by(model.prior(asked))
    for records in np.unique(hits[new]):
        right[new[hits[new] == records]] = _mean_risk(model, records)
    return right


def _mean_risk(model: CellModel, records: int) -> float:
    """Return the mean of E[1/F] by a model if its rarest cells had so many records."""
    cells = model.sample
    cells = cells.some(cells.records == cells.records.min())
    cells = _with_records(cells, np.full(len(cells), records))
    return math.fsum(risk_by(model.prior(cells)).tolist()) / len(cells)


def _with_records(cells: CellTable, records: Integers) -> CellTable:
    """Return cells with other numbers of records of the same mean weight."""
    weights = cells.weight_sum / np.maximum(cells.records, 1) * records
    return replace(cells.with_records(records), weight_sum=weights)


def expected_claims(
    law: CellModel, claims: CellTable, means: Floats | None
) -> tuple[float, float, float]:
    """Return claims about another sample: right ones, matching, variance of right."""
    once = claims.some(claims.known_in(law.sample))
    once = _with_records(once, np.ones(len(once), np.int64))
    drawn, people, others = law.in_another_sample(once)
    expected, shape = drawn.mean, np.full(len(once), math.inf)
    if drawn.shape is not None:
        shape = drawn.shape
    chance = np.exp(_log_nobody(expected, shape))
    left = 1.0 - chance
    matched = math.fsum(left.tolist())
    right, squares = [], []
    rows = np.arange(len(once))
    for f in range(1, _MOST + 1):
        chance = chance * _step(f, expected[rows], shape[rows])
        each = chance if f < _MOST else left
        if means is None:
            records = np.full(len(rows), float(f))
            if f == _MOST:  # or more
                records = np.maximum(records, expected[rows])
            risk = risk_by(people.of_cells(rows).given(records, others[rows]))
        else:
            risk = means[f]
        right.append(math.fsum((each * risk).tolist()))
        squares.append(math.fsum((each * risk * risk).tolist()))
        left = left - chance
        keep = left > _LEAST
        rows, chance, left = rows[keep], chance[keep], left[keep]
    return math.fsum(right), matched, math.fsum(squares)


def _between_parts(law: CellModel, means: Floats | None) -> tuple[Floats, float]:
    """Return the risks of claims that match people of other parts, and their model's.

    The parts of the sample know nothing of each other but what the population has in
    common, which a model of the others has in part.
    """
    parts = [(law, part, means) for part in parts_of_records(law.sample.records)]
    comparisons = in_threads(usual_threads(), _of_part, parts)
    return np.concatenate([hits for hits, _ in comparisons]), math.fsum(
        wanted for _, wanted in comparisons
    )


def _of_part(
    law: CellModel, claimed: Integers, means: Floats | None
) -> tuple[Floats, float]:
    """Return the same for the claims of one part about the people of the others."""
    table, cls = law.sample, type(law)
    there = table.records - claimed
    known_cells = _with_records(table, there).some(there > 0)
    known_cells = known_cells.scaled(table.n / known_cells.n)
    fitted = cls.fit(known_cells, overdispersion=False)  # type: ignore[attr-defined]
    if not fitted.converged:
        return np.zeros(0), 0.0
    model = replace(fitted, overdispersion=law.overdispersion)
    alone = np.flatnonzero(claimed == 1)
    alone = alone[_occur(table.some(alone), known_cells)]
    claims = table.some(alone).scaled(table.n / known_cells.n)
    hits = _risks_of_hits(model, claims, there[alone], means)
    return hits, expected_claims(model, claims, means)[0]


def _occur(cells: CellTable, known_cells: CellTable) -> NDArray[np.bool_]:
    """Return whether each category of cells is that of a known record."""
    mask = np.ones(len(cells), bool)
    for codes, theirs, levels in zip(
        cells.codes, known_cells.codes, known_cells.levels, strict=True
    ):
        mask &= (np.bincount(theirs, minlength=levels) > 0)[codes]
    return mask


def parts_of_records(records: Integers) -> Iterator[Integers]:
    """Yield the records of each cell in parts drawn at random, the same each time."""
    cell = np.repeat(np.arange(len(records)), records)
    order = np.random.default_rng(0).permutation(len(cell))
    for rows in np.array_split(order, PARTS)[: 1 if len(order) > _MANY else PARTS]:
        yield np.bincount(cell[rows], minlength=len(records))


def fitted_to(cells: CellTable) -> CellModel | None:
    """Return a model of the records that have all keys, None without an estimate."""
    whole = np.logical_and.reduce([column >= 0 for column in cells.codes])
    if not whole.any():
        return None
    complete_cells = replace(cells.some(whole), certain=True)
    law = LatentClass.fit(complete_cells, overdispersion=False)
    return law if law.converged else None


def _log_nobody(expected: Floats, shape: Floats | float) -> Floats:
    """Return the log of the chance that a sample has nobody in a cell."""
    with np.errstate(invalid="ignore"):
        dispersed = -shape * np.log1p(expected / shape)
    return np.where(np.isinf(shape), -expected, dispersed)


def _step(f: int, expected: Floats, shape: Floats) -> Floats:
    """Return P(f)/P(f - 1) of a cell's records in another sample."""
    with np.errstate(invalid="ignore"):
        dispersed = (shape + f - 1.0) / f * expected / (shape + expected)
    return np.where(np.isinf(shape), expected / f, dispersed)


def mean_risks(cells: CellTable) -> Floats:
    """Return the mean of E[1/F] by weights over cells with f records, f = 0, 1, ...

    Weights differ, and a mean weight would give too small a risk. Where the original
    has no cell of f records it must do.
    """
    f = np.arange(_MOST + 1.0)
    mean = max(math.fsum(cells.weight_sum.tolist()) / cells.n, 1.0)
    found = np.zeros(_MOST + 1)
    people = np.minimum(f[1:], np.finfo(np.float64).max / mean) * mean
    found[1:] = individual.individual_risk_from_frequencies(f[1:], people)
    few = cells.records <= _MOST
    records = cells.records[few]
    F = np.maximum(cells.weight_sum[few], records)
    risk = individual.individual_risk_from_frequencies(records.astype(np.float64), F)
    number = np.bincount(records, minlength=_MOST + 1)
    sums = np.bincount(records, risk, _MOST + 1)
    return np.divide(sums, number, out=found, where=number > 0)


def _by_population(people: Integers, share: float) -> OtherPeople:
    """Return what samples of this share of a known population tell."""
    F = people[people > 0].astype(np.float64)
    somebody = 1.0 - (1.0 - min(share, 1.0)) ** F
    return OtherPeople(
        MODEL,
        math.fsum((somebody / F).tolist()),
        math.fsum(somebody.tolist()),
        math.fsum((somebody / F / F).tolist()),
    )
