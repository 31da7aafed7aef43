"""Populations of known truth, and samples of them, for the study of models of cells."""

import csv
import math
import os
from collections.abc import Callable
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bench import _populations
from bench._designs import (
    adjusted_by_region,
    by_income,
    equal_numbers,
    exact,
    in_clusters,
    noisy,
    noisy_by_household,
    one_by_one,
    one_of_household,
    pairs,
    raked,
    response,
    strata,
    trimmed,
    unadjusted,
    unequal_response,
)
from bench._populations import MUNICIPALITIES, PROVINCES
from riskcore.simulate import zipf_population

N = 50_000
FOLDER = Path(os.environ.get("RISKCORE_POPULATIONS", "."))
ALIKE = ("PROVINCE", "HHSIZE", "CITIZENSHIP", "MARSTAT", "AGE")
CLASS_SIZES = (40, 12, 8, 6, 10)
TAKE = 10  # households, or families of planted populations, of a sampled area
FAMILY = 3  # people, one for one
PART = 0.25  # of an area in two stages


class Population(NamedTuple):
    """Codes and people of each cell, the cell of each person, and other columns."""

    codes: list[np.ndarray]
    frequencies: np.ndarray
    cell: np.ndarray
    people: dict[str, np.ndarray]


def counted(columns, people=None):
    """Return the population of people with values of the keys in columns."""
    codes, frequencies, _, cell = _populations.cells_of(columns)
    return Population(codes, frequencies, cell, people or {"CELL": cell})


def of_frequencies(codes, frequencies):
    """Return the population of cells."""
    cell = np.repeat(np.arange(len(frequencies)), frequencies)
    return Population(codes, frequencies, cell, {"CELL": cell})


# --- populations of known law ------------------------------------------------------


def census(keys, rng):
    people = _populations.census_of(N, rng)
    people |= areas(people["HOUSEHOLD"], people["REGION"])
    return counted([people[key] for key in keys], people)


def areas(household, region):
    """Return areas of one and of two stages: runs of households of a region."""
    _, first, of = np.unique(household, return_index=True, return_inverse=True)
    place = np.empty(len(first), int)
    place[np.argsort(region[first], kind="stable")] = np.arange(len(first))
    blocks = {"BLOCK": place // TAKE, "AREA": (place * PART // TAKE).astype(int)}
    return {name: block[of] for name, block in blocks.items()}


def mixed(part, rng):
    """Six classes whose shares differ by area, and within them the keys a little."""
    share = rng.dirichlet(np.full(6, 3.0))
    area = (np.arange(N) * part // (TAKE * FAMILY)).astype(int)
    shares = rng.dirichlet(share, area[-1] + 1)
    of = (rng.random(N)[:, None] > np.cumsum(shares, axis=1)[area, :-1]).sum(axis=1)
    columns = []
    for size in CLASS_SIZES:
        law = rng.dirichlet(np.full(size, 0.4), 6)
        here = rng.gamma(np.maximum(10.0 * law, 1e-3), size=(len(shares), 6, size))
        upto = np.cumsum(here / here.sum(axis=2, keepdims=True), axis=2)[area, of, :-1]
        columns.append((rng.random(N)[:, None] > upto).sum(axis=1))
    return counted(columns, {"AREA": area, "PERSON": np.arange(N)})


def independent(rng):
    sizes = ((2, 0.0), (80, 0.3), (12, 1.0), (6, 0.7), (9, 1.2), (20, 0.9))
    laws = [np.arange(1.0, size + 1.0) ** -slope for size, slope in sizes]
    return counted([rng.choice(len(law), N, p=law / law.sum()) for law in laws])


def chain(rng):
    """Each key depends strongly on the one before it."""
    sizes = (12, 10, 8, 8, 6, 5)
    columns = [rng.integers(0, sizes[0], N)]
    for before, size in pairwise(sizes):
        odds = np.exp(rng.normal(0.0, 1.6, (before, size)))
        upto = np.cumsum(odds / odds.sum(axis=1, keepdims=True), axis=1)[:, :-1]
        columns.append((rng.random(N)[:, None] > upto[columns[-1]]).sum(axis=1))
    return counted(columns)


def classes(rng, a=math.inf, b=0.0):
    """Six classes; with a, cells have shapes a (N pi)^b about their probability."""
    share = rng.dirichlet(np.full(6, 3.0))
    pi = np.zeros(math.prod(CLASS_SIZES))
    for one in share:
        law = np.ones(1)
        for size in CLASS_SIZES:
            law = np.multiply.outer(law, rng.dirichlet(np.full(size, 0.4))).ravel()
        pi += one * law
    if a < math.inf:
        shape = a * (N * pi) ** b
        known = shape > 1e-200
        pi[known] *= rng.gamma(shape[known]) / shape[known]
    people = rng.poisson(N * pi)
    cells = np.flatnonzero(people)
    codes = list(np.unravel_index(cells, CLASS_SIZES))
    return of_frequencies(codes, people[cells])


def scattered(rng):
    """Return cells of Zipf's law at random places of a table, unrelated to the keys."""
    people = rng.permutation(zipf_population(N, N // 2, 1.0, rng))
    places = np.sort(rng.choice(40 * 30 * 20 * 10, len(people), replace=False))
    codes = [code[people > 0] for code in np.unravel_index(places, (40, 30, 20, 10))]
    return of_frequencies(codes, people[people > 0])


# --- populations of files ------------------------------------------------------------


class File(NamedTuple):
    """A file of people: its keys, and its columns that designs know by other names."""

    keys: tuple[str, ...]
    names: dict[str, str]


FILES = {
    "adult.csv": File(
        (
            "sex", "age", "race", "marital-status", "education", "workclass",
            "occupation",
        ),
        {"INCOME": "salary-class"},
    ),
    "eusilcP.csv": File(
        ("region", "hsize", "age", "gender", "ecoStat", "citizenship"),
        {
            "HOUSEHOLD": "hid", "PROVINCE": "region", "AGE": "age", "SEX": "gender",
            "INCOME": "eqIncome",
        },
    ),
    "ses.csv": File(
        (
            "location", "NACE1", "size", "age", "sex", "education", "occupation",
            "lengthService",
        ),
        {"EMPLOYER": "IDunit", "PROVINCE": "size", "INCOME": "earningsMonth"},
    ),
}  # fmt: skip
NUMBERS = ("AGE", "INCOME")


@cache
def from_file(name):
    """Return the population of a file, always the same."""
    with (FOLDER / name).open() as lines:
        mark = ";" if ";" in lines.readline() else ","
        lines.seek(0)
        rows = list(csv.DictReader(lines, delimiter=mark))
    file = FILES[name]
    people = {each: column(rows, of, each) for each, of in file.names.items()}
    if "HOUSEHOLD" in people:
        people |= areas(people["HOUSEHOLD"], people["PROVINCE"])
    return counted([np.array([row[key] for row in rows]) for key in file.keys], people)


def column(rows, name, meaning):
    """Return a column as numbers, or as codes of its values."""
    values = np.array([row[name] for row in rows])
    if meaning in NUMBERS and set("".join(values[:9])) <= set("0123456789."):
        return np.maximum(values.astype(float).astype(int), 0)  # -1: under a year
    return np.unique(values, return_inverse=True)[1]


def persons(name, rng):
    return from_file(name)


ADULT, AUSTRIA, EMPLOYEES = (partial(persons, name) for name in FILES)

# --- kinds of samples ----------------------------------------------------------------


class Kind(NamedTuple):
    """How a population is drawn, and a sample of about n people from it."""

    population: Callable
    sample: Callable = one_by_one


def weighted(rate, weigh):
    return partial(one_by_one, rate=rate, weigh=weigh)


CENSUS = partial(census, PROVINCES)
HOUSEHOLDS = partial(in_clusters, name="HOUSEHOLD")
TWO_STAGES = partial(in_clusters, name="AREA", part=PART, unit="HOUSEHOLD")

KINDS = {
    "independent keys": Kind(independent),
    "six classes": Kind(classes),
    "six classes, b 0": Kind(partial(classes, a=1.0, b=0.0)),
    "six classes, b 1/2": Kind(partial(classes, a=1.0, b=0.5)),
    "chain of keys": Kind(chain),
    "scattered Zipf": Kind(scattered),
    "census": Kind(CENSUS),
    "census, finer": Kind(partial(census, MUNICIPALITIES)),
    "census, equal provinces": Kind(CENSUS, weighted(equal_numbers, exact)),
    "census, strata by pairs": Kind(CENSUS, weighted(pairs, exact)),
    "census, rates by income": Kind(CENSUS, weighted(by_income, exact)),
    "census, noise": Kind(CENSUS, weighted(strata, noisy)),
    "census, trimmed": Kind(CENSUS, weighted(unequal_response, trimmed)),
    "census, raked": Kind(CENSUS, weighted(strata, raked)),
    "census, non-response": Kind(CENSUS, weighted(response, unadjusted)),
    "census, adjusted": Kind(CENSUS, weighted(response, adjusted_by_region)),
    "census, one of a household": Kind(CENSUS, one_of_household),
    "census, whole households": Kind(CENSUS, HOUSEHOLDS),
    "census, whole households, noise": Kind(
        CENSUS, partial(HOUSEHOLDS, weigh=noisy_by_household)
    ),
    "census, whole areas": Kind(CENSUS, partial(in_clusters, name="BLOCK")),
    "census, two stages": Kind(CENSUS, TWO_STAGES),
    "census, two stages, raked": Kind(CENSUS, partial(TWO_STAGES, weigh=raked)),
    "alike, two stages": Kind(partial(census, ALIKE), TWO_STAGES),
    "mixed areas": Kind(partial(mixed, 1.0), partial(in_clusters, name="AREA")),
    "mixed areas, two stages": Kind(
        partial(mixed, PART),
        partial(in_clusters, name="AREA", part=PART, unit="PERSON"),
    ),
    "persons of 1994": Kind(ADULT),
    "persons of 1994, income, noise": Kind(ADULT, weighted(by_income, noisy)),
    "Austria": Kind(AUSTRIA),
    "Austria, raked": Kind(AUSTRIA, weighted(strata, raked)),
    "Austria, rates by income": Kind(AUSTRIA, weighted(by_income, exact)),
    "Austria, non-response": Kind(AUSTRIA, weighted(response, unadjusted)),
    "Austria, adjusted": Kind(AUSTRIA, weighted(response, adjusted_by_region)),
    "Austria, one of a household": Kind(AUSTRIA, one_of_household),
    "Austria, whole households": Kind(AUSTRIA, HOUSEHOLDS),
    "Austria, two stages": Kind(AUSTRIA, TWO_STAGES),
    "employees": Kind(EMPLOYEES),
    "employees, strata, noise": Kind(EMPLOYEES, weighted(strata, noisy)),
    "employees, rates by income": Kind(EMPLOYEES, weighted(by_income, exact)),
    "employees, whole employers": Kind(
        EMPLOYEES, partial(in_clusters, name="EMPLOYER")
    ),
}


def file_of(name):
    """Return the file that a kind needs, or None."""
    population = KINDS[name].population
    return population.args[0] if getattr(population, "func", None) is persons else None


def missing():
    """Return the kinds whose file is not there."""
    needed = {name: file_of(name) for name in KINDS}
    return [n for n, file in needed.items() if file and not (FOLDER / file).exists()]
