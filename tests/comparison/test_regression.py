"""Regressions beside SciPy's minimizer, NumPy's least squares and closed forms."""

import json
import subprocess

import numpy as np
import pytest
from scipy import optimize, special

from riskcore.comparison import regression
from riskcore.comparison.regression import (
    NEARLY_SEPARATED,
    SEPARATED,
    UNSETTLED,
    Predictors,
    Rows,
    Term,
    fit,
)
from tests import needs


def data(seed, n=400):
    """Return a factor, a number, sampling weights and two responses."""
    rng = np.random.default_rng(seed)
    factor = rng.integers(0, 4, n)
    x = rng.normal(0, 2, n)
    w = rng.integers(1, 40, n) / 4
    eta = -0.5 + 0.4 * (factor == 2) - 0.7 * (factor == 3) + 0.3 * x
    y = (rng.random(n) < special.expit(eta)).astype(float)
    return factor, x, w, y, eta + rng.normal(0, 1.5, n)


def predictors(factor, x):
    """Return the design with an intercept, dummies, a number and an interaction."""
    one = np.ones(len(x), np.int64)
    terms = Term(one, 1), Term(factor, 3), Term(one, 1, x), Term(factor, 3, x)
    dummies = np.equal.outer(factor, [1, 2, 3]).astype(float)
    X = np.column_stack([np.ones(len(x)), dummies, x, dummies * x[:, None]])
    return Predictors(terms), X


def rows(y, w=None):
    each = np.ones(len(y), np.int64)
    return Rows(y, each) if w is None else Rows(y, each, w, w * w)


def logistic_by_scipy(X, y, w):
    """Return parameters, information and fitted means from SciPy's minimizer."""

    def loss(beta):
        eta = X @ beta
        return float(w @ (np.logaddexp(0, eta) - y * eta)) / w.sum()

    def slope(beta):
        return X.T @ (w * (special.expit(X @ beta) - y)) / w.sum()

    start = np.zeros(X.shape[1])
    beta = optimize.minimize(loss, start, jac=slope, options={"gtol": 1e-12}).x
    p = special.expit(X @ beta)
    return beta, X.T * (w * p * (1 - p)) @ X, p


def robust(A, X, residual, w):
    """Return the standard errors of a sample with replacement."""
    scores = X * (w * residual)[:, None]
    bread = np.linalg.inv(A)
    n = len(w)
    return np.sqrt(np.diag(bread @ (scores.T @ scores) @ bread) * n / (n - 1))


def test_the_matrix_is_never_made():
    factor, x, w, y, _ = data(1)
    design, X = predictors(factor, x)
    np.testing.assert_allclose(design.information(w), X.T * w @ X, rtol=1e-12)
    np.testing.assert_allclose(design.score(w * y), X.T @ (w * y), rtol=1e-12)
    beta = np.arange(1.0, 9)
    np.testing.assert_allclose(design.linear(beta), X @ beta, rtol=1e-12)


@pytest.mark.parametrize("seed", [1, 2])
def test_logistic_as_by_scipy(seed):
    factor, x, w, y, _ = data(seed)
    design, X = predictors(factor, x)
    plain = fit(design, rows(y), logistic=True)
    beta, A, _ = logistic_by_scipy(X, y, np.ones(len(y)))
    np.testing.assert_allclose(plain.parameters, beta, rtol=1e-5, atol=1e-6)
    errors = np.sqrt(np.diag(np.linalg.inv(A)))
    np.testing.assert_allclose(plain.errors, errors, rtol=1e-5)
    # The score is zero at the parameters to all digits.
    score = X.T @ (y - special.expit(X @ plain.parameters))
    assert np.abs(score).max() < 1e-10
    weighted = fit(design, rows(y, w), logistic=True)
    beta, A, p = logistic_by_scipy(X, y, w)
    np.testing.assert_allclose(weighted.parameters, beta, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(weighted.errors, robust(A, X, y - p, w), rtol=1e-5)


def test_linear_as_by_least_squares():
    factor, x, w, _, y = data(3)
    design, X = predictors(factor, x)
    plain = fit(design, rows(y), logistic=False)
    beta, squares, *_ = np.linalg.lstsq(X, y)
    np.testing.assert_allclose(plain.parameters, beta, rtol=1e-11)
    s2 = squares[0] / (len(y) - X.shape[1])
    errors = np.sqrt(s2 * np.diag(np.linalg.inv(X.T @ X)))
    np.testing.assert_allclose(plain.errors, errors, rtol=1e-11)
    weighted = fit(design, rows(y, w), logistic=False)
    root = np.sqrt(w)
    beta = np.linalg.lstsq(X * root[:, None], y * root)[0]
    np.testing.assert_allclose(weighted.parameters, beta, rtol=1e-11)
    errors = robust(X.T * w @ X, X, y - X @ beta, w)
    np.testing.assert_allclose(weighted.errors, errors, rtol=1e-11)


def test_a_saturated_logit_has_a_closed_form():
    # 30 of 70 have y = 1 in the first group, 25 of 30 in the second.
    y = np.array([0.0, 1, 0, 1])
    group = np.array([0, 0, 1, 1])
    counts = Rows(y, np.array([40, 30, 5, 25]))
    design = Predictors([Term(np.ones(4, np.int64), 1), Term(group, 1)])
    found = fit(design, counts, logistic=True)
    odds = np.log(30 / 40), np.log(25 / 5)
    expected = odds[0], odds[1] - odds[0]
    np.testing.assert_allclose(found.parameters, expected, rtol=1e-13)
    errors = np.sqrt([1 / 30 + 1 / 40, 1 / 30 + 1 / 40 + 1 / 5 + 1 / 25])
    np.testing.assert_allclose(found.errors, errors, rtol=1e-13)


def test_counts_are_records_written_out():
    factor, x, w, y, _ = data(4)
    x, w = np.rint(x), np.rint(w) + 1
    each = [np.repeat(one, 3) for one in (factor, x, y, w)]
    long = fit(predictors(*each[:2])[0], rows(each[2], each[3]), logistic=True)
    counted = Rows(y, np.full(len(y), 3), 3 * w, 3 * w * w)
    short = fit(predictors(factor, x)[0], counted, logistic=True)
    np.testing.assert_allclose(short.parameters, long.parameters, rtol=1e-10)
    np.testing.assert_allclose(short.errors, long.errors, rtol=1e-10)


def intercept_and(*values):
    one = np.ones(len(values[0]), np.int64)
    return Predictors([Term(one, 1), *(Term(one, 1, x) for x in values)])


def test_separation_is_said():
    x = np.array([1.0, 2, 3, 4, 5, 6])
    complete = np.array([0.0, 0, 0, 1, 1, 1])
    assert fit(intercept_and(x), rows(complete), logistic=True).reason == SEPARATED
    # At x = 3 both responses occur: quasi-separation.
    x = np.array([1.0, 2, 3, 3, 5, 6])
    found = fit(intercept_and(x), rows(complete), logistic=True)
    assert found.reason == SEPARATED
    assert np.isnan(found.parameters).all()
    overlapping = np.array([0.0, 0, 1, 0, 1, 1])
    found = fit(intercept_and(np.arange(6.0)), rows(overlapping), logistic=True)
    assert found.reason == ""
    # Combinations of two predictors separate, neither does so alone.
    rng = np.random.default_rng(5)
    a, b = rng.normal(size=(2, 200))
    y = (a + b > 0).astype(float)
    for one in (a, b):
        assert fit(intercept_and(one), rows(y), logistic=True).reason == ""
    assert fit(intercept_and(a, b), rows(y), logistic=True).reason == SEPARATED


def is_separated(X, y):
    """Return whether a linear program finds parameters that separate the responses."""
    A = X * (2 * y - 1)[:, None]
    bounds = [(-1, 1)] * X.shape[1]
    found = optimize.linprog(-A.sum(axis=0), A_ub=-A, b_ub=0 * y, bounds=bounds)
    return -found.fun > 1e-7


def test_separation_is_that_of_a_linear_program():
    rng = np.random.default_rng(9)
    counts = [0, 0]
    for i in range(300):
        n = rng.integers(6, 14)
        x = rng.standard_t(1, n) / 64 if i % 2 else rng.integers(0, 4, n).astype(float)
        z = rng.integers(0, 3, n).astype(float)
        X = np.column_stack([np.ones(n), x, z])
        y = (rng.random(n) < 0.5).astype(float)
        if len(np.unique(y)) < 2 or np.linalg.matrix_rank(X) < 3:
            continue
        w = 10.0 ** rng.uniform(0, 3, n)
        found = fit(intercept_and(x, z), rows(y, w), logistic=True)
        separated = is_separated(X, y)
        counts[separated] += 1
        if separated:
            assert found.reason in (SEPARATED, NEARLY_SEPARATED)
        else:
            assert found.reason == ""
            score = X.T @ (w * (y - special.expit(X @ found.parameters)))
            assert (np.abs(score) < 1e-11 * (np.abs(X).T @ w)).all()
    assert min(counts) > 50


@pytest.mark.parametrize("few", [1e-3, 1e-6, 1e-10])
def test_near_separation_is_fitted(few):
    n = 10**10
    ones = round(few * n)
    counts = Rows(np.array([0.0, 1, 0, 1]), np.array([n - ones, ones, n // 2, n // 2]))
    design = Predictors(
        [Term(np.ones(4, np.int64), 1), Term(np.array([0, 0, 1, 1]), 1)]
    )
    found = fit(design, counts, logistic=True)
    logit = np.log(ones / (n - ones))
    assert found.errors[0] == pytest.approx(1 / np.sqrt(ones * (1 - few)), rel=1e-6)
    away = np.abs(found.parameters - [logit, -logit])
    assert (away < 1e-6 * found.errors).all()


def test_a_fit_that_does_not_settle_says_so(monkeypatch):
    factor, x, _, y, _ = data(8)
    design, _ = predictors(factor, x)
    monkeypatch.setattr(regression, "_STEPS", 2)
    found = fit(design, rows(y), logistic=True)
    assert found.reason == UNSETTLED
    assert np.isnan(found.parameters).all()


def test_columns_that_depend_on_others_are_left_out():
    _, x, _, y, _ = data(6)
    one = np.ones(len(x), np.int64)
    terms = [Term(one, 1), Term(one, 1, x), Term(one, 1, 2 * x), Term(0 * one, 2)]
    found = fit(Predictors(terms), rows(y), logistic=True)
    assert found.aliased.tolist() == [False, False, True, False, False]
    assert found.absent.tolist() == [False, False, False, True, True]
    without = fit(Predictors(terms[:2]), rows(y), logistic=True)
    assert found.parameters[:2].tolist() == without.parameters.tolist()
    assert np.isnan(found.parameters[2:]).all()


def test_a_perfect_fit_has_no_standard_errors():
    x, z = np.random.default_rng(2).normal(0, 100, (2, 500))
    for w in (None, x * x + 1):
        found = fit(intercept_and(x, z), rows(0.1 + x / 3 - z / 7, w), logistic=False)
        np.testing.assert_allclose(found.parameters, [0.1, 1 / 3, -1 / 7], rtol=1e-12)
        assert np.isnan(found.errors).all()


def test_too_few_records():
    x = np.array([1.0, 2])
    found = fit(intercept_and(x), rows(x), logistic=False)
    assert found.reason == "2 records are too few for 2 parameters"


def test_a_number_far_from_zero_keeps_its_digits():
    year = np.arange(2000.0, 2021)
    y = 3 + 0.25 * (year - 2010) + np.sin(year)
    found = fit(intercept_and(year / 4096), rows(y), logistic=False)
    centered = np.column_stack([np.ones(21), year - 2010])
    slope = np.linalg.lstsq(centered, y)[0][1]
    assert found.parameters[1] / 4096 == pytest.approx(slope, rel=1e-12)
    far = year / 4096 + 1e7
    assert fit(intercept_and(far), rows(y), logistic=False).aliased.any()


R = """
d <- read.csv(file("stdin"))
m <- glm(y ~ factor(f) * x, binomial, d, control = list(epsilon = 1e-15))
l <- lm(z ~ factor(f) * x, d)
cat(sprintf("%.17g ", c(coef(summary(m))[, 1:2], coef(summary(l))[, 1:2])))
"""


@needs.rscript
def test_both_as_by_r():
    factor, x, _, y, z = data(7)
    rows_of = zip(factor, x, y, z, strict=True)
    lines = ["f,x,y,z"]
    lines += [f"{a},{b:.17g},{c},{d:.17g}" for a, b, c, d in rows_of]
    done = subprocess.run(
        ["Rscript", "-e", R], input="\n".join(lines), capture_output=True, text=True
    )
    by_r = np.array(json.loads(f"[{','.join(done.stdout.split())}]")).reshape(4, 8)
    design, _ = predictors(factor, x)
    logistic = fit(design, rows(y), logistic=True)
    linear = fit(design, rows(z), logistic=False)
    np.testing.assert_allclose(logistic.parameters, by_r[0], rtol=1e-9)
    np.testing.assert_allclose(logistic.errors, by_r[1], rtol=1e-9)
    np.testing.assert_allclose(linear.parameters, by_r[2], rtol=1e-9)
    np.testing.assert_allclose(linear.errors, by_r[3], rtol=1e-9)
