"""The propensity score beside plain logistic regressions, of SciPy and of R."""

import json
import subprocess
from itertools import combinations

import numpy as np
import pytest
from scipy import optimize, special

from riskcore.comparison.propensity import MOST_PARAMETERS, propensity
from tests import needs


def design(codes, interactions=False):
    """Return dummies of main effects, and of pairs, each without its first category."""
    dummies = [np.equal.outer(one, np.unique(one)[1:]).astype(float) for one in codes]
    columns = [np.ones((len(codes[0]), 1)), *dummies]
    if interactions:
        for a, b in combinations(dummies, 2):
            columns.append((a[:, :, None] * b[:, None, :]).reshape(len(a), -1))
    X = np.hstack(columns)
    kept = []
    for j in range(X.shape[1]):
        if np.linalg.matrix_rank(X[:, [*kept, j]]) > len(kept):
            kept.append(j)
    return X[:, kept]


def by_scipy(codes, before, after, interactions=False):
    """Return pMSE and number of parameters from SciPy's minimiser and Newton's step."""
    X = design(codes, interactions)
    N = before + after

    def loss(beta):
        eta = X @ beta
        return float(N @ np.logaddexp(0, eta) - after @ eta)

    def slope(beta):
        return X.T @ (N * special.expit(X @ beta) - after)

    beta = optimize.minimize(
        loss, np.zeros(X.shape[1]), jac=slope, method="BFGS", options={"gtol": 1e-4}
    ).x
    for _ in range(8):
        p = special.expit(X @ beta)
        beta -= np.linalg.solve(X.T * (N * p * (1 - p)) @ X, slope(beta))
    p = special.expit(X @ beta)
    c = after.sum() / N.sum()
    return N @ (p - c) ** 2 / N.sum(), X.shape[1]


def tables(seed, levels, K=200):
    """Return distinct records of two files, all categories in both."""
    rng = np.random.default_rng(seed)
    codes = [rng.integers(0, k, K) for k in levels]
    pairs = zip(levels, codes, strict=True)
    effect = sum(rng.normal(0, 0.4, k)[one] for k, one in pairs)
    N = rng.integers(2, 30, K)
    after = rng.binomial(N, special.expit(effect))
    return codes, N - after, after


@pytest.mark.parametrize("interactions", [False, True])
@pytest.mark.parametrize("levels", [(2, 2), (3, 5), (4, 2, 6)])
def test_the_fit_is_that_of_scipy(levels, interactions):
    codes, before, after = tables(1, levels)
    found = propensity(codes, before, after, interactions=interactions)
    pmse, k = by_scipy(codes, before, after, interactions)
    assert found.converged
    assert found.told_apart == 0
    assert found.pmse == pytest.approx(pmse, rel=1e-8)
    assert found.parameters == k


def test_one_key_is_fitted_exactly():
    before, after = np.array([30, 10]), np.array([10, 30])
    found = propensity([np.array([0, 1])], before, after)
    # p is 1/4 and 3/4, c is 1/2, N = 80, k = 2.
    assert found.pmse == pytest.approx(1 / 16, rel=1e-14)
    assert found.expected == 1 / 640
    assert found.ratio == pytest.approx(40, rel=1e-13)


def test_equal_files_cannot_be_told_apart():
    codes, before, _ = tables(2, (3, 4))
    found = propensity(codes, before, before)
    assert (found.pmse, found.ratio) == (0.0, 0.0)
    assert found.converged


def test_a_column_that_follows_from_others_is_left_out():
    codes, before, after = tables(4, (3, 4))
    once = propensity(codes, before, after)
    twice = propensity([*codes, codes[1]], before, after)
    assert (once.aliased, twice.aliased) == (0, 3)
    assert twice.parameters == once.parameters
    assert twice.pmse == pytest.approx(once.pmse, rel=1e-12)


def test_a_category_of_one_file_is_told_apart_for_certain():
    # Of 10 and 10 records two are blank in the safe file alone.
    codes = [np.array([0, 1, 2])]
    found = propensity(codes, np.array([5, 5, 0]), np.array([4, 4, 2]))
    # c = 1/2; the blanks have p = 1, the others 4/9.
    expected = (2 / 4 + 18 * (4 / 9 - 1 / 2) ** 2) / 20
    assert found.told_apart == 2
    assert found.converged
    assert found.parameters == 3
    assert found.pmse == pytest.approx(expected, rel=1e-13)


def test_certain_records_are_the_limit_of_nearly_certain_ones():
    codes, before, after = tables(5, (3, 4))
    blank = codes[0] == 2
    certain = propensity(codes, np.where(blank, 0, before), after)
    # The same with a hundred-millionth of a record where there is none.
    nearly = by_scipy(codes, np.where(blank, 1e-8, before), after)[0]
    assert certain.pmse == pytest.approx(nearly, rel=1e-6)


def test_taking_records_out_may_separate_others():
    # b = 1 stands beside a = 2 alone, and beside a = 0 in the original alone.
    a, b = np.array([0, 1, 2, 0]), np.array([0, 0, 1, 1])
    before, after = np.array([3, 3, 0, 2]), np.array([3, 3, 4, 0])
    found = propensity([a, b], before, after)
    assert found.told_apart == 6
    # c = 5/9, and of the 12 records left p = 1/2.
    expected = (4 * (4 / 9) ** 2 + 2 * (5 / 9) ** 2 + 12 * (1 / 18) ** 2) / 18
    assert found.pmse == pytest.approx(expected, rel=1e-13)


def test_separation_by_combinations_is_said():
    # No category is of one file alone, but a = b tells the files apart.
    a, b = np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1, 1, 2, 2, 0])
    before, after = np.array([5, 0, 5, 0, 5, 0]), np.array([0, 5, 0, 5, 0, 5])
    pairs = propensity([a, b], before, after, interactions=True)
    assert pairs.told_apart == 30
    assert pairs.pmse == 0.25


def test_separation_by_a_sum_of_effects_has_its_limit():
    # The logits are -t, 0, 0, t with t without end; no category is of one file alone.
    a, b = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    before, after = np.array([9, 5, 5, 0]), np.array([0, 5, 5, 9])
    found = propensity([a, b], before, after)
    assert found.converged
    assert found.pmse == pytest.approx(18 / 4 / 38, rel=1e-10)


def test_a_fit_that_fails_says_so(monkeypatch):
    monkeypatch.setattr("riskcore.comparison.propensity._STEPS", 2)
    found = propensity(*tables(1, (3, 5)))
    assert not found.converged
    assert (found.pmse, found.ratio) == (None, None)
    assert "within 2 steps" in found.reason


def test_too_many_parameters_are_refused():
    K = MOST_PARAMETERS + 2
    codes = [np.arange(K), np.arange(K)[::-1].copy()]
    ones = np.ones(K, np.int64)
    found = propensity(codes, ones, ones)
    assert not found.converged
    assert f"{K - 1:,} parameters" in found.reason


def test_the_expectation_is_that_of_samples_drawn_anew():
    # Both files are drawn anew here, where E0 has the original fixed: then it is twice
    # as much. The standard error of the mean of 400 ratios is 2 sqrt(2/(k-1)/400).
    rng = np.random.default_rng(6)
    codes = [np.repeat(np.arange(3), 4), np.tile(np.arange(4), 3)]
    p = np.outer([0.2, 0.3, 0.5], [0.1, 0.2, 0.3, 0.4]).ravel()
    ratios = []
    for _ in range(400):
        before, after = (rng.multinomial(4000, p) for _ in range(2))
        ratios.append(propensity(codes, before, after).ratio)
    assert np.mean(ratios) == pytest.approx(2.0, abs=5 * 2 * np.sqrt(2 / 5 / 400))


@needs.rscript
@pytest.mark.parametrize("interactions", [False, True])
def test_the_fit_is_that_of_r(interactions, tmp_path):
    codes, before, after = tables(8, (3, 4, 2))
    columns = {"a": codes[0], "b": codes[1], "c": codes[2], "n": before, "s": after}
    rows = np.array(list(columns.values())).T
    np.savetxt(
        tmp_path / "cells.csv", rows, "%d", ",", header=",".join(columns), comments=""
    )
    model = "(a + b + c)^2" if interactions else "a + b + c"
    program = f"""
    d <- read.csv("cells.csv"); for (v in c("a", "b", "c")) d[[v]] <- factor(d[[v]])
    fit <- glm(cbind(s, n) ~ {model}, binomial, d, control = list(epsilon = 1e-14))
    N <- d$s + d$n; c <- sum(d$s) / sum(N)
    cat(sprintf("[%.17g, %d]", sum(N * (fitted(fit) - c)^2) / sum(N), fit$rank))
    """
    command = ["Rscript", "-e", program]
    pmse, k = json.loads(subprocess.check_output(command, cwd=tmp_path))
    found = propensity(codes, before, after, interactions=interactions)
    assert found.pmse == pytest.approx(pmse, rel=1e-8)
    assert found.parameters == k
