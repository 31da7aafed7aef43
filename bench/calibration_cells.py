"""Compare the model of cells with the truth: bench/results/calibration_of_cells.md.

    python -m bench.calibration_cells --samples 4 --jobs 2
    python -m bench.calibration_cells --kinds 'areas|villages' --sizes 0.05 --page x.md

Populations of known law are drawn again for every sample, and samples of them by many
designs. `assess` says of each sample how large the sum of E[1/F] over its sample
uniques is, and how many of them are unique in the population, which is known here. All
chance comes from fixed seeds: the same versions give the same page, but for times.
With a file of outcomes a later run continues where it stopped.

Sizes are shares of the population, numbers of records from 100 on, or, for kinds in
which few clusters are drawn, numbers of clusters.

Data that are not part of the project are CSV files in the folder that the environment
variable RISKCORE_POPULATIONS names: adult.csv (UCI Adult, 30,162 complete records, ';'
between columns), eusilcP.csv (the synthetic population of the R package simFrame) and
ses.csv (the data ses of the R package laeken). Kinds without their file are left out.
"""

import argparse
import json
import math
import multiprocessing
import re
import sys
import tempfile
import time
import warnings
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

import riskcore
from bench import _cell_kinds, _cells_page
from bench._cell_kinds import KINDS
from bench._common import RESULTS, timed
from bench._designs import CLUSTERS
from riskcore.assessment.beside import apart
from riskcore.assessment.population import deviation_by, risk_by

SIZES = (500, 0.01, 0.05, 0.2, 5, 15, 40)
SAMPLES = 8
LEVEL = 0.95
NAN = math.nan
# What a warning that the estimate is doubtful says, in the fit, its reason or aloud.
DOUBT = re.compile(r"few clusters|unstable|doubt|careful|not reliable|rough")


class Outcome(NamedTuple):
    """What is said of one sample, and the truth; sums are over its sample uniques."""

    records: int
    uniques: int
    true_risks: float  # sum of 1/F
    true_tau: int
    all_true_risks: float  # over all records
    by_weights: float = NAN  # sum of risks by the weights
    risks: float = NAN  # by the model, as all that follow
    risks_low: float = NAN
    risks_high: float = NAN
    tau: float = NAN
    tau_low: float = NAN
    tau_high: float = NAN
    all_risks: float = NAN
    seconds: float = NAN  # of the fit
    believed: str = ""  # the figure to believe: "weights", "model", "neither"
    differ: bool = False  # whether the assessment shows both
    warning: str = ""
    fit: str = ""
    tenths: tuple = ()  # predicted and true risk and number by tenth of the records


# --- one sample --------------------------------------------------------------------


def by_tenth_of_records(risk, truth, records):
    """Return predicted and true risks, and records, of each tenth by rising risk."""
    order = np.argsort(risk, kind="stable")
    before = np.cumsum(records[order]) - records[order]
    tenth = np.minimum(10 * before // records.sum(), 9).astype(int)
    return [
        np.bincount(tenth, (each * records)[order], 10).tolist()
        for each in (risk, truth, np.ones(len(risk)))
    ]


def of_uniques(figure):
    """Return a function of priors that is a figure of sample uniques, and else 0."""
    return lambda prior: np.where(prior.records == 1.0, figure(prior), 0.0)


def fitted(data, keys, options):
    """Return the assessment by the weights, that by the model, and a failure."""
    both = riskcore.assess(data, keys, "WEIGHT", **options)
    try:
        if both.beside.needed:
            return both, both.by_model, both.beside.failure
        always = riskcore.assess(
            data, keys, "WEIGHT", population="latent-class", **options
        )
        return both, always, ""
    except ValueError as error:
        return both, None, str(error)


def outcome(population, drawn, intervals):
    """Return what is said of a sample, beside the truth."""
    cell = population.cell[drawn.rows]
    keys = [f"KEY{number}" for number in range(len(population.codes))]
    data = dict(zip(keys, (code[cell] for code in population.codes), strict=True))
    data["WEIGHT"] = drawn.weights
    options = {}
    if drawn.cluster is not None:
        data["CLUSTER"] = drawn.cluster
        options["cluster"] = "CLUSTER"
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        (both, by_model, failure), seconds = timed(
            lambda: fitted(data, keys, options), time.perf_counter
        )
        cells = both.cells
        F = np.empty(len(cells))
        F[cells.inverse] = population.frequencies[cell]
        unique, records = cells.sample_frequency == 1, cells.records
        found = Outcome(
            len(cell),
            int(unique.sum()),
            math.fsum(1.0 / F[unique]),
            int((F[unique] == 1).sum()),
            math.fsum(records / F),
            by_weights=math.fsum(both.cell_risk[unique]),
            seconds=seconds,
            believed="weights",
        )
        if failure or by_model is None:
            return found._replace(believed="neither", fit=failure, warning=failure)
        found = by_the_model(found, by_model, 1.0 / F, unique, intervals)
        if both.beside.needed:
            pair = (found.all_risks, both.expected_reidentifications)
            found = found._replace(believed="model", differ=apart(*pair))
    doubts = [str(one.message) for one in told] + [by_model.model.fit_in_words]
    doubts = [one for one in doubts if DOUBT.search(one)]
    return found._replace(warning="; ".join(doubts)[:300])


def by_the_model(found, by_model, truth, unique, intervals):
    """Return an outcome with the figures of the model, and perhaps their intervals."""
    model, records = by_model.model, by_model.cells.records
    found = found._replace(
        risks=math.fsum(by_model.cell_risk[unique]),
        tau=by_model.expected_population_uniques,
        all_risks=by_model.expected_reidentifications,
        fit=model.fit_in_words,
        tenths=by_tenth_of_records(by_model.cell_risk, truth, records),
    )
    if not intervals:
        return found
    low, high = model.tau_interval(level=LEVEL)
    _, least, most = model.interval(
        None, of_uniques(risk_by), LEVEL, deviation=of_uniques(deviation_by)
    )
    return found._replace(tau_low=low, tau_high=high, risks_low=least, risks_high=most)


@lru_cache(maxsize=1)
def population_of(name, sample):
    """Return the population of a kind that a sample is drawn from."""
    rng = np.random.default_rng([3, *name.encode(), sample])
    return KINDS[name].population(rng)


def study(task, intervals):
    """Return the outcome of one sample of one kind and size."""
    name, size, sample = task
    population = population_of(name, sample)
    n = size if size >= 1 else round(size * len(population.cell))
    rng = np.random.default_rng([4, *name.encode(), sample, round(1e3 * size)])
    return outcome(population, KINDS[name].sample(population.people, n, rng), intervals)


# --- all samples -------------------------------------------------------------------


def study_one(task_and_intervals):
    """Return a task with its outcome."""
    return task_and_intervals[0], study(*task_and_intervals)


def read_outcomes(path, intervals):
    """Return the outcomes of a file; without intervals they do if none are wanted."""
    if not path.exists():
        return {}
    found = {}
    for line in path.read_text().splitlines():
        try:
            task, values = json.loads(line)
        except ValueError:
            continue  # a line that was not finished
        one = Outcome(*values)
        if not intervals or one.believed == "neither" or not math.isnan(one.tau_low):
            found[tuple(task)] = one
    return found


def run(tasks, path, jobs, intervals):
    """Do the tasks without an outcome in the file; return all outcomes."""
    found = read_outcomes(path, intervals)
    left = [(task, intervals) for task in tasks if task not in found]
    started = time.monotonic()
    with (
        path.open("a") as lines,
        multiprocessing.get_context("spawn").Pool(jobs) as pool,
    ):
        for done, (task, one) in enumerate(pool.imap_unordered(study_one, left), 1):
            lines.write(json.dumps([task, one]) + "\n")
            lines.flush()
            found[task] = one
            minutes = (time.monotonic() - started) / 60
            print(f"{done} of {len(left)}, {minutes:.1f} minutes", file=sys.stderr)
    return {task: found[task] for task in tasks if task in found}


def number(word):
    """Return a size: a share with a point, otherwise a whole number."""
    return float(word) if "." in word else int(word)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kinds", default="", help="a pattern of names of kinds")
    parser.add_argument("--samples", type=int, default=SAMPLES, help="of kind and size")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--no-intervals", action="store_true")
    parser.add_argument("--outcomes", type=Path, help="file that a run goes on with")
    parser.add_argument("--list", action="store_true", help="list the kinds")
    parser.add_argument(
        "--page", type=Path, default=RESULTS / "calibration_of_cells.md"
    )
    options = parser.parse_args()
    missing = _cell_kinds.missing()
    if missing:
        print(f"left out, no file: {', '.join(missing)}", file=sys.stderr)
    names = [n for n in KINDS if n not in missing and re.search(options.kinds, n)]
    if options.list:
        print("\n".join(names))
        return
    sizes = [number(word) for word in options.sizes.split(",")]
    # Sample by sample, so that a run that ends early has some of each kind.
    tasks = [
        (name, size, sample)
        for sample in range(options.samples)
        for name in names
        for size in sizes
        if KINDS[name].few or not 1 <= size < CLUSTERS
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = options.outcomes or Path(folder) / "outcomes"
        found = run(tasks, path, options.jobs, not options.no_intervals)
    results = {}
    for (name, size, _), one in found.items():
        results.setdefault((name, size), []).append(one)
    page = _cells_page.text(results, options.samples)
    options.page.write_text(page)
    print(_cells_page.goals(results))


if __name__ == "__main__":
    main()
