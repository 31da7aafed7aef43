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

from bench import _designs as by
from bench import _populations
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
    if people is not None:
        columns = [people[key] for key in columns]
    codes, frequencies, _, cell = _populations.cells_of(columns)
    return Population(codes, frequencies, cell, people or {"CELL": cell})


def of_table(people, levels):
    """Return the population of a table of people, given its levels."""
    cells = np.flatnonzero(people)
    cell = np.repeat(np.arange(len(cells)), people[cells])
    codes = list(np.unravel_index(cells, levels))
    return Population(codes, people[cells], cell, {"CELL": cell})


def zipf(categories, exponent):
    return np.arange(1.0, categories + 1.0) ** -exponent


def drawn(law, many, rng):
    """Return so many categories by a law, which need not add up to 1."""
    return rng.choice(len(law), many, p=law / law.sum())


def by_row(laws, row, rng):
    """Return a category for each row of a table of laws."""
    upto = np.cumsum(laws / laws.sum(axis=1, keepdims=True), axis=1)[:, :-1]
    return (rng.random(len(row))[:, None] > upto[row]).sum(axis=1)


def nearby(law, rows, nearness, rng):
    """Return a law for each row near a common one."""
    return rng.gamma(nearness * law / law.sum(), size=(rows, len(law))) + 1e-9


# --- populations of known law ------------------------------------------------------


def census(keys, rng):
    """The simulated census, also with keys that follow from others, or nearly."""
    people = _populations.census_of(N, rng)
    age, region = people["AGE"], people["REGION"]
    people |= areas(people["HOUSEHOLD"], region) | {
        "BAND": age // 5,
        "GROUP": age // 15,
        "BIRTH": 2000 - age - (rng.random(len(age)) < 0.5),
        "WORK": np.where(rng.random(len(age)) < 0.97, region, rng.permutation(region)),
        "DISTRICT": np.searchsorted(np.unique(region), region) // 6,
    }
    return counted(keys, people)


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
    of, people = by_row(shares, area, rng), {"AREA": area, "PERSON": np.arange(N)}
    for key, size in enumerate(CLASS_SIZES):
        law = rng.dirichlet(np.full(size, 0.4), 6)
        here = rng.gamma(np.maximum(10.0 * law, 1e-3), size=(len(shares), 6, size))
        people[key] = by_row(here.reshape(-1, size), 6 * area + of, rng)
    return counted(range(len(CLASS_SIZES)), people)


def independent(rng):
    """Six independent keys of 2 to 80 categories."""
    sizes = ((2, 0.0), (80, 0.3), (12, 1.0), (6, 0.7), (9, 1.2), (20, 0.9))
    return counted([drawn(zipf(*size), N, rng) for size in sizes])


def chain(rng):
    """Six keys, each of which depends strongly on the one before it."""
    sizes = (12, 10, 8, 8, 6, 5)
    columns = [rng.integers(0, sizes[0], N)]
    for before, size in pairwise(sizes):
        odds = np.exp(rng.normal(0.0, 1.6, (before, size)))
        columns.append(by_row(odds, columns[-1], rng))
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
    return of_table(rng.poisson(N * pi), CLASS_SIZES)


def scattered(rng):
    """Cells of Zipf's law at random places of a table: the keys tell nothing."""
    people, levels = (
        rng.permutation(zipf_population(N, N // 2, 1.0, rng)),
        (40, 30, 20, 10),
    )
    table = np.zeros(math.prod(levels), int)
    table[np.sort(rng.choice(len(table), len(people), replace=False))] = people
    return of_table(table, levels)


def small_areas(exponent, categories, experience, rng):
    """Areas, by Zipf's law or lognormal, and education, perhaps years of experience."""
    lognormal = exponent is None
    sizes = rng.lognormal(size=categories) if lognormal else zipf(categories, exponent)
    area = drawn(sizes, N, rng)
    education = by_row(nearby(zipf(8, 0.5), categories, 15.0, rng), area, rng)
    columns = [area, education]
    if experience:
        years = rng.gamma(2.5, 9.0 - education / 2, N)
        columns.append(np.minimum(years, 50.0).astype(int))
    return counted(columns)


def schools(keys, rng):
    """Schools of unequal size, by columns that differ between schools."""
    many = 700
    school = drawn(rng.lognormal(0.0, 0.7, many), N, rng)
    level, region = rng.integers(0, 3, many), rng.integers(0, 12, many)
    grade = drawn(np.array([5, 5, 5, 4, 1]), N, rng)
    people = {
        "SCHOOL": school,
        "AGE": np.array([6, 11, 15])[level[school]] + grade,
        "PROGRAM": by_row(nearby(zipf(15, 0.8), many, 4.0, rng), school, rng),
        "SEX": rng.integers(0, 2, N),
        "REGION": region[school],
        "PARENTS": by_row(nearby(zipf(20, 0.7), many, 6.0, rng), school, rng),
    }
    return counted(keys, people)


def occupations(rng):
    """Detailed occupation by sex and marital status, which it tells a lot of."""
    job = drawn(zipf(480, 0.9), N, rng)
    sex = (rng.random(N) < rng.beta(0.6, 0.6, 480)[job]).astype(int)
    laws = nearby(np.array([5, 4, 1, 0.5, 0.2]), 960, 8.0, rng)
    return counted([job, sex, by_row(laws, 2 * job + sex, rng)])


def zipf_key(exponent, rng):
    """A key by Zipf's law, such as the place of birth, by sex and region."""
    key = drawn(zipf(20_000, exponent), N, rng)
    return counted([key, rng.integers(0, 2, N), rng.integers(0, 10, N)])


def industries(keys, rng):
    """Industry tells the sector, occupation its group; both tell of each other."""
    sectors = rng.integers(0, 10, 88)
    industry = drawn(rng.permutation(zipf(88, 0.8)), N, rng)
    sector = sectors[industry]
    job = by_row(nearby(zipf(120, 0.7), 10, 12.0, rng), sector, rng)
    group = rng.integers(0, 9, 120)[job]
    people = {
        **{"INDUSTRY": industry, "SECTOR": sector, "JOB": job, "GROUP": group},
        "SEX": by_row(nearby(np.ones(2), 9, 4.0, rng), group, rng),
        "EDUCATION": by_row(nearby(np.ones(6), 9, 5.0, rng), group, rng),
        "AGE": drawn(np.array([3, 5, 6, 6, 5, 3, 1.0]), N, rng),
    }
    return counted(keys, people)


def minority(part, rng):
    """A few diverse people among many who are alike."""
    diverse, columns = rng.random(N) < part, []
    for size in CLASS_SIZES:
        column = drawn(zipf(size, 0.3), N, rng)
        alike = drawn(np.array([20, 3, 1.0]), N, rng)
        columns.append(np.where(diverse, column, alike))
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
    return counted([people[key][source] for key in keys])


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
    return counted(keys, people | {"PERSON": np.arange(N)})


def states(rng):
    """States, which are a key, and whose people differ a little in the others."""
    state = drawn(zipf(50, 0.7), N, rng)
    people = {"STATE": state}
    for key, size in enumerate((2, 70, 5, 16, 4)):
        people[key] = by_row(nearby(zipf(size, 0.6), 50, 30.0, rng), state, rng)
    return counted([*people], people)


class File(NamedTuple):
    """A file of people: its keys, and its columns that designs know by other names."""

    keys: str
    names: dict[str, str]


FILES = {
    "adult.csv": File(
        "sex age race marital-status education workclass occupation",
        {"INCOME": "salary-class", "AGE": "age", "SEX": "sex",
         "EDUCATION": "education"},
    ),
    "eusilcP.csv": File(
        "region hsize age gender ecoStat citizenship",
        {"HOUSEHOLD": "hid", "PROVINCE": "region", "AGE": "age", "SEX": "gender",
         "INCOME": "eqIncome"},
    ),
    "ses.csv": File(
        "location NACE1 size age sex education occupation lengthService",
        {"EMPLOYER": "IDunit", "PROVINCE": "size", "INCOME": "earningsMonth"},
    ),
}  # fmt: skip


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
    keys = file.keys.split()
    people |= {key: np.array([row[key] for row in rows]) for key in keys}
    return counted(keys, people)


def column(rows, name, meaning):
    """Return a column as numbers, or as codes of its values."""
    values = np.array([row[name] for row in rows])
    if meaning in ("AGE", "INCOME") and set("".join(values[:9])) <= set("0123456789."):
        return np.maximum(values.astype(float).astype(int), 0)  # -1: under a year
    return np.unique(values, return_inverse=True)[1]


def persons(name, rng):
    """Persons of a file."""
    return from_file(name)


ADULT, AUSTRIA, EMPLOYEES = (partial(persons, name) for name in FILES)

# --- kinds of samples ----------------------------------------------------------------


class Kind(NamedTuple):
    """How a population is drawn, and a sample of about n people from it."""

    population: Callable
    sample: Callable = by.one_by_one
    few: bool = False  # whether few clusters are drawn, too: sizes below 100


def simple(law, *arguments):
    return Kind(partial(law, *arguments))


def weighted(population, rate, weigh=by.exact):
    return Kind(population, partial(by.one_by_one, rate=rate, weigh=weigh))


def whole(population, name, few=False, **options):
    """Return a kind in which clusters are drawn."""
    return Kind(population, partial(by.in_clusters, name=name, **options), few)


def in_schools(keys):
    return whole(partial(schools, keys), "SCHOOL", True)


def in_villages(spread, keys, **options):
    return whole(partial(villages, spread, keys), "VILLAGE", True, **options)


CENSUS, ALIKE_PEOPLE = partial(census, PROVINCES), partial(census, ALIKE)
COMMUNE = ["REGION", "PROVINCE", "SEX", "BAND", "MARSTAT"]
HOME, PEOPLE = "HOUSEHOLD", {"part": PART, "unit": "PERSON"}
TWO_STAGES = {"name": "AREA", "part": PART, "unit": HOME}
IN_VILLAGE = ["JOB", "EDUCATION", "AGE", "SEX"]
NAMED = ["NAME", *IN_VILLAGE]
OF_SCHOOL = ["AGE", "SEX", "PROGRAM", "PARENTS"]
WORK = ["INDUSTRY", "SECTOR", "SEX", "EDUCATION", "AGE"]

KINDS = {
    "independent keys": simple(independent),
    "six classes": simple(classes),
    "six classes, b 0": Kind(partial(classes, a=1.0, b=0.0)),
    "six classes, b 1/2": Kind(partial(classes, a=1.0, b=0.5)),
    "chain of keys": simple(chain),
    "scattered Zipf": simple(scattered),
    "census": Kind(CENSUS),
    "census, finer": simple(census, MUNICIPALITIES),
    "census, equal provinces": weighted(CENSUS, by.equal_numbers),
    "census, strata by pairs": weighted(CENSUS, by.pairs),
    "census, rates by income": weighted(CENSUS, by.by_income),
    "census, noise": weighted(CENSUS, by.strata, by.noisy),
    "census, trimmed": weighted(CENSUS, by.unequal_response, by.trimmed),
    "census, raked": weighted(CENSUS, by.strata, by.raked),
    "census, non-response": weighted(CENSUS, by.response, by.unadjusted),
    "census, adjusted": weighted(CENSUS, by.response, by.adjusted_by_region),
    "census, one of a household": Kind(CENSUS, by.one_of_household),
    "census, whole households": whole(CENSUS, HOME),
    "census, whole households, noise": whole(CENSUS, HOME, weigh=by.household_noise),
    "census, whole areas": whole(CENSUS, "BLOCK"),
    "census, two stages": whole(CENSUS, **TWO_STAGES),
    "census, two stages, raked": whole(CENSUS, weigh=by.raked, **TWO_STAGES),
    "alike, two stages": whole(ALIKE_PEOPLE, **TWO_STAGES),
    "mixed areas": whole(partial(mixed, 1.0), "AREA"),
    "mixed areas, two stages": whole(partial(mixed, PART), "AREA", **PEOPLE),
    "persons of 1994": Kind(ADULT),
    "persons of 1994, income, noise": weighted(ADULT, by.by_income, by.noisy),
    "Austria": Kind(AUSTRIA),
    "Austria, raked": weighted(AUSTRIA, by.strata, by.raked),
    "Austria, rates by income": weighted(AUSTRIA, by.by_income),
    "Austria, non-response": weighted(AUSTRIA, by.response, by.unadjusted),
    "Austria, adjusted": weighted(AUSTRIA, by.response, by.adjusted_by_region),
    "Austria, one of a household": Kind(AUSTRIA, by.one_of_household),
    "Austria, whole households": whole(AUSTRIA, HOME),
    "Austria, two stages": whole(AUSTRIA, **TWO_STAGES),
    "employees": Kind(EMPLOYEES),
    "employees, strata, noise": weighted(EMPLOYEES, by.strata, by.noisy),
    "employees, rates by income": weighted(EMPLOYEES, by.by_income),
    "employees, whole employers": whole(EMPLOYEES, "EMPLOYER"),
    "equal areas": simple(small_areas, 0.0, 2000, False),
    "areas, Zipf 0.9": simple(small_areas, 0.9, 4000, False),
    "areas, Zipf 1.35": simple(small_areas, 1.35, 20_000, False),
    "areas, lognormal": simple(small_areas, None, 3000, False),
    "areas, Zipf 0.9, experience": simple(small_areas, 0.9, 4000, True),
    "equal areas, experience": simple(small_areas, 0.0, 2000, True),
    "equal communes": simple(small_areas, 0.0, 400, False),
    "schools x age": simple(schools, ["SCHOOL", "AGE"]),
    "occupations": simple(occupations),
    "Zipf key 1.35": simple(zipf_key, 1.35),
    "Zipf key 0.9": simple(zipf_key, 0.9),
    "commune and province": simple(census, COMMUNE),
    "commune, district, province": simple(census, ["DISTRICT", *COMMUNE]),
    "age and band": simple(census, ["BAND", *PROVINCES]),
    "age, two bands, commune, province": simple(census, ["AGE", "GROUP", *COMMUNE]),
    "industry, sector, occupation, group": simple(industries, ["JOB", "GROUP", *WORK]),
    "industry and sector": simple(industries, WORK),
    "birth year and age": simple(census, ["BIRTH", *PROVINCES]),
    "region of work": simple(census, ["WORK", *COMMUNE]),
    "minority of 3 %": simple(minority, 0.03),
    "minority of 5 %": simple(minority, 0.05),
    "amounts in bands of 5 %": simple(amounts, 0.05, 2),
    "three amounts in bands of 20 %": simple(amounts, 0.2, 3),
    "copies in the population": simple(copied, PROVINCES),
    "copies in the sample": Kind(CENSUS, by.with_copies),
    "persons of 1994, copies in the sample": Kind(ADULT, by.with_copies),
    "quota": Kind(CENSUS, by.quota),
    "persons of 1994, quota": Kind(ADULT, by.quota),
    "non-response by education": weighted(CENSUS, by.by_education, by.unadjusted),
    "villages": in_villages(0.4, NAMED),
    "villages, unequal": in_villages(1.2, NAMED),
    "villages, their region a key": in_villages(0.8, ["REGION", *NAMED]),
    "villages, themselves a key": in_villages(0.8, ["VILLAGE", *IN_VILLAGE]),
    "villages, a quarter of the people": in_villages(0.8, NAMED, **PEOPLE),
    "schools drawn": in_schools(OF_SCHOOL),
    "schools drawn, their region a key": in_schools(["REGION", *OF_SCHOOL]),
    "states drawn, the state a key": whole(partial(states), "STATE", True),
    "alike, whole households": whole(ALIKE_PEOPLE, HOME),
}  # fmt: skip


def missing():
    """Return the kinds whose file is not there."""
    laws = {name: kind.population for name, kind in KINDS.items()}
    files = {n: x.args[0] for n, x in laws.items() if x.func is persons}
    return [name for name, file in files.items() if not (FOLDER / file).exists()]
