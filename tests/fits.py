"""Who fits a released record, by definition: all pairs of records, in plain Python."""

from itertools import combinations

import numpy as np

from riskcore.core.risk.individual import individual_risk_from_frequencies


def fits_of(data, keys, masks=None, weights=None, missing="wildcard"):
    """Return who fits each released record: those with its keys, f and F.

    ``data`` is the original after recoding, with None for missing; ``masks`` say which
    values were blanked; a missing one is a blank, too. A record without a value of a
    kept key counts by the share, among the records with all keys that agree with it, of
    those that fit; not at all if missing is a category.
    """
    rows = [*zip(*(map(value_of, data[key]) for key in keys), strict=True)]
    weights = np.ones(len(rows)) if weights is None else np.asarray(weights, float)
    every = range(len(keys))
    has = [[at for at in every if row[at] is not None] for row in rows]
    complete = [
        row for row, known in zip(rows, has, strict=True) if len(known) == len(keys)
    ]
    chances = {}

    def chance(j, pattern):
        if all(at in has[j] for at, _ in pattern):
            return float(all(rows[j][at] == value for at, value in pattern))
        if missing == "category":
            return 0.0
        if (rows[j], pattern) not in chances:
            alike = [
                one for one in complete if all(one[at] == rows[j][at] for at in has[j])
            ]
            fit = [
                one for one in alike if all(one[at] == value for at, value in pattern)
            ]
            chances[rows[j], pattern] = len(fit) / max(len(alike), 1)
        return chances[rows[j], pattern]

    found = {}
    for i in range(len(rows)):
        pattern = pattern_of(i, rows, has, keys, masks)
        if pattern not in found:
            each = np.array([chance(j, pattern) for j in range(len(rows))])
            sure = [all(at in has[j] for at, _ in pattern) for j in range(len(rows))]
            found[pattern] = (each[sure].sum(), each.sum(), each @ weights)
    patterns = [pattern_of(i, rows, has, keys, masks) for i in range(len(rows))]
    return np.array([found[one] for one in patterns]).T


def pattern_of(i, rows, has, keys, masks):
    return tuple(
        (at, rows[i][at]) for at in has[i] if masks is None or not masks[keys[at]][i]
    )


def risks_of(data, keys, masks=None, weights=None, missing="wildcard"):
    """Return who has the keys of each released record, f, and its individual risk."""
    whole, f, F = fits_of(data, keys, masks, weights, missing)
    return whole, f, individual_risk_from_frequencies(f, np.maximum(f, F))


def value_of(value):
    """Return a value of a column, None for a missing one."""
    return None if value is None or value != value else value


def least_of_rows(codes, prices, k):
    """Return the least cost with which k rows fit each row, by trying all its plans."""
    n, m = codes.shape
    best = np.full(n, np.inf)
    for kept in (
        list(s) for size in range(m + 1) for s in combinations(range(m), size)
    ):
        lost = [i for i in range(m) if i not in kept]
        fit = np.full(n, n)
        if kept:
            some = codes[:, kept]
            _, at, number = np.unique(
                some, axis=0, return_inverse=True, return_counts=True
            )
            fit = number[at.reshape(-1)]
        spent = prices[:, lost].sum(axis=1)
        best = np.where(fit >= k, np.minimum(best, spent), best)
    return best
