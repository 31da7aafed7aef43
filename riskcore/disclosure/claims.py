"""Claims of identity: a released record with these keys is that person.

The intruder knows the keys of a person, finds one released record that has them, and
says that it is the person's. The claim is right if the record stands for a person of
the original with these keys, and of the F people of the population who have them it is
the intruder's: with probability E[1/F | f]. It is wrong if nobody in the original has
these keys, or, where records correspond, the record's own original has other ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from riskcore.assessment.assessment import Assessment
from riskcore.assessment.population import deviation_by, risk_by
from riskcore.common import arguments
from riskcore.common.arrays import Floats, Integers, Mask
from riskcore.core.risk import individual, posterior
from riskcore.data.cells import Cells
from riskcore.data.wildcard import WILDCARDS
from riskcore.disclosure.other_people import (
    HOLDOUT,
    OtherPeople,
    PopulationDraws,
    by_holdout,
    by_model,
    fitted_to,
)
from riskcore.models.cell_model import GROUPS, CellModel, CellPrior
from riskcore.models.cell_table import ANY, CellTable
from riskcore.models.known_population import KnownPopulation

_MANY = 500_000  # records, of which fits without some groups take seconds


@dataclass(frozen=True, eq=False, repr=False)
class IdentityClaims:
    """The claims that an intruder can make, and the probability that each is right.

    Attributes
    ----------
    rows : int64 ndarray, shape (C,), or None
        The released record of each claim: its keys are unique in the release. None if
        an engine holds the records.
    frequency : int64 ndarray, shape (C,)
        f, the records of the original that have its keys; a missing key matches any.
    right : float64 ndarray, shape (C,)
        The probability that the claim is right.
    others : OtherPeople or None
        How many claims would be right if the release knew nothing of the people of the
        original: those about other people. None where records correspond and there is
        no holdout.
    """

    rows: Integers | None
    frequency: Integers
    right: Floats
    others: OtherPeople | None
    cells: CellTable  # those of the claims
    found: Integers  # the claims that may be right
    chance: Floats  # of these, that the original has somebody with all keys
    model: CellModel | None
    draws: PopulationDraws
    factor: Floats  # of the risk of the same claims, for draws

    def __len__(self) -> int:
        """Return the number of claims."""
        return len(self.right)

    @property
    def matched(self) -> int:
        """Number of claims whose keys somebody in the original has.

        Of records with missing keys as many count as are expected to have them.
        """
        alone = self.frequency[self.found] == 0
        lacking = math.fsum(self.chance[alone].tolist())
        return int(np.count_nonzero(self.frequency)) + round(lacking)

    @cached_property
    def expected_right(self) -> float:
        """The expected number of right claims."""
        return math.fsum(self.right.tolist())

    @property
    def excess(self) -> float:
        """How many more claims are right than about other people; nan if unknown."""
        there = math.nan if self.others is None else self.others.right
        return self.expected_right - there

    def excess_interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return an interval for `excess`: which claims hit somebody is chance.

        Which people a holdout has is chance, too; what a model expects is not, but the
        interval is wider by the error of the model.
        """
        reach = arguments.normal_reach(level)
        if self.others is None:
            return math.nan, math.nan
        here, there = math.fsum((self.right**2).tolist()), self.others.variance
        variance = here + there if self.others.by == HOLDOUT else max(here, there)
        error = reach * math.sqrt(variance)
        low, high = self.excess - error, self.excess + error
        return low - max(self.others.error, 0.0), high - min(self.others.error, 0.0)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return an interval for the number of right claims.

        It holds the sum of 1/F over the claims that can be right: for the error of the
        model if there is one, and as each F is known by its distribution only.
        """
        level = arguments.number_in("level", level, "(0, 1)")
        if level not in self._intervals:
            self._intervals[level] = self._interval(level)
        return self._intervals[level]

    @cached_property
    def _intervals(self) -> dict[float, tuple[float, float]]:
        return {}

    def _interval(self, level: float) -> tuple[float, float]:
        """Return the interval; the fits that it takes can last some seconds."""
        if not self.chance.any():
            return 0.0, 0.0
        cells = self.cells.some(self.found)
        if isinstance(self.model, KnownPopulation):
            return self.expected_right, self.expected_right
        if self.model is not None:
            _, low, high = self.model.interval(
                cells.coded_as(self.model.sample, any_value=True),
                self._once(risk_by),
                level,
                deviation=self._once(deviation_by),
                groups=GROUPS if self.model.n < _MANY else GROUPS // 2,
            )
            return low, min(high, float(len(self)))
        f, F = _frequencies(cells)
        deviations = posterior.individual_risk_deviation(f, f / F) * self.chance
        spread = math.sqrt(math.fsum((deviations * deviations).tolist()))
        error = arguments.normal_reach(level) * spread
        total = self.expected_right
        return max(total - error, 0.0), min(total + error, float(len(self)))

    def _once(
        self, function: Callable[[CellPrior], Floats]
    ) -> Callable[[CellPrior], Floats]:
        """Return a function that counts once for each claim, not for each record."""

        def of_claims(cell_prior: CellPrior) -> Floats:
            once = self.chance * self.factor
            return once * function(cell_prior) / cell_prior.records

        return of_claims


def identity_claims(
    original: Assessment,
    released: Cells,
    own: Integers | None = None,
    holdout: Cells | None = None,
    everybody: Cells | None = None,
) -> IdentityClaims:
    """Return the claims that a released file allows."""
    # own: rows of the original, -1 for none; everybody: also records that lack keys.
    original_cells = original.cells_by_weights or original.cells
    cells = _table(original_cells)
    alone = np.flatnonzero((released.sample_frequency == 1) & (released.records == 1))
    claims = CellTable.of(released, any_value=True).some(alone)
    claims = replace(claims, matching=None, rows=None)
    matches = claims.matches_in(cells)
    mean_weight = math.fsum(cells.weight_sum.tolist()) / cells.n
    means = np.full(len(claims), mean_weight)
    if original_cells.weighted:
        means = claims.means_in(cells, cells.weight_sum / cells.records)
    maybe = np.zeros(len(claims))
    if everybody is not None and everybody.n > cells.n:
        maybe = _lacking_matches(claims, _table(everybody), cells, original.model)
    candidates = np.flatnonzero((matches > 0) | (maybe > 0.0))
    weights = np.where(matches > 0, matches * means, mean_weight)
    claims = replace(claims, records=np.maximum(matches, 1), weight_sum=weights)
    rows = _rows_of(released, alone)
    chance = np.where(matches > 0, 1.0, -np.expm1(-maybe))[candidates]
    if own is not None and rows is not None:
        row = own[rows[candidates]]
        chance = (
            _has_keys(claims.some(candidates), row, everybody or original_cells) * 1.0
        )
    draws, asked, model = PopulationDraws(), claims.some(candidates), original.model
    if own is None and model is not None and not isinstance(model, KnownPopulation):
        draws = PopulationDraws.of(_table(released), cells, model)
    factor = draws.factor(asked, model)
    right = np.zeros(len(claims))
    right[candidates] = chance * factor * _risk(asked, model)
    n = cells.n if everybody is None else everybody.n
    others = None
    if holdout is not None:
        squares = math.fsum((right * right).tolist())
        held = _table(holdout)
        others = by_holdout(claims, held, cells, model, n, draws, squares)
    elif own is None:
        others = by_model(claims, cells, model, draws).scaled(n / cells.n)
    return IdentityClaims(
        rows, matches, right, others, claims, candidates, chance, model, draws, factor
    )


def _lacking_matches(
    claims: CellTable, everybody: CellTable, cells: CellTable, model: CellModel | None
) -> Floats:
    """Return -log of the chance that no record that lacks keys has those of a claim."""
    # By the share, in a model of the others, of these keys among all that agree.
    hazards = np.zeros(len(claims))
    law = model or fitted_to(cells)
    mask = np.zeros(len(claims), bool)
    if law is not None:
        mask = claims.known_in(law.sample)
    asked = claims.some(mask)
    whole = np.zeros(0) if law is None else law.probability(asked)
    for keys, rows in everybody.patterns():
        if len(keys) == len(everybody.keys):
            continue
        share = np.ones(len(claims))
        if law is not None:
            codes = [
                column if key in keys else np.full(len(asked), ANY)
                for key, column in enumerate(asked.codes)
            ]
            part = law.probability(replace(asked, codes=tuple(codes)))
            certain = np.ones(len(asked))
            share[mask] = np.divide(whole, part, out=certain, where=part > whole)
        people = claims.matches_in(everybody.some(rows))
        there = people > 0
        with np.errstate(divide="ignore"):
            hazards[there] -= people[there] * np.log1p(-share[there])
    return hazards


def _table(cells: Cells) -> CellTable:
    """Return cells with their own records; missing keys match any value."""
    return CellTable.of_margins(cells, cells.codes, cells.records, cells.weight_sum)


def _rows_of(released: Cells, alone: Integers) -> Integers | None:
    """Return the row of the one record of each cell; None if an engine has them."""
    if released.counted is not None:
        return None
    row = np.empty(len(released), np.int64)
    row[released.inverse] = np.arange(released.n)
    return row[alone]


def _risk(cells: CellTable, model: CellModel | None) -> Floats:
    """Return E[1/F] of cells that somebody in the original has."""
    # A new category that only records with missing keys match is any value to a model.
    if isinstance(model, KnownPopulation):
        people = cells.matches_in(model.sample)
        return np.divide(1.0, people, out=np.zeros(len(cells)), where=people > 0)
    if model is not None:
        return risk_by(model.prior(cells.coded_as(model.sample, any_value=True)))
    f, F = _frequencies(cells)
    risks: Floats = individual.individual_risk_from_frequencies(f, F)
    return risks


def _frequencies(cells: CellTable) -> tuple[Floats, Floats]:
    """Return f and F of cells, with F raised to at least f."""
    f = cells.records.astype(np.float64)
    return f, np.maximum(cells.weight_sum, f)


def _has_keys(claims: CellTable, row: Integers, original: Cells) -> Mask:
    """Return whether the own original of each claim has its keys."""
    claims = claims.coded_as(_table(original), any_value=True)
    here = row >= 0
    cell = original.inverse[np.maximum(row, 0)]
    same = here.copy()
    for codes, theirs, labels in zip(
        claims.codes, original.codes, original.categories, strict=True
    ):
        own_codes = theirs[cell].astype(np.int64)
        if original.missing in WILDCARDS and labels[-1] is None:
            own_codes[own_codes == len(labels) - 1] = -1
        same &= (codes == own_codes) | (codes < 0) | (own_codes < 0)
    return same
