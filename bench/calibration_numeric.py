"""Compare the risk within a tolerance with the truth, for bench/results/cell_models.md.

    python -m bench.calibration_numeric [replicates]

Samples are drawn from populations whose numbers are known, and each record is looked
for in the population among those that are equal in its categories and within the
tolerance in its numbers. The weights and the latent classes say how many there are.
"Without order" takes the numbers as categories, as without a tolerance. All chance
comes from fixed seeds. With the environment variable RISKCORE_POPULATIONS there are
rows of adult.csv, see `bench.calibration_cells`.
"""

import csv
import multiprocessing
import os
import sys
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np

from bench._common import RESULTS, given, origin, replace, table
from bench._populations import census_of
from bench.calibration_weights import DESIGNS
from riskcore.assessment.cell_risk import risk_of
from riskcore.assessment.population import risk_by
from riskcore.data.cells import tabulate
from riskcore.models import CellTable, LatentClass

N = 50_000
FRACTIONS = (0.01, 0.05, 0.2)
REPLICATES = 20
ADULT = Path(os.environ.get("RISKCORE_POPULATIONS", ".")) / "adult.csv"
HOUSEHOLDS, AREAS = "households", "areas of 40 households"


@cache
def census():
    """Return a census; ages and incomes have the law of `riskcore.simulate`."""
    people = census_of(N, np.random.default_rng(1))
    people["AREA"] = people["HOUSEHOLD"] // 40
    return people


@cache
def rounded_census():
    """Return a census with heaps of ages and incomes, which depend on all keys."""
    people, rng = dict(census()), np.random.default_rng(2)
    age, sex, school = people["AGE"], people["SEX"], people["EDUCATION"]
    level = 9.2 + 0.03 * np.minimum(age, 55) - 0.015 * np.maximum(age - 60, 0)
    level = level + 0.25 * school - 0.2 * (sex == 2)
    income = np.exp(level + 0.45 * rng.standard_normal(len(age)))
    unit = np.where(rng.random(len(age)) < 0.5, 1000.0, 10.0)
    people["INCOME"] = np.where(age < 16, 0.0, np.round(income / unit) * unit)
    people["AGE"] = np.where(rng.random(len(age)) < 0.2, 5 * np.round(age / 5), age)
    return people


@cache
def exact_census():
    """Return the census with incomes to the cent, which nobody rounded."""
    people, rng = dict(rounded_census()), np.random.default_rng(3)
    noise = np.exp(0.05 * rng.standard_normal(len(people["AGE"])))
    income = np.round(np.maximum(people["INCOME"], 1000.0) * noise, 2)
    return people | {"INCOME": income}


@cache
def adult():
    """Return the persons of 1994."""
    with ADULT.open() as lines:
        names, *rows = csv.reader(lines, delimiter=";")
    people = dict(zip(names, map(np.array, zip(*rows, strict=True)), strict=True))
    return people | {"age": people["age"].astype(int)}


CENSUS = ["PROVINCE", "SEX", "MARSTAT", "EDUCATION"]
PERSONS = ["sex", "race", "marital-status", "education", "occupation"]
NOISE = "strata by province and age, noise"
# Population, categories, tolerance; None: the numbers are categories.
KINDS = {
    "census, age without order": (census, [*CENSUS, "AGE"], None, "simple"),
    "census, age 0": (census, CENSUS, {"AGE": 0}, "simple"),
    "census, age 2": (census, CENSUS, {"AGE": 2}, "simple"),
    "census, age 2, strata and noise": (census, CENSUS, {"AGE": 2}, NOISE),
    "census, age without order, households": (
        census,
        [*CENSUS, "AGE"],
        None,
        HOUSEHOLDS,
    ),
    "census, age 2, households": (census, CENSUS, {"AGE": 2}, HOUSEHOLDS),
    "census, age 2, areas": (census, CENSUS, {"AGE": 2}, AREAS),
    "heaps, age without order": (rounded_census, [*CENSUS, "AGE"], None, "simple"),
    "heaps, age 0": (rounded_census, CENSUS, {"AGE": 0}, "simple"),
    "heaps, age 2": (rounded_census, CENSUS, {"AGE": 2}, "simple"),
    "heaps, income 5 %": (rounded_census, CENSUS, {"INCOME": "5%"}, "simple"),
    "heaps, age 2, income 5 %": (
        rounded_census, CENSUS, {"AGE": 2, "INCOME": "5%"}, "simple"
    ),
    "heaps, age 2, income 5 %, strata and noise": (
        rounded_census, CENSUS, {"AGE": 2, "INCOME": "5%"}, NOISE
    ),
    "heaps, income 1 %, three categories": (
        rounded_census, CENSUS[1:], {"INCOME": "1%"}, "simple"
    ),
    "cents, income 1 %, three categories": (
        exact_census, CENSUS[1:], {"INCOME": "1%"}, "simple"
    ),
    "cents, income 0, three categories": (
        exact_census, CENSUS[1:], {"INCOME": 0}, "simple"
    ),
    "cents, income 1 %, sex": (exact_census, ["SEX"], {"INCOME": "1%"}, "simple"),
    "persons, age without order": (adult, [*PERSONS, "age"], None, "simple"),
    "persons, age 0": (adult, PERSONS, {"age": 0}, "simple"),
    "persons, age 2": (adult, PERSONS, {"age": 2}, "simple"),
}  # fmt: skip


def drawn(people, design, fraction, rng):
    """Return the rows of a sample, their weights, and the column of clusters."""
    n = len(next(iter(people.values())))
    if design in (HOUSEHOLDS, AREAS):
        name = "HOUSEHOLD" if design == HOUSEHOLDS else "AREA"
        units = np.unique(people[name])
        taken = rng.choice(units, round(fraction * len(units)), replace=False)
        rows = np.flatnonzero(np.isin(people[name], taken))
        return rows, np.full(len(rows), 1.0 / fraction), name
    if design == "simple":
        rows = np.sort(rng.choice(n, round(fraction * n), replace=False))
        return rows, np.full(len(rows), 1.0 / fraction), None
    rate, weigh = DESIGNS[design]
    rates = rate(people, rng)
    rates *= fraction / rates.mean()
    rows = np.flatnonzero(rng.random(n) < rates)
    return rows, np.maximum(weigh(people, rates, rows, rng), 1.0), None


def study(kind, fraction, replicate):
    """Return sums over the records of a sample: the truth, by weights, by the model.

    They are of the risks, of the population uniques, and of the risks in each tenth of
    the records by predicted risk.
    """
    source, categories, tolerance, design = KINDS[kind]
    people, keys = source(), [*dict.fromkeys([*categories, *(tolerance or ())])]
    rng = np.random.default_rng([round(1000 * fraction), replicate])
    rows, weight, cluster = drawn(people, design, fraction, rng)
    everyone = tabulate({key: people[key] for key in keys}, keys, tolerance=tolerance)
    F = everyone.sample_frequency[everyone.inverse][rows]
    sample = {key: people[key][rows] for key in {*keys, cluster} - {None}}
    sample["w"] = weight
    cells = tabulate(sample, keys, "w", tolerance=tolerance)
    model = LatentClass.fit(
        CellTable.of(sample, keys, weight="w", cluster=cluster, tolerance=tolerance),
        threads=1,
    )
    law, of = model.prior(), cells.inverse
    f, estimate = cells.sample_frequency, cells.population_frequency
    unique, truth = f[of] == 1, 1.0 / F
    by_weights = risk_of("exact", f.astype(float), estimate)[of]
    risk = risk_by(law)[of]
    order = np.argsort(risk, kind="stable")
    tenths = [
        each[part].sum() for part in np.array_split(order, 10) for each in (truth, risk)
    ]
    return [
        truth.sum(), by_weights.sum(), risk.sum(),
        (F[unique] == 1).sum(), (1.0 / estimate[of][unique]).sum(),
        law.unique_probability().sum(), *tenths,
    ]  # fmt: skip


def main():
    (replicates,) = given(REPLICATES)
    there = [kind for kind, (people, *_) in KINDS.items() if people is not adult]
    there += [kind for kind in KINDS if kind not in there and ADULT.exists()]
    kinds = list(product(there, FRACTIONS))
    tasks = [(*kind, one) for kind in kinds for one in range(replicates)]
    with multiprocessing.Pool() as pool:
        found = pool.starmap(study, tasks, chunksize=1)
    found = np.reshape(found, (len(there), len(FRACTIONS), replicates, -1))
    sums = found.sum(axis=2)
    spread = (found[..., 2] / found[..., 0]).std(axis=2)
    rows = []
    for name, of, sd in zip(there, sums, spread, strict=True):
        parts = [each[6:].reshape(10, 2) for each in of]
        worst = [max((p[:, 1] / p[:, 0]).tolist(), key=_far) for p in parts]
        rows.append([
            name,
            _numbers(of[:, 1] / of[:, 0]), _numbers(of[:, 2] / of[:, 0]), _numbers(sd),
            _numbers(of[:, 4] / of[:, 3]), _numbers(of[:, 5] / of[:, 3]),
            _numbers(worst),
        ])  # fmt: skip
    header = [
        "kind", "risks, by weights", "model", "sd", "tau, by weights", "model",
        "worst tenth",
    ]  # fmt: skip
    text = f"{origin('numpy')}.\n\n{table(header, rows)}"
    print(text)
    replace(RESULTS / "cell_models.md", "calibration_numeric", text)


def _far(ratio):
    return max(ratio, 1.0 / ratio)


def _numbers(values):
    return " ".join(f"{one:.2f}" for one in values)


if __name__ == "__main__":
    sys.exit(main())
