"""Compare the risk of panels with the truth, for bench/results/waves.md.

    python -m bench.calibration_waves [replicates]

Populations of 50,000 people over five years are simulated. People grow older, marry,
change their work, and move. Samples of people are followed through all years. The
simulation knows, for each choice of years, the sum of 1/F over the sample, and how many
sample uniques are unique in the population. All chance comes from fixed seeds.
"""

import multiprocessing
import sys
from itertools import combinations, product

import numpy as np

import riskcore
from bench._common import RESULTS, given, origin, replace, table

N, T = 50_000, 5
FRACTIONS = (0.01, 0.05, 0.2)
KNOWN = (2, None)
REPLICATES = 4
TENTHS = 10
AREA = 50  # people
KEYS = ["SEX", "AGE", "REGION", "MARITAL", "WORK", "SCHOOL"]


def start(rng):
    """Return the keys of all people in the first year."""
    age = np.clip(rng.gamma(5.0, 9.0, N), 16, 90).astype(int)
    region = rng.choice(14, N, p=np.arange(1, 15) / 105)
    marital = np.where(age < 25, 0, rng.choice(4, N, p=[0.25, 0.5, 0.17, 0.08]))
    marital[(marital == 3) & (age < 50)] = 1
    work = np.where(age > 65, 3, rng.choice(4, N, p=[0.6, 0.1, 0.2, 0.1]))
    school = np.minimum(rng.poisson(np.where(age > 60, 1.0, 2.0)), 4)
    return [rng.integers(0, 2, N), age, region, marital, work, school]


def years(rng, lively, first=None):
    """Return the keys of all people in each year; the lively ones change more."""
    keys = start(rng) if first is None else first
    found = [np.stack(keys, axis=1)]
    for _ in range(T - 1):
        sex, age, region, marital, work, school = keys
        age = age + 1
        moves = rng.random(N) < lively * np.where(age < 35, 0.05, 0.01)
        region = np.where(moves, rng.choice(14, N, p=np.arange(1, 15) / 105), region)
        chance = rng.random(N)
        marries = (marital == 0) & (chance < lively * np.where(age < 45, 0.08, 0.01))
        parts = (marital == 1) & (chance < 0.02 * lively)
        widowed = (marital == 1) & (age > 65) & (chance > 0.97)
        again = (marital == 2) & (chance < 0.05 * lively)
        marital = np.select([marries | again, parts, widowed], [1, 2, 3], marital)
        leaves = rng.random(N) < lively * np.array([0.07, 0.4, 0.1, 0.05])[work]
        work = np.where(leaves, rng.choice(4, N, p=[0.55, 0.15, 0.2, 0.1]), work)
        work = np.where((age > 64) & (rng.random(N) < 0.5), 3, work)
        learns = (age < 30) & (school < 4) & (rng.random(N) < 0.15 * lively)
        keys = [sex, age, region, marital, work, school + learns]
        found.append(np.stack(keys, axis=1))
    return found


def census(rng):
    return years(rng, np.ones(N)), np.arange(N)


def movers(rng):
    """Three of ten people change four times as often, the others hardly."""
    return years(rng, np.where(rng.random(N) < 0.3, 3.0, 0.2)), np.arange(N)


def areas(rng):
    """People live in areas, each in one region; half of its people are alike."""
    first = start(rng)
    area = np.arange(N) // AREA
    alike = rng.random(N) < 0.3
    own = first[2]
    first[2] = own[area * AREA]
    for key in (4, 5):
        first[key] = np.where(alike, first[key][area * AREA], first[key])
    return years(rng, np.ones(N), first), area


KINDS = {"people": census, "movers and stayers": movers, "areas of people": areas}


def truth(people, rows, known):
    """Return 1/F and whether F = f = 1, for each person in the mean over choices."""
    shares, uniques, number = np.zeros(len(rows)), np.zeros(len(rows)), 0
    for chosen in combinations(range(T), known or T):
        keys = np.ascontiguousarray(np.concatenate([people[t] for t in chosen], axis=1))
        _, cell, many = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
        F = many[cell.ravel()][rows]
        shares += 1.0 / F
        uniques += F == 1
        number += 1
    return shares / number, uniques / number


def study(name, fraction, known, replicate):
    """Return ratios to the truth by weights and model, coverage, and calibration."""
    rng = np.random.default_rng([round(1000 * fraction), replicate, len(name)])
    people, cluster = KINDS[name](rng)
    units = rng.random(cluster.max() + 1) < fraction
    rows = np.flatnonzero(units[cluster])
    n = len(rows)
    data = {"ID": np.tile(rows, T), "YEAR": np.repeat(np.arange(T), n)}
    for k, key in enumerate(KEYS):
        data[key] = np.concatenate([people[t][rows, k] for t in range(T)])
    data["W"] = np.full(n * T, 1.0 / fraction)
    data["AREA"] = np.tile(cluster[rows], T)
    found = riskcore.assess(
        data,
        KEYS,
        "W",
        person="ID",
        wave="YEAR",
        known_waves=known,
        population="latent-class",
        **({"cluster": "AREA"} if name.startswith("areas") else {}),
    )
    shares, uniques = truth(people, rows, known)
    total, tau = shares.sum(), uniques.sum()
    by_weights = found.to_dict()["expected_reidentifications_by_weights"]
    by_share = found.expected_uniques * fraction
    low, high = found.expected_reidentifications_interval()
    least, most = found.expected_population_uniques_interval()
    risk = found.person_risk
    tenths = np.array_split(np.argsort(risk), TENTHS)
    ratios = [risk[one].sum() / shares[one].sum() for one in tenths]
    return [
        by_weights / total,
        found.expected_reidentifications / total,
        by_share / tau,
        found.expected_population_uniques / tau,
        low <= total <= high,
        least <= tau <= most,
        max(max(one, 1.0 / one) for one in ratios),
    ]


def main():
    (replicates,) = given(REPLICATES)
    kinds = list(product(KINDS, KNOWN, FRACTIONS))
    tasks = [
        (name, fraction, known, one)
        for name, known, fraction in kinds
        for one in range(replicates)
    ]
    with multiprocessing.Pool() as pool:
        found = pool.starmap(study, tasks, chunksize=1)
    each = np.reshape(found, (len(kinds), replicates, -1))
    rows = []
    for (name, known, fraction), one in zip(kinds, each, strict=True):
        mean, spread = one.mean(axis=0), one.std(axis=0)
        cells = [f"{mean[at]:.2f}" for at in (0, 1, 2, 3)]
        cells += [f"{spread[1]:.2f}", f"{100 * mean[4]:.0f}", f"{100 * mean[5]:.0f}"]
        years = "all" if known is None else str(known)
        rows.append(
            [name, f"{years} of {T}", f"{100 * fraction:g} %", *cells, f"{mean[6]:.2f}"]
        )
    header = ["population", "known waves", "sample", "risks, weights", "model"]
    header += ["tau, weights", "model", "spread", "held, risks", "held, tau", "tenths"]
    text = f"{origin('numpy')}.\n\n{table(header, rows, texts=2)}"
    print(text)
    replace(RESULTS / "waves.md", "calibration_waves", text)


if __name__ == "__main__":
    sys.exit(main())
