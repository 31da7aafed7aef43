"""Compare the model of cells with the truth: bench/results/calibration_of_cells.md.

    python -m bench.calibration_cells --samples 4 --jobs 2
    python -m bench.calibration_cells --kinds 'areas|villages' --sizes 0.05 --page x.md

Populations of known law are drawn again for every sample, and samples of them by many
designs. `assess` says of each how large the sum of E[1/F] over its sample uniques is,
and how many of them are unique in the population. All chance comes from fixed seeds.
With a file of outcomes a later run continues where it stopped. Sizes are shares of the
population, records from 100 on, or else clusters, for kinds in which few are drawn.

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
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

import riskcore
from bench import _cell_kinds, _cells_page
from bench._cell_kinds import KINDS
from bench._common import RESULTS, timed
from bench._designs import CLUSTERS
from riskcore.assessment.population import deviation_by, risk_by

LEVEL = 0.95
NAN = math.nan


class Outcome(NamedTuple):
    """What is said of one sample, and the truth; sums are over its sample uniques."""

    records: int
    uniques: int
    true_risks: float  # sum of 1/F
    true_tau: int
    true_all_risks: float  # over all records
    by_weights: float  # sum of risks by the weights
    seconds: float  # of the fit
    believed: str = "neither"  # or "weights", "model": the figure to believe
    warning: str = ""
    fit: str = ""
    risks: float = NAN  # by the model, as all that follow
    tau: float = NAN
    all_risks: float = NAN
    tenths: tuple = ()  # predicted and true risk and number by tenth of the records
    risks_low: float = NAN
    risks_high: float = NAN
    tau_low: float = NAN
    tau_high: float = NAN


def by_tenth_of_records(risk, truth, records):
    """Return predicted and true risks, and records, of each tenth by rising risk."""
    order = np.argsort(risk, kind="stable")
    before = np.cumsum(records[order]) - records[order]
    tenth = np.minimum(10 * before // records.sum(), 9).astype(int)
    figures = risk, truth, np.ones(len(risk))
    return [np.bincount(tenth, (x * records)[order], 10).tolist() for x in figures]


def of_uniques(figure, prior):
    """Return a figure of the priors of sample uniques, and 0 of others."""
    return np.where(prior.records == 1.0, figure(prior), 0.0)


def assessed(data, options):
    """Return the assessment by the weights, that by the model or None, and why."""
    keys = [name for name in data if name.startswith("KEY")]
    both = riskcore.assess(data, keys, "WEIGHT", **options)
    if both.beside.needed:
        return both, both.by_model, both.beside.failure
    try:
        options["population"] = "latent-class"
        return both, riskcore.assess(data, keys, "WEIGHT", **options), ""
    except ValueError as error:
        return both, None, str(error)


def outcome(population, drawn, intervals):
    """Return what is said of a sample, beside the truth."""
    cell = population.cell[drawn.rows]
    data = {f"KEY{i}": code[cell] for i, code in enumerate(population.codes)}
    data, options = {**data, "WEIGHT": drawn.weights}, {}
    if drawn.cluster is not None:
        data, options = {**data, "CLUSTER": drawn.cluster}, {"cluster": "CLUSTER"}
    (both, by_model, failure), seconds = timed(lambda: assessed(data, options))
    F = np.empty(len(both.cells))
    F[both.cells.inverse] = population.frequencies[cell]
    unique = both.cells.sample_frequency == 1
    found = Outcome(
        len(cell),
        int(unique.sum()),
        math.fsum(1.0 / F[unique]),
        int((F[unique] == 1).sum()),
        math.fsum(both.cells.records / F),
        math.fsum(both.cell_risk[unique]),
        seconds,
    )
    if by_model is None:
        return found._replace(warning=failure, fit=failure)
    risk = by_model.cell_risk
    return found._replace(
        believed="model" if both.beside.needed else "weights",
        warning=by_model.model.caution,
        fit=by_model.model.fit_in_words,
        risks=math.fsum(risk[unique]),
        tau=by_model.expected_population_uniques,
        all_risks=by_model.expected_reidentifications,
        tenths=by_tenth_of_records(risk, 1.0 / F, both.cells.records),
        **(intervals_of(by_model.model) if intervals else {}),
    )


def intervals_of(model):
    """Return the ends of the intervals of a model."""
    figure, deviation = (partial(of_uniques, of) for of in (risk_by, deviation_by))
    _, low, high = model.interval(None, figure, LEVEL, deviation=deviation)
    ends = low, high, *model.tau_interval(level=LEVEL)
    return dict(zip(Outcome._fields[-4:], ends, strict=True))


@lru_cache(maxsize=1)
def population_of(name, sample):
    """Return the population of a kind that a sample is drawn from."""
    return KINDS[name].population(np.random.default_rng([3, *name.encode(), sample]))


def study(intervals, task):
    """Return a task, and the outcome of its sample of its kind and size."""
    name, size, sample = task
    population = population_of(name, sample)
    n = size if size >= 1 else round(size * len(population.cell))
    rng = np.random.default_rng([4, *name.encode(), sample, round(1e3 * size)])
    drawn = KINDS[name].sample(population.people, n, rng)
    return task, outcome(population, drawn, intervals)


def read_outcomes(path, intervals):
    """Return the outcomes of a file, only those with intervals if these are wanted."""
    lines = path.read_text().splitlines() if path.exists() else []
    read = [json.loads(line) for line in lines if line.endswith("}]")]  # whole lines
    found = {tuple(task): Outcome(**values) for task, values in read}
    lacking = {task for task, one in found.items() if math.isnan(one.tau_low)}
    return {task: found[task] for task in found if not (intervals and task in lacking)}


def run(tasks, path, jobs, intervals):
    """Do the tasks without an outcome in the file; return all outcomes."""
    found = read_outcomes(path, intervals)
    left = [task for task in tasks if task not in found]
    started, work = time.monotonic(), partial(study, intervals)
    pool = multiprocessing.get_context("spawn").Pool(jobs)
    with path.open("a") as lines, pool:
        for done, (task, one) in enumerate(pool.imap_unordered(work, left), 1):
            lines.write(json.dumps([task, one._asdict()]) + "\n")
            lines.flush()
            found[task] = one
            minutes = (time.monotonic() - started) / 60
            print(f"{done} of {len(left)}, {minutes:.1f} minutes", file=sys.stderr)
    return {task: found[task] for task in tasks}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kinds", default="", help="a pattern of names of kinds")
    parser.add_argument("--samples", type=int, default=8, help="of each")
    parser.add_argument("--sizes", default="500,0.01,0.05,0.2,5,15,40")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--no-intervals", action="store_true")
    parser.add_argument("--outcomes", type=Path, help="file that a run goes on with")
    page = RESULTS / "calibration_of_cells.md"
    parser.add_argument("--page", type=Path, default=page)
    options = parser.parse_args()
    missing = _cell_kinds.missing()
    if missing:
        print(f"left out, no file: {', '.join(missing)}", file=sys.stderr)
    names = [n for n in KINDS if n not in missing and re.search(options.kinds, n)]
    sizes = [float(x) if "." in x else int(x) for x in options.sizes.split(",")]
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
    options.page.write_text(_cells_page.text(results, options.samples))
    print(_cells_page.goals(results))


if __name__ == "__main__":
    main()
