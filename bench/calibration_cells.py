"""Compare the models of cells with the truth, for notes/calibration_of_cells.md.

    python -m bench.calibration_cells [replicates] [--outcomes FILE]

Populations of known law are drawn again for every replicate, and samples of them; each
model says of each sample unique how likely it is unique in the population, which the
simulation knows. All chance comes from fixed seeds: the same versions give the same
page, except rows of data that are not part of the project. A run takes many hours; with
a file of outcomes a later run continues where it stopped.

Data that are not part of the project are CSV files in the folder that the environment
variable RISKCORE_POPULATIONS names: adult.csv (UCI Adult, 30,162 complete records, ';'
between columns), eusilcP.csv (the synthetic population of the R package simFrame) and
ses.csv (the data ses of the R package laeken).
"""

import argparse
import csv
import json
import math
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache, partial
from importlib.metadata import version
from itertools import pairwise, product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

import riskcore
from bench import _populations
from bench._common import HERE, command, table
from bench._populations import MUNICIPALITIES, PROVINCES
from bench.atlas import paragraph
from riskcore.assessment.population import deviation_by, risk_by
from riskcore.models import (
    CellTable,
    LancasterCells,
    LatentClass,
    LogLinear,
    Pitman,
    SizeIndices,
)
from riskcore.models.cell_model import GROUPS
from riskcore.models.poisson_binomial import PoissonBinomial
from riskcore.simulate import design_weights, zipf_population

PAGE = HERE.parent / "notes" / "calibration_of_cells.md"
N = 50_000
FRACTIONS = (0.01, 0.05, 0.2)
REPLICATES = 20
LEVEL = 0.95
GOAL = 0.25  # of the mean ratio of tau, from 5 % on
RISK_GOAL, SMALL_RISK_GOAL = (
    0.1,
    0.35,
)  # of the mean ratio of risks, from 5 % on and at 1 %
TENTH_GOAL = 1.5  # factor, in tenths with 100 records
FOLDER = Path(os.environ.get("RISKCORE_POPULATIONS", "."))
FILES = {
    "adult.csv": (
        "sex", "age", "race", "marital-status", "education", "workclass", "occupation",
    ),
    "eusilcP.csv": ("region", "hsize", "age", "gender", "ecoStat", "citizenship"),
    "ses.csv": (
        "location", "NACE1", "size", "age", "sex", "education", "occupation",
        "lengthService",
    ),
}  # fmt: skip
# Cells of a table that is held for the models of pairs.
TABLE = 400_000


class Population(NamedTuple):
    """Codes and people of each cell, with strata; or people one by one, in clusters.

    Of a sampled cluster a part of the units is taken: households, or people.
    """

    codes: list[np.ndarray]
    frequencies: np.ndarray
    strata: np.ndarray | None = None
    cell: np.ndarray | None = None
    cluster: np.ndarray | None = None
    unit: np.ndarray | None = None
    part: float = 1.0


def counted(columns):
    """Return the population of people with values in columns."""
    return Population(*_populations.cells_of(columns)[:2])


# --- populations -------------------------------------------------------------------


def census(keys, rng, stratified=False, households=False):
    people = _populations.census_of(N, rng)
    codes, frequencies, _, cell = _populations.cells_of([people[key] for key in keys])
    population = Population(codes, frequencies)
    if stratified:
        return population._replace(strata=codes[0])
    if households:
        return population._replace(cell=cell, cluster=people["HOUSEHOLD"] - 1)
    return population


ALIKE = ("PROVINCE", "HHSIZE", "CITIZENSHIP", "MARSTAT", "AGE")
TAKE = 10  # households, or families of planted populations, of a sampled area
FAMILY = 3  # people, one for one
PART = 0.25  # of an area in two stages


def areas(keys, rng, part=1.0):
    """Households live with those of their region: areas are runs of households."""
    people = _populations.census_of(N, rng)
    codes, frequencies, _, cell = _populations.cells_of([people[key] for key in keys])
    household = people["HOUSEHOLD"] - 1
    _, first = np.unique(household, return_index=True)
    order = np.argsort(people["REGION"][first], kind="stable")
    area = np.empty(len(first), int)
    area[order] = np.arange(len(first)) * part // TAKE
    return Population(codes, frequencies, None, cell, area[household], household, part)


def mixed(rng, part=1.0):
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
    codes, frequencies, _, cell = _populations.cells_of(columns)
    return Population(codes, frequencies, None, cell, area, np.arange(N), part)


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


CLASS_SIZES = (40, 12, 8, 6, 10)


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
    return Population(codes, people[cells])


def scattered(rng):
    """Return cells of Zipf's law at random places of a table, unrelated to the keys."""
    people = rng.permutation(zipf_population(N, N // 2, 1.0, rng))
    places = np.sort(rng.choice(40 * 30 * 20 * 10, len(people), replace=False))
    codes = [code[people > 0] for code in np.unravel_index(places, (40, 30, 20, 10))]
    return Population(codes, people[people > 0])


@cache
def from_file(name):
    """Return the population of a file, always the same."""
    with (FOLDER / name).open() as lines:
        mark = ";" if ";" in lines.readline() else ","
        lines.seek(0)
        rows = list(csv.DictReader(lines, delimiter=mark))
    return counted([np.array([row[key] for row in rows]) for key in FILES[name]])


def persons(name, rng):
    return from_file(name)


# From its name to how it is drawn, and whether the model's family holds.
POPULATIONS: dict[str, tuple[Callable, bool]] = {
    "independent keys": (independent, True),
    "six classes": (classes, True),
    "six classes, b 0": (partial(classes, a=1.0, b=0.0), True),
    "six classes, b 1/2": (partial(classes, a=1.0, b=0.5), True),
    "chain of keys": (chain, False),
    "census": (partial(census, PROVINCES), False),
    "census, finer": (partial(census, MUNICIPALITIES), False),
    "census, unequal rates": (
        partial(census, PROVINCES, stratified=True),
        False,
    ),
    "census, whole households": (
        partial(census, PROVINCES, households=True),
        False,
    ),
    "census, whole areas": (partial(areas, PROVINCES), False),
    "census, two stages": (partial(areas, PROVINCES, part=PART), False),
    "census, alike in households, two stages": (
        partial(areas, ALIKE, part=PART),
        False,
    ),
    "mixed areas": (mixed, False),
    "mixed areas, two stages": (partial(mixed, part=PART), False),
    "scattered Zipf": (scattered, False),
    "persons of 1994": (partial(persons, "adult.csv"), False),
    "households of Austria": (partial(persons, "eusilcP.csv"), False),
    "employees": (partial(persons, "ses.csv"), False),
}
# The populations that need a file.
NEEDED = dict(zip(list(POPULATIONS)[-len(FILES) :], FILES, strict=True))


def draw(population, fraction, rng):
    """Return the cells of a sample, those of its clusters, and which cells occur."""
    people, levels = population.frequencies, [c.max() + 1 for c in population.codes]
    cluster = None
    if population.cluster is not None:
        some = draw_clusters(population, fraction, rng)
        rows, cluster = population.cell[some], population.cluster[some]
        sampled = np.bincount(rows, minlength=len(people))
        weights = np.full(len(rows), people.sum() / len(rows))
        frequency = np.ones(len(rows), int)
    else:
        sampled = _populations.sample_of(people, population.strata, fraction, rng)
        rows = np.flatnonzero(sampled)
        frequency = sampled[rows]
        weights = sampled * design_weights(people, sampled, population.strata)
        weights = weights[rows]
    given = {
        "levels": list(map(int, levels)),
        "frequency": frequency,
        "weight_sum": weights,
    }
    codes = [code[rows] for code in population.codes]
    cells = CellTable.of(codes, **given)
    assert (cells.records == sampled[sampled > 0]).all()  # the order is the same
    if cluster is None:
        return cells, None, sampled > 0
    return cells, CellTable.of(codes, cluster=cluster, **given), sampled > 0


def draw_clusters(population, fraction, rng):
    """Return the people of a sample of clusters: all, or of a part of the units."""
    clusters = int(population.cluster.max()) + 1
    number = round(fraction / population.part * clusters)
    some = np.isin(population.cluster, rng.permutation(clusters)[:number])
    if population.part < 1.0:
        units = int(population.unit.max()) + 1
        some &= (rng.random(units) < population.part)[population.unit]
    return np.flatnonzero(some)


# --- one sample --------------------------------------------------------------------


class Score(NamedTuple):
    """What a model says of one sample, and how right it is."""

    tau: float
    low: float
    high: float
    auc: float
    brier: float
    risks: float = math.nan  # sum over the records
    risks_low: float = math.nan
    risks_high: float = math.nan


class Outcome(NamedTuple):
    """One sample."""

    truth: int
    risks: float  # sum of 1/F over the records
    uniques: int
    scores: dict[str, Score]
    classes: int
    exponent: float  # of the shapes; nan without overdispersion
    deciles: np.ndarray  # predicted, found and number by tenth of the prediction
    risk_deciles: np.ndarray  # the same of the risks, by tenth of the records


def score(chance, hit, interval=(math.nan, math.nan)):
    """Return how right chances are for events that did or did not happen."""
    hits, misses = int(hit.sum()), int((~hit).sum())
    auc = math.nan
    if hits and misses:
        above = rankdata(chance)[hit].sum() - hits * (hits + 1) / 2
        auc = above / (hits * misses)
    brier = float(((chance - hit) ** 2).mean()) if len(hit) else math.nan
    return Score(math.fsum(chance), *interval, auc, brier)


def by_decile(chance, hit):
    """Return predicted and found numbers, and how many, of each tenth of chances."""
    tenth = np.minimum((10 * chance).astype(int), 9)
    rows = [np.bincount(tenth, each, 10) for each in (chance, hit, np.ones(len(hit)))]
    return np.array(rows)


def by_tenth_of_records(risk, truth, records):
    """Return predicted and true risks, and records, of each tenth by rising risk."""
    order = np.argsort(risk, kind="stable")
    before = np.cumsum(records[order]) - records[order]
    tenth = np.minimum(10 * before // records.sum(), 9).astype(int)
    rows = [
        np.bincount(tenth, (each * records)[order], 10)
        for each in (risk, truth, np.ones(len(risk)))
    ]
    return np.array(rows)


def outcome(population, fraction, rng):
    cells, clustered, seen = draw(population, fraction, rng)
    unique = cells.unique
    hit = population.frequencies[seen][unique] == 1
    fitted = LatentClass.fit(cells, threads=1)
    models = {
        "classes": fitted,
        "classes, DM": fitted.with_overdispersion("dirichlet-multinomial"),
        "classes, Poisson": fitted.with_overdispersion(False),
        "independence": LatentClass.fit(cells, classes=1, threads=1),
    }
    if clustered is not None:
        fitted = LatentClass.fit(clustered, threads=1)
        models[CLUSTERED] = fitted
    if math.prod(cells.levels) <= TABLE:
        models["pairs"] = LogLinear.fit(cells, terms="all two-way")
        models["Lancaster 0.5"] = LancasterCells.fit(cells)
    p = 1.0 / cells.weight_sum[unique]
    f = cells.records.astype(float)
    true = 1.0 / population.frequencies[seen]
    by_weights = riskcore.individual_risk_from_frequencies(
        f, np.maximum(cells.weight_sum, f)
    )
    interval = PoissonBinomial.of(p).interval(LEVEL)
    scores = {
        "weights": score(p, hit, interval)._replace(risks=math.fsum(f * by_weights)),
        "Pitman": by_pitman(cells, int(population.frequencies.sum()), hit),
    }
    for name, model in models.items():
        jackknife = name in (BEST, CLUSTERED)
        interval = model.tau_interval(level=LEVEL, groups=GROUPS if jackknife else 0)
        found = score(model.unique_probability()[unique], hit, interval)
        found = found._replace(risks=math.fsum(f * risk_by(model.prior())))
        if jackknife:
            _, least, most = model.interval(
                None, risk_by, LEVEL, deviation=deviation_by
            )
            found = found._replace(risks_low=least, risks_high=most)
        scores[name] = found
    law = fitted.overdispersion
    return Outcome(
        int(hit.sum()),
        math.fsum(f * true),
        len(hit),
        scores,
        fitted.classes,
        math.nan if law.poisson else law.exponent,
        by_decile(fitted.unique_probability()[unique], hit),
        by_tenth_of_records(risk_by(fitted.prior()), true, cells.records),
    )


def by_pitman(cells, N, hit):
    """Return what Pitman's law of cell sizes says: of every sample unique the same."""
    numbers, many = np.unique(cells.records, return_counts=True)
    sizes = SizeIndices(dict(zip(numbers.tolist(), many.tolist(), strict=True)))
    model = Pitman.fit(sizes)
    interval = model.wide_tau_interval(sizes, N, LEVEL)
    return score(np.full(len(hit), model.uniqueness(sizes.n, N)), hit, interval)


METHODS = (
    "weights", "Pitman", "independence", "pairs", "Lancaster 0.5", "classes, Poisson",
    "classes, DM", "classes", "classes, clusters",
)  # fmt: skip
# The error of the fit takes long: of these alone.
BEST, CLUSTERED = METHODS[-2:]


def study(name, fraction, replicate):
    """Return the outcome of one replicate of one population and fraction."""
    rng = np.random.default_rng([3, *name.encode(), replicate])
    population = POPULATIONS[name][0](rng)
    rng = np.random.default_rng([4, *name.encode(), replicate, int(1e3 * fraction)])
    return outcome(population, fraction, rng)


# --- outcomes in a file --------------------------------------------------------------

Task = tuple[str, float, int]  # population, fraction, replicate


def line_of(task, found):
    """Return an outcome as a line of JSON."""
    scores = {name: list(one) for name, one in found.scores.items()}
    plain = found._asdict() | {"scores": scores}
    tenths = {name: plain[name].tolist() for name in ("deciles", "risk_deciles")}
    return json.dumps([task, plain | tenths])


def of_line(line):
    """Return the task and outcome of a line."""
    (name, fraction, replicate), plain = json.loads(line)
    plain["scores"] = {name: Score(*one) for name, one in plain["scores"].items()}
    tenths = {name: np.array(plain[name]) for name in ("deciles", "risk_deciles")}
    return (name, fraction, replicate), Outcome(**(plain | tenths))


def read_outcomes(path):
    """Return the outcomes of a file, and cut off a last line that was not finished."""
    if not path.exists():
        return {}
    whole, end, unfinished = path.read_text().rpartition("\n")
    if unfinished:
        path.write_text(whole + end)
    return dict(of_line(line) for line in whole.splitlines())


def task_done(task):
    return task, study(*task)


def run(tasks, path, processes):
    """Do the tasks without an outcome in the file; return all outcomes."""
    found = read_outcomes(path)
    left = [task for task in tasks if task not in found]
    started = time.monotonic()
    with (
        path.open("a") as lines,
        multiprocessing.get_context("spawn").Pool(processes) as pool,
    ):
        for done, (task, one) in enumerate(pool.imap_unordered(task_done, left), 1):
            lines.write(line_of(task, one) + "\n")
            lines.flush()
            found[task] = one
            minutes = (time.monotonic() - started) / 60
            print(f"{done} of {len(left)}, {minutes:.1f} minutes", file=sys.stderr)
    return {task: found[task] for task in tasks}


# --- tables ------------------------------------------------------------------------


# What is estimated: how it is called among the scores, and in truth.
TAU, RISKS = ("tau", "truth"), ("risks", "risks")


def ratio(found, method, what=TAU):
    """Return the mean estimate over the mean truth, and the spread of a sample's."""
    if method not in found[0].scores:
        return math.nan, math.nan
    estimate = np.array([getattr(one.scores[method], what[0]) for one in found])
    truth = np.array([getattr(one, what[1]) for one in found])
    spread = (estimate - truth).std(ddof=1) if len(found) > 1 else math.nan
    mean = truth.mean()
    return (estimate.mean() / mean, spread / mean) if mean else (math.nan, math.nan)


def coverage(found, method):
    if method not in found[0].scores:
        return math.nan
    ends = [one.scores[method] for one in found]
    inside = [s.low <= o.truth <= s.high for s, o in zip(ends, found, strict=True)]
    return float(np.mean(inside))


def best_of(found):
    """Return the classes, which know the clusters if there are any."""
    return CLUSTERED if CLUSTERED in found[0].scores else BEST


def risk_coverage(found):
    ends = [(one.scores[best_of(found)], one.risks) for one in found]
    return float(np.mean([s.risks_low <= r <= s.risks_high for s, r in ends]))


def worst_tenth(found):
    """Return the true over the predicted risk that is furthest from 1 in a tenth."""
    predicted, true, number = sum(one.risk_deciles for one in found)
    ratios = true[number >= 100] / predicted[number >= 100]
    if not len(ratios):
        return math.nan
    return float(ratios[np.argmax(np.abs(np.log(ratios)))])


def mean_of(found, method, what):
    if method not in found[0].scores:
        return math.nan
    values = [getattr(one.scores[method], what) for one in found]
    return float(np.mean([value for value in values if not math.isnan(value)] or [0.0]))


def cell(value, digits=2):
    return "-" if math.isnan(value) else f"{value:.{digits}f}"


def ratio_cell(found, method, what=TAU):
    mean, spread = ratio(found, method, what)
    return "-" if math.isnan(mean) else f"{mean:.2f} ± {spread:.2f}"


def label(name, fraction):
    return f"{name}, {100 * fraction:g} %"


def rows_of(results, columns):
    return [
        [label(*kind), f"{np.mean([one.truth for one in found]):.0f}", *columns(found)]
        for kind, found in results.items()
    ]


def method_table(results, cell_of, *more):
    """Return a table with a column for each method, and more columns."""
    columns = {method: partial(cell_of, method=method) for method in METHODS}
    columns |= dict(more)
    return table(
        ["population, n/N", "tau", *columns],
        rows_of(results, lambda found: [cell(found) for cell in columns.values()]),
    )


def ratio_table(results):
    return method_table(results, ratio_cell)


def risk_table(results):
    return method_table(
        results,
        partial(ratio_cell, what=RISKS),
        ("coverage, classes", lambda f: f"{100 * risk_coverage(f):.0f}"),
        ("worst tenth, classes", lambda f: cell(worst_tenth(f))),
    )


def order_table(results, what):
    digits = 2 if what == "auc" else 3
    return method_table(
        results, lambda found, method: cell(mean_of(found, method, what), digits)
    )


def fit_table(results):
    def columns(found):
        b = [one.exponent for one in found]
        known = [each for each in b if not math.isnan(each)]
        return [
            f"{np.mean([one.uniques for one in found]):.0f}",
            f"{np.median([one.classes for one in found]):.0f}",
            f"{sum(map(math.isnan, b))}",
            cell(float(np.mean(known)) if known else math.nan),
        ]

    header = ["population, n/N", "tau", "sample uniques", "classes", "Poisson", "b"]
    return table(header, rows_of(results, columns))


def coverage_table(results):
    return method_table(
        results, lambda found, method: cell(100 * coverage(found, method), digits=0)
    )


def decile_table(results):
    """Found over predicted by tenth of the prediction, where 20 are predicted."""
    rows = []
    for kind, found in results.items():
        predicted, hit, _ = sum(one.deciles for one in found)
        rows.append(
            [
                label(*kind),
                *(
                    f"{h / p:.2f}" if p >= 20.0 else "-"
                    for p, h in zip(predicted, hit, strict=True)
                ),
            ]
        )
    tenths = [f"{i / 10:g} to {(i + 1) / 10:g}" for i in range(10)]
    return table(["population, n/N", *tenths], rows)


def misses(results):
    """Return what misses the goals, as lines."""
    lines = []
    for (name, fraction), found in results.items():
        mean, _ = ratio(found, best_of(found))
        if fraction >= 0.05 and not abs(mean - 1.0) <= GOAL:
            lines.append(f"- tau of {label(name, fraction)}: {mean:.2f} of the truth")
        risks, _ = ratio(found, best_of(found), RISKS)
        goal = RISK_GOAL if fraction >= 0.05 else SMALL_RISK_GOAL
        if not abs(risks - 1.0) <= goal:
            lines.append(
                f"- sum of risks of {label(name, fraction)}: {risks:.2f} of the truth"
            )
        tenth = worst_tenth(found)
        if tenth < 1 / TENTH_GOAL or tenth > TENTH_GOAL:
            lines.append(f"- a tenth of {label(name, fraction)}: {tenth:.2f}")
        if POPULATIONS[name][1] and coverage(found, BEST) < 0.85:
            share = 100 * coverage(found, BEST)
            lines.append(f"- coverage of {label(name, fraction)}: {share:.0f} %")
    return lines


def pooled(results):
    """Return in how many samples of all kinds the interval holds tau, as a sentence."""
    said = []
    for holds, kind in ((True, "the family holds"), (False, "it does not")):
        for fraction in FRACTIONS:
            some = [
                coverage(found, best_of(found))
                for (name, each), found in results.items()
                if each == fraction and POPULATIONS[name][1] == holds
            ]
            if some:
                share = 100 * np.mean(some)
                said.append(f"where {kind}, {100 * fraction:g} %: {share:.0f} %")
    return f"Coverage over all kinds together, {'; '.join(said)}."


def within(results, method, fractions):
    some = [f for (_, fraction), f in results.items() if fraction in fractions]
    ratios = [ratio(found, method)[0] for found in some]
    ratios = [one for one in ratios if not math.isnan(one)]
    good = sum(abs(one - 1.0) <= GOAL for one in ratios)
    return f"{good} of {len(ratios)} ({min(ratios):.2f} to {max(ratios):.2f})"


def text(results, replicates):
    versions = f"riskcore {riskcore.__version__}, numpy {version('numpy')}"
    large = FRACTIONS[1:]
    missed = misses(results)
    summary = table(
        ["model", "5 and 20 %", "1 %"],
        [
            [m, *(within(results, m, f) for f in (large, FRACTIONS[:1]))]
            for m in METHODS
        ],
    )
    return f"""\
# Models of cells against the truth

Generated, nothing here is edited by hand.

`{command()}`: {versions}.

{
        paragraph(f'''
A population of {N} people is drawn, and samples of 1, 5 and 20 % of it; all again for
each of {replicates} replicates. tau is the number of sample uniques that are population
uniques. A ratio is the mean estimate over the mean truth; after ± stands the standard
deviation of estimate - truth over the mean truth. AUC is the chance that of two sample
uniques the one that is a population unique has the larger probability; Brier is the
mean square of probability less 0 or 1. Coverage is the share of samples whose 95 %
interval holds tau: with {replicates} samples one of 95 % shows as 95 ±
{100 * math.sqrt(0.95 * 0.05 / replicates):.0f}.''')
    }

Populations:

- independent keys: six keys, 2 to 80 categories
- six classes: a mixture of six, five keys; then with cells of a gamma law about it, of
  shape (N pi)^b, b 0 and 1/2. In these and the first the family of the model holds
- chain of keys: each of six keys depends strongly on the one before it
- census: `riskcore.simulate.microdata` by province, sex, age in years, marital status,
  education and household size; finer: by municipality
- census, unequal rates: equally many records from every province, rates that differ by
  a factor of 3.4; whole households: sampled as such
- census, whole areas: areas of {TAKE} households are sampled, with all their people; in
  two stages: areas of {TAKE / PART:g} households, and of each one in {1 / PART:g}
  households; alike in households: by keys that members of a household share
- mixed areas: six classes whose shares differ by area, and a little the categories
  within a class; all of {TAKE * FAMILY} people, or one in {1 / PART:g} of
  {TAKE * FAMILY / PART:g}
- scattered Zipf: cells of Zipf's law at random places of a table: the keys tell nothing
- persons of 1994: 30,162 real persons by 7 keys (UCI Adult); households of Austria:
  58,654 synthetic persons in households by 6 keys (eusilcP of the R package simFrame);
  employees: 15,691 real employees by 8 keys (ses of the R package laeken). These are
  always the same, only the samples differ; the files are not part of the project

Models:

- weights: f/F by the weights alone, as the individual risk has it
- Pitman: the law of cell sizes by Pitman, which knows no keys: all sample uniques have
  one probability. It says nothing of the risk of other records
- independence, classes: `LatentClass` with one class, and by AIC, with overdispersion
  by the power law; Poisson: without; DM: by the Dirichlet-multinomial law; clusters:
  where households or areas were sampled, with `cluster=`. What is said below of the
  classes alone (coverage of risks, tenths, fits) is then said of these
- pairs: `LogLinear` with all pairs; Lancaster: lambda 1/2; for tables up to
  {TABLE:,} cells, and no figure where a fit of some sample did not converge

## Within {100 * GOAL:.0f} % of the truth

Kinds of samples whose mean tau is, with the smallest and largest ratio:

{summary}

{
        paragraph(f'''
Missed goals of the classes (the sum of risks within {100 * RISK_GOAL:.0f} % from
5 % on, within {100 * SMALL_RISK_GOAL:.0f} % at 1 %; tau within {100 * GOAL:.0f} % from
5 % on; true over predicted risk in each tenth of the records within a factor of
{TENTH_GOAL:g}; where the family holds coverage of 85 %):''')
    }

{chr(10).join(missed) or "none."}

{paragraph(pooled(results))}

{
        paragraph(f'''
Why: a kind has {replicates} samples, and one interval that does not hold is
{100 / replicates:.0f} %. In samples of some hundred records few cells have two, and
the sample cannot tell whether there is overdispersion; where none is found though
there is, tau is too high and the interval too narrow. Where the keys tell nothing
(scattered Zipf) no model of the keys can be right. A chain of keys is no mixture of 30
classes: there the pairs fit. In households and areas people of a cell come together,
which without `cluster=` is taken for overdispersion.''')
    }

## Sum of risks over truth

The sum of 1/F over the records of a sample: what `assess(..., population=...)` calls
expected re-identifications. Weights: as `assess` has it without a model. The worst
tenth is the true over the predicted risk, over all replicates, of that tenth of the
records by rising risk in which it is furthest from 1.

{risk_table(results)}

## tau over truth

{ratio_table(results)}

## Coverage

Share of samples, in %, whose 95 % interval holds tau. Classes: with the error of the
fit, by the jackknife; Pitman: by the delta method; others: the fit taken as known.

{coverage_table(results)}

## The fits of the classes

Poisson: in how many samples no overdispersion was found; b: its mean exponent in the
others.

{fit_table(results)}

## By tenth of the probability

Population uniques over their expected number, by the probability that the classes give,
over all replicates; no figure where fewer than 20 are expected.

{decile_table(results)}

## AUC

{order_table(results, "auc")}

## Brier score

{order_table(results, "brier")}
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("replicates", nargs="?", type=int, default=REPLICATES)
    parser.add_argument("--outcomes", type=Path, help="file that a run goes on with")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    options = parser.parse_args()
    missing = {name for name, file in NEEDED.items() if not (FOLDER / file).exists()}
    for name in sorted(missing):
        print(f"{name}: left out, no file {FOLDER / NEEDED[name]}", file=sys.stderr)
    kinds = list(product([n for n in POPULATIONS if n not in missing], FRACTIONS))
    # Replicate by replicate, so that a run that ends early has some of each kind.
    tasks = [(*kind, one) for one in range(options.replicates) for kind in kinds]
    with tempfile.TemporaryDirectory() as folder:
        path = options.outcomes or Path(folder) / "outcomes"
        found = run(tasks, path, options.processes)
    results = {
        kind: [found[*kind, one] for one in range(options.replicates)] for kind in kinds
    }
    PAGE.write_text(text(results, options.replicates))


if __name__ == "__main__":
    main()
