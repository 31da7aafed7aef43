"""Compare own and smoothed weights with the truth, for bench/results/cell_models.md.

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

from bench._common import RESULTS, given, origin, replace, table
from bench._designs import (
    adjusted,
    exact,
    noisy,
    other_column,
    pairs,
    raked,
    response,
    rounded,
    simple,
    strata,
    trimmed,
    unequal_response,
)
from bench._populations import MUNICIPALITIES, PROVINCES, cells_of, census_of
from riskcore.assessment.population import risk_by
from riskcore.models import CellTable, LatentClass

N = 50_000
FRACTIONS = (0.01, 0.05, 0.2)
REPLICATES = 10


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
    replace(RESULTS / "cell_models.md", "calibration_weights", text)


if __name__ == "__main__":
    sys.exit(main())
