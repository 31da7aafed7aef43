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
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from riskcore.assessment.population import deviation_by, risk_by
from riskcore.assessment.result import Assessment
from riskcore.common import arguments
from riskcore.core.risk import individual, posterior
from riskcore.data.cells import Cells
from riskcore.data.wildcard import WILDCARDS
from riskcore.models.cell_model import CellModel, CellPrior
from riskcore.models.cell_table import CellTable

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False, repr=False)
class IdentityClaims:
    """The claims that an intruder can make, and the probability that each is right.

    Attributes
    ----------
    rows : int64 ndarray, shape (C,)
        The released record of each claim: its keys are unique in the release.
    frequency : int64 ndarray, shape (C,)
        f, the records of the original that have its keys; a missing key matches any.
    right : float64 ndarray, shape (C,)
        The probability that the claim is right.
    """

    rows: Integers
    frequency: Integers
    right: Floats
    cells: CellTable  # those of the claims with f > 0
    possible: Mask  # of these, the claims whose own original has the keys
    model: CellModel | None

    def __len__(self) -> int:
        """Return the number of claims."""
        return len(self.rows)

    @property
    def expected_right(self) -> float:
        """The expected number of right claims."""
        return math.fsum(self.right.tolist())

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return an interval for the number of right claims.

        It holds the sum of 1/F over the claims that can be right: for the error of the
        model if there is one, and as each F is known by its distribution only.
        """
        level = arguments.number_in("level", level, "(0, 1)")
        if not len(self.cells):
            return 0.0, 0.0
        if self.model is not None:
            _, low, high = self.model.interval(
                self.cells,
                self._once(risk_by),
                level,
                deviation=self._once(deviation_by),
            )
            return low, min(high, float(len(self)))
        f, F = _frequencies(self.cells)
        each = posterior.individual_risk_deviation(f, f / F)[self.possible]
        spread = math.sqrt(math.fsum((each * each).tolist()))
        error = NormalDist().inv_cdf((1.0 + level) / 2.0) * spread
        total = self.expected_right
        return max(total - error, 0.0), min(total + error, float(len(self)))

    def _once(
        self, function: Callable[[CellPrior], Floats]
    ) -> Callable[[CellPrior], Floats]:
        """Return a function that counts once for each claim, not for each record."""

        def of_claims(known: CellPrior) -> Floats:
            found: Floats = np.where(
                self.possible, function(known) / known.records, 0.0
            )
            return found

        return of_claims


def identity_claims(
    original: Assessment, released: Cells, own: Integers | None = None
) -> IdentityClaims:
    """Return the claims that a released file allows.

    ``released`` is counted with the same keys and the same rule for missing ones.
    ``own`` is the row of the original of each released record, -1 for none, if known.
    """
    known = original.cells_by_weights or original.cells
    cells = CellTable.of_complete(known) if known.shared else CellTable.of(known)
    alone = np.flatnonzero((released.sample_frequency == 1) & (released.records == 1))
    place = np.full(len(released), -1)
    place[alone] = np.arange(len(alone))
    rows = np.flatnonzero(place[released.inverse] >= 0)
    claims = CellTable.of(released, any_value=True).some(alone)
    claims = replace(claims, matching=None, rows=None)
    order = place[released.inverse[rows]]
    matches = claims.matches_in(cells)
    F = matches * claims.means_in(cells, cells.weight_sum / cells.records)
    found = np.flatnonzero(matches)
    of_claims = claims.some(found).coded_as(cells)
    of_claims = replace(of_claims, records=matches[found], weight_sum=F[found])
    possible = np.ones(len(found), bool)
    if own is not None:
        row = np.empty(len(claims), np.int64)
        row[order] = own[rows]
        possible = _has_keys(of_claims, row[found], known)
    risk = np.zeros(len(claims))
    risk[found] = np.where(possible, _risk(of_claims, original.model), 0.0)
    return IdentityClaims(
        rows, matches[order], risk[order], of_claims, possible, original.model
    )


def _risk(cells: CellTable, model: CellModel | None) -> Floats:
    """Return E[1/F] of cells."""
    if model is not None:
        return risk_by(model.prior(cells))
    f, F = _frequencies(cells)
    found: Floats = individual.individual_risk_from_frequencies(f, F)
    return found


def _frequencies(cells: CellTable) -> tuple[Floats, Floats]:
    """Return f and F of cells, with F raised to at least f."""
    f = cells.records.astype(np.float64)
    return f, np.maximum(cells.weight_sum, f)


def _has_keys(claims: CellTable, row: Integers, original: Cells) -> Mask:
    """Return whether the own original of each claim has its keys."""
    here = row >= 0
    cell = original.inverse[np.maximum(row, 0)]
    same = here.copy()
    for codes, theirs, labels in zip(
        claims.codes, original.codes, original.categories, strict=True
    ):
        found = theirs[cell].astype(np.int64)
        if original.missing in WILDCARDS and labels[-1] is None:
            found[found == len(labels) - 1] = -1
        same &= (codes == found) | (codes < 0)
    return same
