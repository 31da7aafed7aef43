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
ones are left out. Steps multiply the odds by a rational function instead of exp, and
sums have a fixed order: the same bits on any machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.common.progress import Lines, silent
from riskcore.comparison.cholesky import ALIASED, Mask, factored, solved
from riskcore.comparison.measures import Floats, Ints, fsum, sums_by

MOST_PARAMETERS = 1500  # without the largest factor's: their matrix is dense
_STEPS = 100  # Newton's
_CLOSE = 1e-12  # largest residual of a category, as a share of its records
_LONGEST = 2.0  # step of a parameter, so that the odds do not overshoot


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
    factors = [occurring(np.asarray(one)[occurs]) for one in codes]
    pairs = [*combinations(factors, 2)] if interactions else []
    whole = [occurring(a * (int(b.max()) + 1) + b) for a, b in pairs]
    counts = (before + after).astype(np.float64)
    design = Design.of(factors, pairs)
    if design.size > MOST_PARAMETERS:
        reason = (
            f"{design.size:,} parameters besides those for the largest key; at most "
            f"{MOST_PARAMETERS:,} can be fitted: recode keys or leave some out"
        )
        return Propensity.failed(reason, interactions=interactions)
    kept = design.kept(counts)
    k = design.largest + int(kept.sum())
    p, certain = certain_records([*factors, *whole], before, after)
    rest = ~certain
    reason = ""
    if rest.any():
        inner = Design.of(
            [occurring(one[rest]) for one in factors],
            [(occurring(a[rest]), occurring(b[rest])) for a, b in pairs],
        )
        p[rest], reason = inner.fit(
            counts[rest], after[rest].astype(np.float64), progress
        )
    told_apart = int((before + after)[certain].sum())
    aliased = design.size - int(kept.sum())
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
                np.bincount(term, np.where(certain, 0, one)) for one in (before, after)
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

    first: Ints  # the largest factor, each category has a parameter, shape (K,)
    largest: int  # the number of its parameters
    terms: tuple[Ints, ...]  # the others: the parameter from 1, or 0, shape (K,)
    sizes: tuple[int, ...]  # the number of parameters of each

    @classmethod
    def of(cls, factors: Sequence[Ints], pairs: Sequence[tuple[Ints, Ints]]) -> Design:
        """Return the design of factors, coded from 0, and of pairs of them."""
        levels = [int(one.max()) + 1 for one in factors]
        largest = int(np.argmax(levels))
        terms = [one for i, one in enumerate(factors) if i != largest]
        for a, b in pairs:
            both = np.where((a > 0) & (b > 0), a * (int(b.max()) + 1) + b, 0)
            columns = np.unique(np.append(both, 0))
            terms.append(np.searchsorted(columns, both))
        sizes = tuple(int(one.max()) for one in terms)
        return cls(factors[largest], levels[largest], tuple(terms), sizes)

    @property
    def size(self) -> int:
        """Number of parameters, not counting the largest factor."""
        return sum(self.sizes)

    def information(self, weight: Floats) -> tuple[Floats, Floats, Floats]:
        """Return D, B and E of the matrix [[D, B], [B', E]], sum of weight x x'.

        D, the diagonal block, belongs to the largest factor.
        """
        D = sums_by(self.first, weight, self.largest)
        blocks = [
            self._crossed(self.first, self.largest, term, size + 1, weight)[:, 1:]
            for term, size in zip(self.terms, self.sizes, strict=True)
        ]
        B: Floats = np.hstack([np.zeros((self.largest, 0)), *blocks])
        E = np.zeros((self.size, self.size))
        ends = np.cumsum([0, *self.sizes])
        for i, (one, size) in enumerate(zip(self.terms, self.sizes, strict=True)):
            for j in range(i, len(self.terms)):
                other, width = self.terms[j], self.sizes[j]
                block = self._crossed(one, size + 1, other, width + 1, weight)[1:, 1:]
                rows, columns = (slice(ends[k], ends[k + 1]) for k in (i, j))
                E[rows, columns] = block
                E[columns, rows] = block.T
        return D, B, E

    @staticmethod
    def _crossed(a: Ints, rows: int, b: Ints, columns: int, weight: Floats) -> Floats:
        """Return the two-way table of the weight."""
        table = sums_by(a * columns + b, weight, rows * columns)
        return table.reshape(rows, columns)

    def score(self, residual: Floats) -> tuple[Floats, Floats]:
        """Return the sum of residual x, for the largest factor and for the rest."""
        parts = [
            sums_by(term, residual, size + 1)[1:]
            for term, size in zip(self.terms, self.sizes, strict=True)
        ]
        first = sums_by(self.first, residual, self.largest)
        return first, np.concatenate([np.zeros(0), *parts])

    def kept(self, counts: Floats) -> Mask:
        """Return the mask of the other parameters that earlier ones do not give."""
        D, B, E = self.information(counts)
        return factored(_schur(D, B, E), E.diagonal() * ALIASED)[1]

    def fit(
        self, counts: Floats, successes: Floats, progress: Lines
    ) -> tuple[Floats, str]:
        """Return the fitted probabilities, and why the fit failed if it did."""
        share = fsum(successes) / fsum(counts)
        odds = np.full(len(counts), share / (1 - share))
        p = odds / (1 + odds)
        kept = self.kept(counts)
        limits = [_CLOSE * one for one in self.score(counts)]
        settled = False
        for step_number in range(1, _STEPS + 1):
            progress(f"fitting the propensity score, step {step_number}")
            scores = self.score(successes - counts * p)
            if settled:  # one more step gave the last digits
                return p, ""
            pairs = zip(scores, limits, strict=True)
            settled = all((np.abs(score) <= limit).all() for score, limit in pairs)
            if settled and not any(score.any() for score in scores):
                return p, ""
            step = self._step(counts * p * (1 - p), *scores, kept)
            if step is None and settled:
                return p, ""
            if step is None:
                break
            longest = max(float(np.abs(one).max(initial=0)) for one in step)
            shorter = min(1.0, _LONGEST / longest) if longest > 0 else 1.0
            odds = odds * self._factor(*(shorter * one for one in step))
            p = odds / (1 + odds)
        else:
            return p, f"the fit did not settle within {_STEPS} steps"
        return p, (
            "the fit does not settle: combinations of keys identify the file of some "
            "records, and their parameters grow without limit"
        )

    def _step(
        self, weight: Floats, first: Floats, rest: Floats, kept: Mask
    ) -> tuple[Floats, Floats] | None:
        """Return Newton's step of the parameters; None if the matrix is singular."""
        D, B, E = self.information(weight)
        if not (D > 0).all():
            return None
        B, E, rest = B[:, kept], E[np.ix_(kept, kept)], rest[kept]
        factor, sound = factored(_schur(D, B, E), E.diagonal() * ALIASED**1.5)
        if not sound.all():
            return None
        others = solved(factor, rest - (B * (first / D)[:, None]).sum(axis=0))
        step = np.zeros(self.size)
        step[kept] = others
        return (first - (B * others).sum(axis=1)) / D, step

    def _factor(self, first: Floats, rest: Floats) -> Floats:
        """Return the factor of the odds of each row for a step of the parameters."""
        factor = _growth(first)[self.first]
        ends = np.cumsum([0, *self.sizes])
        grown = _growth(rest)
        for term, start, stop in zip(self.terms, ends, ends[1:], strict=False):
            factor = factor * np.append(1.0, grown[start:stop])[term]
        return factor


def _growth(step: Floats) -> Floats:
    """Return exp(step) up to terms of fifth order, by a rational function."""
    even, odd = 1 + step * step / 12, step / 2
    return (even + odd) / (even - odd)


def _schur(D: Floats, B: Floats, E: Floats) -> Floats:
    """Return E - B' D^-1 B."""
    scaled = B / D[:, None]
    return np.array(
        [row - (scaled[:, j : j + 1] * B).sum(axis=0) for j, row in enumerate(E)]
    ).reshape(E.shape)
