r"""Linear and logistic regression on distinct records, with standard errors.

Both are fitted by Newton's method, on distinct records with their counts and sums of
weights. Without weights the standard errors are those of the model: the inverse of the
information, times the variance of the residuals in a linear model. Sampling weights w
make them robust, those of a sample with replacement (Binder 1983): A^-1 M A^-1 n/(n-1)
with A the weighted information and M the sum of w^2 e^2 x x', e being a residual.

A logistic model is separated if parameters can grow without limit while the fit gets
better: then no finite estimate exists (Albert and Anderson 1984). That is so if a step
of Newton's method moves no record away from its response.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from riskcore.common.arrays import Mask
from riskcore.comparison.measures import Floats, Ints, fsum, sums_by

ALIASED = 1e-10  # a smaller pivot, relative to the diagonal: the column depends


def factored(M: Floats, least: Floats) -> tuple[Floats, Mask]:
    """Return L of M = L L', and the mask of columns independent of earlier ones.

    The others, with a pivot of at most ``least``, are zero in L. Sums have a fixed
    order: the bits are the same on any machine, as noise that is added to a file needs.
    """
    rest = M.copy()
    L = np.zeros_like(M)
    sound = np.zeros(len(M), bool)
    for j in range(len(M)):
        pivot = rest[j, j]
        if not pivot > least[j]:
            continue
        sound[j] = True
        column = rest[j:, j] / np.sqrt(pivot)
        L[j:, j] = column
        rest[j:, j:] -= column[:, None] * column
    return L, sound


def inverse_of(M: Floats, kept: Mask, diagonal: Floats) -> Floats | None:
    """Return the inverse of M for the columns kept, 0 elsewhere; None if singular."""
    some = np.ix_(kept, kept)
    scale = np.sqrt(diagonal[kept])
    inverse = np.zeros_like(M)
    if not (scale > 0).all():
        return None
    scaled = M[some] / scale / scale[:, None]
    try:
        pivots = np.linalg.cholesky(scaled).diagonal() ** 2
        inverse[some] = np.linalg.inv(scaled) / scale / scale[:, None]
    except np.linalg.LinAlgError:
        return None
    return inverse if (pivots > ALIASED**1.5).all() else None


_STEPS = 100
_LONGEST = 1e3  # change of a logit in one step
_HALVINGS = 50
# A step is halved while the likelihood falls at its end faster than this, relative to
# its rise at the beginning.
_OVERSHOT = 0.5
_LAST = 1e-5  # a relative change after which one more step gives all digits
_MOVING = 0.01  # a change of a logit that is not rounding alone
_WRONG = 1e-12  # a move away from the response, relative to the longest, that counts
_ROUNDING = 1e-13  # a smaller sum, relative to its terms, is rounding alone
SEPARATED = (
    "the predictors separate the two responses: parameters grow without limit, and no "
    "finite estimate exists"
)
NEARLY_SEPARATED = (
    "the predictors separate the two responses, or so nearly that no estimate can be "
    "computed"
)
COLLINEAR = "the predictors are nearly collinear"
UNSETTLED = f"the fit did not settle within {_STEPS} steps"


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """Parameters of a predictor or of a pair: one for each code, times a number."""

    codes: Ints  # the parameter from 1, or 0 for none, shape (K,)
    size: int  # the number of parameters
    value: Floats | None = None  # shape (K,)


@dataclass(frozen=True, slots=True, eq=False)
class Predictors:
    """The columns of a regression, without making the matrix."""

    terms: Sequence[Term]

    @property
    def size(self) -> int:
        """The number of parameters."""
        return sum(term.size for term in self.terms)

    def information(self, weight: Floats) -> Floats:
        """Return the sum of weight x x', shape (p, p)."""
        matrix = np.zeros((self.size, self.size))
        ends = np.cumsum([0, *(term.size for term in self.terms)])
        for i, a in enumerate(self.terms):
            for j, b in enumerate(self.terms[i:], i):
                block = crossed(a, b, weight)
                matrix[ends[i] : ends[i + 1], ends[j] : ends[j + 1]] = block
                matrix[ends[j] : ends[j + 1], ends[i] : ends[i + 1]] = block.T
        return matrix

    def score(self, residual: Floats) -> Floats:
        """Return the sum of residual x, shape (p,)."""
        terms = self.terms
        sums = (sums_by(x.codes, _times(residual, x), x.size + 1) for x in terms)
        return np.concatenate([column[1:] for column in sums])

    def linear(self, parameters: Floats) -> Floats:
        """Return the linear predictor of each row, shape (K,)."""
        predictor = np.zeros(len(self.terms[0].codes))
        start = 0
        for term in self.terms:
            own = np.append(0.0, parameters[start : start + term.size])
            predictor += _times(own[term.codes], term)
            start += term.size
        return predictor


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Distinct records: their response, and sums over the records of each."""

    y: Floats  # shape (K,); of a logistic model 0 or 1
    records: Ints  # shape (K,)
    weight: Floats | None = None  # sums of weights; None if every record counts 1
    squares: Floats | None = None  # sums of squared weights

    @property
    def sums(self) -> Floats:
        """The weight of each row."""
        return self.records.astype(np.float64) if self.weight is None else self.weight


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """Parameters and their standard errors, nan where there are no residuals."""

    parameters: Floats
    errors: Floats
    absent: Mask  # parameters whose column is zero
    aliased: Mask  # parameters left out because they depend on earlier ones
    reason: str = ""  # why there are no estimates


def fit(X: Predictors, rows: Rows, *, logistic: bool) -> Estimates:
    """Return the estimates of a regression, or why there are none."""
    weight = rows.sums
    information = X.information(weight)
    diagonal = information.diagonal()
    kept = factored(information, diagonal * ALIASED)[1]
    nothing = np.full(X.size, np.nan)
    failed = Estimates(nothing, nothing, diagonal == 0, ~kept & (diagonal > 0))
    n, p = int(rows.records.sum()), int(kept.sum())
    if n <= p:
        return replace(failed, reason=f"{n:,} records are too few for {p} parameters")
    parameters, bread, residual, reason = _newton(X, rows.y, weight, kept, logistic)
    if reason:
        return replace(failed, reason=reason)
    # Residuals of rounding alone would give standard errors that mean nothing.
    least = _ROUNDING * float(np.abs(rows.y).max())
    residual = np.where(np.abs(residual) <= least, 0.0, residual)
    variance = bread.diagonal()
    if rows.squares is not None:
        meat = X.information(rows.squares * residual * residual)
        variance = _sandwich(bread, meat) * (n / (n - 1))
    elif not logistic:
        variance = variance * (fsum(weight * residual * residual) / (n - p))
    errors = np.where(variance > 0, np.sqrt(variance), np.nan)
    noise = np.where(np.isnan(errors), 10 * least, _ROUNDING * errors)
    exact = np.where(np.abs(parameters) <= noise, 0.0, parameters)
    estimates = np.where(kept, exact, np.nan)
    return replace(failed, parameters=estimates, errors=errors)


def _sandwich(bread: Floats, meat: Floats) -> Floats:
    """Return the diagonal of bread meat bread, 0 where only rounding is left of it."""
    sums = ((bread @ meat) * bread).sum(axis=1)
    terms = ((np.abs(bread) @ np.abs(meat)) * np.abs(bread)).sum(axis=1)
    return np.where(sums <= _ROUNDING * terms, 0.0, sums)


def _newton(
    X: Predictors, y: Floats, weight: Floats, kept: Mask, logistic: bool
) -> tuple[Floats, Floats, Floats, str]:
    """Return parameters, the inverse of the information, residuals, and a failure."""
    parameters = np.zeros(X.size)
    residual, slope = _residual(parameters, X, y, logistic)
    last, largest = False, float(np.abs(y).max())
    for _ in range(_STEPS):
        information = X.information(weight * slope)
        inverse = inverse_of(information, kept, information.diagonal())
        if inverse is None:
            reason = NEARLY_SEPARATED if logistic else COLLINEAR
            return parameters, information, residual, reason
        bread = inverse
        if last:
            return parameters, bread, residual, ""
        score = X.score(weight * residual)
        step = bread @ score
        move = X.linear(step)
        longest = float(np.abs(move).max())
        last = longest <= _LAST * largest
        if logistic and longest > _MOVING and _forward(move, y, longest):
            return parameters, bread, residual, SEPARATED
        if logistic and not last:
            step *= min(1.0, _LONGEST / longest)
            step = _shortened(step, parameters, X, y, weight, score)
        parameters = parameters + step
        residual, slope = _residual(parameters, X, y, logistic)
    return parameters, bread, residual, UNSETTLED


def _shortened(
    step: Floats, parameters: Floats, X: Predictors, y: Floats, weight: Floats,
    score: Floats,
) -> Floats:  # fmt: skip
    """Return a step, halved while the likelihood falls steeply at its end."""
    rise = fsum(score * step)
    for _ in range(_HALVINGS):
        residual, _slope = _residual(parameters + step, X, y, logistic=True)
        if fsum(X.score(weight * residual) * step) >= -_OVERSHOT * rise:
            break
        step, rise = step / 2, rise / 2
    return step


def _forward(move: Floats, y: Floats, longest: float) -> bool:
    """Return whether a step moves no record away from its response."""
    return float((move * (2 * y - 1)).min()) >= -_WRONG * longest


def _residual(
    parameters: Floats, X: Predictors, y: Floats, logistic: bool
) -> tuple[Floats, Floats]:
    """Return the residuals of y, of 0 and 1 without cancellation, and the slope."""
    fitted = X.linear(parameters)
    if not logistic:
        return y - fitted, np.ones(len(y))
    odds = np.exp(-np.minimum(np.abs(fitted), 700.0))
    common, rare = 1 / (1 + odds), odds / (1 + odds)
    residual = np.where((y == 1) == (fitted < 0), common, rare)
    return np.where(y == 1, residual, -residual), common * rare


def crossed(a: Term, b: Term, weight: Floats) -> Floats:
    """Return the sum of weight x_a x_b' of two terms."""
    number = a.codes * (b.size + 1) + b.codes
    size = (a.size + 1) * (b.size + 1)
    sums = sums_by(number, _times(_times(weight, a), b), size)
    return sums.reshape(a.size + 1, b.size + 1)[1:, 1:]


def _times(values: Floats, term: Term) -> Floats:
    return values if term.value is None else values * term.value
