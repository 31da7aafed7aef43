r"""The propensity score: whether a model can tell the safe file from the original.

A logistic regression on the keys of both files, missing being a category, gives each
record the probability p that it is of the safe file. For N records, a share c of them
of the safe file, and k parameters

    pMSE = (1/N) sum (p_i - c)^2                       (Woo, Reiter et al. 2009)
    E0 = (k - 1) (1 - c)^2 c/N                         (Snoke et al. 2018)

pMSE is 0 if the model cannot tell the files apart, and c(1-c) if it always can. E0 is
its expectation if the safe file were drawn anew from the distribution of the original.
Records are counted, not weighted, because E0 is for records drawn one by one.

The fit. The p of records with a category that only one file has is 0 or 1 in the limit
of the likelihood; the other records are fitted without them, by Newton's method on
distinct records with their counts. The largest factor has a parameter for each of its
categories, the others for each but the first: so its part of the information matrix is
diagonal, and the Schur complement of the rest is small. Columns that depend on earlier
ones are left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.common.arrays import Mask
from riskcore.common.progress import Lines, silent
from riskcore.comparison.measures import Floats, Ints, fsum, sums_by
from riskcore.comparison.regression import (
    ALIASED,
    Predictors,
    Term,
    crossed,
    factored,
    inverse_of,
)

MOST_PARAMETERS = 1500  # without the largest factor's: their matrix is dense
_STEPS = 100  # Newton's
_CLOSE = 1e-12  # largest residual of a category, as a share of its records
_LONGEST = 2.0  # step of a parameter, so that the odds do not overshoot
_IDENTIFIED = (
    "the fit does not settle: combinations of keys identify the file of some records, "
    "and their parameters grow without limit"
)


@dataclass(frozen=True, slots=True)
class Propensity:
    """How well a logistic regression tells the safe file from the original.

    Attributes
    ----------
    pmse : float or None
        Mean squared deviation of the propensity score from the share of the safe file;
        None if the fit did not converge.
    expected : float or None
        Its expectation E0 for a file drawn anew from the distribution of the original.
    ratio : float or None
        ``pmse/expected``: 0 for a copy, about 1 for a fresh sample. For suppressed
        values it is not a test, but compares the changes with sampling.
    parameters : int
        Parameters k of the model, with the intercept, but not parameters that depend
        on others.
    aliased : int
        Parameters left out because they depend on others.
    told_apart : int
        Records with a category that only one of the files has.
    interactions : bool
        Whether pairs of keys have terms.
    converged : bool
    reason : str
        Why an estimate is missing, or what it leaves out.
    """

    pmse: float | None
    expected: float | None
    ratio: float | None
    parameters: int
    aliased: int
    told_apart: int
    interactions: bool
    converged: bool
    reason: str

    @classmethod
    def failed(cls, reason: str, *, interactions: bool = False) -> Propensity:
        """Return the result without an estimate, with the reason."""
        return cls(None, None, None, 0, 0, 0, interactions, False, reason)


def propensity(
    codes: Sequence[NDArray[Any]],
    before: Ints,
    after: Ints,
    *,
    interactions: bool = False,
    progress: Lines = silent,
) -> Propensity:
    """Return the pMSE of two files, given as distinct records with their counts."""
    N, n = int((before + after).sum()), int(after.sum())
    if not codes:
        reason = "no key has the same categories in both files"
        return Propensity.failed(reason, interactions=interactions)
    occurs = before + after > 0
    before, after = before[occurs], after[occurs]
    factors = [occurring(np.asarray(factor)[occurs]) for factor in codes]
    pairs = [*combinations(factors, 2)] if interactions else []
    whole = [occurring(a * (int(b.max()) + 1) + b) for a, b in pairs]
    counts = (before + after).astype(np.float64)
    design = Design.of(factors, pairs)
    size = design.rest.size
    if size > MOST_PARAMETERS:
        reason = (
            f"{size:,} parameters besides those for the largest key; at most "
            f"{MOST_PARAMETERS:,} can be fitted: recode keys or leave some out"
        )
        return Propensity.failed(reason, interactions=interactions)
    kept = design.kept(counts)
    k = design.first.size + int(kept.sum())
    p, certain = certain_records([*factors, *whole], before, after)
    rest = ~certain
    reason = ""
    if rest.any():
        inner = Design.of(
            [occurring(factor[rest]) for factor in factors],
            [(occurring(a[rest]), occurring(b[rest])) for a, b in pairs],
        )
        p[rest], reason = inner.fit(
            counts[rest], after[rest].astype(np.float64), progress
        )
    told_apart = int((before + after)[certain].sum())
    aliased = size - int(kept.sum())
    figures = k, aliased, told_apart, interactions
    if reason:
        return Propensity(None, None, None, *figures, False, reason)
    c = n / N
    deviation = p - c
    pmse = fsum(counts * deviation * deviation) / N
    expected = (k - 1) * (1 - c) ** 2 * c / N
    ratio = pmse / expected if expected > 0 else None
    return Propensity(pmse, expected, ratio, *figures, True, "")


def occurring(codes: NDArray[Any]) -> Ints:
    """Return the rank of each code among those that occur."""
    return np.asarray(np.unique(codes, return_inverse=True)[1], np.int64)


def certain_records(
    terms: Sequence[Ints], before: Any, after: Any
) -> tuple[Floats, Mask]:
    """Return p where it is 0 or 1, and the mask of these records."""
    p = np.zeros(len(before))
    certain = np.zeros(len(before), bool)
    while True:
        new = np.zeros(len(before), bool)
        for term in terms:
            in_before, in_after = (
                np.bincount(term, np.where(certain, 0, counts))
                for counts in (before, after)
            )
            one_sided = (in_before == 0) ^ (in_after == 0)
            here = one_sided[term] & ~certain
            p[here] = (in_after > 0)[term][here]
            new |= here
        if not new.any():
            return p, certain
        certain |= new


@dataclass(frozen=True, slots=True, eq=False)
class Design:
    """The columns of a logistic regression on factors."""

    first: Term  # the largest factor, each category has a parameter
    rest: Predictors  # the others, without their first categories

    @classmethod
    def of(cls, factors: Sequence[Ints], pairs: Sequence[tuple[Ints, Ints]]) -> Design:
        """Return the design of factors, coded from 0, and of pairs of them."""
        levels = [int(factor.max()) + 1 for factor in factors]
        largest = int(np.argmax(levels))
        terms = [Term(np.zeros(len(factors[0]), np.int64), 0)]
        for i, (codes, size) in enumerate(zip(factors, levels, strict=True)):
            terms += [Term(codes, size - 1)] if i != largest else []
        for a, b in pairs:
            both = np.where((a > 0) & (b > 0), a * (int(b.max()) + 1) + b, 0)
            columns, codes = np.unique(np.append(both, 0), return_inverse=True)
            terms.append(Term(codes[:-1], len(columns) - 1))
        return cls(Term(factors[largest] + 1, levels[largest]), Predictors(terms))

    def matrices(self, weight: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return D, B and E of the information [[D, B], [B', E]], and E - B' D^-1 B."""
        D = self._sums(weight)
        B = np.hstack([crossed(self.first, term, weight) for term in self.rest.terms])
        E = self.rest.information(weight)
        with np.errstate(divide="ignore", invalid="ignore"):
            return D, B, E, E - B.T @ (B / D[:, None])

    def _sums(self, values: Floats) -> Floats:
        """Return the sum of the values of each category of the largest factor."""
        return sums_by(self.first.codes, values, self.first.size + 1)[1:]

    def kept(self, counts: Floats) -> Mask:
        """Return the mask of the other parameters that earlier ones do not give."""
        *_, E, schur = self.matrices(counts)
        return factored(schur, E.diagonal() * ALIASED)[1]

    def fit(
        self, counts: Floats, successes: Floats, progress: Lines
    ) -> tuple[Floats, str]:
        """Return the fitted probabilities, and why the fit failed if it did."""
        share = fsum(successes) / fsum(counts)
        logit = np.full(len(counts), math.log(share / (1 - share)))
        kept = self.kept(counts)
        limits = _CLOSE * self._sums(counts), _CLOSE * self.rest.score(counts)
        settled = False
        for number in range(1, _STEPS + 1):
            progress(f"fitting the propensity score, step {number}")
            p = 1 / (1 + np.exp(-logit))
            residual = successes - counts * p
            if settled:  # one more step gave the last digits
                return p, ""
            first, rest = self._sums(residual), self.rest.score(residual)
            settled = all(
                (np.abs(score) <= limit).all()
                for score, limit in zip((first, rest), limits, strict=True)
            )
            step = self._step(counts * p * (1 - p), first, rest, kept)
            if step is None:
                return p, "" if settled else _IDENTIFIED
            longest = max(float(np.abs(part).max(initial=0)) for part in step)
            shorter = min(1.0, _LONGEST / longest) if longest > 0 else 1.0
            moved = step[0][self.first.codes - 1] + self.rest.linear(step[1])
            logit = logit + shorter * moved
        return p, f"the fit did not settle within {_STEPS} steps"

    def _step(
        self, weight: Floats, first: Floats, rest: Floats, kept: Mask
    ) -> tuple[Floats, Floats] | None:
        """Return Newton's step of the parameters; None if the matrix is singular."""
        D, B, E, schur = self.matrices(weight)
        inverse = None
        if (D > 0).all():
            inverse = inverse_of(schur, kept, E.diagonal())
        if inverse is None:
            return None
        others = inverse @ (rest - B.T @ (first / D))
        return (first - B @ others) / D, others
