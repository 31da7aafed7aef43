"""Compare own and smoothed weights of cells with the truth, for notes/cell_models.md.

    python -m bench.calibration_weights [replicates]

Samples of a simulated census are drawn by several designs, with the weights that a
statistical office would make for them. The latent classes say from the weights of the
cells how many sample uniques are unique in the population, and the sum of 1/F over the
records; the simulation knows both. Half of the samples have the province as a key, half
the municipality. All chance comes from fixed seeds.
"""

import multiprocessing
import sys
from itertools import product

import numpy as np

from bench._common import HERE, given, origin, replace, table
from bench._populations import MUNICIPALITIES, PROVINCES, cells_of, census_of
from riskcore.assessment.population import risk_by
from riskcore.models import CellTable, LatentClass

N = 50_000
FRACTIONS = (0.01, 0.05, 0.2)
REPLICATES = 10
NOISE = 0.5  # standard deviation of the logarithm
TRIM = 0.9  # larger weights than this quantile are cut to it
CYCLES = 20  # of raking


# --- rates of sampling, up to a factor ---------------------------------------------


def simple(people, rng):
    return np.ones(len(people["SEX"]))


def strata(people, rng):
    return np.array([2.3, 1.0, 0.3])[people["PROVINCE"] % 3]


def pairs(people, rng):
    return np.where((people["PROVINCE"] % 2 == 0) ^ (people["AGE"] > 40), 0.35, 1.0)


def response(people, rng):
    """Older people answer more often, and those of every second province less."""
    return (0.5 + people["AGE"] / 100) * (1.0 - 0.4 * (people["PROVINCE"] % 2))


def unequal_response(people, rng):
    return strata(people, rng) * response(people, rng)


def other_column(people, rng):
    """Three of ten people are sampled five times as often; no key tells them apart."""
    return np.where(rng.random(len(people["SEX"])) < 0.3, 3.0, 0.6)


# --- weights of a sample -----------------------------------------------------------


def exact(people, rates, rows, rng):
    return 1.0 / rates[rows]


def noisy(people, rates, rows, rng):
    noise = NOISE * rng.standard_normal(len(rows)) - NOISE**2 / 2
    return np.exp(noise) / rates[rows]


def rounded(people, rates, rows, rng):
    return np.round(noisy(people, rates, rows, rng))


def adjusted(people, rates, rows, rng):
    """The office knows the age and sex of all, and not that provinces differ."""
    group = people["AGE"] // 15 * 2 + people["SEX"] % 2
    many = np.bincount(group)
    return (many / np.maximum(np.bincount(group[rows], minlength=len(many)), 1))[
        group[rows]
    ]


def trimmed(people, rates, rows, rng):
    weights = noisy(people, rates, rows, rng)
    cut = np.minimum(weights, np.quantile(weights, TRIM))
    return cut * weights.sum() / cut.sum()


def raked(people, rates, rows, rng):
    weights = noisy(people, rates, rows, rng)
    margins = [people["PROVINCE"], people["AGE"] // 10, people["SEX"]]
    for _ in range(CYCLES):
        for margin in margins:
            many = np.bincount(margin)
            found = np.bincount(margin[rows], weights, len(many))
            ratio = np.divide(many, found, out=np.ones(len(many)), where=found > 0.0)
            weights = weights * ratio[margin[rows]]
    return weights


DESIGNS = {
    "simple": (simple, exact),
    "simple, noise": (simple, noisy),
    "strata by province": (strata, exact),
    "strata by province, noise": (strata, noisy),
    "strata by province and age": (pairs, exact),
    "strata by province and age, noise": (pairs, noisy),
    "non-response": (response, exact),
    "non-response, adjusted by age and sex": (response, adjusted),
    "unequal strata and response, noise, trimmed": (unequal_response, trimmed),
    "strata by province, noise, raked": (strata, raked),
    "strata by province, noise, rounded": (strata, rounded),
    "rates by a column that is not a key": (other_column, exact),
    "rates by a column that is not a key, noise": (other_column, noisy),
}


def study(name, fraction, replicate):
    """Return tau and the sum of risks over the truth, by own weights first."""
    seed = [round(1000 * fraction), replicate, list(DESIGNS).index(name)]
    rng = np.random.default_rng(seed)
    people = census_of(N, rng)
    rate, weigh = DESIGNS[name]
    rates = rate(people, rng)
    rates *= fraction / rates.mean()
    rows = np.flatnonzero(rng.random(len(rates)) < rates)
    weights = np.maximum(weigh(people, rates, rows, rng), 1.0)
    keys = PROVINCES if replicate % 2 == 0 else MUNICIPALITIES
    codes, frequencies, levels, cell = cells_of([people[key] for key in keys])
    sample = CellTable.of(
        [code[cell[rows]] for code in codes], levels=levels, weight_sum=weights
    )
    F = frequencies[np.unique(cell[rows])]
    f = sample.records
    model = LatentClass.fit(sample, threads=1)
    found = []
    for one in (model.with_smoothed_weights(False), model):
        tau = one.tau() / (F[sample.unique] == 1).sum()
        found += [tau, (f * risk_by(one.prior())).sum() / (f / F).sum()]
    law = model.smoothing
    spreads = [0.0, 0.0] if law is None else [law.within**0.5, law.between**0.5]
    return found + spreads


def main():
    (replicates,) = given(REPLICATES)
    kinds = list(product(DESIGNS, FRACTIONS))
    tasks = [(*kind, one) for kind in kinds for one in range(replicates)]
    with multiprocessing.Pool() as pool:
        found = pool.starmap(study, tasks, chunksize=1)
    means = dict(
        zip(kinds, np.reshape(found, (len(kinds), replicates, -1)).mean(1), strict=True)
    )
    rows = []
    for name in DESIGNS:
        ratios = [means[name, fraction] for fraction in FRACTIONS]
        cells = [" ".join(f"{one[at]:.2f}" for one in ratios) for at in (1, 3, 0, 2)]
        rows.append([name, *cells, " and ".join(f"{x:.2f}" for x in ratios[-1][-2:])])
    header = ["design", "risks, own", "smoothed", "tau, own", "smoothed", "spreads"]
    text = f"{origin('numpy')}.\n\n{table(header, rows)}"
    print(text)
    replace(HERE.parent / "notes" / "cell_models.md", "calibration_weights", text)


if __name__ == "__main__":
    sys.exit(main())
