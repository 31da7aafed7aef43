r"""Linear and logistic regression on distinct records, with standard errors.

Both are fitted by Newton's method, on distinct records with their counts and sums of
weights. Without weights the standard errors are those of the model: the inverse of the
information, times the variance of the residuals in a linear model. Sampling weights w
make them robust, those of a sample with replacement (Binder 1983): A^-1 M A^-1 n/(n-1)
with A the weighted information and M the sum of w^2 e^2 x x', e being a residual.

A logistic model is separated if parameters can grow without limit while the fit gets
better: then no finite estimate exists (Albert and Anderson 1984). That is so if a step
of Newton's method moves no record away from its response.

Exponentials are computed here and sums have a fixed order: the same bits on any
machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from riskcore.comparison.cholesky import ALIASED, Mask, factored, product, solved
from riskcore.comparison.measures import Floats, Ints, fsum, sums_by

_STEPS = 100
_CLOSE = 1e-12  # largest score of a parameter, relative to the sum of its terms
_LONGEST = 1e3  # change of a logit in one step
_HALVINGS = 50
# A step is halved while the likelihood falls at its end faster than this, relative to
# its rise at the beginning.
_OVERSHOT = 0.5
_LAST = 1e-5  # a change of a logit after which one more step gives all digits
_MOVING = 0.01  # a change of a logit that is not rounding alone
_WRONG = 1e-12  # a move away from the response, relative to the longest, that counts
_REFINED = 3  # steps of a linear fit: the first solves, the others refine
_ROUNDING = 1e-13  # a smaller sum, relative to its terms, is rounding alone
# ln 2 in two parts, the first with trailing zeros.
_LN2 = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_SERIES = 14
SEPARATED = (
    "the predictors separate the two responses: parameters grow without limit, and no "
    "finite estimate exists"
)
NEARLY_SEPARATED = (
    "the predictors separate the two responses, or so nearly that no estimate can be "
    "computed"
)
UNSETTLED = f"the fit did not settle within {_STEPS} steps"
COLLINEAR = "the predictors are so nearly collinear that the fit did not settle"


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
        return sum(one.size for one in self.terms)

    def information(self, weight: Floats) -> Floats:
        """Return the sum of weight x x', shape (p, p)."""
        found = np.zeros((self.size, self.size))
        ends = np.cumsum([0, *(one.size for one in self.terms)])
        for i, a in enumerate(self.terms):
            for j, b in enumerate(self.terms[i:], i):
                block = _crossed(a, b, weight)
                found[ends[i] : ends[i + 1], ends[j] : ends[j + 1]] = block
                found[ends[j] : ends[j + 1], ends[i] : ends[i + 1]] = block.T
        return found

    def score(self, residual: Floats) -> Floats:
        """Return the sum of residual x, shape (p,)."""
        return np.concatenate(
            [
                sums_by(one.codes, _times(residual, one), one.size + 1)[1:]
                for one in self.terms
            ]
        )

    def linear(self, parameters: Floats) -> Floats:
        """Return the linear predictor of each row, shape (K,)."""
        found = np.zeros(len(self.terms[0].codes))
        start = 0
        for one in self.terms:
            own = np.append(0.0, parameters[start : start + one.size])
            found += _times(own[one.codes], one)
            start += one.size
        return found

    def absolute(self) -> Predictors:
        """Return the columns with absolute values."""
        return Predictors(
            [
                one if one.value is None else replace(one, value=np.abs(one.value))
                for one in self.terms
            ]
        )


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
    """Parameters and their standard errors, nan where there is none.

    A parameter without a standard error is one without residuals.
    """

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
    newton = _logistic_fit if logistic else _linear_fit
    parameters, curvature, residual, reason = newton(X, rows.y, weight, kept)
    if reason:
        return replace(failed, reason=reason)
    # Residuals of rounding alone would give standard errors that mean nothing.
    least = _ROUNDING * float(np.abs(rows.y).max())
    residual = np.where(np.abs(residual) <= least, 0.0, residual)
    L, sound = factored(curvature, curvature.diagonal() * ALIASED**1.5)
    if not sound.all():
        return replace(failed, reason=NEARLY_SEPARATED if logistic else COLLINEAR)
    bread = solved(L, np.eye(p))
    variance = bread.diagonal()
    if rows.squares is not None:
        meat = X.information(rows.squares * residual * residual)[np.ix_(kept, kept)]
        variance = _sandwich(bread, meat) * (n / (n - 1))
    elif not logistic:
        variance = variance * (fsum(weight * residual * residual) / (n - p))
    estimates, errors = nothing.copy(), nothing.copy()
    errors[kept] = np.where(variance > 0, np.sqrt(variance), np.nan)
    noise = np.isnan(errors[kept]) & (np.abs(parameters[kept]) <= 10 * least)
    estimates[kept] = np.where(noise, 0.0, parameters[kept])
    return replace(failed, parameters=estimates, errors=errors)


def _sandwich(bread: Floats, meat: Floats) -> Floats:
    """Return the diagonal of bread meat bread, 0 where only rounding is left of it."""
    sums = product(bread, meat) * bread
    terms = product(np.abs(bread), np.abs(meat)) * np.abs(bread)
    found: Floats = sums.sum(axis=1)
    found[found <= _ROUNDING * terms.sum(axis=1)] = 0.0
    return found


# The parameters, the information of those kept, the residuals, and why it failed.
_Fit = tuple[Floats, Floats, Floats, str]


def _linear_fit(X: Predictors, y: Floats, weight: Floats, kept: Mask) -> _Fit:
    """Fit a linear model by the normal equations, and refine it."""
    M = X.information(weight)[np.ix_(kept, kept)]
    L, _ = factored(M, M.diagonal() * ALIASED)
    parameters, residual = np.zeros(X.size), y
    for _ in range(_REFINED):
        parameters[kept] += solved(L, X.score(weight * residual)[kept])
        residual = y - X.linear(parameters)
    score = X.score(weight * residual)[kept]
    limit = _CLOSE * X.absolute().score(weight * (np.abs(y) + np.abs(residual)))[kept]
    right = (np.abs(score) <= limit).all()
    return parameters, M, residual, "" if right else COLLINEAR


def _logistic_fit(X: Predictors, y: Floats, weight: Floats, kept: Mask) -> _Fit:
    """Fit a logistic model by Newton's method; find out whether it is separated."""
    parameters = np.zeros(X.size)
    residual, slope = _logistic(X.linear(parameters), y)
    score = X.score(weight * residual)[kept]
    last = False
    for _ in range(_STEPS):
        M = X.information(weight * slope)[np.ix_(kept, kept)]
        if last:
            return parameters, M, residual, ""
        L, sound = factored(M, M.diagonal() * ALIASED**1.5)
        if not sound.all():
            return parameters, M, residual, NEARLY_SEPARATED
        step = np.zeros(X.size)
        step[kept] = solved(L, score)
        move = X.linear(step)
        longest = float(np.abs(move).max())
        if longest > _MOVING and _forward(move, y, longest):
            return parameters, M, residual, SEPARATED
        last = longest <= _LAST
        step *= min(1.0, _LONGEST / longest) if longest else 1.0
        rise = fsum(score * step[kept])
        for _ in range(_HALVINGS):
            residual, slope = _logistic(X.linear(parameters + step), y)
            score = X.score(weight * residual)[kept]
            if last or fsum(score * step[kept]) >= -_OVERSHOT * rise:
                break
            step, rise = step / 2, rise / 2
        parameters = parameters + step
    return parameters, M, residual, UNSETTLED


def _forward(move: Floats, y: Floats, longest: float) -> bool:
    """Return whether a step moves no record away from its response."""
    return float((move * (2 * y - 1)).min()) >= -_WRONG * longest


def _logistic(logit: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return the residuals of y, without cancellation, and the slope of the curve."""
    odds = exp_negative(-np.abs(logit))
    common, rare = 1 / (1 + odds), odds / (1 + odds)
    residual = np.where((y == 1) == (logit < 0), common, rare)
    return np.where(y == 1, residual, -residual), common * rare


def exp_negative(x: Floats) -> Floats:
    """Return exp(x) of numbers up to 0, within a few ulp; below -700 as of -700."""
    x = np.maximum(x, -700.0)
    twos = np.rint(x / _LN2[0])
    rest = (x - twos * _LN2[0]) - twos * _LN2[1]
    found = np.ones(len(x))
    for k in range(_SERIES, 0, -1):
        found = 1 + found * rest / k
    return np.ldexp(found, twos.astype(np.int64))


def _crossed(a: Term, b: Term, weight: Floats) -> Floats:
    """Return the sum of weight x_a x_b' of two terms."""
    number = a.codes * (b.size + 1) + b.codes
    size = (a.size + 1) * (b.size + 1)
    sums = sums_by(number, _times(_times(weight, a), b), size)
    return sums.reshape(a.size + 1, b.size + 1)[1:, 1:]


def _times(values: Floats, term: Term) -> Floats:
    return values if term.value is None else values * term.value
