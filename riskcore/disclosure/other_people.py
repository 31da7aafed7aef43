"""Right claims about other people: what a release tells that knows nobody of a file.

A released record may have the keys of somebody in the original by chance. How often,
other people tell: those of a holdout; or, without one, those whom a model of the keys
draws as another sample of the same size from the same population.

A record of a second sample, or of a generator that learned from all people, is in a
cell with a chance that grows with the people of the cell. A claim about it is right
with E[1] / E[F] and not E[1/F]: the mean over a law of F with weights F.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np

from riskcore.assessment.population import risk_by
from riskcore.common.arrays import Floats, Integers
from riskcore.common.threads import in_threads, usual_threads
from riskcore.core.risk import individual
from riskcore.disclosure.copies import CopiedShare
from riskcore.models.cell_model import CellLaw, CellModel, CellPrior
from riskcore.models.cell_table import CellTable
from riskcore.models.known_population import KnownPopulation
from riskcore.models.latent_class import LatentClass

HOLDOUT, MODEL = "holdout", "model"
PARTS = 3  # of the original, to see what a model has wrong
_MANY = 100_000  # records from which one part is enough
_TINY = 2.0**-40  # practically no chance
_LEAST = 1e-6  # chances of more records of a cell that are left out
_ODDS = 3.0  # from which a release counts as not made from the original
# Differences of margins, and matches, beside those of a second sample: more mean that
# the population is another, or that there are copies.
_MOST_APART, _MOST_MATCHES = 2.0, 1.6
_FEW = 20  # people of a holdout who are hit
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
        figures = self.right, self.matched, self.variance * factor, self.error
        return OtherPeople(self.by, *(figure * factor for figure in figures))


class PopulationDraws(NamedTuple):
    """The share of released records that are drawn from the population's people."""

    share: float = 0.0
    fraction: float = 0.0  # of the people

    @classmethod
    def of(cls, released: CellTable, cells: CellTable, model: CellModel) -> Self:
        """Return the most likely share; 0 if the release was made from the original."""
        released = released.some(released.known_in(cells)).coded_as(cells)
        N = math.fsum(cells.weight_sum.tolist())
        if not len(released) or not _is_another_sample(released, cells, N):
            return cls()
        f = released.matches_in(cells).astype(np.float64)
        mean_weight = released.means_in(cells, cells.weight_sum / cells.records)
        weights = np.nan_to_num(mean_weight, nan=N / cells.n)
        once = released.with_records(np.ones(len(f), np.int64))
        once = replace(once, weight_sum=weights)
        _, people, others = model.in_another_sample(once)
        odds = np.maximum(cls(1.0).told(people, f, others)[0], _TINY)
        gain = released.records * (1.0 - 1.0 / odds)
        if gain[gain > 0.0].sum() > -_MOST_MATCHES * gain[gain < 0.0].sum():
            return cls()
        share = CopiedShare.of(np.repeat(odds, released.records)).share
        return cls(share, min(share * released.n / N, 1.0))

    def told(self, people: CellLaw, f: Floats, others: Floats) -> tuple[Floats, Floats]:
        """Return by how much draws change the chance of a record, and its risk."""
        if self.share == 0.0:
            return np.ones(len(f)), np.ones(len(f))
        prior = people.given(f, others)
        before = np.maximum(people.mean * (1.0 + others), _TINY)
        gain = 1.0 + self.share * (_mean(prior) / before - 1.0)
        rest, mean = (1.0 - self.share) / gain, _mean(prior, self.fraction)
        return gain, rest + (1.0 - rest) / (mean * risk_by(prior))

    def factor(self, cells: CellTable, model: CellModel | None) -> Floats:
        """Return by how much draws change the risk of cells."""
        if model is None or self.share == 0.0:
            return np.ones(len(cells))
        cells = cells.coded_as(model.sample, any_value=True)
        _, people, others = model.in_another_sample(cells)
        return self.told(people, cells.records.astype(np.float64), others)[1]


_NO_DRAWS = PopulationDraws()


def _mean(prior: CellPrior, fraction: float = 0.0) -> Floats:
    """Return E[F] if such a share of all people was drawn, and no other of the cell."""
    rest = 1.0 - fraction
    if prior.shape is None or prior.q is None:
        assert prior.mu is not None
        return prior.records + rest * prior.mu
    return prior.records + prior.shape * rest * prior.q / (1.0 - rest * prior.q)


def _is_another_sample(released: CellTable, cells: CellTable, N: float) -> bool:
    """Return whether margins differ as those of two samples, by the odds."""
    n, m = cells.n, released.n
    # The variances of shares p, over p: if made from the original, and if drawn.
    made, drawn = 1.0 / m, 1.0 / m + max(1.0 / n - 2.0 / N, 0.0)
    apart = freedom = 0.0
    for codes, theirs, k in zip(released.codes, cells.codes, cells.levels, strict=True):
        g = np.bincount(codes + 1, released.records, k + 1)[1:]  # without missing ones
        f = np.bincount(theirs, cells.records, k)
        gap = f / n - g / max(g.sum(), 1.0)
        apart += float((gap * gap / np.maximum(f + g, _TINY)).sum()) * (n + m)
        freedom += np.count_nonzero(f + g) - 1
    odds = apart * (1.0 / made - 1.0 / drawn) - freedom * math.log(drawn / made)
    return odds > 2.0 * math.log(_ODDS) and apart < _MOST_APART * freedom * drawn


def by_holdout(
    claims: CellTable,
    holdout: CellTable,
    cells: CellTable,
    model: CellModel | None,
    n: int,
    draws: PopulationDraws,
    own_squares: float,
) -> OtherPeople:
    """Return what people of a holdout with all keys tell, as of ``n``."""
    if holdout.complete.any():
        holdout = holdout.some(holdout.complete)
    hits = claims.matches_in(holdout)
    means = None if model is not None else mean_risks(cells)
    right = _risks_of_hits(model, claims, hits, means)
    held = _with_records(claims, np.maximum(hits, 1)).some(hits > 0)
    right[hits > 0] *= draws.factor(held, model)
    scale = n / holdout.n
    squares = math.fsum((right * right).tolist())
    if np.count_nonzero(hits) < _FEW:  # they do not tell how far chance may reach
        squares = max(squares, own_squares / scale)
    figures = math.fsum(right.tolist()), np.count_nonzero(hits), scale * squares
    return OtherPeople(HOLDOUT, *(scale * figure for figure in figures))


def by_model(
    claims: CellTable,
    cells: CellTable,
    model: CellModel | None,
    draws: PopulationDraws = _NO_DRAWS,
) -> OtherPeople:
    """Return what other samples of the population tell, by a model of the keys."""
    if isinstance(model, KnownPopulation):
        share = cells.n / model.n
        return _by_population(claims.matches_in(model.sample), share)
    law = model or fitted_to(cells)
    if law is None:
        return OtherPeople(MODEL, math.nan, math.nan, math.nan)
    means = None if model is not None else mean_risks(cells)
    right, matched, variance = expected_claims(law, claims, means, draws)
    hits, wanted = _between_parts(law, means)
    error = 0.0
    if wanted:
        error = right * (math.fsum(hits.tolist()) / wanted - 1.0)
        variance += math.fsum((hits * hits).tolist()) * (right / wanted) ** 2
    return OtherPeople(MODEL, right, matched, variance, error)


def _risks_of_hits(
    model: CellModel | None, claims: CellTable, hits: Integers, means: Floats | None
) -> Floats:
    """Return E[1/F] of the claims that match so many people of a file; others are 0."""
    # By weights the mean counts, and of categories that the model does not know.
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
    law: CellModel,
    claims: CellTable,
    means: Floats | None,
    draws: PopulationDraws = _NO_DRAWS,
) -> tuple[float, float, float]:
    """Return claims about another sample: right ones, matching, variance of right."""
    once = claims.some(claims.known_in(law.sample))
    once = _with_records(once, np.ones(len(once), np.int64))
    drawn, people, others = law.in_another_sample(once)
    expected, shape = drawn.mean, drawn.shape
    if shape is None:
        shape = np.full(len(once), math.inf)
    chance = np.exp(_log_nobody(expected, shape))
    left = 1.0 - chance
    gain, _ = draws.told(people, np.zeros(len(once)), others)
    matched = math.fsum((1.0 - gain * chance).tolist())
    right, squares = [], []
    rows = np.arange(len(once))
    for f in range(1, _MOST + 1):
        chance = chance * _step(f, expected[rows], shape[rows])
        each = chance if f < _MOST else left
        if means is None:
            records = np.full(len(rows), float(f))
            if f == _MOST:  # or more
                records = np.maximum(records, expected[rows])
            cells = people.of_cells(rows)
            gain, factor = draws.told(cells, records, others[rows])
            risk = factor * risk_by(cells.given(records, others[rows]))
            each = each * gain
        else:
            risk = means[f]
        right.append(math.fsum((each * risk).tolist()))
        squares.append(math.fsum((each * risk * risk).tolist()))
        left = left - chance
        keep = left > _LEAST
        rows, chance, left = rows[keep], chance[keep], left[keep]
    return math.fsum(right), matched, math.fsum(squares)


def _between_parts(law: CellModel, means: Floats | None) -> tuple[Floats, float]:
    """Return the risks of claims that match other parts, and their sum by a model."""
    parts = [(law, part, means) for part in parts_of_records(law.sample.records)]
    hits, wanted = zip(*in_threads(usual_threads(), _of_part, parts), strict=True)
    return np.concatenate(hits), math.fsum(wanted)


def _of_part(
    law: CellModel, claimed: Integers, means: Floats | None
) -> tuple[Floats, float]:
    """Return the same for the claims of one part about the people of the others."""
    table = law.sample
    there = table.records - claimed
    known_cells = _with_records(table, there).some(there > 0)
    known_cells = known_cells.scaled(table.n / known_cells.n)
    fit = type(law).fit  # type: ignore[attr-defined]
    fitted = fit(known_cells, overdispersion=False)
    if not fitted.converged:
        return np.zeros(0), 0.0
    model = replace(fitted, overdispersion=law.overdispersion)
    alone = np.flatnonzero(claimed == 1)
    # A model of the others knows only their categories.
    alone = alone[(known_cells.counts[table.positions[alone]] > 0.0).all(axis=1)]
    claims = table.some(alone).scaled(table.n / known_cells.n)
    hits = _risks_of_hits(model, claims, there[alone], means)
    return hits, expected_claims(model, claims, means)[0]


def parts_of_records(records: Integers) -> Iterator[Integers]:
    """Yield the records of each cell in parts drawn at random, the same each time."""
    cell = np.repeat(np.arange(len(records)), records)
    order = np.random.default_rng(0).permutation(len(cell))
    for rows in np.array_split(order, PARTS)[: 1 if len(order) > _MANY else PARTS]:
        yield np.bincount(cell[rows], minlength=len(records))


def fitted_to(cells: CellTable) -> CellModel | None:
    """Return a model of the records that have all keys, None without an estimate."""
    if not cells.complete.any():
        return None
    complete_cells = replace(cells.some(cells.complete), certain=True)
    law = LatentClass.fit(complete_cells, overdispersion=False)
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


def mean_risks(cells: CellTable) -> Floats:
    """Return the mean of E[1/F] by weights over cells with f records, f = 0, 1, ..."""
    # A mean weight would give too small a risk; without a cell of f records it must do.
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
    terms = somebody / F, somebody, somebody / F / F
    return OtherPeople(MODEL, *(math.fsum(term.tolist()) for term in terms))
