"""Weights of volunteers from a reference sample, by three estimators, beside the truth.

Writes `bench/results/volunteers.md`; `python -m bench.volunteers SEEDS`.
"""

import math
import sys

import numpy as np
from scipy.special import expit, logit

import riskcore
from bench._common import HERE, command, machine, table
from bench._populations import PROVINCES, census_of

PEOPLE = 40_000
SIZES = (500 / PEOPLE, 0.05, 0.2)
REFERENCES = {"1 %, equal weights": (0.01, 0.0), "2 %, unequal": (0.02, 0.7)}


def census(rng):
    """Return the codes of a census with single years of age."""
    columns = census_of(PEOPLE, rng)
    return [np.unique(columns[x], return_inverse=True)[1] for x in PROVINCES]


def bands(rng):
    """Return the same with age in bands of ten years."""
    columns = census(rng)
    return [codes // 10 if i == 2 else codes for i, codes in enumerate(columns)]


def classes(rng):
    """Return keys of 2 to 120 values in six classes."""
    group, columns = rng.integers(0, 6, PEOPLE), []
    for levels in (2, 8, 15, 40, 120):
        shares = rng.dirichlet(np.full(levels, 0.5), 6).cumsum(axis=1)
        codes = (rng.random(PEOPLE)[:, None] > shares[group]).sum(axis=1)
        columns.append(np.unique(codes, return_inverse=True)[1])
    return columns


def chances_of(columns, mean, rng):
    """Return the chance of each person to take part, logistic in the keys."""
    effects = np.zeros(len(columns[0]))
    for codes in columns:
        levels = int(codes.max()) + 1
        own = rng.normal(size=levels)
        if levels > 15:  # smooth in the order of the values
            own = np.interp(np.linspace(0, 7, levels), np.arange(8), own[:8])
        own = own[codes] - own[codes].mean()
        effects += own / own.std() / math.sqrt(len(columns))
    low, high = -30.0, 30.0
    for _ in range(80):
        level = (low + high) / 2
        few = expit(effects + level).mean() < mean
        low, high = (level, high) if few else (low, level)
    return expit(effects + level)


def reference_of(columns, share, spread, rng):
    """Return the people of a reference, and their weights."""
    size = np.zeros(len(columns[0]))
    for codes in (columns[0], columns[2]):
        size += rng.normal(0, spread, int(codes.max()) + 1)[codes]
    p = np.minimum(np.exp(size) / np.exp(size).mean() * share, 1)
    rows = np.flatnonzero(rng.random(len(p)) < p)
    return rows, 1 / p[rows]


def pseudo_likelihood(columns, joined, drawn, d):
    """Return 1/pi by the estimator of Chen, Li and Wu (2020), hardly penalized."""
    X = np.column_stack(
        [np.ones(len(columns[0])), *(np.eye(c.max() + 1)[c][:, 1:] for c in columns)]
    )
    A, B, effects = X[joined], X[drawn], np.zeros(X.shape[1])
    effects[0] = logit(len(joined) / d.sum())
    for _ in range(60):
        p = expit(np.clip(B @ effects, -30, 30))
        score = A.sum(axis=0) - B.T @ (d * p) - 1e-3 * effects
        information = B.T @ (B * (d * p * (1 - p))[:, None])
        step = np.linalg.solve(information + 1e-3 * np.eye(len(effects)), score)
        effects += step * min(1, 3 / np.abs(step).max())
    return 1 / expit(np.clip(A @ effects, -30, 30))


def calibrated(columns, joined, drawn, d):
    """Return 1 + raked weights, whose sums are the reference's in each margin."""
    weights = np.ones(len(joined))
    for _ in range(200):
        for codes in columns:
            levels = int(codes.max()) + 1
            own = np.bincount(codes[joined], minlength=levels)
            people = np.bincount(codes[drawn], d, levels)
            left = np.where(own > 0, np.maximum(people - own, 1e-3 * own), 0)
            left *= (d.sum() - len(joined)) / left.sum()
            now = np.bincount(codes[joined], weights, levels)
            weights *= (left / np.where(now > 0, now, 1))[codes[joined]]
    return 1 + weights


def shrunken(columns, joined, drawn, d):
    """Return the weights of `assess` with a reference."""
    data = {str(i): codes[joined] for i, codes in enumerate(columns)}
    reference = {str(i): codes[drawn] for i, codes in enumerate(columns)}
    keys = [*data]
    reference["w"] = d
    result = riskcore.assess(data, keys, "w", reference=reference, population="weights")
    return result.cells.record_weights


def equal(columns, joined, drawn, d):
    """Return equal weights."""
    return np.full(len(joined), d.sum() / len(joined))


def expected(columns, joined, weights, population):
    """Return the expected re-identifications; nan where weights are refused."""
    data = {str(i): codes[joined] for i, codes in enumerate(columns)}
    try:
        result = riskcore.assess(
            {**data, "w": weights}, [*data], "w", population=population
        )
    except ValueError:
        return math.nan
    return result.expected_reidentifications


def row_of(make, size, share, spread, seeds):
    """Return the geometric mean ratios of each estimator to the truth."""
    ways = (shrunken, pseudo_likelihood, calibrated, equal)
    ratios = np.empty((seeds, len(ways), 2))
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        columns = make(rng)
        chance = chances_of(columns, size, rng)
        joined = np.flatnonzero(rng.random(len(chance)) < chance)
        drawn, d = reference_of(columns, share, spread, rng)
        cell = np.unique(np.stack(columns), axis=1, return_inverse=True)[1].ravel()
        truth = (1 / np.bincount(cell)[cell[joined]]).sum()
        known = expected(columns, joined, 1 / chance[joined], "weights")
        for i, way in enumerate(ways):
            weights = way(columns, joined, drawn, d)
            ratios[seed, i] = (
                expected(columns, joined, weights, "weights") / known,
                expected(columns, joined, weights, "latent-class") / truth,
            )
    means = np.exp(np.nanmean(np.log(ratios), axis=0)).ravel()
    return [f"{mean:.2f}" for mean in means]


def main():
    """Write the page."""
    seeds = int(sys.argv[1])
    names = ("assess", "pseudo-likelihood", "calibration", "equal weights")
    header = ["population", "volunteers", "reference"]
    header += [f"{name}{model}" for name in names for model in ("", ", model")]
    rows = []
    for make in (bands, classes, census):
        for size in SIZES:
            for name, (share, spread) in REFERENCES.items():
                figures = row_of(make, size, share, spread, seeds)
                rows.append([make.__name__, f"{size * PEOPLE:,.0f}", name, *figures])
                print(*rows[-1], flush=True)
    page = HERE / "results" / "volunteers.md"
    text = (__doc__ or "").split("\n")[0]
    said = f"# {text}\n\nBy `{command()}`: {machine('riskcore', 'numpy')}.\n\n"
    page.write_text(said + PAGE.format(PEOPLE) + table(header, rows, 3) + "\n")


PAGE = """\
Of {:,} people some take part, with chances that are logistic in all keys; 1 is the
standard deviation of the logit. The first ratio of an estimator is that of the expected
re-identifications by its weights to those by the true chances. The second, *model*, is
by the latent-class model to the truth, the sum of 1/F. Geometric means over the seeds.

"""

if __name__ == "__main__":
    main()
