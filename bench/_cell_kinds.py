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
    by_education,
    by_income,
    equal_numbers,
    exact,
    in_clusters,
    noisy,
    noisy_by_household,
    one_by_one,
    one_of_household,
    pairs,
    quota,
    raked,
    response,
    strata,
    trimmed,
    unadjusted,
    unequal_response,
    with_copies,
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


# --- fine keys -----------------------------------------------------------------------


def drawn(law, many, rng):
    """Return so many categories by a law, which need not add up to 1."""
    return rng.choice(len(law), many, p=law / law.sum())


def by_row(laws, row, rng):
    """Return a category for each row of a table of laws."""
    upto = np.cumsum(laws / laws.sum(axis=1, keepdims=True), axis=1)[:, :-1]
    return (rng.random(len(row))[:, None] > upto[row]).sum(axis=1)


def zipf(categories, exponent):
    return np.arange(1.0, categories + 1.0) ** -exponent


def sizes_of(law, categories, rng):
    """Return the sizes of areas: equal, lognormal, or by an exponent of Zipf."""
    if law == "lognormal":
        return rng.lognormal(0.0, 1.0, categories)
    return zipf(categories, law)


def nearby(law, rows, nearness, rng):
    """Return a law for each row near a common one."""
    return rng.gamma(nearness * law / law.sum(), size=(rows, len(law))) + 1e-9


def small_areas(law, categories, experience, rng):
    """Areas by education, and perhaps by years of experience."""
    area = drawn(sizes_of(law, categories, rng), N, rng)
    education = by_row(nearby(zipf(8, 0.5), categories, 15.0, rng), area, rng)
    columns = [area, education]
    if experience:
        years = rng.gamma(2.5, 9.0 - education / 2, N)
        columns.append(np.minimum(years, 50.0).astype(int))
    return counted(columns)


def schools(rng):
    """Schools of three levels by age; and other columns, for samples of schools."""
    many = 700
    school = drawn(rng.lognormal(0.0, 0.7, many), N, rng)
    level, region = rng.integers(0, 3, many), rng.integers(0, 12, many)
    age = np.array([6, 11, 15])[level[school]] + drawn(
        np.array([5, 5, 5, 4, 1]), N, rng
    )
    program = by_row(nearby(zipf(15, 0.8), many, 4.0, rng), school, rng)
    sex = rng.integers(0, 2, N)
    return {"SCHOOL": school, "AGE": age, "PROGRAM": program, "SEX": sex} | {
        "REGION": region[school],
        "PARENTS": by_row(nearby(zipf(20, 0.7), many, 6.0, rng), school, rng),
    }


def of_schools(keys, rng):
    """Schools of unequal size, by columns that tell schools apart more or less."""
    people = schools(rng)
    return counted([people[key] for key in keys], people)


def occupations(rng):
    """Detailed occupation by sex and marital status, which it tells a lot of."""
    job = drawn(zipf(480, 0.9), N, rng)
    sex = (rng.random(N) < rng.beta(0.6, 0.6, 480)[job]).astype(int)
    marital = by_row(
        nearby(np.array([5, 4, 1, 0.5, 0.2]), 960, 8.0, rng), 2 * job + sex, rng
    )
    return counted([job, sex, marital])


def zipf_key(exponent, rng):
    """A key by Zipf's law, such as the place of birth, by sex and region."""
    return counted(
        [
            drawn(zipf(20_000, exponent), N, rng),
            rng.integers(0, 2, N),
            rng.integers(0, 10, N),
        ]
    )


# --- keys that follow from others --------------------------------------------------


def determined(more, rng):
    """The census with keys that follow from others, or nearly."""
    people = _populations.census_of(N, rng)
    age, region = people["AGE"], people["REGION"]
    regions = np.unique(region)
    people |= {
        "BAND": age // 5,
        "GROUP": age // 15,
        "BIRTH": 2000 - age - (rng.random(len(age)) < 0.5),
        "WORK": np.where(rng.random(len(age)) < 0.97, region, rng.permutation(region)),
        "DISTRICT": np.searchsorted(regions, region) // 6,
    }
    return counted([people[key] for key in more], people)


def industries(keys, rng):
    """Industry tells the sector, occupation its group; both tell of each other."""
    sectors = rng.integers(0, 10, 88)
    industry = drawn(rng.permutation(zipf(88, 0.8)), N, rng)
    sector = sectors[industry]
    job = by_row(nearby(zipf(120, 0.7), 10, 12.0, rng), sector, rng)
    group = rng.integers(0, 9, 120)[job]
    people = {
        "INDUSTRY": industry,
        "SECTOR": sector,
        "JOB": job,
        "GROUP": group,
        "SEX": by_row(nearby(np.ones(2), 9, 4.0, rng), group, rng),
        "EDUCATION": by_row(nearby(np.ones(6), 9, 5.0, rng), group, rng),
        "AGE": drawn(np.array([3, 5, 6, 6, 5, 3, 1.0]), N, rng),
    }
    return counted([people[key] for key in keys], people)


# --- few who differ, long tails, copies --------------------------------------------


def minority(part, rng):
    """A few diverse people among many who are alike."""
    diverse = rng.random(N) < part
    columns = [
        np.where(
            diverse,
            drawn(zipf(size, 0.3), N, rng),
            drawn(np.array([20, 3, 1.0]), N, rng),
        )
        for size in CLASS_SIZES
    ]
    return counted(columns)


def amounts(band, many, rng):
    """Amounts with long tails, in bands of a share of the amount, by region."""
    common = rng.normal(size=N)
    normal = [0.6 * common + 0.8 * rng.normal(size=N) for _ in range(2)]
    income, spending = 1.0 * normal[0], 0.7 * normal[1]
    land = np.log(rng.pareto(1.2, N) + 1.0) * (rng.random(N) < 0.6)
    columns = [np.floor(each / band) for each in (income, spending, land)[:many]]
    return counted([*columns, rng.integers(0, 12, N)])


def copied(keys, rng):
    """The census, in which a quarter of the people have the keys of a neighbor."""
    people = _populations.census_of(N, rng)
    order = np.argsort(people["PROVINCE"], kind="stable")
    donor = np.empty(len(order), int)
    donor[order] = np.roll(order, 1000)
    source = np.where(rng.random(len(donor)) < 0.25, donor, np.arange(len(donor)))
    return counted([people[key][source] for key in keys], people)


# --- clusters whose people are alike -------------------------------------------------


def villages(spread, keys, rng):
    """Villages of founders: half of the people have the keys of one of a few."""
    many = 400
    village = np.sort(drawn(rng.lognormal(0.0, spread, many), N, rng))
    people = {
        name: by_row(nearby(zipf(size, slope), many, nearness, rng), village, rng)
        for name, size, slope, nearness in (
            ("NAME", 60, 0.8, 4.0), ("JOB", 20, 1.0, 6.0), ("EDUCATION", 8, 0.5, 8.0),
            ("AGE", 9, 0.2, 40.0), ("SEX", 2, 0.0, 1e3),
        )
    }  # fmt: skip
    size = np.bincount(village, minlength=many)[village]
    first = np.cumsum(np.bincount(village, minlength=many))[village] - size
    founder = first + (rng.random(N) * np.ceil(size / 6.0)).astype(int)
    source = np.where(rng.random(N) < 0.5, founder, np.arange(N))
    people = {name: column[source] for name, column in people.items()}
    people |= {"VILLAGE": village, "REGION": rng.integers(0, 10, many)[village]}
    return counted([people[key] for key in keys], people | {"PERSON": np.arange(N)})


def states(rng):
    """States, which are a key, and whose people differ a little in the others."""
    state = drawn(zipf(50, 0.7), N, rng)
    columns = [state] + [
        by_row(nearby(zipf(size, 0.6), 50, 30.0, rng), state, rng)
        for size in (2, 70, 5, 16, 4)
    ]
    return counted(columns, {"STATE": state})


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
        {
            "INCOME": "salary-class", "AGE": "age", "SEX": "sex",
            "EDUCATION": "education",
        },
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
    few: bool = False  # whether few clusters are drawn, too: sizes below 100


def weighted(rate, weigh):
    return partial(one_by_one, rate=rate, weigh=weigh)


CENSUS = partial(census, PROVINCES)
HOUSEHOLDS = partial(in_clusters, name="HOUSEHOLD")
SOME = PROVINCES[1:]  # without the province
VILLAGE_KEYS = ["NAME", "JOB", "EDUCATION", "AGE", "SEX"]
SCHOOL_KEYS = ["AGE", "SEX", "PROGRAM", "PARENTS"]
ALL_JOBS = ["INDUSTRY", "SECTOR", "JOB", "GROUP", "SEX", "EDUCATION", "AGE"]
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
    # New in November 2026.
    "equal areas": Kind(partial(small_areas, 0.0, 2000, False)),
    "areas, Zipf 0.9": Kind(partial(small_areas, 0.9, 4000, False)),
    "areas, Zipf 1.35": Kind(partial(small_areas, 1.35, 20_000, False)),
    "areas, lognormal": Kind(partial(small_areas, "lognormal", 3000, False)),
    "areas, Zipf 0.9, experience": Kind(partial(small_areas, 0.9, 4000, True)),
    "equal areas, experience": Kind(partial(small_areas, 0.0, 2000, True)),
    "equal communes": Kind(partial(small_areas, 0.0, 400, False)),
    "schools x age": Kind(partial(of_schools, ["SCHOOL", "AGE"])),
    "occupations": Kind(occupations),
    "Zipf key 1.35": Kind(partial(zipf_key, 1.35)),
    "Zipf key 0.9": Kind(partial(zipf_key, 0.9)),
    "commune and province": Kind(partial(determined, ["REGION", *PROVINCES])),
    "commune, district, province": Kind(
        partial(determined, ["REGION", "DISTRICT", *PROVINCES])
    ),
    "age and band": Kind(partial(determined, ["BAND", *PROVINCES])),
    "age, two bands, commune, province": Kind(
        partial(determined, ["BAND", "GROUP", "REGION", *PROVINCES])
    ),
    "industry, sector, occupation, group": Kind(partial(industries, ALL_JOBS)),
    "industry and sector": Kind(
        partial(industries, ["INDUSTRY", "SECTOR", "SEX", "EDUCATION", "AGE"])
    ),
    "birth year and age": Kind(partial(determined, ["BIRTH", *PROVINCES])),
    "region of work": Kind(partial(determined, ["REGION", "WORK", *SOME])),
    "minority of 3 %": Kind(partial(minority, 0.03)),
    "minority of 5 %": Kind(partial(minority, 0.05)),
    "amounts in bands of 5 %": Kind(partial(amounts, 0.05, 2)),
    "three amounts in bands of 20 %": Kind(partial(amounts, 0.2, 3)),
    "copies in the population": Kind(partial(copied, PROVINCES)),
    "copies in the sample": Kind(CENSUS, with_copies),
    "persons of 1994, copies in the sample": Kind(ADULT, with_copies),
    "quota": Kind(CENSUS, quota),
    "persons of 1994, quota": Kind(ADULT, quota),
    "non-response by education": Kind(CENSUS, weighted(by_education, unadjusted)),
    "villages": Kind(
        partial(villages, 0.4, VILLAGE_KEYS), partial(in_clusters, name="VILLAGE"), True
    ),
    "villages, unequal": Kind(
        partial(villages, 1.2, VILLAGE_KEYS), partial(in_clusters, name="VILLAGE"), True
    ),
    "villages, their region a key": Kind(
        partial(villages, 0.8, ["REGION", *VILLAGE_KEYS]),
        partial(in_clusters, name="VILLAGE"),
        True,
    ),
    "villages, themselves a key": Kind(
        partial(villages, 0.8, ["VILLAGE", *VILLAGE_KEYS[1:]]),
        partial(in_clusters, name="VILLAGE"),
        True,
    ),
    "villages, a quarter of the people": Kind(
        partial(villages, 0.8, VILLAGE_KEYS),
        partial(in_clusters, name="VILLAGE", part=PART, unit="PERSON"),
        True,
    ),
    "schools drawn": Kind(
        partial(of_schools, SCHOOL_KEYS), partial(in_clusters, name="SCHOOL"), True
    ),
    "schools drawn, their region a key": Kind(
        partial(of_schools, ["REGION", *SCHOOL_KEYS]),
        partial(in_clusters, name="SCHOOL"),
        True,
    ),
    "states drawn, the state a key": Kind(
        states, partial(in_clusters, name="STATE"), True
    ),
    "alike, whole households": Kind(partial(census, ALIKE), HOUSEHOLDS),
}


def file_of(name):
    """Return the file that a kind needs, or None."""
    population = KINDS[name].population
    return population.args[0] if getattr(population, "func", None) is persons else None


def missing():
    """Return the kinds whose file is not there."""
    needed = {name: file_of(name) for name in KINDS}
    return [n for n, file in needed.items() if file and not (FOLDER / file).exists()]
